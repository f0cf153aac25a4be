#include "tasks/example_shapes.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "headway/core/text.hpp"

namespace headway::tasks {
namespace {

/// The checks of types and shapes.
class ShapeChecker {
 public:
  explicit ShapeChecker(const ExampleArrays& arrays) : arrays_(arrays) {}

  [[nodiscard]] ArrayFacts check() const {
    if (arrays_.sets.empty() || arrays_.sets.front().name != "train") {
      bad_data("{}: train: is missing; allowed: tokens or vectors, and targets", arrays_.name);
    }
    ArrayFacts facts;
    for (const ArraySet& set : arrays_.sets) {
      check_inputs(set);
      check_targets(set);
      check_mask(set);
      check_factors(set);
      if (&set == &arrays_.sets.front()) {
        facts = sizes_of(set);
      } else {
        compare(set);
      }
    }
    return facts;
  }

 private:
  template <class... Args>
  [[noreturn]] void fault(const std::string& place, fmt::format_string<Args...> text,
                          Args&&... args) const {
    bad_data("{}: {}: {}", arrays_.name, place, fmt::format(text, std::forward<Args>(args)...));
  }

  void check_array(const ExampleArray& array, std::size_t rank, const char* allowed) const {
    const std::vector<Index>& shape = array.shape();
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    if (shape.size() == rank && !empty) return;
    fault(array.place, "has shape {}; allowed: {}, none zero", shape_text(shape), allowed);
  }

  void check_inputs(const ArraySet& set) const {
    if (set.tokens.given() == set.vectors.given()) {
      fault(set.name, "has {}; allowed: one of them",
            set.tokens.given() ? "both tokens and vectors" : "neither tokens nor vectors");
    }
    if (!set.tokens.given()) return check_array(set.vectors, 3, "numbers [n, length, width]");
    check_array(set.tokens, 2, "integers [n, length]");
    if (!set.tokens.integers) {
      fault(set.tokens.place,
            "has real numbers; allowed: integers, the ids of tokens. Numbers go into vectors");
    }
  }

  void check_targets(const ArraySet& set) const {
    if (!set.targets.given()) {
      fault(set.name,
            "has no targets; allowed: integers [n] or [n, length], or reals [n], "
            "[n, outputs] or [n, length, outputs]");
    }
    const std::vector<Index>& shape = set.targets.shape();
    const Index length = set.inputs().shape()[1];
    const std::string allowed =
        set.targets.integers
            ? fmt::format(
                  "classes as integers [n] or [n, length] with n = {}, length = {}; "
                  "real numbers for anything else",
                  set.size(), length)
            : fmt::format(
                  "reals [n], [n, outputs] or [n, length, outputs] with n = {}, length = "
                  "{}; integers for classes",
                  set.size(), length);
    const bool rank = !shape.empty() && shape.size() <= (set.targets.integers ? 2U : 3U);
    const bool empty = std::find(shape.begin(), shape.end(), 0) != shape.end();
    const bool tokens = !every_token(set) || shape[1] == length;
    if (rank && !empty && tokens && shape[0] == set.size()) return;
    fault(set.targets.place, "has shape {}; allowed: {}", shape_text(shape), allowed);
  }

  static bool every_token(const ArraySet& set) {
    return set.targets.shape().size() == (set.targets.integers ? 2U : 3U);
  }

  void check_mask(const ArraySet& set) const {
    if (!set.loss_mask.given()) return;
    if (!every_token(set)) {
      fault(set.loss_mask.place,
            "is allowed beside targets of every token alone; those of {} have "
            "shape {}",
            set.targets.place, shape_text(set.targets.shape()));
    }
    const std::vector<Index> wanted = {set.size(), set.inputs().shape()[1]};
    if (set.loss_mask.shape() == wanted) return;
    fault(set.loss_mask.place, "has shape {}; allowed: {}, [n, length]",
          shape_text(set.loss_mask.shape()), shape_text(wanted));
  }

  void check_factors(const ArraySet& set) const {
    for (const Factor& factor : set.factors) {
      const ExampleArray& array = factor.values;
      if (factor.name == "answer") {
        fault(array.place, "is what latents calls the target; allowed: another name");
      }
      const std::string wrong = set_name_fault(factor.name);
      if (!wrong.empty()) fault(array.place, "is {}", wrong);
      if (!array.integers) fault(array.place, "has real numbers; allowed: integers from 0");
      if (array.shape() != std::vector<Index>{set.size()}) {
        fault(array.place, "has shape {}; allowed: [{}], one number for each example",
              shape_text(array.shape()), set.size());
      }
    }
  }

  static ArrayFacts sizes_of(const ArraySet& set) {
    ArrayFacts facts;
    facts.length = set.inputs().shape()[1];
    facts.width = set.tokens.given() ? 0 : set.vectors.shape()[2];
    facts.every_token = every_token(set);
    const std::vector<Index>& targets = set.targets.shape();
    if (!set.targets.integers) facts.outputs = targets.size() > 1 ? targets.back() : 1;
    return facts;
  }

  /// Of a further set with train.
  void compare(const ArraySet& set) const {
    const ArraySet& train = arrays_.sets.front();
    if (set.tokens.given() != train.tokens.given()) {
      fault(set.inputs().place, "is there, where train has {}; allowed: the same in every set",
            train.inputs().place);
    }
    same_rows(set.inputs(), train.inputs(), "length", "width");
    if (set.targets.integers != train.targets.integers) {
      fault(set.targets.place, "has {}, and {} has {}; allowed: one kind in every set",
            kind(set.targets), train.targets.place, kind(train.targets));
    }
    same_rows(set.targets, train.targets, "length or outputs", "outputs");
    const auto same_name = [](const Factor& a, const Factor& b) { return a.name == b.name; };
    if (!set.factors.empty() && !std::ranges::equal(set.factors, train.factors, same_name)) {
      fault(set.name, "has the factors {}, and train has {}; allowed: the same, or none",
            names_of(set.factors), train.factors.empty() ? "none" : names_of(train.factors));
    }
  }

  static std::string names_of(const std::vector<Factor>& factors) {
    std::vector<std::string> names;
    for (const Factor& factor : factors) names.push_back(factor.name);
    return join(names);
  }

  static const char* kind(const ExampleArray& array) {
    return array.integers ? "integers" : "real numbers";
  }

  void same_rows(const ExampleArray& array, const ExampleArray& train, const char* second,
                 const char* third) const {
    const std::vector<Index>&mine = array.shape(), &wanted = train.shape();
    const bool same = mine.size() == wanted.size() &&
                      std::equal(mine.begin() + 1, mine.end(), wanted.begin() + 1);
    if (same) return;
    fault(array.place, "has shape {}, and {} has {}; allowed: one {} in every set",
          shape_text(mine), train.place, shape_text(wanted),
          mine.size() == wanted.size() && mine.size() > 1 && mine[1] == wanted[1] ? third : second);
  }

  const ExampleArrays& arrays_;
};

}  // namespace

ArrayFacts check_shapes(const ExampleArrays& arrays) { return ShapeChecker(arrays).check(); }

std::string shape_text(const std::vector<Index>& shape) {
  return fmt::format("[{}]", join(shape, ", "));
}

}  // namespace headway::tasks
