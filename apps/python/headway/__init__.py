"""Headway in Python: compute on arrays and studies, read results, draw them, make data-set files.

    import headway
    result = headway.solve("hmm-four-paths", widths=[10, 100])      # or arrays: help(headway.solve)
    headway.align(result), headway.prune(result), headway.sample(...), headway.train(...)

    headway.merge([headway.solve(..., shard=(i, 4)) for i in range(4)])   # parts; or mpirun -n 4 python3

    result = headway.read_result("results/hmm-four-paths.h5")
    result.points[0].order_parameters[0]        # U_1 at the first sweep point

    result.plot(), result.to_datatree()         # figures; everything in xarray, with named dimensions
    headway.to_arviz("results/draws.h5")        # draws of `headway sample` as ArviZ InferenceData

    headway.write_dataset("mine.h5", train_inputs=x, train_labels=y, attention_weights=[w1, w2])

    headway.train(tokens=x, targets=y, sets={"test": (xt, yt)})    # or write_examples and a study

    headway.from_hugging_face("mine.h5", model, encoded, labels)   # the heads of a trained network
    headway.ablate_heads(model, encoded, labels).to_csv("heads.csv")   # what they are worth to it
    headway.rank_heads(model, encoded, labels)         # which to remove first, and how sure that is

    python -m headway plot results/hmm-four-paths.h5      # the figures
    python -m headway report results/hmm-four-paths.h5    # one page with everything, for a browser
    python -m headway table results/hmm-four-paths.h5     # the numbers

The names and symbols are those of the program: U_l order parameters, N_l widths, T temperature.
"""

import importlib
import sys

if sys.version_info < (3, 10):
    raise ImportError(f"headway needs Python 3.10 or newer; this is Python {sys.version.split()[0]} ({sys.executable})")
try:
    import h5py as _h5py  # noqa: F401
    import numpy as _numpy  # noqa: F401
except ModuleNotFoundError as error:
    raise ImportError(f"headway needs the package {error.name}, which this Python lacks: install numpy, h5py and matplotlib for "
                      f"{sys.executable} (with pip: {sys.executable} -m pip install numpy h5py matplotlib)") from None
except ValueError as error:  # compiled for another numpy, as where pip has replaced that of Debian
    raise ImportError(f"headway needs h5py, which does not fit the numpy of this Python ({error}): install both from one place "
                      f"(with pip: {sys.executable} -m pip install --upgrade numpy h5py matplotlib)") from None

from headway.api.compute import rank
from headway.api.dataset import Dataset
from headway.api.datasets import check_dataset, write_dataset
from headway.api.examples import write_examples
from headway.api.gram_files import gram
from headway.api.kernels import Action, action, kernel
from headway.api.merging import merge
from headway.api.network_verbs import evaluate, latents, prune_network, train
from headway.api.predictions import predict
from headway.api.study_files import Study, read_study
from headway.api.verbs import align, prune, sample, solve
from headway.base.torch_version import require_torch
from headway.errors import (BadDataError, BadStudyError, CannotWriteError, HeadwayError, InternalError,
                            Interrupted, NotUsableWarning, UnavailableError, UnreadableFileError,
                            UsageError)
from headway.heads.head_ranking import rank_heads, rank_parts, remove_in_order
from headway.heads.network_heads import ablate_heads, gradient_sensitivity, head_baselines
from headway.heads.networks import from_attentions, from_hugging_face, from_torch
from headway.heads.removing_heads import RemovedHeads, remove_heads
from headway.results.head_table import HeadTable
from headway.results.latent_results import EvaluateResult, LatentRun, LatentsResult
from headway.results.network_predictions import NetworkPredictResult
from headway.results.network_results import RemovalResult
from headway.results.prediction_results import PredictResult
from headway.results.rank_results import RankResult
from headway.results.ranking.cumulative import RemovalCurves
from headway.results.ranking.exports import kvpress_press
from headway.results.ranking.table import HeadRanking
from headway.results.result import Result
from headway.results.result_reader import read_result
from headway.results.training_results import TrainedRun, TrainingResult
from headway.results.xarray_export import posterior_draws, to_arviz, to_datatree, to_inference_data
from headway.version import __version__

__all__ = [
    "Action", "BadDataError", "BadStudyError", "CannotWriteError", "Dataset", "EvaluateResult", "HeadRanking", "HeadTable",
    "HeadwayError", "InternalError", "Interrupted", "LatentRun", "LatentsResult",
    "NetworkPredictResult", "NotUsableWarning", "PredictResult", "RankResult", "RemovalCurves", "RemovalResult", "RemovedHeads", "Result", "Study",
    "TrainedRun", "TrainingResult",
    "UnavailableError", "UnreadableFileError", "UsageError", "__version__", "ablate_heads",
    "action", "align", "check_dataset", "evaluate", "figures", "from_attentions",
    "from_hugging_face", "from_torch", "gradient_sensitivity", "gram", "head_baselines", "kernel", "kvpress_press",
    "latents", "merge", "posterior_draws", "predict", "prune", "prune_network", "rank", "rank_heads", "rank_parts",
    "read_result", "read_study", "remove_heads", "remove_in_order", "sample", "solve",
    "to_arviz", "to_datatree", "to_inference_data", "train", "write_dataset", "write_examples", "write_report",
]


def __getattr__(name: str):
    """What is imported when it is first asked for: `figures` and `write_report` take matplotlib with them, and
    `network_contributions`, which has formulas, takes PyTorch."""
    if name == "network_contributions":
        require_torch("headway.network_contributions")
    if name in ("figures", "network_contributions"):
        return importlib.import_module("headway.figures" if name == "figures" else "headway.heads.network_contributions")
    if name == "write_report":
        return importlib.import_module("headway.report").write_report
    raise AttributeError(f"module 'headway' has no attribute {name!r}")


def __dir__() -> list[str]:
    """What users call. The modules of the package are there as well, as they are of every package."""
    return sorted([*__all__, "__doc__", "__file__", "__name__", "__path__"])
