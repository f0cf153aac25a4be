#include "headway/tasks/example_arrays.hpp"

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "memory_arrays.hpp"

using namespace headway::testing;  // NOLINT: a test
using headway::tasks::ArrayCounts;
using headway::tasks::ArraySet;
using headway::tasks::check_arrays;

namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Three sequences of two tokens, a class for each.
ArraySet tokens(const std::string& name = "train") {
  return {name,
          integers(name + "/tokens", {3, 2}, {0, 1, 4, 0, 2, 2}),
          {},
          integers(name + "/targets", {3}, {2, 0, 1}),
          {}};
}

/// Two sequences of three vectors of one number, with two targets for every token.
ArraySet vectors(const std::string& name = "train") {
  return {name,
          {},
          reals(name + "/vectors", {2, 3, 1}, {1, 2, 3, 4, 5, 6}),
          reals(name + "/targets", {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}),
          {}};
}

std::string refusal(std::vector<ArraySet> sets, const ArrayCounts& counts = {}) {
  try {
    check_arrays(*arrays_of(std::move(sets)), counts);
  } catch (const headway::Error& error) {
    return error.what();
  }
  return "no error";
}

/// The refusal of a training set that `change` has changed.
std::string refusal(ArraySet set, const std::function<void(ArraySet&)>& change) {
  change(set);
  return refusal({std::move(set)});
}

}  // namespace

TEST_CASE("Arrays say what the task is") {
  const auto facts = check_arrays(*arrays_of({tokens(), tokens("test")}), {});
  CHECK(facts.length == 2);
  CHECK(facts.vocabulary == 5);
  CHECK(facts.classes == 3);
  CHECK(facts.outputs == 3);
  CHECK(facts.scored == 1);
  CHECK_FALSE(facts.every_token);
  CHECK_FALSE(facts.masked);
  CHECK(facts.warnings.empty());
  const auto more = check_arrays(*arrays_of({tokens()}), {9, 7, 0, 0});
  CHECK(more.vocabulary == 9);
  CHECK(more.outputs == 7);
  const auto least = check_arrays(*arrays_of({tokens()}), {0, 0, 4, 8});
  CHECK(least.vocabulary == 5);
  CHECK(least.classes == 8);

  const auto real = check_arrays(*arrays_of({vectors()}), {});
  CHECK(real.width == 1);
  CHECK(real.vocabulary == 0);
  CHECK(real.classes == 0);
  CHECK(real.outputs == 2);
  CHECK(real.every_token);
  CHECK(real.scored == 3);
  CHECK_FALSE(real.signs);
  CHECK(real.numbers() == 3 + 6);
}

TEST_CASE("A loss mask says which tokens are scored, and how many targets count") {
  ArraySet set = vectors();
  set.loss_mask = integers("train/loss_mask", {2, 3}, {0, 1, 1, 0, 0, 1});
  const auto facts = check_arrays(*arrays_of({set}), {});
  CHECK(facts.scored == 2);
  CHECK(facts.masked);
  CHECK(facts.counted_share == 0.75);
  set.loss_mask = integers("train/loss_mask", {2, 3}, {0, 0, 1, 0, 0, 1});
  const auto last = check_arrays(*arrays_of({set}), {});
  CHECK(last.scored == 1);
  CHECK_FALSE(last.masked);
  // A set without a mask counts everywhere.
  const auto both = check_arrays(*arrays_of({set, vectors("test")}), {});
  CHECK(both.scored == 3);
  CHECK(both.counted_share == 1.0 / 3.0);
}

TEST_CASE("Factors are whole numbers of every example, the same in every set that has them") {
  const auto with = [](const std::string& name, std::vector<double> values,
                       const std::string& set = "train") {
    ArraySet out = tokens(set);
    out.factors = {{name, integers(set + "/factors/" + name, {3}, std::move(values))}};
    return out;
  };
  CHECK(refusal({with("hue", {0, 4, 1}), tokens("test"), with("hue", {9, 0, 0}, "far")}) ==
        "no error");
  CHECK(refusal({with("hue", {0, -1, 1})}) ==
        "own: train/factors/hue[1]: -1; allowed: integers from 0 to 999");
  CHECK(refusal({with("hue", {0, 0, 1}), with("size", {0, 0, 1}, "far")}) ==
        "own: far: has the factors size, and train has hue; allowed: the same, or none");
  CHECK(refusal({tokens(), with("size", {0, 0, 1}, "far")}) ==
        "own: far: has the factors size, and train has none; allowed: the same, or none");
  CHECK(refusal({with("answer", {0, 0, 1})}).find("is what latents calls the target") !=
        std::string::npos);
  CHECK(refusal({with("a b", {0, 0, 1})}).find("allowed: a letter, then letters") !=
        std::string::npos);
  CHECK(refusal(with("hue", {0, 0, 1}), [](ArraySet& s) {
          s.factors[0].values = integers("train/factors/hue", {2}, {0, 1});
        }) == "own: train/factors/hue: has shape [2]; allowed: [3], one number for each example");
  CHECK(refusal(with("hue", {0, 0, 1}), [](ArraySet& s) {
          s.factors[0].values = reals("train/factors/hue", {3}, {0, 1, 2});
        }) == "own: train/factors/hue: has real numbers; allowed: integers from 0");
}

TEST_CASE("What a loss mask hides may be anything") {
  ArraySet set = tokens();
  set.targets = integers("train/targets", {3, 2}, {-100, 1, 0, 1, 0, -100});
  CHECK(refusal({set}) == "own: train/targets[0, 0]: -100; allowed: classes from 0 to 16777215");
  set.loss_mask = integers("train/loss_mask", {3, 2}, {0, 1, 1, 1, 1, 0});
  CHECK(refusal({set}) == "no error");
  CHECK(refusal(vectors(), [](ArraySet& s) {
          s.targets = reals("train/targets", {2, 3, 1}, {kNan, 1, 2, kNan, 4, 5});
          s.loss_mask = integers("train/loss_mask", {2, 3}, {0, 1, 1, 0, 1, 1});
        }) == "no error");
}

TEST_CASE("Bad numbers are refused with array, place, value and what is allowed") {
  CHECK(refusal(tokens(), [](ArraySet& s) {
          s.tokens = integers("train/tokens", {3, 2}, {0, 1, -3, 0, 2, 2});
        }) == "own: train/tokens[1, 0]: -3; allowed: ids from 0 to 16777215");
  CHECK(refusal({tokens()}, {4, 0, 0, 0}) ==
        "own: train/tokens[1, 0]: 4; allowed: ids from 0 to 3, as task.vocabulary = 4");
  CHECK(refusal({tokens()}, {0, 2, 0, 0}) ==
        "own: train/targets[0]: 2; allowed: classes from 0 to 1, as task.classes = 2");
  ArraySet test = tokens("test");
  test.targets = integers("test/targets", {3}, {2, 0, 3});
  CHECK(refusal({tokens(), test}) ==
        "own: test/targets[2]: 3; allowed: classes from 0 to 2, those of train; task.classes "
        "allows more");
  test = tokens("test");
  test.tokens = integers("test/tokens", {3, 2}, {0, 1, 4, 5, 2, 2});
  CHECK(refusal({tokens(), test}) ==
        "own: test/tokens[1, 1]: 5; allowed: ids from 0 to 4, those of train; task.vocabulary "
        "allows more");
  const auto real = [](ArraySet& s) {
    s.vectors = reals("train/vectors", {2, 3, 1}, {1, 2, 3, 4, kNan, 6});
  };
  CHECK(refusal(vectors(), real) ==
        "own: train/vectors[1, 1, 0]: nan; allowed: finite numbers up to 1e+15 in size");
  CHECK(refusal(vectors(), [](ArraySet& s) {
          s.targets = reals("train/targets", {2, 3, 1}, {1, 2, 3, 4, 1e16, 6});
        }) == "own: train/targets[1, 1, 0]: 1e+16; allowed: finite numbers up to 1e+15 in size");
  CHECK(refusal(vectors(), [](ArraySet& s) {
          s.loss_mask = reals("train/loss_mask", {2, 3}, {1, 1, 0.5, 1, 1, 1});
        }) == "own: train/loss_mask[0, 2]: 0.5; allowed: 0, or 1 where the target counts");
  CHECK(refusal(vectors(), [](ArraySet& s) {
          s.loss_mask = integers("train/loss_mask", {2, 3}, {0, 0, 0, 0, 0, 0});
        }) == "own: train/loss_mask: hides every target of train; allowed: at least one 1");
}

TEST_CASE("Arrays that are missing, of another type or shape are refused by name") {
  CHECK(refusal(std::vector<ArraySet>{}) ==
        "own: train: is missing; allowed: tokens or vectors, and targets");
  const auto starts = [](const std::string& message, const std::string& begin) {
    CAPTURE(message);
    CHECK(message.starts_with("own: " + begin));
  };
  starts(refusal(tokens(), [](ArraySet& s) { s.tokens = {}; }),
         "train: has neither tokens nor vectors; allowed: one of them");
  starts(refusal(tokens(), [](ArraySet& s) { s.vectors = vectors().vectors; }),
         "train: has both tokens and vectors");
  starts(refusal(tokens(), [](ArraySet& s) { s.targets = {}; }), "train: has no targets");
  starts(refusal(tokens(), [](ArraySet& s) { s.tokens.integers = false; }),
         "train/tokens: has real numbers; allowed: integers");
  starts(refusal(tokens(),
                 [](ArraySet& s) {
                   s.tokens = integers("train/tokens", {6}, {0, 1, 2, 3, 4, 5});
                 }),
         "train/tokens: has shape [6]; allowed: integers [n, length], none zero");
  starts(refusal(tokens(),
                 [](ArraySet& s) {
                   s.targets = integers("train/targets", {2}, {0, 1});
                 }),
         "train/targets: has shape [2]; allowed: classes as integers [n] or [n, length] with n = "
         "3, length = 2");
  starts(refusal(tokens(),
                 [](ArraySet& s) {
                   s.targets = integers("train/targets", {3, 1}, {0, 1, 1});
                 }),
         "train/targets: has shape [3, 1]");
  starts(refusal(tokens(),
                 [](ArraySet& s) {
                   s.loss_mask = integers("train/loss_mask", {3, 2}, {});
                 }),
         "train/loss_mask: is allowed beside targets of every token alone; those of train/targets "
         "have shape [3]");
  starts(refusal(vectors(),
                 [](ArraySet& s) {
                   s.loss_mask = integers("train/loss_mask", {2, 2}, {});
                 }),
         "train/loss_mask: has shape [2, 2]; allowed: [2, 3]");
}

TEST_CASE("Sets that do not fit train are refused") {
  const auto beside = [](const ArraySet& train, const std::function<void(ArraySet&)>& change) {
    ArraySet test = train.tokens.given() ? tokens("test") : vectors("test");
    change(test);
    return refusal({train, test});
  };
  CHECK(beside(tokens(),
               [](ArraySet& s) {
                 s.tokens = integers("test/tokens", {3, 1}, {0, 1, 2});
               }) ==
        "own: test/tokens: has shape [3, 1], and train/tokens has [3, 2]; allowed: one "
        "length in every set");
  CHECK(beside(vectors(),
               [](ArraySet& s) {
                 s.vectors = reals("test/vectors", {2, 3, 2}, std::vector<double>(12, 1.0));
               }) ==
        "own: test/vectors: has shape [2, 3, 2], and train/vectors has [2, 3, 1]; allowed: "
        "one width in every set");
  CHECK(beside(tokens(),
               [](ArraySet& s) {
                 s.targets = reals("test/targets", {3}, {0, 1, 2});
               }) ==
        "own: test/targets: has real numbers, and train/targets has integers; allowed: one "
        "kind in every set");
  CHECK(beside(tokens(),
               [](ArraySet& s) {
                 s.tokens = {};
                 s.vectors = reals("test/vectors", {3, 2, 1}, std::vector<double>(6, 1.0));
               }) ==
        "own: test/vectors: is there, where train has train/tokens; allowed: the same in "
        "every set");
}

TEST_CASE("Counts that the arrays have no use for are refused") {
  CHECK(refusal({vectors()}, {5, 0, 0, 0}) ==
        "task.vocabulary = 5: must be absent: the examples are vectors");
  CHECK(refusal({vectors()}, {0, 5, 0, 0}) ==
        "task.classes = 5: must be absent: the targets are real numbers");
}

TEST_CASE("Targets that are all equal, or look like classes, are pointed out") {
  const auto warnings = [](ArraySet set, const headway::tasks::ExampleArray& targets) {
    set.targets = targets;
    return check_arrays(*arrays_of({set}), {}).warnings;
  };
  using Warnings = std::vector<std::string>;
  CHECK(warnings(tokens(), integers("train/targets", {3}, {2, 2, 2})) ==
        Warnings{"own: train/targets: are all 2: there is nothing to tell apart"});
  CHECK(warnings(tokens(), reals("train/targets", {3}, {0, 2, 1})) ==
        Warnings{"own: train/targets: are whole numbers from 0 to 2, taken as real targets; for "
                 "classes give integers from 0"});
  CHECK(warnings(tokens(), reals("train/targets", {3}, {0, 2, 1.5})).empty());
  ArraySet signs = tokens();
  signs.targets = reals("train/targets", {3}, {1, -1, 1});
  const auto facts = check_arrays(*arrays_of({signs}), {});
  CHECK(facts.signs);
  CHECK(facts.warnings.empty());
}
