#include "training/torch/device_stack.hpp"

#include <algorithm>
#include <utility>

#include "headway/error.hpp"
#include "training/model/named_tensors.hpp"
#include "training/torch/library_attention.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;

Tensor of_run(const Tensor& x, Index run) { return x.defined() ? x.select(0, run) : Tensor(); }

}  // namespace

DeviceStack::DeviceStack(const EngineSetup& setup, const StackShape& shape, MakeStepDevice make)
    : setup_(setup),
      shape_(shape),
      memory_(setup.device == Device::kCuda ? at::kCUDA : at::kCPU, true),
      stream_(std::make_shared<OwnStream>(memory_.device())),
      work_(memory_.device(), true) {
  const OwnStream::Scope scope(*stream_);
  make_arrays();
  device_ = with_library_attention(setup_, make(current_stream(memory_.device())));
  step_ = std::make_unique<FusedStep>(setup_, shape_.batch,
                                      step_arrays(batch_, arrays_, history_, numbers_),
                                      shape_.constants, device_.get());
}

void DeviceStack::make_arrays() {
  const TaskFormat& format = setup_.format;
  const Index runs = shape_.batch.runs;
  const Index examples = shape_.batch.examples;
  const auto zeros = [&](at::IntArrayRef sizes, at::ScalarType type) {
    return at::zeros(sizes, at::TensorOptions().dtype(type).device(memory_.device()));
  };
  for (Tensor* array : {&arrays_.values, &arrays_.gradients, &arrays_.first, &arrays_.second}) {
    *array = zeros({runs, step_parameters(setup_.shapes)}, at::kFloat);
  }
  arrays_.loss = zeros({runs}, at::kDouble);
  ModelInput& input = batch_.input;
  if (format.features > 0) {
    input.x = zeros({runs, examples, format.tokens, format.features}, at::kFloat);
  } else {
    input.x = zeros({runs, examples, format.tokens}, at::kInt);
  }
  if (shape_.batch.masked) input.mask = zeros({runs, examples, format.tokens}, at::kByte);
  if (format.loss == LossKind::kCrossEntropy) {
    batch_.classes = zeros({runs, examples * format.scored}, at::kInt);
  } else {
    batch_.targets = zeros({runs, examples, format.scored, format.outputs}, at::kFloat);
  }
  if (shape_.batch.dropout) {
    const Index layers = setup_.model.all_layers();
    input.dropout = zeros({runs, layers, format.tokens, format.tokens}, at::kFloat);
  }
  history_ = zeros({runs, kMostStepsAhead, 2}, at::kDouble);
  numbers_ = zeros({runs, static_cast<Index>(kNoUpdate.size())}, at::kFloat);
  numbers_sent_.resize(static_cast<std::size_t>(runs) * kNoUpdate.size());
  for (Index run = 0; run < runs; ++run) {
    Place& place = places_.emplace_back();
    place.batch.input.x = of_run(input.x, run);
    place.batch.input.mask = of_run(input.mask, run);
    place.batch.input.dropout = of_run(input.dropout, run);
    place.batch.targets = of_run(batch_.targets, run);
    place.batch.classes = of_run(batch_.classes, run);
  }
}

UpdatedArrays DeviceStack::arrays(Index run) const {
  const Index count = total_count(setup_.shapes);
  const auto mine = [&](const Tensor& all) { return all.select(0, run).narrow(0, 0, count); };
  return {mine(arrays_.values), mine(arrays_.gradients), mine(arrays_.first), mine(arrays_.second),
          arrays_.loss.select(0, run)};
}

void DeviceStack::prepare(Index run, const StepPieces& data, const AdamWStep& step) {
  const auto at = static_cast<std::size_t>(run);
  Place& mine = places_[at];
  // An array that another one takes the place of would be one that the step does not see.
  bool moved = data.pieces.size() != 1;
  const auto put = [&](const auto& numbers, Tensor* to) {
    const at::IntArrayRef sizes = to->defined() ? to->sizes() : at::IntArrayRef();
    if (to->defined() != !numbers.empty() ||
        (to->defined() && to->numel() != static_cast<Index>(numbers.size()))) {
      moved = true;
      return;
    }
    if (to->defined()) moved |= memory_.put(numbers, sizes.vec(), to);
  };
  const TaskBatch& batch = data.pieces.front();
  if (setup_.format.features > 0) {
    put(batch.inputs, &mine.batch.input.x);
  } else {
    put(batch.ids, &mine.batch.input.x);
  }
  put(batch.mask, &mine.batch.input.mask);
  put(batch.targets, &mine.batch.targets);
  put(batch.classes, &mine.batch.classes);
  put(data.dropout, &mine.batch.input.dropout);
  if (moved) throw Error(ErrorKind::kInternal, "a stack's run has examples of another shape");
  const auto numbers = update_numbers(step, mine.steps++);
  std::copy(numbers.begin(), numbers.end(),
            numbers_sent_.begin() + static_cast<std::ptrdiff_t>(at * numbers.size()));
}

void DeviceStack::launch(const std::vector<bool>& ready) {
  for (std::size_t run = 0; run < ready.size(); ++run) {
    if (ready[run]) continue;
    std::copy(kNoUpdate.begin(), kNoUpdate.end(),
              numbers_sent_.begin() + static_cast<std::ptrdiff_t>(run * kNoUpdate.size()));
  }
  memory_.put(numbers_sent_, numbers_.sizes().vec(), &numbers_);
  work_.run([this] {
    step_->run_gradients();
    step_->run_update();
  });
}

std::vector<StepNumbers> DeviceStack::read(Index run) {
  Index& steps = places_[static_cast<std::size_t>(run)].steps;
  return read_history(history_.select(0, run), std::exchange(steps, 0));
}

}  // namespace headway::training::detail
