#include "headway/io/hdf5_file.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study_file.hpp"
#include "jobs/json_text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// Prints a study with its defaults and overlays, or what an HDF5 file holds. With --set, prints
/// the study that the HDF5 file stands for.
int inspect(const Options& options) {
  const std::vector<std::string> overlays = options.study_overlays();
  nlohmann::ordered_json object;
  object["file"] = options.input;
  std::string text;
  if (io::is_hdf5(options.input) && options.overlays.empty()) {
    text = io::describe_hdf5_file(options.input);
    object["description"] = text;
  } else {
    const Study study = io::read_study(options.input, overlays).study;
    text = io::write_study(study);
    object["study"] = study.name;
    object["study_hash"] = headway::study_hash(study);
    object["study_toml"] = text;
  }
  write_output(options.json ? jobs::json_text(object) : text);
  return kExitOk;
}

}  // namespace

Verb inspect_verb() {
  return {
      .name = "inspect",
      .summary = "show a study with its defaults, or what an HDF5 file holds",
      .about =
          "Prints a study with every default filled in. Of a data set or a result it prints what "
          "the file holds, where it came from, and the command that makes it again; with --set, "
          "the study that it stands for.",
      .examples = {{"headway inspect hmm-four-paths", "a study with all its defaults"},
                   {"headway inspect four.h5", "a result: contents, origin, command"}},
      .takes = Takes::kStudy,
      .run = &inspect};
}

}  // namespace headway::cli
