#include <fmt/format.h>

#include "headway/core/labels.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "json_text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

int validate(const Options& options) {
  const std::vector<std::string> faults = io::validate_dataset(options.input);
  const std::string warning =
      faults.empty() ? class_numbers_warning(options.input, io::training_labels(options.input))
                     : "";
  if (options.json) {
    nlohmann::ordered_json object;
    object["file"] = options.input;
    object["valid"] = faults.empty();
    object["faults"] = faults;
    if (faults.empty()) {
      object["ignored"] = io::ignored_members(options.input);
      object["warning"] = warning;
    }
    write_output(json_text(object));
  } else if (faults.empty()) {
    const std::vector<std::string> ignored = io::ignored_members(options.input);
    write_output(fmt::format(
        "{}: valid{}{}\n", options.input,
        io::lacks_attention(options.input)
            ? ". It gives no attention: a study must let it be learned (model.attention_prior)"
            : "",
        ignored.empty() ? ""
                        : fmt::format(". Ignored, since no data set has them: {}", join(ignored))));
    if (!warning.empty()) write_message("headway: warning: " + warning);
  } else {
    std::string text;
    for (const std::string& fault : faults) text += fault + "\n";
    write_output(text);
    write_message(fmt::format("headway: {}: not a valid data set", options.input));
  }
  return faults.empty() ? kExitOk : static_cast<int>(ErrorKind::kBadData);
}

}  // namespace

Verb validate_verb() {
  return {.name = "validate",
          .summary = "check a data-set file and list every fault",
          .about =
              "Lists every fault of a data set, not the first one alone, and ends with exit code "
              "65 where there is one. Of a valid file it names the arrays that are ignored, and "
              "warns of labels that "
              "look like numbers of classes.",
          .examples = {{"headway validate data.h5", "a file of your own"}},
          .takes = Takes::kFile,
          .run = &validate};
}

}  // namespace headway::cli
