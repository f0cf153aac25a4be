#!/bin/sh
# check_format.sh CLANG_FORMAT: fails with a list of the sources that `make format` would change.
# Exit 77 (skipped) without clang-format 14, the version whose layout the sources have.
set -eu
clang_format=$1
case "$("$clang_format" --version 2>/dev/null || true)" in
  *" version 14."*) ;;
  *)
    echo "skipped: clang-format 14 is not here"
    exit 77
    ;;
esac
find include src apps tests -name '*.cpp' -print0 -o -name '*.hpp' -print0 |
  xargs -0 "$clang_format" --dry-run --Werror
