#include <fmt/format.h>

#include "headway/core/labels.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/result_file.hpp"
#include "jobs/json_text.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct Findings {
  const char* kind = "data set";
  std::vector<std::string> faults, ignored, warnings;
  bool lacks_attention = false;
};

Findings findings_of(const std::string& file) {
  Findings found;
  if (io::is_result_file(file)) {
    found.faults = {fmt::format(
        "{}: is a result of headway {}, which headway inspect explains; allowed: a data set, or a "
        "file of examples to train on",
        file, io::verb_of_kind(io::read_result_kind(file)))};
    return found;
  }
  if (io::is_examples_file(file)) {
    found.kind = "file of examples";
    found.faults = io::validate_examples(file, &found.warnings);
    return found;
  }
  found.faults = io::validate_dataset(file);
  if (!found.faults.empty()) return found;
  const std::string warning = class_numbers_warning(file, io::training_labels(file));
  if (!warning.empty()) found.warnings.push_back(warning);
  found.ignored = io::ignored_members(file);
  found.lacks_attention = io::lacks_attention(file);
  return found;
}

int validate(const Options& options) {
  const Findings found = findings_of(options.input);
  const bool valid = found.faults.empty();
  if (options.json) {
    nlohmann::ordered_json object;
    object["file"] = options.input;
    object["valid"] = valid;
    object["faults"] = found.faults;
    if (valid) {
      object["ignored"] = found.ignored;
      object["warning"] = join(found.warnings, "\n");
    }
    write_output(jobs::json_text(object));
  } else if (valid) {
    write_output(fmt::format(
        "{}: valid{}{}\n", options.input,
        found.lacks_attention
            ? ". It gives no attention: a study must let it be learned (model.attention_prior)"
            : "",
        found.ignored.empty()
            ? ""
            : fmt::format(". Ignored, since no data set has them: {}", join(found.ignored))));
    for (const std::string& warning : found.warnings) write_message("headway: warning: " + warning);
  } else {
    write_output(join(found.faults, "\n") + "\n");
    write_message(fmt::format("headway: {}: not a valid {}", options.input, found.kind));
  }
  return valid ? kExitOk : static_cast<int>(ErrorKind::kBadData);
}

}  // namespace

Verb validate_verb() {
  return {.name = "validate",
          .summary = "check a data-set file and list every fault",
          .about =
              "Lists every fault of a data set, not the first one alone; of a file of examples to "
              "train on it tells the first. Ends with exit code 65 where there is a fault. Of a "
              "valid file it names the arrays that are ignored, and warns of labels that look like "
              "numbers of classes or are all equal.",
          .examples = {{"headway validate data.h5", "a file of your own"}},
          .takes = Takes::kFile,
          .run = &validate};
}

}  // namespace headway::cli
