#include "headway/tasks/fuzzy_logic.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

using Catch::Matchers::ContainsSubstring;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using namespace headway::tasks;

namespace {

FuzzyLogicOptions with_size(int variables, int terms, double held_out = 0.7) {
  FuzzyLogicOptions options;
  options.variables = variables;
  options.terms_per_task = terms;
  options.held_out = held_out;
  options.sequence_length = 8;
  return options;
}

std::vector<FuzzyLogicSplit> all_splits() {
  return {FuzzyLogicSplit::kTrain, FuzzyLogicSplit::kHeldOut, FuzzyLogicSplit::kUnknownTerms};
}

FuzzyLogicExample example_of(const FuzzyLogicGenerator& generator, FuzzyLogicSplit split,
                             Index index) {
  FuzzyLogicExample example;
  generator.example(split, index, example);
  return example;
}

// The inputs x of one token.
std::vector<float> token_of(const FuzzyLogicExample& example, std::size_t variables,
                            std::size_t token) {
  const auto begin = example.inputs.begin() + static_cast<Index>(token * (variables + 1));
  return {begin, begin + static_cast<Index>(variables)};
}

}  // namespace

TEST_CASE("Fuzzy logic on 0 and 1 is Boolean logic") {
  // A term has every variable, so it is true on one input alone: the binary digits of its number.
  for (const auto& [variables, terms] : {std::pair{3, 2}, std::pair{4, 2}, std::pair{5, 3}}) {
    const FuzzyLogicTasks tasks = split_fuzzy_logic_tasks(with_size(variables, terms));
    for (const FuzzyLogicSplit split : all_splits()) {
      for (const std::vector<int>& task : tasks.of(split)) {
        for (int input = 0; input < 1 << variables; ++input) {
          std::vector<float> x;
          for (int v = variables - 1; v >= 0; --v) {
            x.push_back(static_cast<float>((input >> v) & 1));
          }
          const bool truth = std::find(task.begin(), task.end(), input) != task.end();
          REQUIRE(evaluate_fuzzy_logic(task, x) == (truth ? 1.0F : 0.0F));
        }
      }
    }
  }
}

TEST_CASE("Fuzzy logic of values in between is Zadeh's") {
  const std::vector<float> x = {0.25F, 0.875F};
  const auto value = [&x](std::vector<int> terms) { return evaluate_fuzzy_logic(terms, x); };
  CHECK(value({0}) == 0.125F);    // min(1 - .25, 1 - .875)
  CHECK(value({1}) == 0.75F);     // min(1 - .25, .875)
  CHECK(value({2}) == 0.125F);    // min(.25, 1 - .875)
  CHECK(value({3}) == 0.25F);     // min(.25, .875)
  CHECK(value({0, 3}) == 0.25F);  // the larger one
  CHECK(value({0, 1, 2, 3}) == 0.75F);
}

TEST_CASE("The splits have the paper's sizes") {
  struct Sizes {
    double held_out;
    std::size_t train;
  };
  for (const auto& [held_out, train] : {Sizes{0.3, 47}, Sizes{0.5, 33}, Sizes{0.7, 20}}) {
    const FuzzyLogicTasks tasks = split_fuzzy_logic_tasks(with_size(4, 2, held_out));
    CHECK(tasks.train.size() == train);
    CHECK(tasks.held_out.size() == 66 - train);
    CHECK(tasks.unknown_terms.size() == 6);
  }
  CHECK(split_fuzzy_logic_tasks(with_size(3, 2, 0.5)).unknown_terms.size() == 1);
  const FuzzyLogicTasks large = split_fuzzy_logic_tasks(with_size(5, 3, 0.7));
  CHECK(large.train.size() + large.held_out.size() == 2024);
  CHECK(large.unknown_terms.size() == 56);
  // 11 of 276: in floating point 11 / 276 x 276 falls short of 11.
  CHECK(split_fuzzy_logic_tasks(with_size(5, 2, 11.0 / 276.0)).held_out.size() == 11);
}

TEST_CASE("The splits are disjoint, complete, sorted, and keep unknown terms apart") {
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    FuzzyLogicOptions options = with_size(4, 2);
    options.seed = seed;
    const FuzzyLogicTasks tasks = split_fuzzy_logic_tasks(options);
    std::set<std::vector<int>> all;
    std::set<int> trained;
    for (const auto* list : {&tasks.train, &tasks.held_out}) {
      CHECK(std::is_sorted(list->begin(), list->end()));
      for (const auto& task : *list) {
        CHECK(all.insert(task).second);
        CHECK(task.size() == 2);
        CHECK((0 <= task[0] && task[0] < task[1] && task[1] < 12));
        if (list == &tasks.train) trained.insert(task.begin(), task.end());
      }
    }
    CHECK(all.size() == 66);
    CHECK(trained.size() == 12);
    for (const auto& task : tasks.unknown_terms) CHECK((12 <= task[0] && task[0] < task[1]));
  }
}

TEST_CASE("Different seeds split differently, the same seed repeats") {
  FuzzyLogicOptions options = with_size(4, 2);
  const auto first = split_fuzzy_logic_tasks(options).train;
  CHECK(split_fuzzy_logic_tasks(options).train == first);
  options.seed = 1;
  CHECK(split_fuzzy_logic_tasks(options).train != first);
}

TEST_CASE("A split that leaves a term uncovered is redrawn, and says so") {
  FuzzyLogicOptions options = with_size(4, 2);
  int redrawn = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CAPTURE(seed);
    options.seed = seed;
    options.reject_uncovered = false;
    const FuzzyLogicTasks as_drawn = split_fuzzy_logic_tasks(options);
    CHECK(as_drawn.redraws == 0);
    options.reject_uncovered = true;
    const FuzzyLogicTasks covered = split_fuzzy_logic_tasks(options);
    CHECK(covered.uncovered_terms.empty());
    CHECK((covered.redraws > 0) == !as_drawn.uncovered_terms.empty());
    if (covered.redraws > 0) {
      ++redrawn;
      for (const int term : as_drawn.uncovered_terms) {
        for (const auto& task : as_drawn.train) CHECK((task[0] != term && task[1] != term));
      }
    } else {
      CHECK(covered.train == as_drawn.train);
    }
  }
  CHECK(redrawn > 0);
}

TEST_CASE("An example is its tokens, with the last y taken out") {
  const FuzzyLogicGenerator generator(with_size(4, 2));
  for (const FuzzyLogicSplit split : all_splits()) {
    for (Index index = 0; index < 20; ++index) {
      const FuzzyLogicExample example = example_of(generator, split, index);
      REQUIRE(example.inputs.size() == 40);  // 8 tokens of 5 numbers
      REQUIRE(example.targets.size() == 8);
      const auto& task = generator.tasks().of(split).at(static_cast<std::size_t>(example.task));
      for (std::size_t s = 0; s < 8; ++s) {
        const std::vector<float> x = token_of(example, 4, s);
        for (const float value : x) CHECK((0.0F <= value && value < 1.0F));
        CHECK(example.targets[s] == evaluate_fuzzy_logic(task, x));
        CHECK(example.inputs[5 * s + 4] == (s < 7 ? example.targets[s] : 0.0F));
      }
      CHECK(example.target() == example.targets[7]);
    }
  }
}

TEST_CASE("Fixed contexts and queries are the same in all examples, the rest is drawn") {
  for (const FuzzyLogicInputs inputs :
       {FuzzyLogicInputs::kFixedContext, FuzzyLogicInputs::kFixedQuery}) {
    FuzzyLogicOptions options = with_size(4, 2);
    options.inputs = inputs;
    const FuzzyLogicGenerator generator(options);
    const FuzzyLogicExample first = example_of(generator, FuzzyLogicSplit::kTrain, 0);
    for (const FuzzyLogicSplit split : all_splits()) {
      const FuzzyLogicExample other = example_of(generator, split, 1);
      for (std::size_t s = 0; s < 8; ++s) {
        const bool fixed = (s < 7) == (inputs == FuzzyLogicInputs::kFixedContext);
        CHECK((token_of(first, 4, s) == token_of(other, 4, s)) == fixed);
      }
      const auto& task = generator.tasks().of(split).at(static_cast<std::size_t>(other.task));
      CHECK(other.target() == evaluate_fuzzy_logic(task, token_of(other, 4, 7)));
    }
    options.seed = 1;
    const std::size_t fixed_token = inputs == FuzzyLogicInputs::kFixedContext ? 0 : 7;
    CHECK(token_of(first, 4, fixed_token) !=
          token_of(example_of(FuzzyLogicGenerator(options), FuzzyLogicSplit::kTrain, 0), 4,
                   fixed_token));
  }
}

TEST_CASE("Fuzzy-logic examples are the same in any order, on any thread, and in batches") {
  const FuzzyLogicGenerator generator(with_size(4, 2));
  constexpr Index kCount = 40;
  for (const FuzzyLogicSplit split : all_splits()) {
    FuzzyLogicBatch batch;
    generator.batch(split, 1000, kCount, batch);
    REQUIRE(batch.inputs.size() == kCount * 8 * 5);
    REQUIRE(batch.targets.size() == kCount * 8);
    std::vector<FuzzyLogicExample> backwards(kCount);
    headway::parallel_for(kCount, 2, [&](Index i) {
      const auto place = static_cast<std::size_t>(kCount - 1 - i);
      generator.example(split, 1000 + kCount - 1 - i, backwards[place]);
    });
    for (std::size_t i = 0; i < kCount; ++i) {
      CHECK(std::equal(backwards[i].inputs.begin(), backwards[i].inputs.end(),
                       batch.inputs.begin() + static_cast<Index>(i * 40)));
      CHECK(std::equal(backwards[i].targets.begin(), backwards[i].targets.end(),
                       batch.targets.begin() + static_cast<Index>(i * 8)));
      CHECK(backwards[i].task == batch.tasks[i]);
    }
  }
}

TEST_CASE("No two fuzzy-logic splits, examples or seeds share their inputs") {
  FuzzyLogicOptions options = with_size(4, 2);
  std::set<std::vector<float>> inputs;
  for (const std::uint64_t seed : {0, 1}) {
    options.seed = seed;
    const FuzzyLogicGenerator generator(options);
    for (const FuzzyLogicSplit split : all_splits()) {
      for (Index index = 0; index < 10; ++index) {
        const FuzzyLogicExample example = example_of(generator, split, index);
        for (std::size_t s = 0; s < 8; ++s) inputs.insert(token_of(example, 4, s));
      }
    }
  }
  CHECK(inputs.size() == 480);  // 2 seeds, 3 splits, 10 examples of 8 tokens
}

TEST_CASE("A fuzzy-logic example is drawn in the documented order") {
  const FuzzyLogicGenerator generator(with_size(4, 2));
  headway::Rng rng(0, headway::StreamPurpose::kUnknownTermExamples, 3);
  const FuzzyLogicExample example = example_of(generator, FuzzyLogicSplit::kUnknownTerms, 3);
  CHECK(static_cast<std::uint64_t>(example.task) == rng.uniform_index(6));
  for (std::size_t s = 0; s < 8; ++s) {
    for (const float x : token_of(example, 4, s)) {
      CHECK(static_cast<double>(x) == (rng.next_u32() >> 8U) / 16777216.0);
    }
  }
}

TEST_CASE("Bad fuzzy-logic options name the field, its value and what is allowed") {
  struct Case {
    FuzzyLogicOptions options;
    std::string field;
    std::string allowed;
  };
  std::vector<Case> cases = {
      {with_size(1, 1), "task.variables = 1", "from 2 to 10"},
      {with_size(11, 2), "task.variables = 11", "from 2 to 10"},
      {with_size(4, 0), "task.terms_per_task = 0", "from 1 to 256"},
      {with_size(4, 5), "task.terms_per_task = 5", "at most 4"},
      {with_size(6, 5), "task.terms_per_task = 5", "at most 1000000"},
      {with_size(4, 2, 0.0), "task.held_out = 0", "at least one"},
      {with_size(4, 2, 1.0), "task.held_out = 1", "at least one"},
      {with_size(4, 2, -0.1), "task.held_out = -0.1", ">= 0 and <= 1"},
      {with_size(4, 2, std::numeric_limits<double>::quiet_NaN()), "task.held_out = nan",
       ">= 0 and <= 1"},
      {with_size(4, 2, 0.95), "task.held_out = 0.95", "reject_uncovered = false"},
  };
  cases.push_back({with_size(4, 2), "task.sequence_length = 1", "from 2 to"});
  cases.back().options.sequence_length = 1;
  for (const Case& bad : cases) {
    CAPTURE(bad.field);
    try {
      const FuzzyLogicGenerator generator(bad.options);
      FAIL("accepted");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      CHECK_THAT(error.what(), ContainsSubstring(bad.field));
      CHECK_THAT(error.what(), ContainsSubstring(bad.allowed));
    }
  }
  FuzzyLogicOptions few = with_size(4, 2, 0.95);
  few.reject_uncovered = false;
  CHECK_FALSE(split_fuzzy_logic_tasks(few).uncovered_terms.empty());
}

TEST_CASE("Options that do not fit each other are refused with all their keys, the worst first") {
  using Fields = std::vector<std::string>;
  const Fields terms = {"task.terms_per_task", "task.variables"};
  const Fields all = {"task.held_out", "task.terms_per_task", "task.variables"};
  const auto check = [](const FuzzyLogicOptions& options, const std::string& words,
                        const Fields& fields) {
    try {
      split_fuzzy_logic_tasks(options);
      FAIL("accepted");
    } catch (const headway::OptionError& error) {
      CHECK(std::string(error.what()) == words);
      CHECK(error.fields() == fields);
    }
  };
  check(with_size(4, 5),
        "task.terms_per_task = 5: must be at most 4, the unknown terms of 4 variables", terms);
  check(
      with_size(6, 5),
      "task.terms_per_task = 5: makes 1712304 tasks of 48 known terms: must make at most 1000000. "
      "Take fewer variables or terms",
      terms);
  check(with_size(4, 2, 0.0),
        "task.held_out = 0: leaves 66 of 66 tasks for training and 0 held out: each must have at "
        "least one",
        all);
  check(with_size(4, 2, 1.0),
        "task.held_out = 1: leaves 0 of 66 tasks for training and 66 held out: each must have at "
        "least one",
        all);
  check(with_size(4, 2, 0.95),
        "task.held_out = 0.95: must be smaller: it leaves 4 training tasks of 2 terms, too few to "
        "have all 12 known terms. Or set reject_uncovered = false",
        all);
}

TEST_CASE("A held-out share with which almost no split covers all terms is an error") {
  // The 12 training pairs must match the 24 terms perfectly: about one split in 10^9 does.
  CHECK_THROWS_AS(split_fuzzy_logic_tasks(with_size(5, 2, 264.0 / 276.0)), Error);
}
