"""Strong and weak scaling of `mpirun headway` on the cores at hand, and a model of what a cluster would take.

    python scaling.py PROGRAM [REPEATS]     measures, and prints the model beside it
    python scaling.py                       the model alone

Needs numpy, h5py and mpirun. Seconds of the whole command, the least of REPEATS (3), every rank with one thread:
  grid    `solve` of 10 widths x 10 temperatures at one-shot scale, 16 paths; weak: 5 temperatures a rank
  gram    `gram` of eight files; weak: four files a rank
"nothing" is the same command on next to no data: it shows what starting, ranks and files take. From this and the time of one
thread the model predicts the other times. Run it on a machine that does nothing else.
"""

import math
import os
import subprocess
import sys
import tempfile
import time

WIDTHS = "[10,20,30,50,80,120,200,300,500,1000]"
TEMPERATURES = [0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 1.0]
GRID = {"examples": 600, "heads": (4, 4), "features": 192}
GRAM = {"examples": 40_000, "heads": (4,), "features": 192}  # in each file
FILES = 8
NOTHING = {"examples": 20, "heads": (2,), "features": 3}

# A node of a cluster, for the model.
CORES = 32
CORE_FLOPS = 5e10       # matrix products in double precision, a second
NETWORK = 1.25e10       # bytes a second between two nodes: 100 Gbit/s
LATENCY = 2e-6          # seconds a message
STORAGE = 2e10          # bytes a second that all nodes together read of their files
LEAVES = 256            # partial sums of a Gram matrix: at most so many cores add at the same time


def write_data(path, seed, examples, heads, features):
    import h5py
    import numpy as np
    rng = np.random.default_rng(seed)
    paths = math.prod(heads)
    with h5py.File(path, "w") as file:
        file.attrs["schema_name"] = "headway-dataset"
        file.attrs["schema_version"] = [1, 0]
        data = file.create_dataset("train/path_features",
                                   data=rng.standard_normal((examples, paths, features), dtype=np.float32))
        data.attrs["heads"] = list(heads)
        file["train/labels"] = np.sign(rng.normal(size=examples))


class Measurement:
    def __init__(self, program, repeats, directory):
        self.program, self.repeats, self.directory = program, repeats, directory
        self.environment = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
                            "OMPI_MCA_plm_rsh_agent": "sh"}

    def data(self, name, number=1, **sizes):
        paths = [os.path.join(self.directory, f"{name}-{i}.h5") for i in range(number)]
        for i, path in enumerate(paths):
            write_data(path, i, **sizes)
        return paths

    def seconds(self, ranks, threads, *arguments):
        """The least time of the repeats; `ranks` 0: without mpirun."""
        command = [self.program, *map(str, arguments), "--threads", str(threads), "-q", "--force",
                   "-o", os.path.join(self.directory, "out.h5")]
        if ranks > 0:
            command = ["mpirun", "-n", str(ranks), *command]
        times = []
        for _ in range(self.repeats):
            began = time.perf_counter()
            done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                  stderr=subprocess.PIPE, text=True, check=False)
            times.append(time.perf_counter() - began)
            if done.returncode not in (0, 2):
                sys.exit(f"{' '.join(command)}: exit code {done.returncode}\n{done.stderr}")
        return min(times)


def grid_of(temperatures):
    return ["--set", f"model.widths={WIDTHS}", "--set", f"model.temperature={temperatures}"]


def table(title, rows):
    """Rows of (how, seconds, what the model says)."""
    print(f"\n{title}\n\n| | seconds | times as fast | model |\n|---|---|---|---|")
    first = rows[0][1]
    for how, seconds, model in rows:
        print(f"| {how} | {seconds:.2f} | {first / seconds:.2f} | {model:.2f} |")


def measure(program, repeats):
    cores = len(os.sched_getaffinity(0))
    ranks = [n for n in (2, 4, 8, 16, 32, 64) if n <= cores]
    with tempfile.TemporaryDirectory(prefix="headway-scaling-") as directory:
        run = Measurement(program, repeats, directory)
        grid, = run.data("grid", **GRID)
        files = run.data("gram", FILES, **GRAM)
        nothing, = run.data("nothing", **NOTHING)
        verbs = {"grid of 10 x 10": (["solve", nothing], lambda n: ["solve", grid, *grid_of(TEMPERATURES)],
                                     lambda n: ["solve", grid, *grid_of(weak_temperatures(n))]),
                 "gram": (["gram", nothing], lambda n: ["gram", *files], lambda n: ["gram", *(files * n)[:4 * n]])}
        for name, (least, strong, weak) in verbs.items():
            starts = {n: run.seconds(n, 1, *least) for n in [0, *ranks]}
            one = run.seconds(0, 1, *strong(1))
            rows = [("one thread", one, one)]
            for n in ranks:
                rows.append((f"{n} threads", run.seconds(0, n, *strong(n)), starts[0] + (one - starts[0]) / n))
                rows.append((f"{n} ranks", run.seconds(n, 1, *strong(n)), starts[n] + (one - starts[0]) / n))
            table(f"{name}, strong (nothing: {starts[0]:.2f} s, of two ranks {starts.get(2, math.nan):.2f} s)", rows)
            one = run.seconds(0, 1, *weak(1))
            rows = [("one thread", one, one)]
            rows += [(f"{n} ranks, {n} times the work", run.seconds(n, 1, *weak(n)), starts[n] + one - starts[0])
                     for n in ranks]
            table(f"{name}, weak", rows)


def weak_temperatures(ranks):
    """Five for each rank, between 0.1 and 1, so that the mean cost of one stays about the same."""
    count = 5 * ranks
    return [round(0.1 * 10 ** (i / max(1, count - 1)), 6) for i in range(count)]


def line(what, flops, cores, moved, messages, other=0.0):
    """Prints one row of the model; `moved`: bytes that one node sends or receives."""
    compute, network, latency = flops / (cores * CORE_FLOPS), moved / NETWORK, messages * LATENCY
    total = compute + network + latency + other
    print(f"| {what} | {flops:.2g} | {compute:.2g} | {moved:.2g} | {network:.2g} | {messages:.0f} | {latency:.2g} | "
          f"{other:.2g} | {total:.2g} |")


def model():
    print(f"\nA node: {CORES} cores of {CORE_FLOPS / 1e9:.0f} Gflop/s; {NETWORK / 1e9:.1f} GB/s and {LATENCY * 1e6:.0f} us "
          f"between nodes; files {STORAGE / 1e9:.0f} GB/s in all\n")
    print("| | flops | s | bytes of a node | s | messages | s | reading, s | s in all |\n|---|---|---|---|---|---|---|---|---|")

    # gram: P D^2 (half of a product, by symmetry); a triangle of D numbers goes up log2(nodes) times.
    examples, columns, nodes = 1e6, 3072, 64
    up = math.log2(nodes)
    # Features are read twice, once for checks: 4 bytes a number.
    line("gram, P = 10^6, D = 3,072, 64 nodes", examples * columns ** 2, min(nodes * CORES, LEAVES),
         up * 8 * columns ** 2 / 2, up, 2 * 4 * examples * columns / STORAGE)
    # solve of it: one core and no network; 16 paths.
    line("an evaluation of `solve` on it, one core", columns ** 3 + 4 * columns ** 2 * 16, 1, 0, 0)

    # distributed (theory, eq. 69): P = 500 are 8 x 8 blocks, so 64 ranks, four a node, with eight threads each.
    examples, features, paths, nodes, ranks = 500, 384, 1728, 16, 64
    side, on_node = math.isqrt(ranks), ranks // nodes
    columns = paths * features
    flops = 2 * examples ** 2 * columns + 4 * paths ** 2 * examples * features + examples ** 3
    # A rank receives twice the mixed features of its rows. Sums of p^2 and of D numbers go up and down the tree of ranks.
    shared = 2 * 8 * examples / side * columns
    sums = 2 * math.log2(ranks) * 8 * (paths ** 2 + columns)
    line("an evaluation, p = 1,728, P = 500, N_0 = 384, 16 nodes", flops, nodes * CORES, on_node * (shared + sums),
         2 * side + 4 * math.log2(ranks) + examples / 64 * 4 * math.log2(side))


if __name__ == "__main__":
    if len(sys.argv) > 1:
        measure(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3)
    model()
