"""The package writes whole files or none: on a full disk, beside another writer, and when it is stopped."""

import contextlib
import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from types import SimpleNamespace

import h5py
import numpy as np

import headway
from dataset_arguments import WritingTest
from headway import cli
from headway.api import datasets
from headway.base import files, hdf5_target
from headway.heads.contribution_writer import write_contributions
from headway.figures import style
from headway.base.files import whole_file, write_text
from headway.results.head_table import head_table
from headway.heads.network_batches import Block
from headway.heads.network_writer import Options, Source, write_network
from headway.results.ranking.exports import write_json
from headway.results.result_reader import read_result
from synthetic_results import Task, write_result

FOLDER = tempfile.TemporaryDirectory()
RESULT = Path(FOLDER.name) / "solve.h5"
OLD = "what was there before"


def setUpModule():
    unittest.addModuleCleanup(FOLDER.cleanup)
    write_result(RESULT, "solve", Task(train=24, test=40, tokens=6, features=10), widths=(10,))


# ---- writers: called in a process of its own by their names, with the path


def data_set(path):
    rng = np.random.default_rng(1)
    further = {f"set-{i}": {"path_features": np.ones((5, 4, 30)), "labels": np.ones(5)} for i in range(20)}
    headway.write_dataset(path, train_path_features=rng.standard_normal((50, 4, 30)), heads=[2, 2],
                          train_labels=np.resize([1.0, -1.0], 50), sets=further, overwrite=True)


def attention_blocks():
    for _ in range(3):
        yield Block(np.ones((20, 5, 3)), [np.full((20, heads, 5, 5), 0.2) for heads in (2, 1)])


def part_blocks():
    for seed in range(4):
        yield SimpleNamespace(parts=np.random.default_rng(seed).normal(3.0, 2.0, (25, 4, 5)))


def network(path):
    write_network(Path(path), {"train": Source(attention_blocks, 60, {"labels": np.resize([1.0, -1.0], 60)})},
                  Options("mean", None, None, "note", "float64", [1, 2]), True)


def contributions(path):
    write_contributions(Path(path), {"train": Source(part_blocks, 100, {"labels": np.resize([1.0, -1.0], 100)})},
                        [["L1 residual", "L1H1"], ["L2 residual", "L2H1"]],
                        Options("mean", None, None, "note", "float64", [1, 2]), True)


def heads_table(path):
    head_table(range(1, 900), [1] * 899, {"loss": np.linspace(0.0, 1.0, 899)}).to_csv(path)


def attended(path):
    headway.from_attentions(path, inputs=np.ones((12, 3, 5)), attentions=[np.full((12, 2, 3, 3), 1 / 3)],
                            labels=np.resize([0, 1], 12), readout="mean")


def picture(path):
    style.save(style.new_figure(3.0, 3.0), Path(path))


def copy_of_a_result(path):
    read_result(os.environ["RESULT"]).save(path, force=True)


def run_limited(code, limit, folder):
    """`code` in a process whose files may have `limit` bytes: what a full disk looks like to a program."""
    begin = ("import os, resource, sys, matplotlib.font_manager, writing_faults_test as test; from headway import cli; "
             f"resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit})); ")
    paths = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    return subprocess.run([sys.executable, "-c", begin + code], cwd=folder, text=True, capture_output=True,
                          env=os.environ | {"RESULT": str(RESULT), "PYTHONPATH": paths}, timeout=120)


class FullDisk(unittest.TestCase):
    def setUp(self):
        self.use_a_new_folder()

    def use_a_new_folder(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)

    def assert_fails(self, code, limit, name, exit_code):
        """The run ends with one line and this code; the file `name` is what it was, and nothing is beside it."""
        self.use_a_new_folder()
        (self.folder / name).parent.mkdir(exist_ok=True)
        (self.folder / name).write_text(OLD)
        done = run_limited(code, limit, self.folder)
        self.assertEqual(done.returncode, exit_code, done.stderr)
        self.assertIn(f"{name}: cannot be written: File too large", done.stdout + done.stderr)
        self.assertEqual(len((done.stdout + done.stderr).splitlines()), 1, done.stderr)
        self.assertEqual((self.folder / name).read_text(), OLD)
        self.assertEqual([path.name for path in (self.folder / name).parent.iterdir()], [Path(name).name])

    def assert_raises(self, writer, limit, name):
        with self.subTest(writer=writer.__name__, limit=limit):
            self.assert_fails(f"""
try:
    test.{writer.__name__}({name!r})
except test.headway.CannotWriteError as error:
    sys.exit(f"{{error}}")""", limit, name, 1)

    def test_data_sets_are_whole_or_not_there(self):
        for limit in (0, 1000, 4096, 20000, 48000, 100000):
            self.assert_raises(data_set, limit, "d.h5")
        for limit in (100, 6000):
            self.assert_raises(network, limit, "d.h5")
            self.assert_raises(contributions, limit, "d.h5")

    def test_a_network_is_not_asked_further(self):
        done = run_limited("""
asked = []
blocks = test.part_blocks
test.part_blocks = lambda: (asked.append(1) or block for block in blocks())
try:
    test.contributions("d.h5")
except test.headway.CannotWriteError:
    print(len(asked))""", 1000, self.folder)
        self.assertEqual((done.stdout, done.stderr, done.returncode), ("1\n", "", 0))

    def test_tables_pictures_and_copies_are_whole_or_not_there(self):
        self.assert_raises(heads_table, 4096, "heads.csv")
        self.assert_raises(picture, 500, "a.png")
        self.assert_raises(copy_of_a_result, 4096, "copy.h5")

    def test_commands_end_with_73(self):
        for limit, name, words in ((2000, "pictures/order_parameters.png",
                                    ["plot", RESULT, "-o", "pictures", "--only", "order_parameters", "--force"]),
                                   (4096, "page.html", ["report", RESULT, "-o", "page.html", "--force"]),
                                   (100, "s.json", ["summary", RESULT, "-o", "s.json", "--force"])):
            with self.subTest(command=words[0]):
                self.assert_fails(f"sys.exit(cli.main({list(map(str, words))}))", limit, name, 73)

    def test_room_enough_is_no_fault(self):
        for writer in (data_set, network, contributions):
            self.use_a_new_folder()
            done = run_limited(f"test.{writer.__name__}('d.h5')", 10 ** 7, self.folder)
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
            self.assertEqual(headway.check_dataset(self.folder / "d.h5"), [])


class TwoWriters(WritingTest):
    def race(self, write):
        """Calls write(0) and write(1) at once. Returns for each None, or its error."""
        outcomes = [None, None]

        def run(number):
            try:
                write(number)
            except headway.CannotWriteError as error:
                outcomes[number] = str(error)

        threads = [threading.Thread(target=run, args=(number,)) for number in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        return outcomes

    def assert_one_wins(self, outcomes, how):
        self.assertEqual(sorted(outcomes, key=str), sorted([None, f"{self.path}: exists already; {how} replaces it"],
                                                           key=str))
        self.assertEqual(os.listdir(self.path.parent), [self.path.name])
        return outcomes.index(None)

    def test_one_file_is_made_and_the_other_writer_told(self):
        both = threading.Barrier(2, timeout=30)

        def write(number):
            with whole_file(self.path, False, "force") as name:
                Path(name).write_text(str(number))
                both.wait()  # neither had found a file

        winner = self.assert_one_wins(self.race(write), "force")
        self.assertEqual(self.path.read_text(), str(winner))

    def test_one_data_set_is_made_and_the_other_writer_told(self):
        both, fill = threading.Barrier(2, timeout=30), datasets._fill
        self.addCleanup(setattr, datasets, "_fill", fill)
        datasets._fill = lambda *arguments: (fill(*arguments), both.wait())
        winner = self.assert_one_wins(self.race(
            lambda number: self.write(**self.good.weights, note=f"writer {number}")), "overwrite=True")
        with h5py.File(self.path) as file:
            self.assertEqual(file.attrs["note"], f"writer {winner}")

    def test_with_overwrite_both_write(self):
        both = threading.Barrier(2, timeout=30)

        def write(number):
            with whole_file(self.path, True, "") as name:
                Path(name).write_text(str(number))
                both.wait()

        self.assertEqual(self.race(write), [None, None])
        self.assertIn(self.path.read_text(), ("0", "1"))

    def test_a_file_system_without_links_is_no_obstacle(self):
        def refuse(*_):
            raise PermissionError(1, "Operation not permitted")
        self.addCleanup(setattr, os, "link", os.link)
        os.link = refuse
        write_text("first", self.path, False)
        with self.assertRaisesRegex(headway.CannotWriteError, "exists already"):
            with whole_file(self.path.with_name("other"), False, "force"):
                self.path.with_name("other").write_text("faster")
        self.assertEqual(self.path.with_name("other").read_text(), "faster")
        self.assertEqual(sorted(os.listdir(self.path.parent)), ["data.h5", "other"])

    def test_a_picture_has_a_temporary_name_of_its_own(self):
        other = self.path.with_name(".headway-a.png")
        other.write_text("of another writer")
        style.save(style.new_figure(1.0, 1.0), self.path.with_name("a.png"))
        self.assertEqual(other.read_text(), "of another writer")

    def test_the_next_writer_removes_what_a_killed_one_left_and_no_other_file(self):
        beside = self.path.with_name(".headway-abc")
        beside.write_text("of the user")
        script = ("import os, signal, sys; from headway.base.files import whole_file\n"
                  "with whole_file(sys.argv[1], True, '') as name: os.kill(os.getpid(), signal.SIGKILL)\n")
        killed = subprocess.run([sys.executable, "-c", script, str(self.path)], timeout=60,
                                env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)})
        self.assertEqual(killed.returncode, -signal.SIGKILL)
        self.assertEqual(len(os.listdir(self.path.parent)), 2)
        with whole_file(self.path.with_name("living"), True, "") as living:
            write_text("whole", self.path, True)
            self.assertTrue(os.path.exists(living))
            Path(living).write_text("whole, too")
        self.assertEqual(sorted(os.listdir(self.path.parent)), [".headway-abc", "data.h5", "living"])

    def test_a_lock_counts_only_under_the_name_of_the_file(self):
        one, other = self.path.with_name("one"), self.path.with_name("other")
        with open(one, "w+") as first, open(other, "w+") as second, open(one, "r+") as again:
            self.assertIs(files._lock(first.fileno(), one), files.Lock.HELD)
            self.assertIs(files._lock(again.fileno(), one), files.Lock.TAKEN)
            self.assertIs(files._lock(second.fileno(), one), files.Lock.TAKEN)  # the name is that of another file
            os.unlink(other)
            self.assertIs(files._lock(second.fileno(), other), files.Lock.TAKEN)

    def test_a_new_file_that_was_taken_for_an_orphan_is_made_again(self):
        lock, names = files._lock, []

        def taken_once(descriptor, name):
            names.append(name)
            return files.Lock.TAKEN if len(names) == 1 else lock(descriptor, name)
        self.addCleanup(setattr, files, "_lock", lock)
        files._lock = taken_once
        write_text("text", self.path, True)
        self.assertEqual(self.path.read_text(), "text")
        self.assertEqual(len(set(names)), 2)

    def test_who_may_read_a_file_stays_as_it_was(self):
        write_text("first", self.path, True)
        self.path.chmod(0o600)
        write_text("second", self.path, True)
        self.assertEqual((self.path.read_text(), self.path.stat().st_mode & 0o777), ("second", 0o600))

    def test_a_name_may_be_as_long_as_the_file_system_allows(self):
        long = self.path.with_name("x" * 251 + ".txt")
        write_text("text", long, False)
        self.assertEqual(long.read_text(), "text")

    def test_no_regular_file_is_replaced(self):
        os.mkfifo(self.path)
        with self.assertRaisesRegex(headway.CannotWriteError, "is not a regular file"):
            write_text("text", self.path, True)
        self.assertTrue(self.path.is_fifo())


class StandardOutput(unittest.TestCase):
    @unittest.skipUnless(os.path.exists("/dev/full"), "needs /dev/full")
    def test_a_full_disk_is_one_line(self):
        for arguments in (["table", str(RESULT)], ["--help"], ["--version"]):
            with open("/dev/full", "w") as full:
                done = subprocess.run([sys.executable, "-m", "headway", *arguments], stdout=full, stderr=subprocess.PIPE, text=True,
                                      env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}, timeout=60)
            self.assertEqual((done.returncode, done.stderr),
                             (73, "headway: error: standard output: cannot be written: No space left on device\n"))


class Inputs(WritingTest):
    """What a command reads is never replaced by what it writes."""

    def setUp(self):
        super().setUp()
        self.path.write_bytes(RESULT.read_bytes())
        self.link = self.path.with_name("link.h5")
        self.link.symlink_to(self.path)
        self.bytes = self.path.read_bytes()

    def kept(self, code):
        self.assertEqual(self.path.read_bytes(), self.bytes)
        return code

    def test_no_page_and_no_summary_takes_the_place_of_its_result(self):
        for target in (self.path, self.link):
            with self.assertRaisesRegex(headway.CannotWriteError, "is the input .*give another output"):
                headway.write_report(self.path, target, overwrite=True)
            for command in ("report", "summary"):
                with contextlib.redirect_stderr(io.StringIO()) as said:
                    self.assertEqual(self.kept(cli.main([command, str(self.path), "-o", str(target), "--force"])), 73)
                self.assertIn("is the input", said.getvalue())

    def test_no_table_takes_the_place_of_an_hdf5_file(self):
        for target in (self.path, self.link):
            with self.assertRaisesRegex(headway.CannotWriteError, "is an HDF5 file, which a table does not replace"):
                heads_table(target)
            with self.assertRaises(headway.CannotWriteError):
                write_json({}, target)
        self.kept(0)
        table = self.path.with_name("heads.csv")
        table.write_text("older")
        heads_table(table)
        self.assertIn("layer,head,name,loss", table.read_text())

    def test_what_is_no_path_is_named(self):
        result = read_result(self.path)
        for wrong in (None, 3, b"x.h5", "", "a\0b", self.path.with_name("a\0b")):
            for call in (result.save, data_set, attended,
                         lambda path: headway.write_report(self.path, path)):
                with self.assertRaisesRegex(headway.UsageError, "^path: is .*allowed: the path of the file to write$"):
                    call(wrong)
            for call in (headway.check_dataset, headway.rank_parts):
                with self.assertRaisesRegex(headway.UsageError, "^path: is .*allowed: the path of a data"):
                    call(wrong)
        with h5py.File(self.path) as file, self.assertRaisesRegex(headway.UsageError, "path: is <HDF5 file"):
            headway.check_dataset(file)
        for call in (result.save, data_set):
            with self.assertRaisesRegex(headway.CannotWriteError, "a: cannot be written: File name too long"):
                call(self.path.with_name(300 * "a"))
        for call in (headway.check_dataset, headway.rank_parts, read_result):
            with self.assertRaisesRegex(headway.UnreadableFileError, "a: no such file"):
                call(self.path.with_name(300 * "a"))


class Stopped(WritingTest):
    def test_ctrl_c_while_hdf5_writes(self):
        """It is raised in the end, but HDF5, which an exception would break, does not see it."""
        def ringing(data):
            signal.raise_signal(signal.SIGINT)
            return memoryview(data)
        before = signal.getsignal(signal.SIGINT)
        hdf5_target.memoryview = ringing
        try:
            with self.assertRaises(KeyboardInterrupt):
                self.write(**self.good.weights)
        finally:
            del hdf5_target.memoryview
        self.assertEqual(os.listdir(self.path.parent), [])
        self.assertIs(signal.getsignal(signal.SIGINT), before)
        self.write(**self.good.weights)
        self.assertEqual(headway.check_dataset(self.path), [])

    def test_a_copy_of_a_result_that_is_gone(self):
        write_result(self.path, "solve", Task(train=24, test=40, tokens=6, features=10), widths=(10,))
        result = read_result(self.path)
        self.path.unlink()
        with self.assertRaisesRegex(headway.UnreadableFileError, "data.h5: no such file"):
            result.save(self.path.with_name("copy.h5"))
        self.assertEqual(os.listdir(self.path.parent), [])


if __name__ == "__main__":
    unittest.main()
