#!/bin/sh
# What `make gpu` does, from a bundle: the kernels on this machine's GPU, sanitizers, times and a short training run. It ends
# with a table and one line. Without a GPU it says so, and ends well.
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
kernels=$here/bin/gpu_kernels
[ -x "$kernels" ] || kernels=
exec "${PYTHON:-python3}" -B "$here/share/headway/gpu/gpu.py" --program "$here/headway" --kernels "$kernels" \
  --jax "$here/share/headway/gpu/jax_training.py" "$@"
