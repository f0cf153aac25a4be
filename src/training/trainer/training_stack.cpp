#include "training/trainer/training_stack.hpp"

#include <utility>

#include "headway/training/backend.hpp"
#include "training/trainer/trainer_implementation.hpp"

namespace headway::training {
namespace {

// Of runs that differ in these alone, every step has the same launches.
TrainOptions without_what_may_differ(TrainOptions options) {
  const TrainOptions same;
  options.seed = same.seed;
  options.learning_rate = same.learning_rate;
  options.weight_decay = same.weight_decay;
  options.schedule = same.schedule;
  options.warmup_steps = same.warmup_steps;
  options.final_fraction = same.final_fraction;
  options.best_split.clear();
  return options;
}

// Whether the hand-written step may serve the run; FusedStep::obstacle() says the rest.
bool may_be_stacked(const TrainOptions& options) {
  return options.micro_batches == 1 && options.accumulation == 1;
}

detail::StackShape shape_of_stack(const TransformerOptions& model, const TrainOptions& options,
                                  Index runs) {
  detail::StackShape shape;
  shape.batch = {options.batch, false, model.attention_dropout > 0.0, runs};
  shape.constants.beta_1 = options.beta_1;
  shape.constants.beta_2 = options.beta_2;
  shape.constants.epsilon = options.epsilon;
  shape.constants.most_norm = options.gradient_clip;
  shape.evaluated = options.evaluated_at_a_time();
  return shape;
}

}  // namespace

bool stacks_runs() { return training_available() && detail::torch_library().hand_written_steps(); }

bool fit_one_stack(const TransformerOptions& model, const TrainOptions& options,
                   const TransformerOptions& other_model, const TrainOptions& other_options) {
  return may_be_stacked(options) && model == other_model &&
         without_what_may_differ(options) == without_what_may_differ(other_options);
}

Index runs_that_fit_one_stack(const TransformerOptions& model, const TrainOptions& options,
                              const TaskFormat& format, Index runs) {
  const detail::EngineSetup setup = detail::engine_setup(model, options, format);
  const Index fit =
      detail::torch_library().runs_that_fit(setup, shape_of_stack(setup.model, options, runs));
  return fit > 0 ? fit : runs;  // no stack serves them: each trains by itself
}

std::unique_ptr<detail::TransformerEngine> TrainingStack::Implementation::engine(
    const detail::EngineSetup& setup, const TrainOptions& options, Index place) {
  const std::lock_guard lock(guard_);
  const bool may = may_be_stacked(options);
  if (may && !begun_) {
    begun_ = true;
    model_ = setup.model;
    options_ = options;
    format_ = setup.format;
    detail::StackShape shape = shape_of_stack(setup.model, options, meeting_->runs());
    shape.meeting = meeting_;
    detail::EngineSetup stacked = setup;
    stacked.make_step_device = make_;
    engines_ = detail::torch_library().make_stack(stacked, shape);
  }
  const bool fits = may && engines_ != nullptr && setup.format == format_ &&
                    fit_one_stack(setup.model, options, model_, options_);
  if (fits) return engines_->engine(place);
  meeting_->leave(place);
  return nullptr;
}

TrainingStack::TrainingStack(Index runs)
    : implementation_(std::make_unique<Implementation>(runs)) {}
TrainingStack::TrainingStack(std::unique_ptr<Implementation> implementation)
    : implementation_(std::move(implementation)) {}
TrainingStack::~TrainingStack() = default;

void TrainingStack::enter(Index place) { implementation_->enter(place); }
void TrainingStack::leave(Index place) { implementation_->leave(place); }

}  // namespace headway::training
