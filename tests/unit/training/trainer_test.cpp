#include "headway/training/trainer.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/backend.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::ContainsSubstring;
using headway::Index;

namespace {

class Log : public TrainSink {
 public:
  void record(const TrainRecord& record) override { records.push_back(record); }
  void checkpoint(CheckpointKind kind, double seconds,
                  const std::function<TrainState()>& state) override {
    states[kind].push_back(state());
    seconds_trained = seconds;
  }
  std::vector<TrainRecord> records;
  std::map<CheckpointKind, std::vector<TrainState>> states;
  double seconds_trained = 0.0;
};

bool same(const TrainState& a, const TrainState& b) {
  return a.step == b.step && a.examples == b.examples && a.parameters == b.parameters &&
         a.first_moments == b.first_moments && a.second_moments == b.second_moments &&
         a.best_step == b.best_step && a.best_loss == b.best_loss &&
         a.best_parameters == b.best_parameters && a.loss_since_record == b.loss_since_record &&
         a.steps_since_record == b.steps_since_record;
}

}  // namespace

TEST_CASE("Without LibTorch a trainer says that the part is not built", "[without_torch]") {
  const PatternTask task(5, 2);
  try {
    const Trainer trainer(small_model(), small_run(), task);
    FAIL("no error");
  } catch (const headway::Error& error) {
    CHECK(error.kind() == headway::ErrorKind::kUnavailable);
    CHECK_THAT(error.what(), ContainsSubstring("libtorch-dev"));
  }
  CHECK_FALSE(cuda_available());
}

TEST_CASE("A run that stops and goes on makes the same bits as one that does not, on any threads",
          "[torch]") {
  const Index encoder_layers = GENERATE(0, 1);
  const PatternTask task(6, 2);
  TransformerOptions model = small_model();
  model.attention = "hyla";
  model.attention_dropout = 0.2;
  model.encoder_layers = encoder_layers;
  const TrainOptions options = small_run();
  headway::Observer quiet;
  Log whole;
  Trainer uninterrupted(model, options, task);
  CHECK(uninterrupted.run(quiet, whole).outcome == TrainOutcome::kFinished);

  Log first;
  StopAt stop(5);
  Trainer begun(model, options, task);
  const TrainSummary summary = begun.run(stop, first);
  CHECK(summary.outcome == TrainOutcome::kInterrupted);
  CHECK(summary.steps == 5);
  TrainOptions more = options;
  more.threads = 3;
  Trainer resumed(model, more, task);
  REQUIRE(first.states[CheckpointKind::kLast].size() == 1);
  CHECK(first.seconds_trained == summary.training_seconds);
  resumed.set_state(first.states[CheckpointKind::kLast].front());
  Log second;
  const TrainSummary finished = resumed.run(quiet, second);
  CHECK(finished.steps == 12);
  CHECK(same(resumed.state(), uninterrupted.state()));
  std::vector<TrainRecord> records = first.records;
  records.insert(records.end(), second.records.begin(), second.records.end());
  REQUIRE(records.size() == whole.records.size());
  for (std::size_t i = 0; i < records.size(); ++i) {
    CHECK(records[i].split == whole.records[i].split);
    CHECK(records[i].step == whole.records[i].step);
    CHECK(records[i].loss == whole.records[i].loss);
    CHECK(records[i].metrics == whole.records[i].metrics);
  }
}

TEST_CASE("Records, evaluations and checkpoints come when they are due", "[torch]") {
  const PatternTask task(5, 2);
  TrainOptions options = small_run();
  options.checkpoint_every = 5;
  headway::Observer quiet;
  Log log;
  Trainer trainer(small_model(), options, task);
  const TrainSummary summary = trainer.run(quiet, log);
  std::vector<std::pair<std::string, Index>> seen;
  for (const TrainRecord& record : log.records) seen.emplace_back(record.split, record.step);
  CHECK(seen == std::vector<std::pair<std::string, Index>>{{"train", 3},
                                                           {"test", 4},
                                                           {"train", 6},
                                                           {"test", 8},
                                                           {"train", 9},
                                                           {"train", 12},
                                                           {"test", 12}});
  CHECK(log.states[CheckpointKind::kPeriodic].size() == 2);
  CHECK(log.states[CheckpointKind::kLast].size() == 1);
  double best = std::numeric_limits<double>::infinity();
  for (const TrainRecord& record : log.records) {
    if (record.split == "test") best = std::min(best, record.loss);
  }
  CHECK(summary.best_loss == best);
  CHECK(log.states[CheckpointKind::kBest].back().best_loss == best);
  REQUIRE(summary.evaluations.size() == 1);
  CHECK(summary.evaluations[0].second.examples == 20);
  // The best parameters, evaluated again, give the best loss.
  trainer.set_parameters(trainer.state().best_parameters);
  CHECK(trainer.evaluate("test").loss == best);
}

TEST_CASE("Pieces of a batch add up to its gradient", "[torch]") {
  const PatternTask task(5, 2);
  TransformerOptions model = small_model();
  model.attention_dropout = 0.2;
  TrainOptions options = small_run();
  options.warmup_steps = 0;
  Trainer whole(model, options, task);
  options.accumulation = 4;
  Trainer pieces(model, options, task);
  const StepResult a = whole.step();
  const StepResult b = pieces.step();
  CHECK(std::abs(a.loss - b.loss) < 1e-6);
  CHECK(std::abs(a.gradient_norm - b.gradient_norm) < 1e-5 * a.gradient_norm);
}

TEST_CASE("The update is AdamW's: clipped, and decaying what has more than one dimension",
          "[torch]") {
  const PatternTask task(5, 2);
  TransformerOptions model = small_model();
  model.attention = "hyla_deep";
  TrainOptions options = small_run();
  options.schedule = LearningRateSchedule::kConstant;
  options.warmup_steps = 0;
  options.learning_rate = 0.01;
  options.weight_decay = 0.5;
  options.gradient_clip = 0.05;
  options.epsilon = 1e-3;
  Trainer trainer(model, options, task);
  TrainState before = trainer.state();
  shake(&before.parameters);
  trainer.set_state(before);
  const StepResult step = trainer.step();
  REQUIRE(step.gradient_norm > 0.05);
  const TrainState after = trainer.state();
  double clipped = 0.0;
  for (std::size_t i = 0; i < before.parameters.size(); ++i) {
    const NamedTensor& p = before.parameters[i];
    INFO(p.name);
    const bool bias_of_heads = p.name.find("query.bias") != std::string::npos ||
                               p.name.find("key.bias") != std::string::npos ||
                               p.name.find("value.bias") != std::string::npos;
    const bool decayed = p.name.find("weight") != std::string::npos || bias_of_heads ||
                         p.name.find("positions") != std::string::npos ||
                         p.name.find("mixing") != std::string::npos;
    CHECK((p.shape.size() > 1) == decayed);
    for (std::size_t j = 0; j < p.values.size(); ++j) {
      const double g = after.first_moments[i].values[j] / 0.1;  // the clipped gradient
      clipped += g * g;
      const double expected =
          p.values[j] - 0.01 * (g / (std::abs(g) + 1e-3) + (decayed ? 0.5 * p.values[j] : 0.0));
      CHECK(std::abs(after.parameters[i].values[j] - expected) < 2e-6);
    }
  }
  CHECK(std::abs(std::sqrt(clipped) - 0.05) < 1e-6);
}

TEST_CASE("The balancing loss moves the router away from the expert that all tokens choose",
          "[torch]") {
  const PatternTask task(5, 2);
  TransformerOptions model = small_model();
  model.layers = 1;
  model.feed_forward = FeedForward::kMixture;
  model.experts = 3;
  model.active_experts = 1;  // whose gate is 1: nothing else moves the router
  const Trainer first(model, small_run(), task);
  TrainState state = first.state();
  // All tokens are the same to the router: its input is the norm's bias.
  std::vector<float>& z = tensor(&state, "layers.1.feed_forward_norm.bias").values;
  for (std::size_t i = 0; i < z.size(); ++i) z[i] = 0.1F * static_cast<float>(i) - 0.4F;
  for (float& x : tensor(&state, "layers.1.feed_forward_norm.scale").values) x = 0.0F;
  const std::vector<float> router = tensor(&state, "layers.1.router.weight").values;
  std::vector<double> p(3, 0.0);
  for (std::size_t e = 0; e < 3; ++e) {
    for (std::size_t i = 0; i < z.size(); ++i) {
      p[e] += static_cast<double>(router[e * z.size() + i]) * z[i];
    }
    p[e] = std::exp(p[e]);
  }
  const double sum = p[0] + p[1] + p[2];
  for (double& x : p) x /= sum;
  const auto chosen = static_cast<std::size_t>(std::max_element(p.begin(), p.end()) - p.begin());
  for (const double weight : {0.0, 0.3}) {
    model.load_balancing = weight;
    Trainer trainer(model, small_run(), task);
    trainer.set_state(state);
    trainer.step();
    const TrainState after = trainer.state();
    for (const NamedTensor& moment : after.first_moments) {  // 0.1 times the gradient
      if (moment.name != "layers.1.router.weight") continue;
      for (std::size_t e = 0; e < 3; ++e) {
        // d / d logit_e of 3 p[chosen], as f is 1 there.
        const double slope = 3.0 * p[chosen] * ((e == chosen ? 1.0 : 0.0) - p[e]);
        for (std::size_t i = 0; i < z.size(); ++i) {
          CHECK(std::abs(moment.values[e * z.size() + i] - 0.1 * weight * slope * z[i]) < 1e-6);
        }
      }
    }
  }
}

TEST_CASE("A loss that is not finite ends the run with a message and the last good state",
          "[torch]") {
  const PatternTask task(5, 2);
  TrainOptions options = small_run();
  options.schedule = LearningRateSchedule::kConstant;
  options.warmup_steps = 0;
  options.learning_rate = 1000.0;
  options.weight_decay = 100.0;  // each step multiplies the weights by -1e5
  options.steps = 40;
  Trainer trainer(small_model(), options, task);
  headway::Observer quiet;
  Log log;
  const TrainSummary summary = trainer.run(quiet, log);
  CHECK(summary.outcome == TrainOutcome::kDiverged);
  const Index good = trainer.steps_done();
  CHECK(good >= 1);
  CHECK(good < 40);
  CHECK_THAT(summary.message, ContainsSubstring("step " + std::to_string(good) + ": the loss is"));
  CHECK_THAT(summary.message, ContainsSubstring("learning rate 1e+03"));
  CHECK(log.states[CheckpointKind::kLast].back().step == good);
}

TEST_CASE("At first SRAVEN's loss is that of a guess among eight symbols", "[torch]") {
  const auto task = make_sraven_task({});
  for (const char* attention : {"softmax", "hyla"}) {
    TransformerOptions model;
    model.attention = attention;
    model.heads = 16;
    model.query_dim = 64;
    model.value_dim = 64;
    TrainOptions options = small_run();
    options.eval_examples = 64;
    Trainer trainer(model, options, *task);
    const Evaluation first = trainer.evaluate("test");
    INFO(first.loss);
    CHECK(first.loss > std::log(8.0) - 0.1);
    CHECK(first.loss < std::log(8.0) + 1.0);  // logits of variance about 1 add half a nat
    CHECK(first.metric("accuracy") < 0.1);
  }
}

TEST_CASE("A small model learns a small task", "[torch]") {
  const PatternTask task(4, 1);
  for (const char* attention : {"softmax", "hyla"}) {
    TransformerOptions model = small_model();
    model.attention = attention;
    TrainOptions options = small_run();
    options.steps = 600;
    options.batch = 32;
    options.warmup_steps = 20;
    options.learning_rate = 1e-2;
    options.eval_every = 0;
    options.eval_examples = 200;
    Trainer trainer(model, options, task);
    headway::Observer quiet;
    TrainSink silent;
    const TrainSummary summary = trainer.run(quiet, silent);
    INFO(attention);
    CHECK(summary.evaluations.front().second.metric("accuracy") > 0.9);
  }
}

TEST_CASE("A decoder fetches from the context what it needs, by cross-attention", "[torch]") {
  const PatternTask task(6, 1);  // the class is told by the last token of the context
  for (const char* attention : {"softmax", "hyla"}) {
    TransformerOptions model = small_model();
    model.attention = attention;
    model.layers = 1;
    model.encoder_layers = 1;
    TrainOptions options = small_run();
    options.steps = 800;  // 1.00 at each of six seeds, not so at 400
    options.batch = 32;
    options.learning_rate = 1e-2;
    options.eval_examples = 200;
    options.eval_every = 0;
    Trainer trainer(model, options, task);
    headway::Observer quiet;
    TrainSink silent;
    const TrainSummary summary = trainer.run(quiet, silent);
    INFO(attention);
    CHECK(summary.evaluations.front().second.metric("accuracy") > 0.9);
    // Without the cross-attention's output it guesses.
    TrainState state = trainer.state();
    for (float& x : tensor(&state, "layers.1.cross.output.weight").values) x = 0.0F;
    trainer.set_state(state);
    CHECK(trainer.evaluate("test", 200).metric("accuracy") < 0.65);
  }
}

TEST_CASE("States of another model or seed, or with damaged numbers, are refused", "[torch]") {
  const PatternTask task(5, 2);
  Trainer trainer(small_model(), small_run(), task);
  const auto refused = [&](const TrainState& state, const char* text) {
    try {
      trainer.set_state(state);
      FAIL("no error");
    } catch (const headway::Error& error) {
      CHECK(error.kind() == headway::ErrorKind::kBadData);
      CHECK_THAT(error.what(), ContainsSubstring(text));
    }
  };
  TransformerOptions wider = small_model();
  wider.mlp_dim = 11;
  refused(Trainer(wider, small_run(), task).state(), "layers.1.up.weight");
  TransformerOptions deeper = small_model();
  deeper.layers = 3;
  refused(Trainer(deeper, small_run(), task).state(), "tensors");
  TrainState state = trainer.state();
  state.seed = 5;
  refused(state, "seed 5");
  state = trainer.state();
  state.second_moments[3].values[0] = std::nanf("");
  refused(state, state.second_moments[3].name.c_str());
  state = trainer.state();
  state.examples = 1;
  refused(state, "1 examples after 0 steps");
}

TEST_CASE("What a task or machine does not have is refused", "[torch]") {
  const PatternTask task(5, 2);
  TrainOptions options = small_run();
  options.best_split = "tset";
  CHECK_THROWS_WITH(Trainer(small_model(), options, task), ContainsSubstring("\"test\""));
  options = small_run();
  if (!cuda_available()) {
    options.device = Device::kCuda;
    CHECK_THROWS_WITH(Trainer(small_model(), options, task), ContainsSubstring("CUDA"));
  }
  Trainer trainer(small_model(), small_run(), task);
  CHECK_THROWS_WITH(trainer.generate(std::vector<std::int32_t>{1}, {}),
                    ContainsSubstring("causal"));
  CHECK(trainer.parameters() == count_parameters(small_model(), task.format()));
  CHECK_THAT(training_backend(), ContainsSubstring("LibTorch ") && ContainsSubstring("CUDA"));
  CHECK(training_obstacle().empty());
}
