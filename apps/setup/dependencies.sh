#!/bin/sh
# Installs what Headway needs on Debian 12 and Ubuntu 24.04: only the packages that are missing, without
# questions. Needs neither the network nor root when nothing is missing.
#
#   apps/setup/dependencies.sh           install what is missing
#   apps/setup/dependencies.sh --list    print the packages, one per line, and install nothing
#   TRAINING=off                      leaves out the packages of the training engine (LibTorch, oneDNN: 400 MB),
#                                     which are installed only where the system has them
#   DOCS=on                           adds what builds the site of the documentation (make docs), with the compiler of its
#                                     live page (emscripten: 110 MB to load, 800 MB on the disk)
#   TESTING=short                     adds what `make test` needs: zsh
#   TESTING=on                        adds what all tests need: that, what DOCS and PACKAGING add but emscripten, a Slurm of one node, started and
#                                     ended by its test, and a browser that looks at the pages
#   PACKAGING=on                      adds what `make packages` runs
#   LINT=on                           adds what `make lint` runs
#   FUZZING=on                        adds the compiler of `make fuzz` and `make sanitize`
# shellcheck disable=SC2086,SC1091  # the package lists are meant to split into words
set -eu

# Compiler and build tools; libraries of the program; library of the tests; Python for
# figures, notebooks, tests and the extension module. OpenBLAS by name: another BLAS would be found and be many times slower.
packages="
  g++ cmake ninja-build make git
  libeigen3-dev libceres-dev libboost-dev libboost-math-dev libopenblas-pthread-dev libfmt-dev
  libhdf5-dev libpng-dev zlib1g-dev libzip-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  catch2
  python3 python3-numpy python3-h5py python3-matplotlib python3-nbformat python3-nbclient
  python3-ipykernel python3-dev pybind11-dev
"

training_packages="libtorch-dev libdnnl-dev"
[ "${TRAINING:-on}" = off ] && training_packages=
text_packages="libsentencepiece-dev"
mpi_packages="libopenmpi-dev openmpi-bin"
scalapack_packages="libscalapack-openmpi-dev"
slurm_packages="slurmctld slurmd slurm-client munge"
browser_packages="chromium"
shell_packages="zsh"
[ "${TESTING:-off}" != off ] || shell_packages=
[ "${TESTING:-off}" = on ] || slurm_packages='' browser_packages=''
packaging_packages="file dpkg-dev"
[ "${PACKAGING:-off}" = on ] || [ "${TESTING:-off}" = on ] || packaging_packages=
lint_packages="cppcheck clang-tidy"
[ "${LINT:-off}" = on ] || lint_packages=
clang_packages="clang libclang-rt-dev libomp-dev"
[ "${FUZZING:-off}" = on ] || clang_packages=
docs_packages="doxygen furo python3-myst-parser python3-sphinx libjs-mathjax"
[ "${DOCS:-off}" = off ] || docs_packages="$docs_packages python3-sklearn emscripten" # a figure of the gallery; the live page
[ "${DOCS:-off}" != off ] || [ "${TESTING:-off}" = on ] || docs_packages=

if [ "${1:-}" = "--list" ]; then
  printf '%s\n' $packages $text_packages $training_packages $mpi_packages $scalapack_packages \
    $slurm_packages $browser_packages $shell_packages $docs_packages $packaging_packages $lint_packages $clang_packages
  exit 0
fi

fail() {
  printf 'apps/setup/dependencies.sh: %s\n' "$*" >&2
  exit 1
}

list_for_hand() {
  printf 'Headway needs (names as in Debian 12):\n'
  printf '  %s\n' $packages
}

system_id=unknown
system_version=unknown
if [ -r /etc/os-release ]; then
  system_id=$(. /etc/os-release && printf '%s' "${ID:-unknown}")
  system_version=$(. /etc/os-release && printf '%s' "${VERSION_ID:-unknown}")
fi
case "$system_id-$system_version" in
  debian-12) packages="$packages clang-format-14" ;; # the version that the format check needs
  ubuntu-24.04) ;;
  *)
    list_for_hand >&2
    fail "this script knows Debian 12 and Ubuntu 24.04, and this is '$system_id $system_version':" \
      "install the packages above by hand, then run 'make build DEPENDENCIES=have'"
    ;;
esac

is_installed() {
  [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2>/dev/null)" = installed ]
}

missing_of() {
  for package in "$@"; do
    is_installed "$package" || printf ' %s' "$package"
  done
}

as_root=
have_root=yes
if [ "$(id -u)" -ne 0 ]; then
  as_root=sudo
  command -v sudo >/dev/null 2>&1 || have_root=no
fi

apt_get() {
  # The options after sudo, so that they survive its cleaned environment.
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -qq "$@"
}

install_required() {
  missing=$(missing_of $packages)
  [ -n "$missing" ] || return 0
  [ $have_root = yes ] ||
    fail "missing:$missing; run as root (there is no sudo): apt-get install -y$missing"
  printf 'installing:%s\n' "$missing"
  # A fresh image has no package lists, and old lists name files that are gone: refresh only when the first
  # attempt does not get through.
  if ! apt_get install -y --no-install-recommends $missing >/dev/null 2>&1; then
    apt_get update || fail "'apt-get update' failed; still missing:$missing"
    apt_get install -y --no-install-recommends $missing ||
      fail "'apt-get install' failed; still missing:$missing"
  fi
  missing=$(missing_of $packages)
  [ -z "$missing" ] || fail "still missing after their installation:$missing"
}

# install_optional PART PACKAGES...: what only one part of Headway needs; never a failure.
install_optional() {
  part=$1
  shift
  missing=$(missing_of "$@")
  [ -n "$missing" ] || return 0
  if [ $have_root = yes ] && apt-cache show $missing >/dev/null 2>&1; then
    printf 'installing for %s:%s\n' "$part" "$missing"
    apt_get install -y --no-install-recommends $missing >/dev/null 2>&1 || true
    missing=$(missing_of "$@")
  fi
  [ -z "$missing" ] || printf 'without %s, whose packages cannot be installed here:%s\n' "$part" "$missing"
}

install_required
install_optional "byte-pair encoding of texts" $text_packages
[ -z "$packaging_packages" ] || install_optional "make packages" $packaging_packages
[ -z "$lint_packages" ] || install_optional "make lint" $lint_packages
[ -z "$clang_packages" ] || install_optional "the compiler of sanitizers and fuzzers" $clang_packages
install_optional "MPI (one study on several machines at once)" $mpi_packages
install_optional "ScaLAPACK (one problem larger than a machine)" $scalapack_packages
[ -z "$slurm_packages" ] || install_optional "the tests of the job scripts" $slurm_packages
[ -z "$browser_packages" ] || install_optional "the tests of pages in a browser" $browser_packages
[ -z "$shell_packages" ] || install_optional "the test of zsh's completion" $shell_packages
[ -z "$docs_packages" ] || install_optional "the site of the documentation" $docs_packages
install_optional "'headway train' (TRAINING=off leaves them out)" $training_packages
