// Updates that are begun before the last ones are read, and data that are made before they are
// asked for, give the same numbers. A run that goes wrong stops at the same step.
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "emulated_kernels.hpp"
#include "engine_answers.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "training/trainer/step_source.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::AdamWStep;
using detail::EngineArray;
using detail::EngineSetup;
using detail::StepData;
using detail::StepNumbers;
using detail::StepsAhead;
using detail::StepSource;
using detail::TransformerEngine;
using headway::Index;

namespace {

TransformerOptions dropping_model() {
  TransformerOptions model = small_model();
  model.attention = "hyla";
  model.attention_dropout = 0.2;
  return model;
}

enum class Kernels { kFused, kEager, kEmulatedGpu };

struct Run {
  explicit Run(Kernels kernels) : setup(engine_setup(model, task, kernels != Kernels::kFused)) {
    if (kernels == Kernels::kEmulatedGpu) setup.gpu_kernels = &kEmulatedKernels;
    engine = detail::torch_library().make_engine(setup);
    engine->write(EngineArray::kParameters,
                  detail::join_tensors(setup.shapes, shaken_parameters(model, task.format())));
  }

  // Update number `step`, without reading what it tells.
  void begin(Index step, float factor = 1.0F) {
    StepData data;
    source.make(step, &data);
    for (float& x : data.pieces[0].inputs) x *= factor;
    AdamWStep update;
    update.update = step + 1;
    update.rate = 0.01;
    update.decay = 0.1;
    update.most_norm = 0.5;
    engine->step(data, update);
  }
  std::vector<float> parameters() const {
    std::vector<float> flat;
    for (const auto array :
         {EngineArray::kParameters, EngineArray::kFirstMoments, EngineArray::kSecondMoments}) {
      std::vector<float> part(static_cast<std::size_t>(detail::total_count(setup.shapes)));
      engine->read(array, part);
      flat.insert(flat.end(), part.begin(), part.end());
    }
    return flat;
  }

  const PatternTask task{6, 2};
  const TransformerOptions model = dropping_model();
  TrainOptions options = [] {
    TrainOptions o = small_run();
    o.accumulation = 2;
    return o;
  }();
  const StepSource source{model, options, task};
  EngineSetup setup;
  std::unique_ptr<TransformerEngine> engine;
};

// A task whose batches fail from some example on.
class FailingTask final : public TrainingTask {
 public:
  explicit FailingTask(Index first_bad) : first_bad_(first_bad) {}
  const TaskFormat& format() const override { return good_.format(); }
  const std::vector<std::string>& splits() const override { return good_.splits(); }
  Index size(std::string_view split) const override { return good_.size(split); }
  std::string_view selection_split() const override { return good_.selection_split(); }
  void batch(std::string_view split, Index first, Index count, TaskBatch& out) const override {
    if (first + count > first_bad_) {
      throw headway::Error(headway::ErrorKind::kBadData, "no more examples");
    }
    good_.batch(split, first, count, out);
  }

 private:
  PatternTask good_{6, 2};
  Index first_bad_;
};

bool same(const StepData& a, const StepData& b) {
  if (a.dropout != b.dropout || a.pieces.size() != b.pieces.size()) return false;
  for (std::size_t i = 0; i < a.pieces.size(); ++i) {
    if (a.pieces[i].inputs != b.pieces[i].inputs || a.pieces[i].classes != b.pieces[i].classes) {
      return false;
    }
  }
  return true;
}

}  // namespace

TEST_CASE("Updates begun one after the other tell what each tells alone", "[torch]") {
  const auto kernels = GENERATE(Kernels::kFused, Kernels::kEager, Kernels::kEmulatedGpu);
  Run single(kernels);
  Run together(kernels);
  std::vector<StepNumbers> told;
  for (Index step = 0; step < 6; ++step) {
    single.begin(step);
    const auto one = single.engine->read_steps();
    REQUIRE(one.size() == 1);
    told.push_back(one[0]);
    together.begin(step);
  }
  const auto all = together.engine->read_steps();
  REQUIRE(all.size() == told.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    CHECK(all[i].loss == told[i].loss);
    CHECK(all[i].gradient_norm == told[i].gradient_norm);
    CHECK(all[i].gradient_norm > 0.0);
  }
  CHECK(all.front().loss != all.back().loss);
  CHECK(single.parameters() == together.parameters());
  CHECK(together.engine->read_steps().empty());
}

// On the emulated GPU the batch is copied to memory that stays where it is, as a CUDA graph needs.
TEST_CASE("Updates in LibTorch's operations are those of the fused kernels", "[torch]") {
  const auto kernels = GENERATE(Kernels::kEager, Kernels::kEmulatedGpu);
  Run fused(Kernels::kFused);
  Run eager(kernels);
  for (Index step = 0; step < 4; ++step) {
    fused.begin(step);
    eager.begin(step);
  }
  const auto a = fused.engine->read_steps();
  const auto b = eager.engine->read_steps();
  for (std::size_t i = 0; i < a.size(); ++i) {
    CHECK(std::abs(a[i].loss - b[i].loss) < 1e-5);
    CHECK(std::abs(a[i].gradient_norm - b[i].gradient_norm) < 1e-3 * a[i].gradient_norm);
  }
  CHECK(a[0].gradient_norm > 0.5);  // it is clipped
  const auto ours = fused.parameters();
  const auto theirs = eager.parameters();
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    difference += std::pow(static_cast<double>(ours[i]) - theirs[i], 2);
    size += std::pow(static_cast<double>(theirs[i]), 2);
  }
  CHECK(std::sqrt(difference / size) < 1e-3);
}

TEST_CASE("After an update that is not finite nothing changes until it is read", "[torch]") {
  const auto kernels = GENERATE(Kernels::kFused, Kernels::kEager, Kernels::kEmulatedGpu);
  const float bad = std::numeric_limits<float>::quiet_NaN();
  Run good(kernels);
  good.begin(0);
  static_cast<void>(good.engine->read_steps());
  Run wrong(kernels);
  wrong.begin(0);
  wrong.begin(1, bad);
  wrong.begin(2);
  const auto told = wrong.engine->read_steps();
  REQUIRE(told.size() == 3);
  CHECK(told[0].finite());
  CHECK_FALSE(told[1].finite());
  CHECK(wrong.parameters() == good.parameters());
  // And goes on from there.
  good.begin(1);
  wrong.begin(1);
  CHECK(wrong.engine->read_steps()[0].loss == good.engine->read_steps()[0].loss);
  CHECK(wrong.parameters() == good.parameters());
}

TEST_CASE("A step's masks are the streams of its layers, and there are none without dropout") {
  const PatternTask task(6, 2);
  TransformerOptions model = dropping_model();
  model.encoder_layers = 1;  // three layers
  TrainOptions options = small_run();
  options.seed = 11;
  for (const double rate : {0.0, 0.1, 0.5, 0.99}) {
    model.attention_dropout = rate;
    const StepSource source(model, options, task);
    for (const Index step : {0, 1, 7}) {
      INFO("rate " << rate << ", step " << step);
      StepData data;
      data.dropout = {3.0F};  // of an earlier step
      source.make(step, &data);
      std::vector<float> wanted;
      for (Index layer = 0; layer < 3 && rate > 0.0; ++layer) {
        headway::Rng rng(11, headway::StreamPurpose::kDropout,
                         static_cast<std::uint64_t>(3 * step + layer));
        for (int pair = 0; pair < 36; ++pair) {
          wanted.push_back(rng.uniform() < rate ? 0.0F : static_cast<float>(1.0 / (1.0 - rate)));
        }
      }
      CHECK(data.dropout == wanted);
    }
  }
}

TEST_CASE("A share of the micro-batches is made of their examples alone") {
  const PatternTask task(6, 2);
  TrainOptions options = small_run();
  options.batch = 24;
  options.micro_batches = 4;
  options.accumulation = 3;
  StepSource source(dropping_model(), options, task);
  StepData whole;
  source.make(5, &whole);
  REQUIRE(whole.pieces.size() == 12);
  for (const auto& [begin, end] : {std::pair<Index, Index>{0, 1}, {1, 3}, {2, 2}, {0, 4}}) {
    source.take_share({begin, end});
    StepData part;
    source.make(5, &part);
    REQUIRE(part.pieces.size() == static_cast<std::size_t>(3 * (end - begin)));
    CHECK(part.dropout == whole.dropout);
    for (std::size_t i = 0; i < part.pieces.size(); ++i) {
      const TaskBatch& of_whole = whole.pieces[i + static_cast<std::size_t>(3 * begin)];
      CHECK(part.pieces[i].examples == 2);
      CHECK(part.pieces[i].inputs == of_whole.inputs);
      CHECK(part.pieces[i].classes == of_whole.classes);
    }
  }
  TaskBatch last;
  task.batch("train", 5 * 24 + 22, 2, last);
  CHECK(whole.pieces.back().inputs == last.inputs);
}

TEST_CASE("Data made ahead is the data of its update") {
  const PatternTask task(6, 2);
  TrainOptions options = small_run();
  options.accumulation = 4;
  const StepSource source(dropping_model(), options, task);
  const int threads = GENERATE(1, 2, 5);
  StepsAhead ahead(source, 3, 40, threads);
  for (Index step = 3; step < 40; ++step) {
    StepData expected;
    source.make(step, &expected);
    REQUIRE(expected.pieces.size() == 4);
    REQUIRE(expected.dropout.size() == 2 * 36);
    CHECK(same(ahead.next(), expected));
  }
  StepsAhead forgotten(source, 0, 1000000, threads);  // ends without waiting for all of it
  static_cast<void>(forgotten.next());
}

TEST_CASE("An error in making data ahead comes with the update that has none") {
  const FailingTask task(3 * small_run().batch);
  const StepSource source(small_model(), small_run(), task);
  StepsAhead ahead(source, 0, 10, GENERATE(1, 4));
  for (int i = 0; i < 3; ++i) CHECK(ahead.next().pieces[0].examples == small_run().batch);
  CHECK_THROWS_WITH(ahead.next(), "no more examples");
  CHECK_THROWS_WITH(ahead.next(), "no more examples");
}
