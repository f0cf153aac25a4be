#include "headway/io/hdf5_file.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/study_hash.hpp"
#include "json_text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

/// A study: as it is after defaults and overlays. An HDF5 file: what it holds, unless overlays ask
/// for the study that it would give.
int inspect(const Options& options) {
  const std::vector<std::string> overlays = options.study_overlays();
  nlohmann::ordered_json object;
  object["file"] = options.input;
  std::string text;
  if (io::is_hdf5(options.input) && overlays.empty()) {
    text = io::describe_hdf5_file(options.input);
    object["description"] = text;
  } else {
    const studies::Study study = io::read_study(options.input, overlays).study;
    text = io::write_study(study);
    object["study"] = study.name;
    object["study_hash"] = studies::study_hash(study);
    object["study_toml"] = text;
  }
  write_output(options.json ? json_text(object) : text);
  return kExitOk;
}

}  // namespace

Verb inspect_verb() {
  return {.name = "inspect",
          .summary = "the resolved study, or what an HDF5 file holds and how to remake it",
          .sections = {},
          .takes = Takes::kStudy,
          .run = &inspect};
}

}  // namespace headway::cli
