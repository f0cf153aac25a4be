"""Headway in Python: read results, draw them, and make data-set files from numpy arrays.

    import headway
    result = headway.read_result("results/hmm-four-paths.h5")
    result.points[0].order_parameters[0]        # U_1 at the first sweep point

    result.plot(), result.to_datatree()         # figures; everything in xarray, with named dimensions
    headway.to_arviz("results/draws.h5")        # draws of `headway sample` as ArviZ InferenceData

    headway.write_dataset("mine.h5", train_inputs=x, train_labels=y, attention_weights=[w1, w2])

    headway.from_hugging_face("mine.h5", model, encoded, labels)   # the heads of a trained network
    headway.ablate_heads(model, encoded, labels).to_csv("heads.csv")   # what they are worth to it

    python -m headway plot results/hmm-four-paths.h5      # the figures
    python -m headway report results/hmm-four-paths.h5    # one page with everything, for a browser
    python -m headway table results/hmm-four-paths.h5     # the numbers

The names and symbols are those of the program: U_l order parameters, N_l widths, T temperature.
"""

import importlib

from headway.datasets import check_dataset, write_dataset
from headway.errors import (BadDataError, CannotWriteError, HeadwayError, UnreadableFileError,
                            UsageError)
from headway.head_table import HeadTable
from headway.latent_results import EvaluateResult, LatentRun, LatentsResult
from headway.network_results import RemovalResult
from headway.networks import from_attentions, from_hugging_face, from_torch
from headway.result_reader import read_result
from headway.results import Result
from headway.training_results import TrainedRun, TrainingResult
from headway.version import __version__
from headway.xarray_export import posterior_draws, to_arviz, to_datatree, to_inference_data

__all__ = [
    "BadDataError", "CannotWriteError", "EvaluateResult", "HeadTable", "HeadwayError", "LatentRun",
    "LatentsResult", "RemovalResult", "Result", "TrainedRun", "TrainingResult", "UnreadableFileError",
    "UsageError", "__version__", "ablate_heads", "check_dataset", "figures", "from_attentions",
    "from_hugging_face", "from_torch", "gradient_sensitivity", "head_baselines", "posterior_draws",
    "read_result", "to_arviz", "to_datatree", "to_inference_data", "write_dataset", "write_report",
]


def __getattr__(name: str):
    """Imported when they are first asked for: `headway.figures` and `write_report`, which take
    matplotlib with them, and what needs PyTorch."""
    if name == "figures":
        return importlib.import_module("headway.figures")
    if name == "write_report":
        return importlib.import_module("headway.report").write_report
    if name in ("ablate_heads", "gradient_sensitivity", "head_baselines"):
        return getattr(importlib.import_module("headway.head_removal"), name)
    raise AttributeError(f"module 'headway' has no attribute {name!r}")
