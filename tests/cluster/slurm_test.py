"""The job scripts of apps/cluster on a real Slurm, parts that are killed and put back among them."""

import os
import pathlib
import re
import shutil
import sys
import tempfile
import time
import unittest

import slurm
from support import PROGRAM, check_equal, names_in, run
from train_support import SMALL_FUZZY_LOGIC, can_train, small_grid

SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "apps" / "cluster"
# The four-path sweep, with chains short enough for a test: about a second a point.
SWEEP = ["--set", "model.widths=[10,20,30,50,70,100,200,300]", "--set", "sample.draws=300", "--set", "sample.warmup=300",
         "--set", "sample.chains=2", "--set", "sample.predictor_draws=20", "--set", "sample.checkpoint_seconds=0.2"]
GRID = small_grid(SMALL_FUZZY_LOGIC, "seed = [1, 2, 3]")


class JobScripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="headway-slurm-", dir="/tmp")  # sockets have short names
        cls.addClassCleanup(folder.cleanup)
        cls.folder = folder.name
        os.makedirs(os.path.join(cls.folder, "services"))
        cls.slurm = slurm.Slurm(os.path.join(cls.folder, "services"))
        cls.addClassCleanup(cls.slurm.stop)
        cls.slurm.environment["PATH"] = os.pathsep.join([os.path.dirname(PROGRAM), slurm.SBIN])
        cls.study = os.path.join(cls.folder, "study.toml")
        resolved = run("inspect", "hmm-four-paths", *SWEEP)
        with open(cls.study, "w", encoding="utf-8") as file:
            file.write(resolved.stdout)

    def path(self, name):
        return os.path.join(self.folder, name)

    def submit(self, script, *options, **environment):
        logs = ["--output", self.path("log-%A_%a.txt")]
        return self.slurm.run("sbatch", "--parsable", *logs, *options, SCRIPTS / script, **environment).stdout.strip()

    def log(self, job):
        """The output of a job and its parts, for messages."""
        text = self.slurm.logs()
        for name in sorted(os.listdir(self.folder)):
            if name.startswith(f"log-{job}_"):
                with open(self.path(name), encoding="utf-8", errors="replace") as file:
                    text += f"-- {name}\n{file.read()}\n"
        return text

    def merge_job(self, array, out):
        """The second command in the head of a script."""
        return self.slurm.run("sbatch", "--parsable", f"--dependency=afterok:{array}", "--mem-per-cpu=100M",
                              "--output", self.path("log-merge_%j.txt"), "--wrap",
                              f"headway merge {out}-*.part.h5 -o {out}.h5").stdout.strip()

    def wait_for_draws(self, out, index):
        """Until a part has written a checkpoint."""
        folder = f"{out}-{index}.part.h5.checkpoint"
        end = time.monotonic() + 120
        while not names_in(folder, "point_"):
            self.assertLess(time.monotonic(), end, f"part {index} writes no checkpoint")
            time.sleep(0.05)

    def test_an_array_with_a_part_that_is_killed_and_one_that_is_told_to_stop(self):
        out = self.path("draws")
        job = self.submit("array.sh", "--array=0-3", STUDY=self.study, VERB="sample", OUT=out)
        self.wait_for_draws(out, 1)
        self.slurm.run("scancel", "--signal=KILL", f"{job}_1.0")
        self.wait_for_draws(out, 2)
        self.slurm.run("scancel", "--signal=TERM", f"{job}_2")  # as before the end of its time: it puts itself back
        self.slurm.wait_for(f"{job}_1", ("FAILED",))
        self.assertFalse(os.path.exists(f"{out}-1.part.h5"))
        refused = run("merge", *[f"{out}-{i}.part.h5" for i in (0, 3) if self.slurm.wait_for(f"{job}_{i}", ("COMPLETED",))])
        self.assertEqual(refused.returncode, 66)
        self.assertIn("--shard 1/4", refused.stderr)
        self.slurm.run("scontrol", "requeue", f"{job}_1")
        end = time.monotonic() + 240
        while set(self.slurm.state(job)) != {"COMPLETED"}:
            self.assertLess(time.monotonic(), end, f"{self.slurm.state(job)}\n{self.log(job)}")
            time.sleep(0.5)
        # By hand: a dependency on an array that once failed is never satisfied.
        self.assertIn(run("merge", *[f"{out}-{i}.part.h5" for i in range(4)], "-o", out + ".h5").returncode, (0, 2))
        whole = self.path("whole.h5")
        self.assertIn(run("sample", self.study, "-o", whole, "--threads", 2).returncode, (0, 2))
        check_equal(self, whole, out + ".h5")

    @unittest.skipUnless(os.environ["HEADWAY_HAS_MPI"] == "1" and shutil.which("mpirun"), "no MPI")
    def test_ranks_of_one_job(self):
        out = self.path("solved.h5")
        job = self.submit("mpi.sh", "--ntasks=2", "--mem-per-cpu=500M", STUDY="hmm-four-paths", OUT=out,
                          MPIRUN_OPTIONS="--oversubscribe", OMPI_ALLOW_RUN_AS_ROOT="1",
                          OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        self.assertEqual(self.slurm.wait_for(job, ("COMPLETED", "FAILED")), ["COMPLETED"], self.log(job))
        whole = self.path("whole-solved.h5")
        run("solve", "hmm-four-paths", "-o", whole)
        check_equal(self, whole, out)

    @unittest.skipUnless(can_train(), "this build has no LibTorch")
    def test_an_array_of_training_runs(self):
        study, out = self.path("grid.toml"), self.path("grid")
        with open(study, "w", encoding="utf-8") as file:
            file.write(GRID)
        job = self.submit("gpu-array.sh", "--array=0-1", "--gpus-per-task=0", "--cpus-per-task=1", "--mem-per-cpu=500M",
                          STUDY=study, OUT=out, DEVICE="cpu")
        merge = self.merge_job(job, out)
        self.assertEqual(self.slurm.wait_for(merge, ("COMPLETED", "FAILED")), ["COMPLETED"], self.log(job))
        whole = self.path("whole-grid.h5")
        self.assertEqual(run("train", study, "--set", "train.device=cpu", "-o", whole).returncode, 0)
        check_equal(self, whole, out + ".h5")

    def test_the_scripts_are_shell(self):
        for script in SCRIPTS.glob("*.sh"):
            self.slurm.run("sh", "-n", script)
            self.assertTrue(re.search(r"^#SBATCH --requeue$", script.read_text(), re.MULTILINE), script)


if __name__ == "__main__":
    lacking = slurm.missing()
    if lacking:
        print("skipped: Slurm is not installed (slurmctld slurmd slurm-client munge); missing:", ", ".join(lacking))
        sys.exit(77)
    unittest.main()
