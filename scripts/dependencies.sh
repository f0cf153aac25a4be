#!/bin/sh
# Installs what Headway needs on Debian 12 and Ubuntu 24.04: only the packages that are missing, without
# questions. Needs neither the network nor root when nothing is missing.
#
#   scripts/dependencies.sh           install what is missing
#   scripts/dependencies.sh --list    print the packages, one per line, and install nothing
# shellcheck disable=SC2086,SC1091  # the package lists are meant to split into words
set -eu

# Compiler and build tools; libraries of the program; library of the tests; Python for
# figures, notebooks and tests. OpenBLAS by name: another BLAS would be found and be many times slower.
packages="
  g++ cmake ninja-build make git
  libeigen3-dev libceres-dev libboost-dev libboost-math-dev libopenblas-pthread-dev libfmt-dev
  libhdf5-dev libpng-dev zlib1g-dev libzip-dev libsentencepiece-dev libcli11-dev libtomlplusplus-dev nlohmann-json3-dev
  catch2
  python3 python3-numpy python3-h5py python3-matplotlib python3-nbformat python3-nbclient
  python3-ipykernel
"

if [ "${1:-}" = "--list" ]; then
  printf '%s\n' $packages
  exit 0
fi

fail() {
  printf 'scripts/dependencies.sh: %s\n' "$*" >&2
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

missing=
for package in $packages; do
  is_installed "$package" || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 ||
    fail "missing:$missing; run as root (there is no sudo): apt-get install -y$missing"
  as_root=sudo
fi

apt_get() {
  # The options after sudo, so that they survive its cleaned environment.
  $as_root env DEBIAN_FRONTEND=noninteractive apt-get -o Dpkg::Use-Pty=0 -qq "$@"
}

printf 'installing:%s\n' "$missing"
# A fresh image has no package lists, and old lists name files that are gone: refresh only when the first
# attempt does not get through.
if ! apt_get install -y --no-install-recommends $missing >/dev/null 2>&1; then
  apt_get update || fail "'apt-get update' failed; still missing:$missing"
  apt_get install -y --no-install-recommends $missing ||
    fail "'apt-get install' failed; still missing:$missing"
fi

for package in $missing; do
  is_installed "$package" || fail "'$package' is still missing after its installation"
done
