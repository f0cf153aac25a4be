"""Tables of pandas, which is imported only where one is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headway.errors import UnavailableError

if TYPE_CHECKING:
    from pandas import DataFrame


def data_frame(rows: Any) -> DataFrame:
    """A data frame of rows, or of columns by name; UnavailableError where pandas is not installed."""
    try:
        import pandas
    except ImportError:
        raise UnavailableError("to_pandas: needs the package pandas (apt-get install python3-pandas, or pip install pandas h5py)") from None
    return pandas.DataFrame(rows)
