#include "headway/training/train_options.hpp"

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::WithinRel;
using headway::Index;

namespace {

template <typename Change>
void check_refused(const Change& change, const std::string& text) {
  TrainOptions options;
  change(&options);
  CHECK_THROWS_WITH(options.validate(), Catch::Matchers::ContainsSubstring(text));
}

/// The message, and the fields that are at fault.
using Refusal = std::pair<std::string, std::vector<std::string>>;

template <typename Change>
Refusal refusal(const Change& change) {
  TrainOptions options;
  change(&options);
  try {
    options.validate();
  } catch (const headway::OptionError& error) {
    return {error.what(), error.fields()};
  }
  return {"no error", {}};
}

}  // namespace

TEST_CASE("The learning rate warms up, follows half a cosine and stays at its end") {
  TrainOptions options;
  options.steps = 1000;
  options.warmup_steps = 100;
  options.learning_rate = 2.0;
  CHECK(learning_rate_at(options, 0) == 0.0);
  CHECK_THAT(learning_rate_at(options, 25), WithinRel(0.5, 1e-12));
  CHECK_THAT(learning_rate_at(options, 100), WithinRel(2.0, 1e-12));
  CHECK_THAT(learning_rate_at(options, 500), WithinRel(2.0 * 0.55, 1e-12));  // halfway to 900
  CHECK_THAT(learning_rate_at(options, 300),
             WithinRel(2.0 * (0.1 + 0.9 * 0.5 * (1 + std::sqrt(0.5))), 1e-12));
  CHECK_THAT(learning_rate_at(options, 900), WithinRel(0.2, 1e-12));
  CHECK_THAT(learning_rate_at(options, 999), WithinRel(0.2, 1e-12));
  options.schedule = LearningRateSchedule::kConstant;
  CHECK_THAT(learning_rate_at(options, 50), WithinRel(1.0, 1e-12));
  CHECK_THAT(learning_rate_at(options, 999), WithinRel(2.0, 1e-12));
}

TEST_CASE("Unless told, evaluation takes as many examples at a time as training does") {
  TrainOptions options;
  options.batch = 120;
  CHECK(options.evaluated_at_a_time() == 120);
  options.accumulation = 4;
  options.micro_batches = 3;
  CHECK(options.piece() == 10);
  CHECK(options.evaluated_at_a_time() == 10);
  options.eval_batch = 50;
  CHECK(options.evaluated_at_a_time() == 50);
}

TEST_CASE("Training options that make no sense are refused, by name") {
  check_refused([](auto* o) { o->steps = 0; }, "train.steps = 0");
  check_refused([](auto* o) { o->accumulation = 3; }, "train.accumulation = 3");
  check_refused([](auto* o) { o->micro_batches = 3; },
                "train.micro_batches = 3: must divide train.batch = 128");
  check_refused([](auto* o) { o->micro_batches = 0; }, "train.micro_batches = 0");
  check_refused(
      [](auto* o) {
        o->micro_batches = 16;
        o->accumulation = 16;
      },
      "train.accumulation = 16: must divide train.batch / train.micro_batches = 8");
  check_refused([](auto* o) { o->warmup_steps = 25000; }, "train.warmup_steps = 25000");
  check_refused([](auto* o) { o->learning_rate = std::nan(""); }, "train.learning_rate = nan");
  check_refused([](auto* o) { o->beta_2 = 1.0; }, "train.beta_2 = 1");
  check_refused([](auto* o) { o->epsilon = 1e-46; }, "train.epsilon = 1e-46");  // 0 as a float
  check_refused([](auto* o) { o->gradient_clip = -1.0; }, "train.gradient_clip = -1");
  check_refused(
      [](auto* o) {
        o->precision = Precision::kBfloat16;
        o->device = Device::kCpu;
      },
      "bf16");
  check_refused(
      [](auto* o) {
        o->precision = Precision::kTf32;
        o->device = Device::kCpu;
      },
      "train.precision = \"tf32\"");
  CHECK_THROWS_WITH(headway::parse_word<Device>("train.device", "cudda"),
                    Catch::Matchers::ContainsSubstring("\"cuda\""));
  CHECK(headway::word_of(headway::parse_word<Precision>("train.precision", "bf16")) == "bf16");
  CHECK(headway::word_of(headway::parse_word<Precision>("train.precision", "tf32")) == "tf32");
  CHECK(headway::word_of(headway::parse_word<LearningRateSchedule>("train.schedule", "constant")) ==
        "constant");
}

TEST_CASE("Training options that do not go together are refused in whole sentences") {
  CHECK(refusal([](auto*) {}).first == "no error");
  const auto batch_of_12 = [](TrainOptions* o, Index micro_batches, Index accumulation) {
    o->batch = 12;
    o->micro_batches = micro_batches;
    o->accumulation = accumulation;
  };
  CHECK(refusal([&](auto* o) { batch_of_12(o, 5, 1); }) ==
        Refusal{"train.micro_batches = 5: must divide train.batch = 12",
                {"train.micro_batches", "train.batch"}});
  CHECK(refusal([&](auto* o) { batch_of_12(o, 1, 8); }) ==
        Refusal{"train.accumulation = 8: must divide train.batch = 12",
                {"train.accumulation", "train.batch"}});
  CHECK(refusal([&](auto* o) { batch_of_12(o, 3, 3); }) ==
        Refusal{"train.accumulation = 3: must divide train.batch / train.micro_batches = 4",
                {"train.accumulation", "train.batch"}});
  CHECK(refusal([&](auto* o) { batch_of_12(o, 12, 1); }).first == "no error");
  CHECK(refusal([&](auto* o) { batch_of_12(o, 3, 4); }).first == "no error");
  const auto warms_up = [](TrainOptions* o, Index steps, Index warmup) {
    o->steps = steps;
    o->warmup_steps = warmup;
  };
  const Refusal too_long = {
      "train.warmup_steps = 5: must be below half of train.steps = 10, for example 1: the "
      "cosine ends as many steps before the end",
      {"train.warmup_steps", "train.steps"}};
  CHECK(refusal([&](auto* o) { warms_up(o, 10, 5); }) == too_long);
  CHECK(refusal([&](auto* o) { warms_up(o, 11, 5); }).first == "no error");
  CHECK(refusal([&](auto* o) { warms_up(o, 1, 5); }).first == "no error");
  CHECK(refusal([&](auto* o) {
          warms_up(o, 10, 5);
          o->schedule = LearningRateSchedule::kConstant;
        }).first == "no error");
  const auto in_bf16 = [](Device device) {
    return [device](TrainOptions* o) {
      o->precision = Precision::kBfloat16;
      o->device = device;
    };
  };
  CHECK(refusal(in_bf16(Device::kCpu)) ==
        Refusal{"train.precision = \"bf16\": must be \"fp32\" on the CPU",
                {"train.precision", "train.device"}});
  CHECK(refusal(in_bf16(Device::kAuto)).first == "no error");
  CHECK(refusal([](auto* o) { o->threads = 4096; }).first == "no error");
  CHECK(refusal([](auto* o) { o->threads = 4097; }).first ==
        "threads = 4097: must be an integer from 0 to 4096");
  CHECK(refusal([](auto* o) { o->best_split = std::string(40, 'a'); }).first == "no error");
  const std::string long_name(41, 'a');
  CHECK(refusal([&](auto* o) { o->best_split = long_name; }).first ==
        "train.best_split = \"" + long_name + "\": must be one line of text, 0 to 40 bytes");
}
