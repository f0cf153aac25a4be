#include "training/torch/engine_ways.hpp"

#include <cmath>
#include <utility>

#include "training/torch/host_update.hpp"

namespace headway::training::detail {

void HostEngine::step(const StepPieces& data, const AdamWStep& step) {
  here(library_threads(), [&] {
    place(data);
    const double loss = gradients_and_loss();
    update_here(loss, step);
  });
}

void HostEngine::update(double loss, const AdamWStep& step) {
  here(library_threads(), [&] { update_here(loss, step); });
}

void HostEngine::update_here(double loss, const AdamWStep& step) {
  const bool alive = steps_.empty() || steps_.back().finite();
  steps_.push_back({loss, host_gradient_norm(arrays().gradients, setup().threads)});
  if (!alive) steps_.back().loss = std::nan("");
  if (!steps_.back().finite()) return;
  host_update(setup(), offsets(), arrays(), step, steps_.back().gradient_norm);
}

std::vector<StepNumbers> HostEngine::read_steps() { return std::exchange(steps_, {}); }

LibraryEngine::LibraryEngine(const EngineSetup& setup, bool recordable)
    : TorchEngine(setup),
      work_(device(), recordable),
      update_(on_stream([&] { return DeviceUpdate(this->setup(), offsets(), arrays()); })) {}

void LibraryEngine::add_gradients_and_loss() {
  const at::Tensor& loss = arrays().loss;
  loss.zero_();
  add_all_gradients(
      [&](const at::Tensor& part, double share) { loss.add_(part.to(at::kDouble), share); });
}

double LibraryEngine::gradients_of_placed() {
  add_gradients_and_loss();
  return arrays().loss.item<double>();
}

double LibraryEngine::compute_gradients(const StepPieces& data) {
  return here(library_threads(), [&] {
    place(data);
    work_.forget();
    return gradients_of_placed();
  });
}

void LibraryEngine::step_of_placed(bool moved, const AdamWStep& step) {
  if (moved) work_.forget();
  update_.prepare(step);
  work_.run([this] {
    add_gradients_and_loss();
    update_.run();
  });
}

void LibraryEngine::step(const StepPieces& data, const AdamWStep& step) {
  here(library_threads(), [&] { step_of_placed(place(data), step); });
}

void LibraryEngine::update(double loss, const AdamWStep& step) {
  here(library_threads(), [&] {
    arrays().loss.fill_(loss);
    update_.prepare(step);
    update_.run();
  });
}

std::vector<StepNumbers> LibraryEngine::read_steps() {
  return here(1, [&] { return update_.read(); });
}

WrittenEngine::WrittenEngine(const EngineSetup& setup, MakeStepDevice make)
    : LibraryEngine(setup, true),
      written_(on_stream([&] { return DeviceStep(this->setup(), arrays(), make); })) {}

bool WrittenEngine::serves_placed(bool moved, const AdamWStep& constants) {
  constants_ = constants;
  return pieces().size() == 1 && written_.serves(pieces().front(), moved, constants);
}

double WrittenEngine::compute_gradients(const StepPieces& data) {
  return here(library_threads(), [&] {
    const bool moved = place(data);
    work().forget();
    if (!serves_placed(moved, constants_)) return gradients_of_placed();
    written_.run_gradients();
    return arrays().loss.item<double>();
  });
}

void WrittenEngine::step(const StepPieces& data, const AdamWStep& step) {
  here(library_threads(), [&] {
    const bool moved = place(data);
    if (!serves_placed(moved, step)) return step_of_placed(moved, step);
    if (written_.is_new()) work().forget();
    written_.prepare(step);
    work().run([this] {
      written_.run_gradients();
      written_.run_update();
    });
  });
}

std::vector<StepNumbers> WrittenEngine::read_steps() {
  if (written_.steps() == 0) return LibraryEngine::read_steps();
  return here(1, [&] { return written_.read(); });
}

StackedEngine::StackedEngine(const EngineSetup& setup, std::shared_ptr<DeviceStack> stack,
                             std::shared_ptr<StackMeeting> meeting, Index run)
    : TorchEngine(setup, stack->stream(), stack->arrays(run)),
      stack_(std::move(stack)),
      meeting_(std::move(meeting)),
      run_(run) {}

StackedEngine::~StackedEngine() { meeting_->leave(run_); }

// Whoever comes last launches the step of all, perhaps after this run has gone.
void StackedEngine::step(const StepPieces& data, const AdamWStep& step) {
  here(1, [&] { stack_->prepare(run_, data, step); });
  meeting_->arrive(run_, [stack = stack_](const std::vector<bool>& ready) {
    guarded(1, [&] {
      const OwnStream::Scope scope(*stack->stream());
      stack->launch(ready);
    });
  });
}

void StackedEngine::update(double /*loss*/, const AdamWStep& /*step*/) {
  throw Error(ErrorKind::kInternal, "a run of a stack has no micro-batches");
}

std::vector<StepNumbers> StackedEngine::read_steps() {
  return here(1, [&] { return stack_->read(run_); });
}

std::unique_ptr<TransformerEngine> make_torch_engine(const EngineSetup& setup) {
  if (setup.device == Device::kCpu && !setup.eager) return std::make_unique<HostEngine>(setup);
  const MakeStepDevice make = step_device_of(setup);
  if (make == nullptr) return std::make_unique<LibraryEngine>(setup);
  return std::make_unique<WrittenEngine>(setup, make);
}

}  // namespace headway::training::detail
