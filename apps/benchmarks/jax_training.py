"""One training step of benchmark_training's models in JAX: the same sizes, batch and work, for a ratio in one run.

    python jax_training.py [BENCHMARK_TRAINING] [--repeats N]
    python jax_training.py BENCHMARK_TRAINING --record FILE.json
    python jax_training.py --gpu [--small]

Needs jax (python -m pip install jax); without it the script says so and ends well. Given the program benchmark_training, it
runs that too and prints its steps a second beside. This is plain JAX as one would write it: einsum, value_and_grad, AdamW over
a tree, all in one jit. Models have the reference's shapes (fuzzy logic with 32 tokens, SRAVEN with 4 layers; batch 128), T5
positions, no dropout, and a last layer that computes only the scored tokens, as Headway's does; and a causal model of text
with RoPE (4 layers, 256 tokens, batch 8). Attention is softmax, linear or hyla. Equal numbers of parameters, which are printed, tell that the models are the same.
One thread, float32, processor time, the best of N (3) medians: others may use the machine. Compilation is left out.

--record writes the times of every attention, of Headway and of LibTorch's own operations, and those of JAX: the data of tables in
README.md beside this file. For a narrower instruction set give all three libraries the same limit:
    HEADWAY_INSTRUCTIONS=avx2 ONEDNN_MAX_CPU_ISA=AVX2 ATEN_CPU_CAPABILITY=avx2 XLA_FLAGS=--xla_cpu_max_isa=AVX2

With --gpu: SRAVEN's step on JAX's first GPU, by the clock, with operands of products in float32, TF32 (JAX's own choice) or
bf16; and the time for each step and seed of 16 seeds under vmap. Each line has network, variant, precision (x16: seeds),
parameters, milliseconds. With --small, too: one layer, two examples, three seeds, on the CPU. The times mean nothing; it
tells whether the script runs with the JAX that is installed.
"""

import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys
import time
from functools import partial
from pathlib import Path

if "--gpu" not in sys.argv or "--small" in sys.argv:
    os.environ["XLA_FLAGS"] = " ".join([os.environ.get("XLA_FLAGS", ""), "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"])
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    os.environ.setdefault("JAX_PLATFORMS", "cpu")

try:
    import jax
    import jax.numpy as jnp
    import numpy as np
except ImportError as error:
    print(f"jax_training: left out, {error.name} is not installed")
    sys.exit(0)

BATCH = 128
FUZZY = dict(title="Fuzzy logic", layers=2, dim=128, heads=8, qk=16, v=16, mlp=256, tokens=32, scored=1,
             features=5, outputs=1)
SRAVEN = dict(title="SRAVEN", layers=4, dim=128, heads=16, qk=64, v=64, mlp=256, tokens=36, scored=4,
              features=8, outputs=8)
TEXT = dict(title="Text", layers=4, dim=256, heads=4, qk=256, v=256, mlp=1024, tokens=256, scored=256,
            vocabulary=256, outputs=256, batch=8)
VARIANTS = ("softmax", "linear", "hyla")


def buckets(tokens):
    """T5's bucket of each query-key pair, one-sided, with as many buckets as tokens."""
    exact = tokens // 2

    def bucket(distance):
        if distance < exact:
            return max(distance, 0)
        octaves = math.log(distance / exact) / math.log(tokens / exact)
        return min(exact + int(octaves * (tokens - exact)), tokens - 1)

    return np.array([[bucket(q - k) for k in range(tokens)] for q in range(tokens)])


def parameters(n, rng):
    def kernel(*shape, fan_in):
        return rng.normal(size=shape, scale=fan_in ** -0.5)

    def norm():
        return {"scale": np.ones(n["dim"]), "bias": np.zeros(n["dim"])}

    def layer():
        d, dv = n["qk"] // n["heads"], n["v"] // n["heads"]
        heads = {name: {"weight": kernel(n["heads"], dims, n["dim"], fan_in=n["dim"]),
                        "bias": np.zeros((n["heads"], dims))}
                 for name, dims in (("query", d), ("key", d), ("value", dv))}
        positions = {} if "vocabulary" in n else {"positions": kernel(n["tokens"], n["heads"], fan_in=n["tokens"])}
        return {**heads, **positions, "attention_norm": norm(), "feed_forward_norm": norm(),
                "output": {"weight": kernel(n["dim"], n["v"], fan_in=n["v"]), "bias": np.zeros(n["dim"])},
                "up": {"weight": kernel(n["mlp"], n["dim"], fan_in=n["dim"]), "bias": np.zeros(n["mlp"])},
                "down": {"weight": kernel(n["dim"], n["mlp"], fan_in=n["mlp"]), "bias": np.zeros(n["dim"])}}

    tree = {"embedding": kernel(n["vocabulary"], n["dim"], fan_in=n["dim"]) if "vocabulary" in n else
            {"weight": kernel(n["dim"], n["features"], fan_in=n["dim"]), "bias": np.zeros(n["dim"])},
            "layers": [layer() for _ in range(n["layers"])], "norm": norm(),
            "logits": {"weight": kernel(n["outputs"], n["dim"], fan_in=n["dim"]), "bias": np.zeros(n["outputs"])}}
    return jax.tree.map(lambda x: jnp.asarray(x, jnp.float32), tree)


def linear(p, x):
    return x @ p["weight"].T + p["bias"]


def layer_norm(p, x):
    centred = x - x.mean(-1, keepdims=True)
    return centred * jax.lax.rsqrt((centred ** 2).mean(-1, keepdims=True) + 1e-6) * p["scale"] + p["bias"]


def turned(x):
    """RoPE: pairs of dims of a head, turned by their token's place."""
    tokens, dims = x.shape[1], x.shape[3]
    angle = np.arange(tokens)[:, None] * 10000.0 ** (-np.arange(dims // 2) / (dims // 2))
    c, s = (jnp.asarray(f(angle)[:, None, :], jnp.float32) for f in (np.cos, np.sin))
    a, b = x[..., 0::2], x[..., 1::2]
    return jnp.stack([a * c - b * s, a * s + b * c], -1).reshape(x.shape)


def attention(variant, p, x, queries, bucket):
    z = layer_norm(p["attention_norm"], x)
    q = jnp.einsum("bqm,hdm->bqhd", z[:, -queries:], p["query"]["weight"]) + p["query"]["bias"]
    k = jnp.einsum("bkm,hdm->bkhd", z, p["key"]["weight"]) + p["key"]["bias"]
    v = jnp.einsum("bkm,hdm->bkhd", z, p["value"]["weight"]) + p["value"]["bias"]
    causal = "positions" not in p
    if causal:
        q, k = turned(q), turned(k)
    a = jnp.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(q.shape[-1])
    if causal:
        a = jnp.where(np.tri(a.shape[-1], dtype=bool), a, -jnp.inf if variant == "softmax" else 0.0)
    else:
        a = a + p["positions"][bucket[-queries:]].transpose(2, 0, 1)
    if variant == "softmax":
        a = jax.nn.softmax(a, axis=-1)
    if variant == "hyla":
        a = a * jax.lax.rsqrt((a ** 2).mean(1, keepdims=True) + 1e-6)
        u = jax.nn.relu(jnp.einsum("bhqk,bkhd->bqkd", a, v))
        o = jnp.einsum("bhqk,bqkd->bqhd", a, u)
    else:
        o = jnp.einsum("bhqk,bkhd->bqhd", a, v)
    return x[:, -queries:] + linear(p["output"], o.reshape(*o.shape[:2], -1))


def outputs(n, variant, bucket, tree, x):
    x = tree["embedding"][x] if "vocabulary" in n else linear(tree["embedding"], x)
    for i, p in enumerate(tree["layers"]):
        x = attention(variant, p, x, n["scored"] if i + 1 == n["layers"] else n["tokens"], bucket)
        hidden = jax.nn.gelu(linear(p["up"], layer_norm(p["feed_forward_norm"], x)), approximate=True)
        x = x + linear(p["down"], hidden)
    return linear(tree["logits"], layer_norm(tree["norm"], x))


def loss(n, variant, bucket, tree, x, targets):
    y = outputs(n, variant, bucket, tree, x)
    if n["outputs"] == 1:
        return ((y[..., 0] - targets) ** 2).mean()
    return -jnp.take_along_axis(jax.nn.log_softmax(y), targets[..., None], -1).mean()


def step(n, variant, bucket, state, x, targets, rate=1e-3, decay=0.1):
    """AdamW; parameters of one dimension are not decayed."""
    tree, first, second, t = state
    value, g = jax.value_and_grad(partial(loss, n, variant, bucket))(tree, x, targets)
    t = t + 1
    first = jax.tree.map(lambda m, d: 0.9 * m + 0.1 * d, first, g)
    second = jax.tree.map(lambda v, d: 0.999 * v + 0.001 * d * d, second, g)

    def moved(p, m, v):
        change = m / (1 - 0.9 ** t) / (jnp.sqrt(v / (1 - 0.999 ** t)) + 1e-8)
        return p - rate * (change + (decay * p if p.ndim > 1 else 0.0))

    return (jax.tree.map(moved, tree, first, second), first, second, t), value


def batch(n, rng):
    examples = n.get("batch", BATCH)
    if "vocabulary" in n:
        return [jnp.asarray(rng.integers(n["vocabulary"], size=(examples, n["tokens"]))) for _ in range(2)]
    x = rng.random((examples, n["tokens"], n["features"]), dtype=np.float32)
    if n["outputs"] == 1:
        return jnp.asarray(x), jnp.asarray(rng.random((examples, n["scored"]), dtype=np.float32))
    return jnp.asarray(x), jnp.asarray(rng.integers(n["outputs"], size=(examples, n["scored"])))


def start(n, rng):
    """Parameters, both moments and the number of steps."""
    tree = parameters(n, rng)
    return tree, jax.tree.map(jnp.zeros_like, tree), jax.tree.map(jnp.zeros_like, tree), jnp.asarray(0.0)


def jax_seconds(n, variant, repeats):
    """Number of parameters, and processor time of a step."""
    rng = np.random.default_rng(1)
    state = start(n, rng)
    x, targets = batch(n, rng)
    compiled = jax.jit(partial(step, n, variant, buckets(n["tokens"])), donate_argnums=0)
    medians = []
    for _ in range(repeats):
        times = []
        for _ in range(10):
            begin = time.process_time()
            state, value = compiled(state, x, targets)
            jax.block_until_ready(state)
            times.append(time.process_time() - begin)
        medians.append(statistics.median(times))
    if not math.isfinite(float(value)):
        sys.exit(f"jax_training: {n['title']}, {variant}: the loss is {float(value)}")
    return sum(p.size for p in jax.tree.leaves(state[0])), min(medians)


PRECISIONS = {"fp32": "highest", "tf32": "tensorfloat32", "bf16": "bfloat16"}
SEEDS = 16


def gpu_milliseconds(n, variant, kind, seeds=1):
    """Number of parameters, and time of a step and seed by the clock. 50 steps are one scan, which is launched once."""
    rng = np.random.default_rng(1)
    x, targets = batch(n, rng)
    state = start(n, rng)
    count = sum(p.size for p in jax.tree.leaves(state[0]))
    bucket, length = buckets(n["tokens"]), 50

    def one(state):
        return step(n, variant, bucket, state, x, targets)[0]

    work = one if seeds == 1 else jax.vmap(one)
    if seeds > 1:
        state = jax.tree.map(lambda a: jnp.broadcast_to(a, (seeds, *a.shape)), state)
    with jax.default_matmul_precision(PRECISIONS[kind]):
        many = jax.jit(lambda s: jax.lax.scan(lambda c, _: (work(c), None), s, None, length=length)[0])
        state = jax.block_until_ready(many(state))
        times = []
        for _ in range(5):
            begin = time.perf_counter()
            state = jax.block_until_ready(many(state))
            times.append(1e3 * (time.perf_counter() - begin) / length / seeds)
    return count, statistics.median(times)


def print_gpu(small):
    """`tests/gpu/gpu.py` reads the lines."""
    devices = [device for device in jax.devices() if small or device.platform == "gpu"]
    if not devices:
        print("jax_training: left out, JAX finds no GPU")
        return
    n, seeds = ({**SRAVEN, "layers": 1, "batch": 2}, 3) if small else (SRAVEN, SEEDS)
    print(f"JAX {jax.__version__} on {devices[0].device_kind}, one jit, scans of 50 steps")
    for variant in ("hyla", "softmax"):
        for kind in PRECISIONS:
            count, ms = gpu_milliseconds(n, variant, kind)
            print("sraven", variant, kind, count, f"{ms:.3f}", flush=True)
        count, ms = gpu_milliseconds(n, variant, "tf32", seeds)
        print("sraven", variant, f"tf32x{seeds}", count, f"{ms:.3f}", flush=True)


def steps_of(program, *options):
    """(What benchmark_training prints, {(section, variant): the numbers of its row, in milliseconds})."""
    text = subprocess.run([program, "1", "--cpu-time", *options, "sraven", "fuzzy", "text"], check=True, capture_output=True,
                          text=True).stdout
    title, found = "", {}
    for line in text.splitlines():
        if line and not line.startswith(" "):
            title = re.split(" reference:|:", line)[0]
        row = re.match(r"  (\w+) +(\d+) +([\d.]+) +([\d.]+) [^|]*\| *([\d.]*)", line)
        if row:
            found[title, row[1]] = {"parameters": int(row[2]), "gflop": float(row[3]), "milliseconds": float(row[4])} | (
                {"libtorch_milliseconds": float(row[5])} if row[5] else {})
    return text, found


def headway_seconds(program, repeats):
    """{(section, variant): (parameters, seconds of a step)}, the least over the runs."""
    runs = [steps_of(program, "--fused-only")[1] for _ in range(repeats)]
    return {key: (row["parameters"], 1e-3 * min(run[key]["milliseconds"] for run in runs)) for key, row in runs[0].items()}


def record(program, file, repeats):
    """Writes the data of two tables of README.md."""
    source = Path(__file__).resolve().parents[2]
    git = partial(subprocess.run, cwd=source, check=True, capture_output=True, text=True)
    if git(["git", "status", "--porcelain"]).stdout.strip():
        sys.exit("jax_training: the sources have changes: commit them first, so that the record can name its commit")
    text, steps = steps_of(program)
    rows = []
    for n in (SRAVEN, FUZZY, TEXT):
        for variant in [variant for title, variant in steps if title == n["title"]]:
            row = {"task": n["title"], "attention": variant, **steps[n["title"], variant]}
            if variant in VARIANTS:
                count, seconds = jax_seconds(n, variant, repeats)
                if count != row["parameters"]:
                    sys.exit(f"jax_training: {n['title']}: {row['parameters']} parameters in Headway, {count} here")
                row["jax_milliseconds"] = round(1e3 * seconds, 1)
            rows.append(row)
    first, peak = text.splitlines()[:2]
    made = {"command": "jax_training.py BENCHMARK_TRAINING --record training-speed.json", "git_commit": git(["git", "rev-parse", "HEAD"]).stdout.strip(),
            "libtorch": re.search(r"LibTorch ([\d.]+\d)", first)[1], "jax": jax.__version__, "about": first}
    result = {"kind": "training_speed", "made": made, "peak_gflops": float(re.search(r"([\d.]+) GF/s", peak)[1]), "rows": rows}
    path = Path(file)
    others = json.loads(path.read_text(encoding="utf-8"))["results"] if path.exists() else []
    results = [one for one in others if one["made"]["about"] != first] + [result]
    path.write_text(json.dumps({"results": results}, indent=1) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program", nargs="?")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--record", metavar="FILE.json")
    parser.add_argument("--gpu", action="store_true")
    parser.add_argument("--small", action="store_true")
    arguments = parser.parse_args()
    if arguments.gpu:
        return print_gpu(arguments.small)
    if arguments.record:
        if not arguments.program:
            parser.error("--record: needs the program benchmark_training")
        return record(arguments.program, arguments.record, arguments.repeats)
    headway = headway_seconds(arguments.program, arguments.repeats) if arguments.program else {}
    print(f"JAX {jax.__version__}, one thread, processor time")
    print(f"{'':<12} {'':<8} {'parameters':>10} {'JAX ms':>8} {'steps/s':>8} {'Headway ms':>11} {'steps/s':>8} "
          f"{'ratio':>6}")
    for n in (FUZZY, SRAVEN, TEXT):
        for variant in VARIANTS:
            count, seconds = jax_seconds(n, variant, arguments.repeats)
            line = f"{n['title']:<12} {variant:<8} {count:>10} {1e3 * seconds:>8.1f} {1 / seconds:>8.2f}"
            if (n["title"], variant) in headway:
                theirs, ours = headway[n["title"], variant]
                if theirs != count:
                    sys.exit(f"jax_training: {n['title']}: {theirs} parameters in Headway, {count} here")
                line += f" {1e3 * ours:>11.1f} {1 / ours:>8.2f} {seconds / ours:>6.2f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
