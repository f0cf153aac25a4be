"""The verbs in memory while they compute: progress, threads, Ctrl-C, warnings and memory."""

import gc
import os
import subprocess
import sys
import threading
import time
import tracemalloc
import unittest
import warnings
from pathlib import Path

import numpy as np

import headway
from bindings import file_of, setUpModule, small  # noqa: F401

HERE = Path(__file__).resolve().parent

# sample(within) presses Ctrl-C at the first draw of a long run, then calls within().
INTERRUPTED = """if True:
            import os, signal, threading, warnings, headway, bindings as t
            warnings.simplefilter("ignore")
            def sample(within):
                seen = threading.Event()
                def press(*now):
                    if now[0].startswith("sampling") and now[1] > 0 and not seen.is_set():
                        seen.set()
                        os.kill(os.getpid(), signal.SIGINT)
                        within()
                headway.sample(**t.small(), draws=1000000, warmup=100, chains=1, progress=press)
            """


class AtWork(unittest.TestCase):
    def test_progress_is_told_and_may_raise(self):
        seen = []
        headway.solve(**small(widths=[10, 20]), progress=lambda *now: seen.append(now))
        self.assertIn(("solve", 2.0, 2.0), seen)
        with self.assertRaisesRegex(RuntimeError, "enough"):
            headway.solve(**small(), progress=self.give_up)

    @staticmethod
    def give_up(*_):
        raise RuntimeError("enough")

    def test_other_threads_run_meanwhile(self):
        counted, over = [0], threading.Event()

        def count():
            while not over.is_set():
                counted[0] += 1
                time.sleep(0.001)
        thread = threading.Thread(target=count)
        thread.start()
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            headway.sample(**small(), draws=3000, warmup=1000, chains=1, threads=1)
        seconds = time.perf_counter() - began
        over.set()
        thread.join()
        self.assertGreater(counted[0], 20 * seconds)  # of 1000 a second at most

    def test_calls_from_several_threads_give_the_bits_of_one(self):
        """OpenBLAS has one number of threads for the process: the first call to end must not give it back."""
        data = small(examples=300, features=60, widths=[10, 20, 30])

        def bits():
            point = headway.solve(**data).points[0]
            return point.action, point.log_evidence, np.asarray(point.order_parameters[0]).tobytes()

        expected, found = bits(), []
        workers = [threading.Thread(target=lambda: found.extend(bits() for _ in range(6))) for _ in range(8)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        self.assertEqual(len(found), 48)
        self.assertEqual(set(found), {expected})

    def test_an_interrupt_gives_what_there_is_until_then(self):
        code = INTERRUPTED + """before = signal.getsignal(signal.SIGINT)
            try:
                sample(lambda: None)
            except KeyboardInterrupt as stop:
                assert isinstance(stop, headway.Interrupted) and stop.result.partial, stop
                assert stop.result.points[0].samples is not None
                assert signal.getsignal(signal.SIGINT) is before
                try:
                    os.kill(os.getpid(), signal.SIGINT)
                except KeyboardInterrupt:
                    print("stopped")
            """
        ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True,
                               timeout=120)
        self.assertEqual((ended.stdout.strip(), ended.returncode), ("stopped", 0), ended.stderr)

    def test_an_interrupt_is_for_the_computations_inside_of_each_other(self):
        code = INTERRUPTED + """def within():
                try:
                    headway.solve(**t.small())
                except KeyboardInterrupt:
                    print("inner")
            try:
                sample(within)
            except KeyboardInterrupt:
                print("outer")
            headway.solve(**t.small())
            print("done")
            """
        ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True,
                               timeout=120)
        self.assertEqual((ended.stdout.split(), ended.returncode), (["inner", "outer", "done"], 0), ended.stderr)

    def test_what_did_not_converge_is_a_value_with_a_warning(self):
        with self.assertWarnsRegex(headway.NotUsableWarning, "not converged"):
            result = headway.solve(**small(), max_iterations=1)
        self.assertFalse(result.points[0].converged)

    def test_a_thousand_calls_leave_nothing(self):
        data = small(examples=40, features=50, threads=1)

        def memory():
            return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")
        for _ in range(200):
            headway.solve(**data)
        before = memory()
        for _ in range(800):
            headway.solve(**data)
        self.assertLess(memory() - before, 2 << 20)  # one leaked array of each call: 12 MiB
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        for _ in range(100):  # what is kept once is seen by now
            headway.solve(**data)
        gc.collect()
        first = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            headway.solve(**data)
        gc.collect()
        self.assertLess(tracemalloc.get_traced_memory()[0] - first, 100 * 300)  # an array: 1600 each

    def test_a_dry_run_says_what_it_costs(self):
        plan = headway.solve(**small(), dry_run=True)
        self.assertEqual((plan["verb"], plan["train_examples"]), ("solve", 12))

    def test_a_study_keeps_its_changed_settings(self):
        study = headway.read_study("hmm-four-paths", {"model.widths": [10], "model.temperature": 0.3})
        self.assertIn("temperature = 0.3", study.text)
        point = headway.solve(study, corrections="off").points[0]
        self.assertEqual((point.temperature, point.corrected.defined), (0.3, False))

    def test_what_cannot_be_written_is_on_the_exception(self):
        code = """if True:
            import resource, signal, headway, bindings as t
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
            expected = headway.solve("hmm-four-paths", widths=[10]).points[0].action
            try:
                headway.solve("hmm-four-paths", widths=[10], output=t.file_of("too-large.h5"))
            except headway.CannotWriteError as error:
                assert "too-large.h5" in str(error), error
                assert error.result.points[0].action == expected
                print("kept")
            """
        self.assertEqual(self.printed(code), "kept")

    def test_what_could_not_be_checkpointed_is_on_the_exception(self):
        code = """if True:
            import resource, signal, warnings, headway, bindings as t
            warnings.simplefilter("ignore")
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (2048, 2048))
            for seconds in (60, 0):
                try:
                    headway.sample("hmm-four-paths", widths=[10], draws=300, warmup=100, checkpoint_seconds=seconds,
                                   progress=False, output=t.file_of(f"too-large-{seconds}.h5"))
                except headway.CannotWriteError as error:
                    print(error.result.points[0].samples.draws[1].shape[1], error.result.partial)
            """
        self.assertEqual(self.printed(code), "300 False\n300 False")

    def test_an_interrupted_sample_in_memory_keeps_its_draws(self):
        code = """if True:
            import os, signal, warnings, headway, bindings as t
            told = warnings.catch_warnings(record=True).__enter__()
            warnings.simplefilter("always")
            seen = []
            def press(*now):
                if now[0].startswith("sampling") and now[1] > 600 and not seen:
                    seen.append(now)
                    os.kill(os.getpid(), signal.SIGINT)
            try:
                headway.sample(**t.small(widths=[5]), draws=100000, warmup=100, chains=4, threads=1, progress=press)
            except headway.Interrupted as stop:
                point = stop.result.points[0]
                samples = point.samples
                kept = samples.draws[1].shape
                print(kept[0], kept[1] >= 500)
                print(any(f"keeps {kept[1]} of one chain" in str(warning.message) for warning in told))
            """
        self.assertEqual(self.printed(code), "1 True\nTrue")

    def test_a_lock_ends_with_the_call_although_its_result_lives(self):
        output = file_of("twice.h5")
        first = headway.solve("hmm-four-paths", widths=[10], progress=False, output=output)
        self.assertFalse(Path(f"{output}.checkpoint").exists())
        second = headway.solve("hmm-four-paths", widths=[10], progress=False, output=output, overwrite=True)
        self.assertEqual(first.points[0].action, second.points[0].action)

    def test_a_sample_without_draws_is_drawn(self):
        code = """if True:
            import os, signal, warnings, headway, bindings as t
            from headway.figures import draw_all
            warnings.simplefilter("ignore")
            seen = []
            def press(*now):
                if now[0].startswith("sampling") and now[1] > 0 and not seen:
                    seen.append(now)
                    os.kill(os.getpid(), signal.SIGINT)
            try:
                headway.sample(**t.small(widths=[5, 10]), draws=1000000, warmup=1000000, chains=1, progress=press)
            except headway.Interrupted as stop:
                names = set(draw_all(stop.result))
                assert "traces" not in names and "theory_against_samples" not in names, names
                print(len(names) > 0)
            """
        self.assertEqual(self.printed(code), "True")

    def printed(self, code):
        ended = subprocess.run([sys.executable, "-c", code], cwd=HERE, capture_output=True, text=True,
                               timeout=120)
        self.assertEqual(ended.returncode, 0, ended.stderr)
        return ended.stdout.strip()


if __name__ == "__main__":
    unittest.main()
