"""Compiles the Stan programs, samples the posteriors with Stan, and compares with the reference draws.

    python3 apps/posteriors/check_with_stan.py DIR [NAME ...]     DIR: what `python3 apps/posteriors -o DIR` wrote

Needs pystan (python -m pip install pystan) and a C++ compiler. Compiling a program takes a minute.
"""

import sys
from pathlib import Path

import numpy as np

import comparing

CHAINS, WARMUP, DRAWS = 4, 1000, 2000


def sampled(problem, data):
    import stan

    from diagnostics import scalars
    code = (Path(sys.argv[1]) / f"models/stan/{problem.model}.stan").read_text(encoding="utf-8")
    fit = stan.build(code, data=data, random_seed=1).sample(
        num_chains=CHAINS, num_warmup=WARMUP, num_samples=DRAWS, delta=0.95)
    # pystan: [..., draw * chain], the chain running fastest.
    draws = {name: np.moveaxis(np.asarray(fit[name]), -1, 0).reshape(DRAWS, CHAINS, *np.asarray(fit[name]).shape[:-1])
             for name in fit if name.startswith("U_") or name.endswith("_test")}
    draws = {name: values[..., 0] if name == "U_a" and values.ndim == 3 else values for name, values in draws.items()}
    return scalars({name: np.swapaxes(values, 0, 1) for name, values in draws.items()})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    sys.exit(comparing.run(Path(sys.argv[1]), sys.argv[2:] or None, sampled, "pystan"))
