"""Registers, stack and spills of the CUDA kernels, from what ptxas said when they were compiled.

    python3 check_gpu_kernels.py REPORT.ptxas... ARCHITECTURE...
                                        prints a table; fails if a kernel for one of these architectures (80, 90) spills,
                                        keeps a stack, or uses too many registers for two blocks to share a multiprocessor
                                        (kernels of narrow layers: within limits of their own)

`ReportIsRead` reads a report with a spill, so that the check cannot pass because it reads nothing.
"""

import re
import sys
import unittest

MOST_REGISTERS = 128
# Those of narrow layers are made for fewer warps. Some kernels put a few numbers aside, outside of all loops over pairs: so
# many bytes of a stack, and written and read.
MOST_OF = {"NarrowForwardKernel": 168, "NarrowBackwardKernel": 168}
MOST_ASIDE = {("sm_80", "NarrowForwardKernel"): (8, 24), ("sm_90", "NarrowBackwardKernel"): (16, 44),
              ("sm_80", "LargeBackwardKernel"): (16, 40), ("sm_90", "LargeBackwardKernel"): (16, 32)}
# How many kernels of each name a target has: one for each arithmetic, or one in all.
KERNELS = {"ForwardKernel": 3, "SumsOverKeysKernel": 3, "BackwardKernel": 3, "SumOfCopiesKernel": 2}
# Made for a shape: of large layers for each of two numbers of dims of values and six nonlinearities, or one; of narrow ones for each of two
# paddings, and with a value network, with softmax, or with neither.
KERNELS |= {"LargeForwardKernel": 12, "LargeSumsKernel": 12, "LargeBackwardKernel": 12, "LargeQueriesKernel": 1}
KERNELS |= {"NarrowForwardKernel": 12, "NarrowBackwardKernel": 12, "GeluKernel": 2}
KERNELS |= {f"{name}Kernel": 1 for name in (
    "Norm", "NormGradient", "Loss", "ColumnSums", "ProductEnd", "PlainProduct", "Rounding", "Swiglu", "SwigluGradient",
    "LookUp", "LookUpGradient", "SomeTokens", "SomeTokensGradient", "Blocks", "Rotation", "QuerySums", "Positions", "PositionsGradient", "CopySums", "Sums", "Update",
    "Gates", "ExpertShares", "Swap", "ScaledCopies",
    "PathAttention", "PathAttentionGradient", "PathRows", "PathRowsGradient", "ScaledExperts", "ScaledExpertsGradient", "GatesGradient")}
ARITHMETIC = {"0": "float32", "1": "tf32", "2": "bf16"}


def kernels_of(report):
    """[(target, kernel, arithmetic, registers, stack bytes, spilled bytes)]"""
    rows = []
    for part in re.split(r"(?=ptxas info\s*: Compiling entry function)", report):
        entry = re.search(r"Compiling entry function '\w*?\d+([A-Z]\w*?Kernel)(I\w*|E\w*)' for '(sm_\d+)'", part)
        if entry is None:
            continue
        kind = re.search(r"ArithmeticE(\d)", entry.group(2))
        stack = re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", part)
        registers = re.search(r"Used (\d+) registers", part)
        if stack is None or registers is None:
            raise ValueError(f"ptxas says nothing of {entry.group(1)}:\n{part}")
        rows.append((entry.group(3), entry.group(1), ARITHMETIC[kind.group(1)] if kind else "",
                     int(registers.group(1)), int(stack.group(1)), int(stack.group(2)) + int(stack.group(3))))
    return sorted(rows)


def faults_of(rows, targets):
    def fits(target, kernel, registers, stack, spilled):
        most_stack, most_spilled = MOST_ASIDE.get((target, kernel), (0, 0))
        return registers <= MOST_OF.get(kernel, MOST_REGISTERS) and stack <= most_stack and spilled <= most_spilled

    faults = [f"{target} {kernel} {kind}: {registers} registers, stack {stack}, spilled {spilled} bytes"
              for target, kernel, kind, registers, stack, spilled in rows
              if not fits(target, kernel, registers, stack, spilled)]
    for target in targets:
        for kernel, count in KERNELS.items():
            found = sum(row[0] == target and row[1] == kernel for row in rows)
            if found != count:
                faults.append(f"{target}: {found} of {kernel}, expected {count}")
    return faults


EXAMPLE = """ptxas info    : Compiling entry function '_ZN7headway8block_ofINS0_11gpu_kernels13ForwardKernelILNS3_10ArithmeticE1EfEEEEvT_' for 'sm_90'
ptxas info    : Function properties for _ZN7headway
    0 bytes stack frame, 8 bytes spill stores, 4 bytes spill loads
ptxas info    : Used 118 registers, used 1 barriers
"""


class ReportIsRead(unittest.TestCase):
    def test_a_spill(self):
        rows = kernels_of(EXAMPLE)
        self.assertEqual(rows, [("sm_90", "ForwardKernel", "tf32", 118, 0, 12)])
        self.assertIn("sm_90 ForwardKernel tf32: 118 registers, stack 0, spilled 12 bytes", faults_of(rows, ["sm_90"]))

    def test_a_kernel_with_a_limit_of_its_own(self):
        def faults(target, spilled):
            return [fault for fault in faults_of([(target, "NarrowBackwardKernel", "", 168, 16, spilled)], []) if "spilled" in fault]

        self.assertEqual(faults("sm_90", 44), [])
        self.assertEqual(len(faults("sm_90", 45)), 1)
        self.assertEqual(len(faults("sm_80", 44)), 1)


class KernelsFit(unittest.TestCase):
    report, targets = "", []

    def test_no_kernel_spills(self):
        rows = kernels_of(self.report)
        print(f"\n{'target':8}{'kernel':26}{'arithmetic':12}{'registers':>9}{'stack':>7}{'spilled':>9}")
        for target, kernel, kind, registers, stack, spilled in rows:
            print(f"{target:8}{kernel:26}{kind:12}{registers:9}{stack:7}{spilled:9}")
        faults = faults_of(rows, self.targets)
        self.assertFalse(faults, "\n" + "\n".join(faults))


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit("usage: check_gpu_kernels.py REPORT.ptxas... ARCHITECTURE...")
    for argument in sys.argv[1:]:
        if argument.endswith(".ptxas"):
            with open(argument, encoding="utf-8") as file:
                KernelsFit.report += file.read()
        else:
            KernelsFit.targets.append(f"sm_{argument}")
    unittest.main(argv=sys.argv[:1])
