"""Samples the posteriors over all weights with NUTS of numpyro, and compares with the reference draws.

    python3 apps/posteriors/check_with_numpyro.py DIR [NAME ...]     DIR: what `python3 apps/posteriors -o DIR` wrote

Needs numpyro. The models are written down again from eqs. 1 to 6 and 72, not taken from the Stan programs.
"""

import os
import sys
from pathlib import Path

import numpy as np

import comparing

CHAINS, WARMUP, DRAWS = 4, 1000, 2000


def model(data):
    """The network of the data, with the quantities of the reference draws as deterministic sites."""
    import jax
    import jax.numpy as jnp
    import numpyro
    from numpyro.distributions import Normal

    def weights(name, *shape):
        return numpyro.sample(name, Normal(jnp.zeros(shape), 1.0).to_event(len(shape)))

    width, size = data["N"], data["N_0"]
    below = weights("V_0", width, size) / np.sqrt(size)
    learned = "x" in data
    sizes = [1] if learned else [data["H"]] if "H" in data else [data["H_1"], data["H_2"]]
    values = [weights(f"V_{layer}", heads, width, width) for layer, heads in enumerate(sizes, start=1)]
    above = weights("a", width)[None]
    numpyro.deterministic("U_a", above[0] @ above[0] / width)
    for layer in range(len(sizes), 0, -1):
        # Rows: heads of this layer, slowest, then the paths above.
        above = jnp.einsum("pi,hij->hpj", above, values[layer - 1]).reshape(-1, width) / np.sqrt(width)
        numpyro.deterministic(f"U_{layer}", above @ above.T / width)
    slopes = above @ below / np.sqrt(width * len(above))
    if learned:
        logits = data["s_w"] * weights("W", size, size) / size

        def looks(tokens):
            return jax.nn.softmax(jnp.einsum("ei,ij,etj->et", tokens[:, -1], logits, tokens), axis=1)
        features, test = (jnp.einsum("et,etn->en", looks(tokens), tokens)[None] for tokens in (data["x"], data["x_test"]))
        numpyro.deterministic("attention_test", looks(data["x_test"]))
    else:
        features, test = data["xi"], data["xi_test"]
    numpyro.deterministic("f_test", jnp.einsum("pen,pn->e", test, slopes))
    numpyro.sample("y", Normal(jnp.einsum("pen,pn->e", features, slopes), np.sqrt(data["T"])), obs=data["y"])


def sampled(problem, data):
    import jax
    from numpyro.infer import MCMC, NUTS

    from diagnostics import scalars
    jax.config.update("jax_enable_x64", True)
    arrays = {name: np.array(value) if isinstance(value, list) else value for name, value in data.items()}
    sampler = MCMC(NUTS(model, target_accept_prob=0.95), num_warmup=WARMUP, num_samples=DRAWS, num_chains=CHAINS,
                   chain_method="vectorized", progress_bar=False)
    sampler.run(jax.random.PRNGKey(1), arrays)
    draws = {name: np.asarray(values) for name, values in sampler.get_samples(group_by_chain=True).items()}
    return scalars({name: values for name, values in draws.items() if name.startswith("U_") or name.endswith("_test")})


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(comparing.run(Path(sys.argv[1]), sys.argv[2:] or None, sampled, "numpyro"))
