#!/bin/sh
# processors.sh BUILD JOBS: runs the tests of numbers with each of three kinds of kernels, OpenBLAS's and Headway's own: SSE3,
# AVX2 and AVX-512. They round differently, and a test may depend on rounding only within a bound that is derived.
set -u
if [ "$(uname -m)" != x86_64 ]; then
  echo "test-processors: the kernels are those of x86-64 processors, and this is $(uname -m): nothing is run"
  exit 0
fi
flags=" $(sed -n 's/^flags[^:]*: //p' /proc/cpuinfo | head -n 1) "
lacks() { # the first of these instruction sets that the processor does not have
  for flag; do
    case $flags in *" $flag "*) ;; *) echo "$flag" && return ;; esac
  done
}
failed=
for kernels in Prescott Haswell SkylakeX; do
  case $kernels in
  Prescott) own=baseline lacking= ;;
  Haswell) own=avx2 lacking=$(lacks avx2 fma) ;;
  SkylakeX) own=avx512 lacking=$(lacks avx2 fma avx512f avx512cd avx512bw avx512dq avx512vl) ;;
  esac
  if [ -n "$lacking" ]; then
    echo "test-processors: left out $kernels, since this processor has no $lacking"
    continue
  fi
  echo "test-processors: kernels for $kernels"
  OPENBLAS_CORETYPE=$kernels HEADWAY_INSTRUCTIONS=$own ctest --test-dir "$1" --parallel "$2" --output-on-failure \
    --label-regex '^(unit|property|statistical|golden)$' || failed="$failed $kernels"
done
[ -z "$failed" ] || echo "test-processors: tests failed with kernels for$failed" >&2
[ -z "$failed" ]
