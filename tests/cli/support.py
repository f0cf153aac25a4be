"""What the tests of the program share: running it, small studies, small data sets."""

import fcntl
import math
import os
import pty
import struct
import subprocess
import sys
import tempfile
import termios
import time
import unittest

import h5py
import numpy as np

PROGRAM = os.environ["HEADWAY_PROGRAM"]
STUDIES = os.environ["HEADWAY_STUDIES"]

# Two layers, three paths' worth of work in milliseconds.
SMALL = """name = "small"
seed = 3
[task]
kind = "hidden_markov_chain"
train_examples = 20
test_examples = 30
tokens = 6
features = 10
[[task.layers]]
heads = [{kind = "same_token"}, {kind = "random"}]
[[task.layers]]
heads = [{kind = "uniform"}]
[model]
widths = [10, 100]
temperature = 0.1
"""


def run(*arguments, **options):
    """Runs the program; returns the completed process with text streams."""
    options.setdefault("timeout", 120)
    options.setdefault("stdout", subprocess.PIPE)
    options.setdefault("stderr", subprocess.PIPE)
    options.setdefault("env", {name: value for name, value in os.environ.items() if name != "COLUMNS"})
    return subprocess.run([PROGRAM, *map(str, arguments)], text=True, errors="replace",
                          stdin=subprocess.DEVNULL, check=False, **options)


def names_in(folder, begin=""):
    """Names in a folder that begin so; none where it is not there, or goes meanwhile."""
    try:
        return [name for name in os.listdir(folder) if name.startswith(begin)]
    except FileNotFoundError:
        return []


def wait_until_told(process, signal_number, seconds=60):
    """Waits until the program has a handler for the signal."""
    end = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < end:
        with open(f"/proc/{process.pid}/status") as file:
            caught = next(line for line in file if line.startswith("SigCgt:")).split()[1]
        if int(caught, 16) >> (signal_number - 1) & 1:
            return
        time.sleep(0.01)


def bound_by_permissions():
    """For preexec_fn: root, who may read and write everything, becomes another user."""
    if os.geteuid() == 0:
        os.setgroups([])
        os.setresgid(65534, 65534, 65534)
        os.setresuid(65534, 65534, 65534)


def on_terminal(columns, *arguments, **variables):
    """Everything that the program writes to a terminal so wide; 0: that does not know. variables: of its environment."""
    environment = {**os.environ, "TERM": "xterm", **variables}
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    with subprocess.Popen([PROGRAM, *arguments], stdout=slave, stderr=slave, stdin=subprocess.DEVNULL, env=environment) as process:
        os.close(slave)
        text = b""
        while True:
            try:
                block = os.read(master, 65536)
            except OSError:  # the other end is closed
                break
            if not block:
                break
            text += block
        process.wait(timeout=60)
    os.close(master)
    return text.decode().replace("\r\n", "\n")


def measured(value, error):
    """"13.00 +- 0.04": the value rounded to its error, which has two digits where they are at most 35, else one."""
    power = math.floor(math.log10(error))
    decimals = max(0, 1 - power if error / 10**power < 3.55 else -power)
    return f"{value:.{decimals}f} +- {error:.{decimals}f}"


def write_path_features(path, rng_seed=1, heads=(2,), **changes):
    """A valid data set of path features (no inputs); `changes` replace its arrays."""
    rng = np.random.default_rng(rng_seed)
    arrays = {
        "train/path_features": rng.normal(size=(12, 2, 5)),
        "train/labels": np.where(rng.normal(size=12) > 0, 1.0, -1.0),
        "test/path_features": rng.normal(size=(7, 2, 5)),
        "test/labels": np.where(rng.normal(size=7) > 0, 1.0, -1.0),
    }
    arrays.update(changes)
    with h5py.File(path, "w") as file:
        file.attrs["schema_name"] = "headway-dataset"
        file.attrs["schema_version"] = [1, 0]
        for name, values in arrays.items():
            if values is None:
                continue
            data = file.create_dataset(name, data=values)
            if name.endswith("path_features"):
                data.attrs["heads"] = list(heads)


def write_many(path, examples, seed):
    """Path features of so many examples. Sums are made of leaves of 1,024 examples."""
    rng = np.random.default_rng(seed)
    write_path_features(path, rng_seed=seed, **{"train/path_features": rng.normal(size=(examples, 2, 5)),
                                                "train/labels": np.sign(rng.normal(size=examples))})


def most_memory(*arguments):
    """The most bytes that the program held, as the kernel counted them. A process of its own starts it, because memory that a
    parent holds when it starts a child counts for the child."""
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], stdout=subprocess.DEVNULL, "
              "stderr=subprocess.DEVNULL); print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    measured = subprocess.run([sys.executable, "-c", script, PROGRAM, *map(str, arguments)],
                              capture_output=True, text=True, check=True, timeout=300)
    return 1024 * int(measured.stdout)


# Attributes of a result that may differ between two computations of it.
TIMES = {"DIMENSION_LIST", "seconds", "sampling_seconds", "ess_bulk_min_per_second", "training_seconds", "steps_per_second",
         "flops_per_second", "started", "threads", "command", "text_sha256"}


def content(file_path):
    """Every array as bytes and every attribute of a result, without times."""
    found = {}

    def keep(name, item):
        for key, value in item.attrs.items():
            if key not in TIMES:
                found[f"{name}@{key}"] = value.tobytes() if hasattr(value, "tobytes") else value
        if not isinstance(item, h5py.Dataset):
            return
        values = item[()]
        columns = item.attrs.get("columns", "").split(",")
        if "steps_per_second" in columns:
            values = values.copy()
            values[:, columns.index("steps_per_second")] = 0
        found[name] = values.tolist() if getattr(values, "dtype", None) == object else values.tobytes()

    with h5py.File(file_path) as file:
        keep("", file)
        file.visititems(keep)
    return found


def check_equal(test, one, two):
    """Checks that two result files hold the same bits, apart from times."""
    one, two = content(one), content(two)
    test.assertEqual(set(one), set(two))
    test.assertEqual([name for name in one if one[name] != two[name]], [])


class ProgramTest(unittest.TestCase):
    """A test in a directory of its own that also knows what files it started with."""

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="headway-cli-")
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        self.study = self.write("small.toml", SMALL)

    def path(self, name):
        return os.path.join(self.directory, name)

    def write(self, name, content):
        path = self.path(name)
        with open(path, "wb") as file:
            file.write(content if isinstance(content, bytes) else content.encode())
        return path

    def check(self, process, code, *words, prints=False):
        """Checks the exit code, that the message has every word, and that a failure prints nothing on standard output, but
        for results whose file could not be written."""
        text = f"{process.args}\n-- stdout\n{process.stdout}\n-- stderr\n{process.stderr}"
        self.assertEqual(process.returncode, code, text)
        for word in words:
            self.assertIn(word, process.stderr, text)
        if code not in (0, 2, 130):
            self.assertEqual(bool(process.stdout), prints, text)
        self.assertNotIn("bug in Headway", process.stderr or "")
