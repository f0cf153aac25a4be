#!/bin/sh
# The readers of studies, images, data sets and results on changed bytes: tests/fuzz/run.sh SECONDS, after a build of the preset
# fuzz, runs the fuzzers side by side for that long each and prints how many inputs they tried. Inputs that reach new code
# stay in build/fuzz/corpus for the next run. Ends with 1 when an input broke a reader: it lies in
# build/fuzz/found/<name>, its report in build/fuzz/<name>.log.
#
# The HDF5 library itself crashes or hangs on some damaged files. Headway checks files in a copy of its process, which
# contains that; the fuzzer works without the copy, to see its coverage. What broke there counts as a fault where the
# library is not on the stack, or where the copy does not contain it.
# shellcheck disable=SC2086  # the limits are meant to split into words
set -eu
seconds=${1:?usage: tests/fuzz/run.sh SECONDS}
root=$(cd "$(dirname "$0")/../.." && pwd)
build=$root/build/fuzz
hdf5_names="dataset_file result_file"
names="study_file image_files $hdf5_names"
limits="-timeout=10 -rss_limit_mb=2560"
# Without stacks of allocations fuzzing is 13 % faster; faults are judged with them. Keeping little freed memory saves 15 %.
fast="malloc_context_size=0:quarantine_size_mb=8${ASAN_OPTIONS:+:$ASAN_OPTIONS}"

is_hdf5() {
  case " $hdf5_names " in *" $1 "*) true ;; *) false ;; esac
}

fuzz() {
  name=$1
  rm -rf "$build/found/$name"
  mkdir -p "$build/corpus/$name" "$build/found/$name"
  # Counting how rare each feature is would take 70 % of the time with hundreds of inputs in the corpus.
  set -- $limits -max_total_time="$seconds" -artifact_prefix="$build/found/$name/" -entropic=0
  [ ! -e "$root/tests/fuzz/$name.dict" ] || set -- "$@" -dict="$root/tests/fuzz/$name.dict"
  ! is_hdf5 "$name" || set -- "$@" -fork=1 -ignore_crashes=1 -ignore_timeouts=1 -ignore_ooms=1
  ASAN_OPTIONS=$fast "$build/bin/fuzz_$name" "$@" "$build/corpus/$name" "$root/tests/fuzz/corpus/$name" >"$build/$name.log" 2>&1
}

# Whether what was found in files of a kind is the HDF5 library's own, and contained.
# The copy may take ten seconds of the processor for each of some readings, which are minutes where others use it, too.
contained() {
  for input in "$build/found/$1"/*; do
    [ -e "$input" ] || continue
    report=$build/found/$1.log
    if ! "$build/bin/fuzz_$1" $limits "$input" >"$report" 2>&1 && ! grep -q libhdf5 "$report"; then
      return 1
    fi
    HEADWAY_FUZZ_ISOLATED=1 "$build/bin/fuzz_$1" -timeout=600 "$input" >"$report" 2>&1 || return 1
  done
}

processes=
for name in $names; do
  fuzz "$name" &
  processes="$processes $!"
done
status=0
set -- $processes
for name in $names; do
  found="no fault"
  code=0
  wait "$1" || code=$?
  shift
  tried=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p; s/^#\([0-9]*\): cov.*/\1/p' "$build/$name.log" | tail -1)
  if [ -z "$tried" ]; then # it did not even run
    found="FAULT, see $build/$name.log"
  elif is_hdf5 "$name"; then # its exit code is that of the last input that broke HDF5
    contained "$name" || found="FAULT, see $build/found/$name.log"
  elif [ "$code" != 0 ]; then
    found="FAULT, see $build/$name.log"
  fi
  [ "$found" = "no fault" ] || status=1
  printf '%-13s %10s inputs, %s\n' "$name" "${tried:-?}" "$found"
done
exit $status
