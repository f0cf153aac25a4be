// The training step written by hand for a GPU, on the emulator: its gradients are those of the
// CPU's own step, its update is AdamW, and its list of launches is short.
#include <cmath>

#include "catch.hpp"
#include "emulated_step.hpp"
#include "engine_answers.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using detail::FusedStep;
using headway::Index;

namespace {

// A step on the emulator, with its arrays.
class EmulatedStep {
 public:
  EmulatedStep(const EngineSetup& setup, const detail::StepData& data,
               const detail::AdamWStep& constants = {})
      : setup_(setup), batch_(data.pieces[0]), dropout_(data.dropout) {
    const auto count = static_cast<std::size_t>(detail::total_count(setup.shapes));
    for (auto* array : {&values_, &gradients_, &first_, &second_}) array->assign(count, 0.0F);
    detail::StepArrays a;
    a.inputs = device_.adopt("inputs", batch_.inputs);
    a.ids = device_.adopt("ids", batch_.ids);
    a.mask = device_.adopt("mask", batch_.mask);
    a.targets = device_.adopt("targets", batch_.targets);
    a.classes = device_.adopt("classes", batch_.classes);
    a.dropout = device_.adopt("dropout", dropout_);
    a.values = device_.adopt("values", values_);
    a.gradients = device_.adopt("gradients", gradients_);
    a.first = device_.adopt("first", first_);
    a.second = device_.adopt("second", second_);
    a.numbers = device_.adopt("numbers", numbers_);
    a.loss = device_.adopt("loss", loss_);
    a.history = device_.adopt("history", history_);
    step_.emplace(setup_,
                  detail::StepBatchShape{batch_.examples, !batch_.mask.empty(), !dropout_.empty()},
                  a, constants, &device_);
  }

  void write(std::vector<float>* to, const std::vector<float>& flat) { move(flat, to, true); }
  [[nodiscard]] std::vector<float> read(const std::vector<float>& from) {
    std::vector<float> flat(from.size());
    move(from, &flat, false);
    return flat;
  }

  detail::EngineSetup setup_;
  TaskBatch batch_;
  std::vector<float> dropout_, values_, gradients_, first_, second_;
  std::vector<float> numbers_ = std::vector<float>(4);
  std::vector<double> loss_ = {0.0};
  std::vector<double> history_ = std::vector<double>(2 * detail::kMostStepsAhead);
  EmulatedStepDevice device_;
  std::optional<FusedStep> step_;

 private:
  // From the model's order to the step's, or back.
  void move(const std::vector<float>& from, std::vector<float>* to, bool in) const {
    const std::vector<Index> offsets = detail::step_offsets(setup_.shapes);
    Index at = 0;
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      const Index count = setup_.shapes[i].count();
      std::copy_n(from.begin() + (in ? at : offsets[i]), count,
                  to->begin() + (in ? offsets[i] : at));
      at += count;
    }
  }
};

detail::StepData step_data(const EngineSetup& setup, const TrainingTask& task, Index examples) {
  detail::StepData data;
  task.batch("train", 4, examples, data.pieces.emplace_back());
  data.dropout = dropout_of(setup.model, setup.format.tokens);
  return data;
}

// Loss and gradients on the emulator and of the CPU's own step, with dropout.
void check_gradients(const TransformerOptions& model, const TrainingTask& task) {
  const EngineSetup setup = engine_setup(model, task, false);
  const detail::StepData data = step_data(setup, task, kEngineExamples);
  const std::vector<float> values =
      detail::join_tensors(setup.shapes, shaken_parameters(setup.model, setup.format));

  const auto engine = detail::torch_library().make_engine(setup);
  engine->write(detail::EngineArray::kParameters, values);
  const double loss = engine->compute_gradients(data);
  std::vector<float> wanted(values.size());
  engine->read(detail::EngineArray::kGradients, wanted);

  EmulatedStep emulated(setup, data);
  emulated.write(&emulated.values_, values);
  emulated.step_->run_gradients();
  CHECK(std::abs(emulated.loss_[0] - loss) < 1e-5 * loss);
  check_same_gradients(detail::split_tensors(setup.shapes, emulated.read(emulated.gradients_)),
                       detail::split_tensors(setup.shapes, wanted), 1e-4);
  CHECK(emulated.device_.launches() + 1 == emulated.step_->cost().launches);
}

}  // namespace

TEST_CASE("A hand-written step has the gradients of the CPU's", "[torch]") {
  for (const char* name : {"hyla", "softmax"}) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = name;
    check_gradients(model, PatternTask(7, 3, true));
  }
}
