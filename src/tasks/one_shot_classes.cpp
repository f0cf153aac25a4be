#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "tasks/set_splits.hpp"

namespace headway::tasks {
namespace {

constexpr double kLargestScale = 1e3;
constexpr std::size_t kTupleClasses = 2;
constexpr Index kTupleDrawings = 2;  // of the query's class
constexpr int kTurns = 4;

// Which alphabets (or single characters) there are: lists of positions in the image set.
std::vector<std::vector<Index>> units_of(const ImageSet& images, bool by_group) {
  std::vector<std::vector<Index>> units;
  std::map<std::string_view, std::size_t> unit_of_group;
  for (std::size_t c = 0; c < images.classes.size(); ++c) {
    const std::string& group = images.classes[c].group;
    if (by_group && group.empty()) {
      throw Error(
          ErrorKind::kBadStudy,
          fmt::format(
              "task.split_by_group = true: must be false: class {} of {} belongs to no group",
              images.classes[c].name, images.name));
    }
    const auto known =
        by_group ? unit_of_group.try_emplace(group, units.size()).first->second : units.size();
    if (known == units.size()) units.emplace_back();
    units[known].push_back(static_cast<Index>(c));
  }
  return units;
}

std::vector<OneShotClass> with_turns(const std::vector<std::vector<Index>>& units,
                                     std::size_t begin, std::size_t end, bool rotations) {
  std::vector<Index> unturned;
  for (std::size_t u = begin; u < end; ++u) {
    unturned.insert(unturned.end(), units[u].begin(), units[u].end());
  }
  std::sort(unturned.begin(), unturned.end());
  std::vector<OneShotClass> classes;
  for (int turns = 0; turns < (rotations ? kTurns : 1); ++turns) {
    for (const Index c : unturned) classes.push_back({c, turns});
  }
  return classes;
}

// Error if a split has no two classes. The file is at fault if no shares would do, else the shares.
void require_pair(std::string_view split, const std::vector<OneShotClass>& classes,
                  const ImageSet& images, const OneShotImagesOptions& options) {
  if (classes.size() >= kTupleClasses) return;
  const std::size_t splits =
      1 + (options.validation > 0.0 ? 1U : 0U) + (options.test > 0.0 ? 1U : 0U);
  const std::size_t needed = splits * kTupleClasses;
  if (images.classes.size() < needed) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: has {} characters: must be at least {}, {} for each of {} splits",
                            images.name, images.classes.size(), needed, kTupleClasses, splits));
  }
  throw OptionError(
      fmt::format("task.validation = {}, task.test = {}: of the {} characters of {}, {} are for "
                  "{}: must be at least {}. Take other shares, or more images",
                  options.validation, options.test, images.classes.size(), images.name,
                  classes.size(), split, kTupleClasses),
      {"task.validation", "task.test"});
}

}  // namespace

const OptionTable<OneShotImagesOptions>& OneShotImagesOptions::table() {
  using O = OneShotImagesOptions;
  static const OptionTable<O> table = {{
      option("validation", &O::validation, real(0.0, 1.0),
             "share of the characters used to choose the best checkpoint"),
      option("test", &O::test, real(0.0, 1.0), "share of the characters used for tests only"),
      option("split_by_group", &O::split_by_group, flag(),
             "split by whole alphabets in place of single characters"),
      option(
          "rotations", &O::rotations, flag(),
          "add each character turned by 90, 180 and 270 degrees as further classes. Turn it on if "
          "there are few characters."),
      option("position_scale", &O::position_scale, real(0.0, kLargestScale),
             "factor of the sinusoidal positions. Below 1 the drawings count for more."),
      option("label_scale", &O::label_scale, real(0.0, kLargestScale),
             "factor of the label embedding. Below 1 the drawings count for more."),
  }};
  return table;
}

void OneShotImagesOptions::validate() const {
  check_options(table(), *this, "task");
  if (validation + test >= 1.0) {
    throw OptionError(
        fmt::format("task.validation + task.test = {}: must be below 1, to leave characters "
                    "for training",
                    validation + test),
        {"task.validation", "task.test"});
  }
}

const std::vector<OneShotClass>& OneShotClasses::of(OneShotSplit split) const {
  switch (split) {
    case OneShotSplit::kTrain:
      return train;
    case OneShotSplit::kValidation:
      return validation;
    case OneShotSplit::kTest:
      return test;
    case OneShotSplit::kOutOfDistribution:
      return out_of_distribution;
  }
  throw Error(ErrorKind::kInternal, "one_shot_images: unknown split");
}

OneShotClasses split_one_shot_classes(const ImageSet& images, const OneShotImagesOptions& options) {
  options.validate();
  for (const ImageClass& c : images.classes) {
    if (c.count < kTupleDrawings) {
      throw Error(
          ErrorKind::kBadData,
          fmt::format(
              "{}: class {}/{} has {} drawing: must have at least {}, for a query and its support",
              images.name, c.group, c.name, c.count, kTupleDrawings));
    }
  }
  std::vector<std::vector<Index>> units = units_of(images, options.split_by_group);
  const auto count = static_cast<Index>(units.size());
  Rng rng(options.seed, StreamPurpose::kSplits);
  numerics::shuffle(units, rng);
  const auto test_end = static_cast<std::size_t>(detail::held_out_count(options.test, count));
  const auto validation_end =
      test_end + static_cast<std::size_t>(detail::held_out_count(options.validation, count));
  OneShotClasses classes;
  classes.test = with_turns(units, 0, test_end, options.rotations);
  classes.validation = with_turns(units, test_end, validation_end, options.rotations);
  classes.train = with_turns(units, validation_end, units.size(), options.rotations);
  require_pair("training", classes.train, images, options);
  if (options.validation > 0.0) require_pair("validation", classes.validation, images, options);
  if (options.test > 0.0) require_pair("test", classes.test, images, options);
  return classes;
}

}  // namespace headway::tasks
