"""`make gpu` without a GPU, and its parts with programs that stand in for those of a machine with one."""

import os
import pathlib
import stat
import subprocess
import sys
import tempfile
import unittest

GPU = pathlib.Path(__file__).with_name("gpu.py")
# A program that answers as `headway train --json -q` does. Its losses on the GPU are off by LOSS_ERROR. Its steps take MS
# milliseconds, or EAGER_MS with LibTorch's operations.
PROGRAM = """#!{python} -S
import json, os, sys
words = sys.argv[1:]
settings = dict(word.split("=", 1) for word in words if "=" in word)
cuda = settings["train.device"] == "cuda"
by_hand = os.environ.get("HEADWAY_GPU_STEP") != "torch" and not settings.get("train.eager")
ms = float(os.environ["EAGER_MS" if settings.get("train.eager") else "MS"]) / (5 if by_hand else 1)
by_shape = os.environ.get("HEADWAY_GPU_ATTENTION") != "general" and not settings.get("train.eager")
ms /= 2 if by_shape else 1
every, steps = int(settings["train.log_every"]), int(settings["train.steps"])
seeds = len(settings["sweep.seed"].split(",")) if "sweep.seed" in settings else 1
for run in range(1, seeds + 1):
    for step in range(every, steps + 1, every):
        seconds = 1.0 + 1e-3 * ms * seeds * step
        print(json.dumps({{"run": run, "step": step, "split": "train", "steps_per_second": step / seconds,
                          "loss": 2.0 + (float(os.environ["SHAPE_ERROR" if by_shape else "HAND_ERROR" if by_hand else "LOSS_ERROR"]) if cuda else 0.0)}}))
print(json.dumps({{"summary": True}}))
"""
KERNELS = """#!{python} -S
import os, sys
if os.environ.get("NO_LIBRARY"):
    sys.exit("libfmt.so.9: cannot open shared object file")
if sys.argv[1] == "device" and os.environ.get("NO_DEVICE"):
    print("gpu_kernels: no CUDA device")
    sys.exit(69)
print("a made GPU" if sys.argv[1] == "device" else "298 layers checked, " + os.environ.get("WRONG", "0") + " wrong")
sys.exit(1 if sys.argv[1] == "check" and os.environ.get("WRONG") else 0)
"""


class GpuTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def script(self, name, text):
        path = self.folder / name
        path.write_text(text.format(python=sys.executable))
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
        return str(path)

    def run_gpu(self, *options, **environment):
        given = {"LOSS_ERROR": "1e-5", "HAND_ERROR": "1e-5", "SHAPE_ERROR": "1e-5", "MS": "0.5", "EAGER_MS": "2.5", **environment}
        return subprocess.run([sys.executable, "-B", GPU, "--program", self.script("headway", PROGRAM), "--kernels",
                               self.script("kernels", KERNELS), *options], capture_output=True, text=True, check=False,
                              env={**os.environ, "PATH": "/nowhere", "CUDA_HOME": "/nowhere", **given})

    def test_without_a_device_it_says_so_and_ends_well(self):
        done = self.run_gpu(NO_DEVICE="1")
        self.assertEqual((done.returncode, done.stdout),
                         (0, "gpu: there is no CUDA device here, so nothing was checked\n"))

    def test_kernels_that_do_not_start_are_not_taken_for_a_missing_device(self):
        done = self.run_gpu(NO_LIBRARY="1")
        self.assertEqual(done.returncode, 1)
        self.assertIn("NOT passed", done.stdout)
        self.assertIn("libfmt.so.9: cannot open", done.stdout)

    def test_the_kernels_of_this_build_see_no_device_either(self):
        kernels = os.environ.get("HEADWAY_GPU_KERNELS", "")
        if not kernels:
            self.skipTest("this build has no kernels for GPUs")
        done = subprocess.run([kernels, "device"], capture_output=True, text=True, check=False)
        self.assertIn(done.returncode, (0, 69))  # 0: a machine with a GPU
        wrong = subprocess.run([kernels], capture_output=True, text=True, check=False)
        self.assertNotEqual(wrong.returncode, 0)

    def test_all_parts_pass(self):
        done = self.run_gpu("--only", "check,agreement,steps")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(done.stdout.splitlines()[-1], "gpu: passed")
        row = [line.split() for line in done.stdout.splitlines() if line.startswith("sraven") and " fp32 " in line][0]
        self.assertEqual(row, ["sraven", "hyla", "fp32", "1", "0.050", "0.100", "0.500", "2.500", "50.00"])
        seeds = [line.split() for line in done.stdout.splitlines() if " 16 " in line][0]
        self.assertEqual(seeds, ["sraven", "hyla", "tf32", "16", "0.050"])

    def test_wrong_kernels_are_noticed(self):
        done = self.run_gpu("--only", "check", WRONG="3")
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout.splitlines()[-1], "gpu: NOT passed (check)")
        self.assertIn("298 layers checked, 3 wrong", done.stdout)

    def test_other_losses_than_the_processor_s_are_noticed(self):
        for wrong in ({"LOSS_ERROR": "0.01"}, {"LOSS_ERROR": "nan"}, {"HAND_ERROR": "0.01"}, {"SHAPE_ERROR": "0.01"}):
            done = self.run_gpu("--only", "agreement", **wrong)
            self.assertEqual(done.stdout.splitlines()[-1], "gpu: NOT passed (agreement)")

    def test_steps_slower_than_libtorch_s_operations_are_noticed(self):
        done = self.run_gpu("--only", "steps", MS="30")
        self.assertEqual(done.returncode, 1)
        self.assertIn("slower than LibTorch's operations: sraven hyla fp32", done.stdout)

    def test_what_is_not_installed_is_left_out_by_name(self):
        done = self.run_gpu("--only", "memcheck,stepmemcheck,kernels")
        self.assertEqual(done.returncode, 0, done.stdout)
        if not os.path.exists("/usr/local/cuda/bin/compute-sanitizer"):
            self.assertEqual(done.stdout.splitlines()[-1], "gpu: passed; left out: memcheck, stepmemcheck")
        self.assertEqual(self.run_gpu("--only", "kernel").returncode, 2)


if __name__ == "__main__":
    unittest.main()
