#!/bin/sh
# wheel.sh PYTHON FOLDER: builds the wheel of the Python package, installs it into an environment of its own away from
# the source tree, and solves and draws a study there. scikit-build-core comes from the package index.
set -eu
python=$1
mkdir -p "$2"
folder=$(cd "$2" && pwd)
source=$(cd "$(dirname "$0")/../python" && pwd)
rm -rf "$folder"/*.whl "$folder/environment"
"$python" -m venv "$folder/environment"
"$folder/environment/bin/pip" wheel -q --no-deps --config-settings=build-dir="$folder/compiled" -w "$folder" "$source"
"$folder/environment/bin/pip" install -q "$folder"/*.whl
cd /
env -u PYTHONPATH "$folder/environment/bin/python" - "$folder" << 'END'
import pathlib, sys
import headway
folder = pathlib.Path(sys.argv[1])
assert folder in pathlib.Path(headway.__file__).parents, headway.__file__
result = headway.solve("hmm-four-paths", widths=[10])
assert result.points[0].converged
result.save(folder / "solved.h5", force=True)
headway.write_report(folder / "solved.h5", folder / "solved.html", overwrite=True)
print(f"headway {headway.__version__}: {result.summary}; accuracy {result.points[0].accuracy}")
END
ls "$folder"/*.whl
