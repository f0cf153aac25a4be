"""The kernels of OpenBLAS that computations in Python get. A process that loads it with OPENBLAS_CORETYPE=Prescott and then
forgets the variable is in the state of one whose processor OpenBLAS does not know."""

import os
import subprocess
import sys
import unittest

from bindings import setUpModule  # noqa: F401

UNKNOWN = """if True:
    import hashlib, os, threading, warnings
    {first}
    import bindings as t, headway
    from headway import native
    native.module()
    del os.environ["OPENBLAS_CORETYPE"]
    before = dict(os.environ)
    {then}
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        result = headway.solve(**t.small())
    print(result.provenance["blas"])
    print([str(warning.message) for warning in told])
    print(dict(os.environ) == before)
    """


def knows_avx2():
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return any(line.startswith("flags") and {"avx2", "fma"} <= set(line.split()) for line in file)


@unittest.skipUnless(knows_avx2(), "this processor has no AVX2: every choice of OpenBLAS fits")
class Kernels(unittest.TestCase):
    def lines(self, first="", then=""):
        done = subprocess.run([sys.executable, "-c", UNKNOWN.format(first=first, then=then)], capture_output=True, text=True,
                              env=os.environ | {"OPENBLAS_CORETYPE": "Prescott"}, cwd=os.path.dirname(__file__), check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.splitlines()

    def test_they_fit_the_processor_whether_numpy_was_there_first_or_not(self):
        for first in ("", "import numpy; numpy.ones((300, 300)) @ numpy.ones((300, 300))"):
            with self.subTest(first=first):
                blas, told, unchanged = self.lines(first)
                self.assertRegex(blas, r"kernels for (Haswell|SkylakeX) \(by instruction set\)$")
                self.assertNotIn("OpenBLAS", told)
                self.assertEqual(unchanged, "True")

    def test_they_stay_while_another_thread_computes_and_a_warning_says_the_way_out(self):
        busy = "lambda: hashlib.pbkdf2_hmac('sha256', b'', b'', 10**9)"  # without Python's lock
        blas, told, unchanged = self.lines(then=f"threading.Thread(target={busy}, daemon=True).start()")
        self.assertRegex(blas, "kernels for Prescott$")
        self.assertRegex(told, "set OPENBLAS_CORETYPE=(Haswell|SkylakeX) before the process starts")
        self.assertEqual(unchanged, "True")


if __name__ == "__main__":
    unittest.main()
