#!/bin/sh
# bundle.sh BUILD FOLDER [folder]: packs the program of a build tree, its plugins, studies and every library that they need
# into FOLDER/headway-VERSION-x86_64.tar.gz, for machines without our packages. It runs with the C library of
# the machine that built it, or a newer one. PyTorch is not in it: the start script finds the one of the Python that is
# active. With "folder" the archive is left out.
set -eu
build=$(cd "$1" && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
version=$(cat "$here/../../src/version.txt")
name=headway-$version-$(uname -m)
into=$folder/$name
rm -rf "$into" "$into.tar.gz"
for component in program training gpu; do
  [ $component != gpu ] || [ -x "$build/bin/gpu_kernels" ] || continue  # without nvcc there is none
  cmake --install "$build" --prefix "$into" --component $component --strip >/dev/null
done
mkdir -p "$into/lib/needed"
# C's and C++'s libraries are the machine's. LibTorch and CUDA are those of its PyTorch, with what they need in turn.
left_to_the_machine='^(ld-linux.*|libc|libm|libdl|librt|libpthread|libresolv|libutil|libmvec|libstdc\+\+|libgcc_s|libtorch.*|libc10.*|libcu(da|blas|dnn|fft|rand|solver|sparse|pti|file).*|libnv.*|libmpi.*)\.so'
# Copies what a file itself asks for, then what that asks for.
take() {
  ldd "$1" | awk '/=> \//{print $1, $3}' >"$into/links.$2"
  objdump -p "$1" | awk '$1 == "NEEDED" {print $2}' | grep -vE "$left_to_the_machine" | while read -r needed; do
    library=$(awk -v name="$needed" '$1 == name {print $2}' "$into/links.$2")
    if [ -n "$library" ] && [ ! -e "$into/lib/needed/$needed" ]; then
      cp -L "$library" "$into/lib/needed/$needed"
      take "$library" "$(($2 + 1))"
    fi
  done
}
find "$into" -type f \( -name '*.so' -o -path '*/bin/*' \) ! -path '*/needed/*' | while read -r file; do take "$file" 0; done
rm -f "$into"/links.*
torch=$(sed -n 's/^HEADWAY_TORCH_CPU_LIBRARY:[A-Z]*=//p' "$build/CMakeCache.txt")
sed -n "s/^__version__ = '\(.*\)'/\1/p" "$(dirname "$(dirname "${torch:-/none/none/none}")")/version.py" 2>/dev/null >"$into/lib/torch.version" || true
cp "$here/start.sh" "$into/headway"
cp "$here/gpu.sh" "$into/gpu"
chmod +x "$into/headway" "$into/gpu"
mkdir -p "$into/share/headway/gpu"
cp "$here/../../tests/gpu/gpu.py" "$here/../benchmarks/jax_training.py" "$into/share/headway/gpu"
[ "${3:-}" = folder ] || tar -C "$folder" -cf - "$name" | gzip >"$into.tar.gz"
[ "${3:-}" = folder ] || ls -l "$into.tar.gz"
