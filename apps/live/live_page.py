"""Builds the live page, one file that needs nothing else: python3 live_page.py --output FOLDER makes FOLDER/index.html.

em++ (Debian: emscripten) compiles the program's own sources to WebAssembly, and the page has them inside. What is compiled
already is not compiled again. Ends with 77 where em++ is missing.
"""

import argparse
import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tomllib
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
STUDY = SOURCE / "data/studies/hmm-four-paths.toml"
MOST_TRAIN = 120  # examples, so that a point takes at most 50 ms
RANGES = {"width": [2, 10000], "temperature": [0.001, 1.0], "train": [10, MOST_TRAIN]}
COMPILER = "em++"
HEADERS = {"Eigen": ("/usr/include/eigen3/Eigen", "/usr/local/include/eigen3/Eigen"), "fmt": ("/usr/include/fmt", "/usr/local/include/fmt")}
# The sources that the page calls, and those that they call. Each group is one compilation. The linker drops what is not called.
GROUPS = {
    "core": [f"src/core/{name}.cpp" for name in (
        "block_cyclic cpu examples labels memory nearest_word normal_kernels option_table option_value ranks rng sha256 text "
        "tree_sum utf8 words").split()],
    "numerics": [f"src/numerics/{name}.cpp" for name in (
        "dense fixed_point_columns orthogonal pivoted_cholesky statistics symmetric tiles").split()],
    "tasks": [f"src/tasks/{name}.cpp" for name in ("dataset", "hidden_markov_chain", "hidden_markov_chain_options")],
    "model": [f"src/model/{name}.cpp" for name in (
        "architecture attention head_products path_features path_index path_weights token_block").split()],
    **{f"theory_{name}": [f"src/theory/{file}.cpp" for file in files.split()] for name, files in {
        "energy": "distributed_kernels example_space example_space_curvature feature_space_curvature feature_space_kernels gram "
                  "kernel_cost orthogonal_kernels path_kernels rank_part second_order_blocks stored_kernels streamed_kernels",
        "rotated": "orthogonal_ridge",
        "saddle": "action action_curvature conjugate_gradients entropy frame geodesic_descent order_parameters predictor "
                  "saddle_point saddle_point_newton saddle_point_newton_cg variance_curvature"}.items()},
    "live": ["apps/live/live.cpp", "apps/live/one_core/blas_on_eigen.cpp", "apps/live/one_core/one_core.cpp"],
}
# Vectors of two numbers, which Eigen takes for SSE. clang is to call itself GCC 5.13: for Eigen that is too new and too old for
# two workarounds in assembler of x86. No fused multiply-add, as in the program's random numbers.
FLAGS = ["-std=c++20", "-O2", "-fwasm-exceptions", "-msimd128", "-msse4.1", "-fgnuc-version=5.13", "-ffp-contract=off",
         "-ffunction-sections", "-DNDEBUG", "-DEIGEN_DONT_PARALLELIZE", "-DFMT_HEADER_ONLY", "-include", str(HERE / "one_core/missing.hpp")]
LINKING = ["-O2", "-fwasm-exceptions", "--no-entry", "-sINITIAL_MEMORY=64MB", "-sALLOW_MEMORY_GROWTH=1", "-sMAXIMUM_MEMORY=1GB",
           "-sTOTAL_STACK=1MB"]


def missing():
    """What the page cannot be built without."""
    return [] if shutil.which(COMPILER) else ["emscripten"]


def run(*command):
    # Debian's node-acorn, which em++ runs, is where only Debian's node looks.
    environment = os.environ | {"NODE_PATH": os.pathsep.join(filter(None, [os.environ.get("NODE_PATH"), "/usr/share/nodejs"]))}
    subprocess.run([str(word) for word in command], cwd=SOURCE, env=environment, check=True)


def study_header(study):
    """The task of the study as C++, so that its numbers stand in the study file alone."""
    task = study["task"]

    def head(options):
        return (f'{{parse_word<tasks::HeadKind>("kind", "{options["kind"]}"), {options.get("shift", -1)}, {options["beta"]}, '
                f'{options.get("perturbation", 0.0)}, ""}}')

    layers = ", ".join("{" + ", ".join(map(head, layer["heads"])) + "}" for layer in task["layers"])
    return f"""#pragma once
#include "headway/tasks/hidden_markov_chain.hpp"
namespace headway {{
inline constexpr std::uint64_t kSeed = {study["seed"]};
inline constexpr Index kMostTrain = {MOST_TRAIN};
inline constexpr double kSmallestTemperature = {RANGES["temperature"][0]};
inline tasks::HiddenMarkovChainOptions study_task() {{
  tasks::HiddenMarkovChainOptions task;
  task.test_examples = {task["test_examples"]};
  task.tokens = {task["tokens"]};
  task.features = {task["features"]};
  task.stay_probability = {{{", ".join(map(str, task["stay_probability"]))}}};
  task.noise = {{{", ".join(map(str, task["noise"]))}}};
  task.layers = {{{layers}}};
  return task;
}}
}}  // namespace headway
"""


def digest_of(files):
    """Of the text that an object file is made of; None while a file is gone."""
    if not all(path.exists() for path in files):
        return None
    return hashlib.sha256(repr(FLAGS).encode() + b"".join(path.read_bytes() for path in files)).hexdigest()


def compile_group(name, folder):
    """The object file of a group, compiled in one go unless it was made of the same text."""
    whole = folder / f"{name}.cpp"
    whole.write_text("".join(f'#include "{SOURCE / path}"\n' for path in GROUPS[name]))
    made, known, needed = (folder / f"{name}.{ending}" for ending in ("o", "sha256", "d"))

    def digest():
        return digest_of([Path(path) for path in needed.read_text().replace("\\\n", " ").split()[1:]])

    if not (made.exists() and known.exists() and needed.exists() and known.read_text() == digest()):
        includes = [f"-I{path}" for path in (HERE / "one_core", folder, folder / "headers", SOURCE / "include", SOURCE / "src")]
        run(COMPILER, *FLAGS, *includes, "-MD", "-MF", needed, "-c", whole, "-o", made)
        known.write_text(digest())
    return made


def compile_core(folder, study):
    """The bytes of the WebAssembly module."""
    (folder / "headers").mkdir(parents=True, exist_ok=True)
    for name, places in HEADERS.items():
        found = next((place for place in places if Path(place).exists()), None)
        if found is None:
            raise SystemExit(f"the live page: {name} is not in {' or '.join(places)}")
        (folder / "headers" / name).unlink(missing_ok=True)
        (folder / "headers" / name).symlink_to(found)
    (folder / "live_study.hpp").write_text(study_header(study))
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        objects = list(pool.map(lambda name: compile_group(name, folder), GROUPS))
    run(COMPILER, *LINKING, *objects, "-o", folder / "live.wasm")
    return (folder / "live.wasm").read_bytes()


def page(module, study):
    """The page: the module, the study and its scripts inside."""
    text = (HERE / "page.html").read_text(encoding="utf-8")
    facts = {"ranges": RANGES, "heads": [[head["kind"] for head in layer["heads"]] for layer in study["task"]["layers"]],
             "width": 100, "temperature": study["model"]["temperature"], "train": study["task"]["train_examples"]}
    parts = {"STYLE": (HERE / "page.css").read_text(encoding="utf-8"), "STUDY": json.dumps(facts),
             "CORE": (HERE / "core.js").read_text(encoding="utf-8"), "PICTURES": (HERE / "pictures.js").read_text(encoding="utf-8"),
             "PAGE": (HERE / "page.js").read_text(encoding="utf-8"), "MODULE": base64.b64encode(module).decode()}
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def build(output, work):
    study = tomllib.loads(STUDY.read_text(encoding="utf-8"))
    text = page(compile_core(work, study), study)
    output.mkdir(parents=True, exist_ok=True)
    (output / "index.html").write_text(text, encoding="utf-8")
    return output / "index.html"


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--work", type=Path, help="where what is compiled is kept (default: work/ in FOLDER)")
    options = parser.parse_args()
    if missing():
        print(f"the live page is not built: {', '.join(missing())} missing (apps/setup/dependencies.sh with DOCS=on installs it)")
        return 77
    try:
        print(build(options.output.resolve(), (options.work or options.output / "work").resolve()))
    except subprocess.CalledProcessError as error:
        print(f"{' '.join(map(str, error.cmd))} ended with {error.returncode}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
