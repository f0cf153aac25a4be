#!/bin/sh
# Starts Headway from a bundle, with the LibTorch of the Python that is active (PYTHON=... names another one). Without
# PyTorch everything works but what trains networks or runs trained ones.
here=$(cd "$(dirname "$(readlink -f "$0")")" && pwd)
libraries=$here/lib/needed
case "${1:-}" in
train | latents | evaluate | extract | predict | prune | prune-network | rank)
  found=$("${PYTHON:-python3}" - 2>/dev/null <<'END'
import glob, importlib.metadata, importlib.util, os
folder = os.path.dirname(importlib.util.find_spec("torch").origin)
cuda = glob.glob(os.path.join(os.path.dirname(folder), "nvidia", "*", "lib"))
print(importlib.metadata.version("torch"), ":".join([os.path.join(folder, "lib"), *sorted(cuda)]))
END
  ) || found=
  if [ -n "$found" ]; then
    libraries=$libraries:${found#* }
    built=$(cat "$here/lib/torch.version" 2>/dev/null)
    if [ -n "$built" ] && [ "$(echo "$built" | cut -d. -f1-2)" != "$(echo "${found%% *}" | cut -d. -f1-2)" ]; then
      echo "headway: this bundle was built for PyTorch $built, and ${found%% *} is here: training may not start" >&2
    fi
  fi
  ;;
esac
LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH} exec "$here/bin/headway" "$@"
