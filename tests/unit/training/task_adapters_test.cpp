#include "headway/training/task_adapters.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/training/evaluation.hpp"
#include "image_sets.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::WithinRel;
using headway::Index;

TEST_CASE("Fuzzy logic scores the query and tells the variance of the sequence") {
  headway::tasks::FuzzyLogicOptions options;
  options.sequence_length = 9;
  const auto task = make_fuzzy_logic_task(options);
  const headway::tasks::FuzzyLogicGenerator generator(options);
  TaskBatch batch;
  task->batch("held_out", 5, 3, batch);
  CHECK(batch.inputs.size() == 3 * 9 * 5);
  for (std::size_t i = 0; i < 3; ++i) {
    headway::tasks::FuzzyLogicExample example;
    generator.example(headway::tasks::FuzzyLogicSplit::kHeldOut, static_cast<Index>(5 + i),
                      example);
    CHECK(batch.targets[i] == example.target());
    CHECK(batch.inputs[i * 45 + 44] == 0.0F);
    double mean = 0.0;
    double square = 0.0;
    for (const float y : example.targets) {
      mean += y / 9.0;
      square += static_cast<double>(y) * y / 9.0;
    }
    CHECK_THAT(batch.target_variances[i], WithinRel(square - mean * mean, 1e-5));
  }
  CHECK_THROWS_WITH(task->batch("heldout", 0, 1, batch),
                    Catch::Matchers::ContainsSubstring("did you mean \"held_out\""));
  CHECK_THROWS_AS(task->size("test"), headway::Error);
}

TEST_CASE("Fuzzy logic's best checkpoint is chosen on no split whose score is reported") {
  const headway::tasks::FuzzyLogicOptions options;
  const auto task = make_fuzzy_logic_task(options);
  const std::vector<std::string> splits = {"train", "validation", "held_out", "unknown_terms"};
  CHECK(task->splits() == splits);
  CHECK(task->selection_split() == "validation");
  // Fresh examples of the tasks that are trained on.
  const headway::tasks::FuzzyLogicGenerator generator(options);
  headway::tasks::FuzzyLogicExample trained, fresh;
  generator.example(headway::tasks::FuzzyLogicSplit::kTrain, 0, trained);
  generator.example(headway::tasks::FuzzyLogicSplit::kValidation, 0, fresh);
  CHECK(trained.inputs != fresh.inputs);
  CHECK(&generator.tasks().of(headway::tasks::FuzzyLogicSplit::kValidation) ==
        &generator.tasks().train);
}

TEST_CASE("SRAVEN's best checkpoint is chosen on fresh instances that nothing else reports") {
  const auto task = make_sraven_task({});
  const std::vector<std::string> splits = {"train", "validation", "test", "held_out"};
  CHECK(task->splits() == splits);
  CHECK(task->selection_split() == "validation");
  TaskBatch validation, test;
  task->batch("validation", 0, 4, validation);
  task->batch("test", 0, 4, test);
  CHECK(validation.inputs != test.inputs);
}

TEST_CASE("SRAVEN's inputs are one-hot panels, blank at the end, its classes the answers") {
  const auto task = make_sraven_task({});
  TaskBatch batch;
  task->batch("test", 2, 4, batch);
  CHECK(task->format().tokens == 36);
  for (std::size_t token = 0; token < 4 * 36; ++token) {
    const auto* row = batch.inputs.data() + 8 * token;
    CHECK(std::count(row, row + 8, 1.0F) == (token % 36 < 32 ? 1 : 0));
    CHECK(std::count(row, row + 8, 0.0F) == (token % 36 < 32 ? 7 : 8));
  }
  REQUIRE(batch.classes.size() == 16);
  headway::tasks::SravenInstance instance;
  headway::tasks::SravenGenerator({}).example(headway::tasks::SravenSplit::kTest, 3, instance);
  CHECK(std::equal(instance.answers.begin(), instance.answers.end(), batch.classes.begin() + 4));
}

TEST_CASE("Text is cut into a training part and held-out windows, each predicting its next token") {
  std::string text;
  for (int i = 0; i < 100; ++i) text += static_cast<char>(i);
  TextOptions options;
  options.sequence_length = 7;
  options.held_out = 0.3;
  options.validation = 0.2;
  const auto task = make_byte_text_task(text, options);
  CHECK(task->size("train") == 0);
  CHECK(task->size("validation") == 2);  // (20 - 1) / 7
  CHECK(task->size("held_out") == 4);    // (30 - 1) / 7
  CHECK(task->selection_split() == "validation");
  TaskBatch batch;
  task->batch("held_out", 1, 3, batch);
  for (std::size_t i = 0; i < 21; ++i) {
    CHECK(batch.ids[i] == static_cast<int>(77 + i));
    CHECK(batch.classes[i] == static_cast<int>(78 + i));
  }
  task->batch("validation", 0, 1, batch);
  CHECK(batch.ids[0] == 50);
  int last = 0;
  for (Index first = 0; first < 1000; first += 100) {
    task->batch("train", first, 100, batch);
    last = std::max(last, *std::max_element(batch.classes.begin(), batch.classes.end()));
    for (std::size_t i = 0; i < batch.ids.size(); ++i) CHECK(batch.classes[i] == batch.ids[i] + 1);
  }
  CHECK(last == 49);  // all of the training part is read, and nothing of the others
  CHECK(batch.examples == 100);
  CHECK(task->splits() == std::vector<std::string>{"train", "validation", "held_out"});
  CHECK_NOTHROW(task->batch("held_out", 1, 3, batch));
  CHECK(batch.examples == 3);
  CHECK_NOTHROW(task->batch("held_out", 4, 0, batch));
  CHECK(batch.ids.empty());
  CHECK_THROWS_WITH(task->batch("held_out", 2, 3, batch),
                    "examples 2 to 5 of split \"held_out\": it has 4");
  CHECK_THROWS_WITH(task->batch("validation", -1, 1, batch),
                    "examples -1 to 0 of split \"validation\": it has 2");
  CHECK_THROWS_WITH(task->batch("train", 3, -1, batch),
                    "examples 3 to 2 of split \"train\": it has 7");
}

TEST_CASE("No task answers for a split that it does not have") {
  headway::tasks::OneShotImagesOptions drawings;
  drawings.validation = 0.25;
  drawings.test = 0.0;
  const auto images = std::make_shared<headway::tasks::OneShotImagesGenerator>(
      headway::testing::random_image_set(12), drawings);
  headway::tasks::FuzzyLogicOptions fuzzy;
  fuzzy.sequence_length = 9;
  TextOptions text;
  text.sequence_length = 7;
  struct Known {
    std::unique_ptr<TrainingTask> task;
    std::string message;
  };
  std::vector<Known> tasks;
  tasks.push_back({make_fuzzy_logic_task(fuzzy), "train, validation, held_out, unknown_terms"});
  tasks.push_back({make_sraven_task({}), "train, validation, test, held_out"});
  tasks.push_back(
      {make_byte_text_task(std::string(400, 'a'), text), "train, validation, held_out"});
  tasks.push_back({make_one_shot_task({images, {}}), "train, validation"});
  TaskBatch batch;
  for (const auto& [task, names] : tasks) {
    const std::string wanted =
        "split \"validatoin\": must be one of " + names + " (did you mean \"validation\"?)";
    CHECK_THROWS_WITH(task->size("validatoin"), wanted);
    CHECK_THROWS_WITH(task->batch("validatoin", 0, 1, batch), wanted);
    CHECK_THROWS_WITH(task->size("qqqqqqqqqqqq"),
                      "split \"qqqqqqqqqqqq\": must be one of " + names);
    CHECK(task->size("train") == 0);
    CHECK_NOTHROW(task->batch("train", 5, 2, batch));
    CHECK(batch.examples == 2);
  }
}

TEST_CASE("A format that makes no sense is refused in a whole sentence") {
  const auto refused = [](const auto& change) -> std::string {
    TaskFormat format{7, 5, 0, 3, LossKind::kSquaredError, 2, false, {}};
    change(&format);
    try {
      format.validate();
    } catch (const headway::Error& error) {
      CHECK(error.kind() == headway::ErrorKind::kBadStudy);
      return error.what();
    }
    return "no error";
  };
  const Index most = Index{1} << 24;
  CHECK(refused([](auto*) {}) == "no error");
  CHECK(refused([](auto* f) { f->tokens = f->scored = 0; }) ==
        "task: tokens = 0: must be from 1 to 2^24");
  CHECK(refused([&](auto* f) { f->tokens = most; }) == "no error");
  CHECK(refused([&](auto* f) { f->tokens = most + 1; }) ==
        "task: tokens = 16777217: must be from 1 to 2^24");
  CHECK(refused([](auto* f) { f->features = -1; }) ==
        "task: features = -1: must be from 0 to 2^24");
  CHECK(refused([&](auto* f) { f->features = most + 1; }) ==
        "task: features = 16777217: must be from 0 to 2^24");
  CHECK(refused([](auto* f) { f->vocabulary = -1; }) ==
        "task: vocabulary = -1: must be from 0 to 2^24");
  CHECK(refused([](auto* f) { f->vocabulary = 9; }) ==
        "task: vocabulary = 9: must be above 0 exactly when there are no features (there are 5)");
  CHECK(refused([](auto* f) { f->features = 0; }) ==
        "task: vocabulary = 0: must be above 0 exactly when there are no features (there are 0)");
  CHECK(refused([](auto* f) {
          f->features = 0;
          f->vocabulary = 9;
        }) == "no error");
  CHECK(refused([](auto* f) { f->outputs = 0; }) == "task: outputs = 0: must be from 1 to 2^24");
  CHECK(refused([](auto* f) { f->scored = 0; }) ==
        "task: scored = 0: must be from 1 to the 7 tokens");
  CHECK(refused([](auto* f) { f->scored = 7; }) == "no error");
  CHECK(refused([](auto* f) { f->scored = 8; }) ==
        "task: scored = 8: must be from 1 to the 7 tokens");
  CHECK(refused([](auto* f) {
          f->class_bytes = {1.0, 2.0};
        }) == "task: numbers in class_bytes = 2: must be 0 or the 3 outputs");
  CHECK(refused([](auto* f) { f->class_bytes = {1.0, 2.0, 1.0}; }) == "no error");
}

TEST_CASE("Texts that are too short, and ids out of range, are refused") {
  TextOptions options;
  options.sequence_length = 50;
  try {
    make_byte_text_task(std::string(400, 'a'), options);
    FAIL("no error");
  } catch (const headway::OptionError& error) {
    CHECK(
        std::string(error.what()) ==
        "task.sequence_length = 50: the text has 340 tokens to train on, 20 for validation and 40 "
        "held out: each part must have at least one more than that");
    CHECK(error.fields() == std::vector<std::string>{"task.sequence_length"});
  }
  options.sequence_length = 2;
  headway::tasks::TokenizedText text;
  text.train = text.validation = std::vector<std::int32_t>(100, 6);
  text.held_out = std::vector<std::int32_t>(100, 7);
  text.token_bytes = std::vector<double>(7, 1.0);
  CHECK_THROWS_WITH(
      make_text_task(std::make_shared<const headway::tasks::TokenizedText>(text), options),
      "token id 7: must be from 0 to 6");
  text.held_out[3] = -1;
  text.held_out[0] = text.held_out[1] = text.held_out[2] = 6;
  CHECK_THROWS_WITH(
      make_text_task(std::make_shared<const headway::tasks::TokenizedText>(text), options),
      "token id -1: must be from 0 to 6");
  options.held_out = 1.0;
  CHECK_THROWS_AS(make_byte_text_task(std::string(400, 'a'), options), headway::Error);
}

TEST_CASE("Bits per byte of tokens of several bytes count the bytes of the targets") {
  headway::tasks::TokenizedText text;
  text.train = {0, 1, 2, 0, 1, 2};
  text.held_out = text.validation = {2, 0, 1, 1, 2};
  text.token_bytes = {1.0, 2.0, 4.0};
  TextOptions options;
  options.sequence_length = 4;
  const auto task =
      make_text_task(std::make_shared<const headway::tasks::TokenizedText>(text), options);
  REQUIRE(task->size("held_out") == 1);
  TaskBatch batch;
  task->batch("held_out", 0, 1, batch);
  CHECK(batch.classes == std::vector<std::int32_t>{0, 1, 1, 2});
  Evaluator evaluator(task->format());
  const std::vector<float> outputs(12, 0.0F);  // every token as likely: log2(3) bits each
  evaluator.add(batch, outputs);
  const Evaluation result = evaluator.result();
  CHECK_THAT(result.metric("bits_per_byte"),
             Catch::Matchers::WithinRel(4.0 * std::log2(3.0) / 9.0, 1e-12));
  CHECK_THAT(result.metric("perplexity"), Catch::Matchers::WithinRel(3.0, 1e-12));
}

TEST_CASE("One-shot tuples have a split for each set of characters and of other images") {
  namespace tasks = headway::tasks;
  tasks::OneShotImagesOptions options;
  options.validation = 0.25;
  options.test = 0.25;
  const auto images = headway::testing::random_image_set(12);
  const auto generator = std::make_shared<tasks::OneShotImagesGenerator>(images, options);
  const auto digits = std::make_shared<tasks::OneShotImagesGenerator>(
      tasks::OneShotImagesGenerator::out_of_distribution(headway::testing::random_image_set(3),
                                                         options));
  const auto task = make_one_shot_task({generator, {{"digits", digits}}});
  CHECK(task->splits() == std::vector<std::string>{"train", "validation", "test", "digits"});
  CHECK(task->selection_split() == "validation");
  CHECK(task->format().signs);
  CHECK(task->size("digits") == 0);
  TaskBatch batch;
  tasks::OneShotBatch expected;
  const auto check = [&](const std::string& name, const tasks::OneShotImagesGenerator& from,
                         tasks::OneShotSplit split) {
    task->batch(name, 7, 3, batch);
    from.batch(split, 7, 3, expected);
    CHECK(batch.examples == 3);
    CHECK(batch.inputs == expected.inputs);
    CHECK(batch.targets == expected.labels);
    CHECK(batch.inputs.size() == 3 * 48 * 192);
  };
  check("train", *generator, tasks::OneShotSplit::kTrain);
  check("validation", *generator, tasks::OneShotSplit::kValidation);
  check("test", *generator, tasks::OneShotSplit::kTest);
  check("digits", *digits, tasks::OneShotSplit::kOutOfDistribution);
  CHECK_THROWS_WITH(task->batch("digit", 0, 1, batch),
                    Catch::Matchers::ContainsSubstring("did you mean \"digits\""));
  CHECK_THROWS_WITH(make_one_shot_task({generator, {{"validation", digits}}}),
                    Catch::Matchers::ContainsSubstring("task.out_of_distribution.name"));
  CHECK_THROWS_WITH(make_one_shot_task({generator, {{"a", digits}, {"a", digits}}}),
                    Catch::Matchers::ContainsSubstring("\"a\""));
  options.test = 0.0;
  const auto no_test = std::make_shared<tasks::OneShotImagesGenerator>(images, options);
  CHECK(make_one_shot_task({no_test, {}})->splits() ==
        std::vector<std::string>{"train", "validation"});
  options.validation = 0.0;
  const auto neither = std::make_shared<tasks::OneShotImagesGenerator>(images, options);
  CHECK_THROWS_WITH(make_one_shot_task({neither, {}}),
                    Catch::Matchers::ContainsSubstring("task.validation = 0"));
}
