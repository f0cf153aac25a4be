"""The posterior of benchmark_sampling's exact chain in numpyro: the same model, data and diagnostics, for a ratio in one run.

    python numpyro_comparison.py PATH_FEATURES.h5 [WIDTH ...]

Needs numpyro and h5py (python -m pip install numpyro h5py); without numpyro it says so and ends well. Two models:
  chain    the Wishart chain of order parameters (Bartlett factors), what `headway sample` runs;
  weights  all weights of the network, NUTS, as a user would write the model.
One thread, double precision; compilation is left out, warm-up too. Effective draws are of the slowest entry of U_1.
"""

import os
import sys
import time

os.environ.setdefault("XLA_FLAGS", "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

try:
    import h5py
    import jax
    import jax.numpy as jnp
    import numpy as np
    import numpyro
    import numpyro.distributions as dist
    from numpyro.diagnostics import effective_sample_size
    from numpyro.infer import MCMC, NUTS
except ImportError as error:
    print(f"numpyro_comparison: left out, {error.name} is not installed")
    sys.exit(0)

TEMPERATURE = 0.01
CHAINS = 4


def load(path):
    """Scaled path features [p, P, N_0] of two layers and labels [P]."""
    with h5py.File(path) as h:
        xi = h["train/path_features"][()]
        heads = [int(n) for n in h["train/path_features"].attrs["heads"]]
        labels = h["train/labels"][()]
    if len(heads) != 2:
        sys.exit("numpyro_comparison: the data must have two layers")
    paths, features = xi.shape[1], xi.shape[2]
    return jnp.asarray(xi.transpose(1, 0, 2) / np.sqrt(features * paths)), jnp.asarray(labels), heads


def bartlett(name, size, width):
    """Lower-triangular factor B of a Wishart(width, I), as an independent prior."""
    dof = width - jnp.arange(size)
    squares = numpyro.sample(name + "_diagonal", dist.Chi2(dof).to_event(1))
    below = numpyro.sample(name + "_below", dist.Normal(jnp.zeros(size * (size - 1) // 2), 1.0).to_event(1))
    return jnp.diag(jnp.sqrt(squares)).at[jnp.tril_indices(size, -1)].set(below)


def chain(x, y, heads, width):
    kernels = jnp.einsum("amk,bnk->abmn", x, x)
    u_a = numpyro.sample("U_a", dist.Gamma(width / 2, width / 2))
    f_2 = jnp.sqrt(u_a / width) * bartlett("B_2", heads[1], width)
    f_1 = jnp.kron(jnp.eye(heads[0]), f_2) @ bartlett("B_1", heads[0] * heads[1], width) / jnp.sqrt(width)
    u_1 = numpyro.deterministic("U_1", f_1 @ f_1.T)
    k = jnp.einsum("ab,abmn->mn", u_1, kernels) + TEMPERATURE * jnp.eye(len(y))
    numpyro.sample("y", dist.MultivariateNormal(jnp.zeros(len(y)), covariance_matrix=k), obs=y)


def weights(x, y, heads, width):
    draw = lambda name, *shape: numpyro.sample(name, dist.Normal(jnp.zeros(shape), 1.0).to_event(len(shape)))
    v_0 = draw("V_0", width, x.shape[2])
    v_1 = draw("V_1", heads[0], width, width)
    v_2 = draw("V_2", heads[1], width, width)
    a = draw("a", width)
    upper = jnp.einsum("i,hij->hj", a, v_2) / jnp.sqrt(width)              # [h_2, N_2]
    effective = jnp.einsum("gi,hij->hgj", upper, v_1) / jnp.sqrt(width)    # [h_1, h_2, N_1]
    effective = effective.reshape(-1, width)
    numpyro.deterministic("U_1", effective @ effective.T / width)
    f = jnp.einsum("aj,jk,amk->m", effective, v_0, x) / jnp.sqrt(width)
    numpyro.sample("y", dist.Normal(f, jnp.sqrt(TEMPERATURE)), obs=y)


def run(model, data, width, warmup, draws):
    sampler = MCMC(NUTS(model), num_warmup=warmup, num_samples=draws, num_chains=CHAINS,
                   chain_method="sequential", progress_bar=False)
    sampler.warmup(jax.random.PRNGKey(0), *data, width, collect_warmup=False)
    sampler.run(jax.random.PRNGKey(1), *data, width)  # the first run compiles the sampling loop
    sampler.post_warmup_state = sampler.last_state
    begin = time.process_time()
    sampler.run(jax.random.PRNGKey(2), *data, width)
    jax.block_until_ready(sampler.get_samples())
    seconds = time.process_time() - begin
    u = np.asarray(sampler.get_samples(group_by_chain=True)["U_1"])
    lower = np.tril_indices(u.shape[-1])
    ess = min(effective_sample_size(u[:, :, i, j]) for i, j in zip(*lower))
    print(f"{model.__name__:<8} N={width:<5} E[U_11] {u[..., 0, 0].mean():8.3f}   ESS min {ess:7.0f}   "
          f"{seconds:8.2f} s   {ess / seconds:8.2f} ESS/s", flush=True)


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    jax.config.update("jax_enable_x64", True)
    data = load(sys.argv[1])
    for width in [int(w) for w in sys.argv[2:]] or [10, 1000]:
        run(chain, data, width, 500, 1000)
    run(weights, data, 10, 200, 200)  # as many as benchmark_sampling takes: this one is slow


if __name__ == "__main__":
    main()
