#include "headway/training/training_task.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/nearest_word.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"

namespace headway::training {
namespace {

void require(bool good, std::string_view field, Index value, std::string_view allowed) {
  if (good) return;
  throw Error(ErrorKind::kBadStudy,
              fmt::format("task: {} = {}: must be {}", field, value, allowed));
}

}  // namespace

void TaskFormat::validate() const {
  constexpr Index kMost = Index{1} << 24;
  require(tokens >= 1 && tokens <= kMost, "tokens", tokens, "from 1 to 2^24");
  require(features >= 0 && features <= kMost, "features", features, "from 0 to 2^24");
  require(vocabulary >= 0 && vocabulary <= kMost, "vocabulary", vocabulary, "from 0 to 2^24");
  require((features > 0) != (vocabulary > 0), "vocabulary", vocabulary,
          fmt::format("above 0 exactly when there are no features (there are {})", features));
  require(outputs >= 1 && outputs <= kMost, "outputs", outputs, "from 1 to 2^24");
  require(scored >= 1 && scored <= tokens, "scored", scored,
          fmt::format("from 1 to the {} tokens", tokens));
  require(class_bytes.empty() || static_cast<Index>(class_bytes.size()) == outputs,
          "numbers in class_bytes", static_cast<Index>(class_bytes.size()),
          fmt::format("0 or the {} outputs", outputs));
}

void require_split(const TrainingTask& task, std::string_view split) {
  const std::vector<std::string>& known = task.splits();
  if (std::find(known.begin(), known.end(), split) != known.end()) return;
  const std::string guess = nearest_word(split, known);
  throw Error(ErrorKind::kBadStudy,
              fmt::format("split \"{}\": must be one of {}{}", split, join(known, ", "),
                          guess.empty() ? "" : fmt::format(" (did you mean \"{}\"?)", guess)));
}

}  // namespace headway::training
