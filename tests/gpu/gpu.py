#!/usr/bin/env python3
"""All checks and timings that need a GPU, in one command: `make gpu`, or gpu.sh of a bundle.

    python3 gpu.py --program HEADWAY [--kernels GPU_KERNELS] [--jax JAX_TRAINING] [--only PART,...]

The parts: check (attention kernels against the plain reference: those for any layer, and those made for a shape),
memcheck and racecheck (compute-sanitizer on some of them), stepmemcheck (the same on a few training steps), kernels (their
times, beside those of a model), agreement (a short training run against the processor, with either step and either
kernels), steps (times, beside JAX, and beside Headway with general: attention kernels for any layer, LibTorch: LibTorch's
operations in place of the step that is written by hand, eager: LibTorch's operations for attention as well).
Each part has a time limit of its own. A table and one line, passed or not, end the output. The exit code is 1 if a part failed.
A part that is not installed is left out, and the table says so. Without a GPU nothing is run, and the exit code is 0.
It needs Python 3.9 and nothing else.
"""

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys

NO_DEVICE = 69
SECONDS = {"check": 900, "memcheck": 900, "racecheck": 1500, "stepmemcheck": 900, "kernels": 600, "steps": 300, "jax": 900, "agreement": 600}
SRAVEN = ["sraven-reference"]
TEXT = ["text-small", "task.sequence_length=256", "train.layers=4", "train.model_dim=256", "train.heads=8",
        "train.query_dim=256", "train.value_dim=256", "train.mlp_dim=1024", "train.sample_tokens=0"]
SEEDS = 16
BY_LIBTORCH = {"HEADWAY_GPU_STEP": "torch"}  # in place of the step that is written by hand
GENERAL = {"HEADWAY_GPU_ATTENTION": "general"}  # in place of attention kernels that are made for a shape
# Losses of a GPU and a processor differ by rounding, which a few dozen updates magnify to the fourth digit.
SAME_LOSS = 1e-3
# bf16 rounds the factors of products to 8 bits.
SAME_LOSS_IN_BF16 = 4e-3


class Failed(Exception):
    """A part that ran and found something wrong, or did not run to its end."""


class LeftOut(Exception):
    """A part that cannot run here; the message says why."""


def output_of(command, seconds, environment=None):
    """Standard output of a command. If the command fails or takes too long, Failed is raised with the end of its output."""
    try:
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=seconds,
                              check=False, env={**os.environ, **(environment or {})})
    except subprocess.TimeoutExpired:
        raise Failed(f"not done after {seconds} s") from None
    except OSError as error:
        raise Failed(str(error)) from None
    if done.returncode != 0:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise Failed(f"exit code {done.returncode}: " + " / ".join(said[-3:]))
    return done.stdout


def device_of(kernels):
    """The name of the GPU, or an empty string."""
    if kernels:
        done = subprocess.run([kernels, "device"], capture_output=True, text=True, check=False)
        if done.returncode == 0:
            return done.stdout.strip()
        if done.returncode == NO_DEVICE:
            return ""
        raise Failed(f"{kernels} does not start: {(done.stdout + done.stderr).strip()}")
    if not shutil.which("nvidia-smi"):
        return ""
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    return done.stdout.splitlines()[0] if done.returncode == 0 and done.stdout.strip() else ""


def sanitizer():
    found = shutil.which("compute-sanitizer")
    for root in (os.environ.get("CUDA_HOME", ""), "/usr/local/cuda"):
        found = found or shutil.which(os.path.join(root, "bin", "compute-sanitizer"))
    if not found:
        raise LeftOut("compute-sanitizer is not installed")
    return found


class Gpu:
    def __init__(self, program, kernels, jax):
        self.program, self.kernels, self.jax = program, kernels, jax

    def needs_kernels(self):
        if not self.kernels:
            raise LeftOut("this build has no kernels for GPUs (nvcc was missing)")

    def check(self):
        self.needs_kernels()
        return output_of([self.kernels, "check"], SECONDS["check"]).splitlines()[-1]

    def sanitized(self, tool):
        self.needs_kernels()
        found = sanitizer()
        output_of([found, "--tool", tool, "--error-exitcode", "9", self.kernels, "quick"], SECONDS[tool])
        return "nothing found"

    def memcheck(self):
        return self.sanitized("memcheck")

    def racecheck(self):
        return self.sanitized("racecheck")

    def step_memcheck(self):
        """A few steps on few examples, in float32 and in bf16."""
        command = [sanitizer(), "--tool", "memcheck", "--error-exitcode", "9", "--target-processes", "all", self.program,
                   "train", "sraven-reference", "--json", "-q"]
        for setting in ("train.device=cuda", "train.steps=4", "train.batch=8", "train.warmup_steps=1", "train.eval_every=0",
                        "train.eval_examples=8"):
            command += ["--set", setting]
        for precision in ("fp32", "bf16"):
            output_of([*command, "--set", f"train.precision={precision}"], SECONDS["stepmemcheck"])
        return "nothing found"

    def kernel_times(self):
        self.needs_kernels()
        print(output_of([self.kernels, "time"], SECONDS["kernels"]))
        return "see the table above"

    def train(self, study, settings, seconds, options=(), environment=None):
        """The records of `headway train` as JSON."""
        command = [self.program, "train", study, "--json", "-q", *options]
        for setting in settings:
            command += ["--set", setting]
        return [json.loads(line) for line in output_of(command, seconds, environment).splitlines()]

    def step_ms(self, model, settings, seeds=1, environment=None):
        """Milliseconds of a step and seed. The first hundred steps, in which the graph is made, do not count."""
        study, *sizes = model
        steps = 600 if model is SRAVEN else 300
        more, options = [], []
        if seeds > 1:
            more = [f"sweep.seed=[{','.join(str(seed) for seed in range(1, seeds + 1))}]"]
            options = ["--jobs", str(seeds)]
        records = self.train(study, [*sizes, *settings, *more, "train.device=cuda", f"train.steps={steps}",
                                     "train.warmup_steps=10", "train.eval_every=0", "train.eval_examples=16",
                                     "train.log_every=100", "train.checkpoint_every=0"], SECONDS["steps"], options, environment)
        times = []
        for run in {record["run"] for record in records if record.get("split") == "train"}:
            mine = [r for r in records if r.get("run") == run and r.get("split") == "train"]
            begin, end = ((r["step"], r["step"] / r["steps_per_second"]) for r in (mine[0], mine[-1]))
            times.append(1e3 * (end[1] - begin[1]) / (end[0] - begin[0]))
        return statistics.median(times) / seeds

    def jax_times(self):
        """(network, variant, precision) -> milliseconds; empty without JAX."""
        if not self.jax:
            return {}, "JAX: not looked for"
        try:
            text = output_of([sys.executable, self.jax, "--gpu"], SECONDS["jax"])
        except Failed as failure:
            return {}, f"JAX failed: {failure}"
        rows = re.findall(r"^(\w+) +(\w+) +(\w+) +\d+ +([\d.]+)$", text, re.MULTILINE)
        return {(network, variant, kind): float(ms) for network, variant, kind, ms in rows}, text.splitlines()[0]

    def steps(self):
        jax, words = self.jax_times()
        print(f"Milliseconds of a training step. {words}")
        print(f"{'network':9}{'variant':10}{'precision':11}{'seeds':>6}{'Headway':>10}{'general':>10}{'LibTorch':>10}{'eager':>10}{'JAX':>10}"
              f"{'eager/Headway':>15}{'JAX/Headway':>13}")
        slower = []
        for name, model, precisions in (("sraven", SRAVEN, ("fp32", "tf32", "bf16")), ("text", TEXT, ("fp32", "bf16"))):
            for variant in ("hyla", "softmax"):
                for precision in precisions:
                    for seeds in (1, SEEDS) if (name, precision) == ("sraven", "tf32") else (1,):
                        settings = [f"train.attention={variant}", f"train.precision={precision}"]
                        ours = self.step_ms(model, settings, seeds)
                        eager = self.step_ms(model, [*settings, "train.eager=true"]) if seeds == 1 else None
                        alone = precision != "tf32" and seeds == 1
                        general = self.step_ms(model, settings, 1, GENERAL) if alone else None
                        torch = self.step_ms(model, settings, 1, {**BY_LIBTORCH, **GENERAL}) if alone else None
                        theirs = jax.get((name, variant, precision if seeds == 1 else f"{precision}x{seeds}"))
                        print(f"{name:9}{variant:10}{precision:11}{seeds:6}{ours:10.3f}{number(general, 10)}{number(torch, 10)}"
                              f"{number(eager, 10)}{number(theirs, 10)}{ratio(eager, ours, 15)}{ratio(theirs, ours, 13)}", flush=True)
                        if eager is not None and ours > 1.05 * eager:
                            slower.append(f"{name} {variant} {precision}")
        if slower:
            raise Failed("slower than LibTorch's operations: " + ", ".join(slower))
        return "nowhere slower than LibTorch's operations"

    def agreement(self):
        settings = ["train.steps=40", "train.warmup_steps=10", "train.eval_every=0", "train.eval_examples=16",
                    "train.log_every=10", "train.checkpoint_every=0"]

        def losses(device, environment=None, precision="fp32"):
            records = self.train("sraven-reference", [*settings, f"train.device={device}", f"train.precision={precision}"],
                                 SECONDS["agreement"], environment=environment)
            return [record["loss"] for record in records if record.get("split") == "train"]

        expected, words, far = losses("cpu"), [], []
        for name, environment, precision in (
                ("as it is", None, "fp32"), ("general attention", GENERAL, "fp32"), ("LibTorch's step", BY_LIBTORCH, "fp32"),
                ("LibTorch's step, general attention", {**BY_LIBTORCH, **GENERAL}, "fp32"),
                ("as it is in bf16", None, "bf16"), ("general attention in bf16", GENERAL, "bf16"),
                ("LibTorch's step, general attention, in bf16", {**BY_LIBTORCH, **GENERAL}, "bf16")):
            found = losses("cuda", environment, precision)
            distance = [abs(gpu / cpu - 1.0) for cpu, gpu in zip(expected, found)]
            words.append(f"{name}: loss {found[-1]:.4f}, on the processor {expected[-1]:.4f}, largest relative "
                         f"difference {max(distance):.1e}")
            most = SAME_LOSS if precision == "fp32" else SAME_LOSS_IN_BF16
            if len(found) != len(expected) or not all(one <= most for one in distance):
                far.append(name)
        if far:
            raise Failed("; ".join(words))
        return "; ".join(words)


def number(value, width):
    return f"{'' if value is None else format(value, '.3f'):>{width}}"


def ratio(value, ours, width):
    return f"{'' if value is None else format(value / ours, '.2f'):>{width}}"


def run_parts(parts):
    """[(name, outcome, words)]; each part prints what it has as soon as it is there."""
    rows = []
    for name, part in parts:
        print(f"-- {name}", flush=True)
        try:
            rows.append((name, "passed", part()))
        except Failed as failure:
            rows.append((name, "FAILED", str(failure)))
        except (ValueError, KeyError, IndexError) as surprise:
            rows.append((name, "FAILED", f"its output has another form: {surprise!r}"))
        except LeftOut as reason:
            rows.append((name, "left out", str(reason)))
        print(f"   {rows[-1][1]}: {rows[-1][2]}", flush=True)
    return rows


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--kernels", default="")
    parser.add_argument("--jax", default="")
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    try:
        device = device_of(arguments.kernels)
    except Failed as failure:
        print(f"gpu: NOT passed: {failure}")
        return 1
    if not device:
        print("gpu: there is no CUDA device here, so nothing was checked")
        return 0
    print(f"gpu: {device}")
    gpu = Gpu(arguments.program, arguments.kernels, arguments.jax)
    parts = [("check", gpu.check), ("memcheck", gpu.memcheck), ("racecheck", gpu.racecheck),
             ("stepmemcheck", gpu.step_memcheck), ("kernels", gpu.kernel_times), ("agreement", gpu.agreement), ("steps", gpu.steps)]
    wanted = arguments.only.split(",") if arguments.only else [name for name, _ in parts]
    unknown = set(wanted) - {name for name, _ in parts}
    if unknown:
        parser.error(f"--only: no part {', '.join(sorted(unknown))}; there are {', '.join(name for name, _ in parts)}")
    rows = run_parts([part for part in parts if part[0] in wanted])
    print()
    for name, outcome, words in rows:
        print(f"{name:14}{outcome:10}{words}")
    failed = [name for name, outcome, _ in rows if outcome == "FAILED"]
    left_out = [name for name, outcome, _ in rows if outcome == "left out"]
    print(f"gpu: {'NOT passed (' + ', '.join(failed) + ')' if failed else 'passed'}"
          f"{'; left out: ' + ', '.join(left_out) if left_out else ''}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
