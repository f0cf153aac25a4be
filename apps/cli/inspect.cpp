#include <nlohmann/json.hpp>

#include "headway/core/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/study_file.hpp"
#include "headway/studies/study_hash.hpp"
#include "run.hpp"

namespace headway::cli {

namespace {

int print(const Options& options, const nlohmann::ordered_json& object, const std::string& text) {
  write_output(options.json
                   ? object.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                         "\n"
                   : text);
  return kExitOk;
}

}  // namespace

/// A study: as it is after defaults and overlays. An HDF5 file: what it holds, unless overlays ask
/// for the study that it would give.
int run_inspect(const Options& options) {
  const bool overlaid = !options.overlays.empty() || options.seed || options.threads;
  nlohmann::ordered_json object;
  object["file"] = options.input;
  if (io::is_hdf5(options.input) && !overlaid) {
    const std::string text = io::describe_hdf5_file(options.input);
    object["description"] = text;
    return print(options, object, text);
  }
  const studies::Study study = resolve_study(options);
  const std::string text = io::write_study(study);
  object["study"] = study.name;
  object["study_hash"] = studies::study_hash(study);
  object["study_toml"] = text;
  return print(options, object, text);
}

}  // namespace headway::cli
