"""Writes golden/renormalisation.h5: saddle points of deepbays for networks with one hidden nonlinear layer.

    git clone https://github.com/rpacelli/deepbays && git -C deepbays checkout 7150a0ac
    PYTHONPATH=deepbays python3 make_renormalisation.py golden/renormalisation.h5

deepbays has scalar renormalisation of fully connected networks (one order parameter) and local renormalisation of
convolutional ones (a matrix over patches). Both are value networks with fixed features: in the form before_attention with one
token and one head, or with a token for each patch and a head for each token. The groups have the members of value_network.h5.
Needs torch, numpy, scipy and h5py; loads only deepbays/kernels and the two modules of deepbays/rkgp.
"""

import importlib.util
import sys
import types
from pathlib import Path

import h5py
import numpy as np
import torch
from scipy.optimize import minimize_scalar

PATCHES, PATCH, TRAIN, TEST, TEMPERATURE = 4, 4, 24, 6, 0.1
WIDTH = {"scalar_erf": 30, "local_erf": 30}
VARIANCES = (0.8, 1.5)  # of hidden weights and readout; deepbays takes their inverses


def deepbays(name):
    """One module of the package, without those that download data."""
    folder = Path(next(path for path in sys.path if (Path(path) / "deepbays").is_dir())) / "deepbays"
    for package in ("deepbays", "deepbays.kernels", "deepbays.rkgp"):
        if package not in sys.modules:
            module = sys.modules[package] = types.ModuleType(package)
            module.__path__ = [str(folder.joinpath(*package.split(".")[1:]))]
    kernels = sys.modules["deepbays.kernels"]
    if not hasattr(kernels, "computeKmatrix"):
        for part in ("kernels", "kernels_torch"):
            found = load(folder / "kernels" / f"{part}.py", f"deepbays.kernels.{part}")
            vars(kernels).update({key: value for key, value in vars(found).items() if not key.startswith("__")})
        sys.modules["deepbays"].kernels = kernels
    return load(folder / "rkgp" / f"{name}.py", f"deepbays.rkgp.{name}")


def load(path, name):
    spec = importlib.util.spec_from_file_location(name, path)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def write(file, name, inputs, attention, labels, u, mean, variance):
    group = file.create_group(name)
    group.attrs.update(widths=[float(WIDTH[name]), 1e9], variances=[*VARIANCES, 1.0], T=[TEMPERATURE])
    group["inputs"], group["attention"], group["labels"] = inputs, attention, labels
    group["fixed_features/U_1"] = u
    group["fixed_features/mean"], group["fixed_features/variance"] = mean, variance


def scalar(file, x, y):
    model = deepbays("theory_1HL_FC_single_output").FC_1HL(WIDTH["scalar_erf"], TEMPERATURE, 1 / VARIANCES[0], 1 / VARIANCES[1])
    model.preprocess(x[:TRAIN], y)
    # Its own optimiser stops early; the action is the model's.
    model.optQ = float(minimize_scalar(lambda q: float(model.effectiveAction(q)), bounds=(1e-3, 20), method="bounded",
                                       options={"xatol": 1e-14}).x)
    for _ in range(20):  # Newton steps on differences, to the last digits
        h = 1e-4
        up, mid, down = (float(model.effectiveAction(model.optQ + step)) for step in (h, 0.0, -h))
        model.optQ -= (up - down) / (2 * h) / ((up - 2 * mid + down) / h ** 2)
    mean = model.predict(x[TRAIN:])
    variance = model.orderParam * model.K0 - np.sum(model.K0_invK * model.rK0X, axis=1)
    tokens = x.reshape(len(x), 1, -1)
    write(file, "scalar_erf", tokens, np.ones((len(x), 1, 1, 1)), y, np.array([[model.orderParam]]), mean, variance)


def local(file, x, y):
    model = deepbays("theory_1HL_CONV").CONV_1HL(WIDTH["local_erf"], TEMPERATURE, 2, 2, 1 / VARIANCES[0], 1 / VARIANCES[1])
    model.preprocess(x[:TRAIN], torch.tensor(y))
    model.optimize(minimizationTol=1e-13, gradTol=1e-10)
    assert model.converged
    mean = model.predict(x[TRAIN:])
    variance = np.diag(model.rK0) - np.sum(model.K0_invK * model.rK0X, axis=1)
    side, half = 4, 2
    image = x.reshape(-1, side, side)
    tokens = np.stack([image[:, i:i + half, j:j + half].reshape(-1, PATCH) for i in (0, 2) for j in (0, 2)], axis=1)
    attention = np.zeros((len(x), PATCHES, PATCHES, PATCHES))  # head h of the last query reads token h
    for head in range(PATCHES):
        attention[:, head, :, head] = 1.0
    write(file, "local_erf", tokens, attention, y, model.optQ / model.l1, np.asarray(mean), variance)


def main():
    rng = np.random.default_rng(64)
    x = rng.standard_normal((TRAIN + TEST, PATCHES * PATCH))
    v, a = rng.standard_normal((3, PATCH)), rng.standard_normal((3, PATCHES))
    hidden = np.tanh(1.5 * x.reshape(-1, PATCHES, PATCH) @ v.T / np.sqrt(PATCH))
    y = (np.einsum("npi,ip->n", hidden, a))[:TRAIN] + 0.2 * rng.standard_normal(TRAIN)
    with h5py.File(sys.argv[1], "w") as file:
        scalar(file, x, y)
        local(file, x, y)
        for name in file:
            print(name, file[name]["fixed_features/U_1"][()], file[name]["fixed_features/mean"][()])


if __name__ == "__main__":
    main()
