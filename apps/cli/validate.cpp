#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "headway/core/error.hpp"
#include "headway/io/dataset_file.hpp"
#include "run.hpp"

namespace headway::cli {

int run_validate(const Options& options) {
  const std::vector<std::string> faults = io::validate_dataset(options.input);
  if (options.json) {
    nlohmann::ordered_json object;
    object["file"] = options.input;
    object["valid"] = faults.empty();
    object["faults"] = faults;
    write_output(object.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) +
                 "\n");
  } else if (faults.empty()) {
    write_output(fmt::format("{}: valid\n", options.input));
  } else {
    std::string text;
    for (const std::string& fault : faults) text += fault + "\n";
    write_output(text);
    write_message(fmt::format("headway: {}: {} fault{}", options.input, faults.size(),
                              faults.size() == 1 ? "" : "s"));
  }
  return faults.empty() ? kExitOk : static_cast<int>(ErrorKind::kBadData);
}

}  // namespace headway::cli
