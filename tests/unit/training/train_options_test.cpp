#include "headway/training/train_options.hpp"

#include <cmath>

#include "catch.hpp"
#include "headway/error.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::WithinRel;

namespace {

template <typename Change>
void check_refused(const Change& change, const std::string& text) {
  TrainOptions options;
  change(&options);
  CHECK_THROWS_WITH(options.validate(), Catch::Matchers::ContainsSubstring(text));
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
