#include "headway/training/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "headway/core/parallel.hpp"
#include "headway/error.hpp"
#include "headway/training/backend.hpp"
#include "training/trainer/trainer_implementation.hpp"

namespace headway::training {

using detail::EngineArray;

namespace {

void validate_together(const TrainOptions& options, const TrainingTask& task) {
  options.validate();
  if (task.size("train") != 0) {
    throw Error(ErrorKind::kInternal, "a task's train split must have no end");
  }
  if (!options.best_split.empty()) require_split(task, options.best_split);
  if (options.precision != Precision::kFloat32 && resolve_device(options.device) != Device::kCuda) {
    throw Error(
        ErrorKind::kUnavailable,
        fmt::format(
            "train.precision = \"{}\": must be \"fp32\" on the CPU, and there is no CUDA device",
            word_of(options.precision)));
  }
}

}  // namespace

detail::EngineSetup detail::engine_setup(const TransformerOptions& model,
                                         const TrainOptions& options, const TaskFormat& format) {
  return {model.widened(),
          format,
          parameter_shapes(model, format),
          resolve_device(options.device),
          options.precision,
          resolve_threads(options.threads),
          options.eager};
}

Trainer::Implementation::Implementation(const TransformerOptions& model,
                                        const TrainOptions& options, const TrainingTask& task,
                                        TrainingStack::Implementation* stack, Index place)
    : model_(model),
      options_(options),
      task_(&task),
      format_(task.format()),
      share_(0, options.micro_batches),
      source_(model, options, task) {
  shapes_ = detail::parameter_shapes(model, format_);
  validate_together(options, task);
  setup_ = detail::engine_setup(model, options, format_);
  if (stack != nullptr) engine_ = stack->engine(setup_, options_, place);
  if (engine_ == nullptr) engine_ = detail::torch_library().make_engine(setup_);
  if (options_.best_split.empty()) options_.best_split = task.selection_split();
  write(EngineArray::kParameters, detail::initial_parameters(shapes_, options.seed));
  flops_per_step_ = training::flops_per_step(model, format_, options.batch).total();
}

std::vector<NamedTensor> Trainer::Implementation::read(EngineArray array) const {
  std::vector<float> flat(static_cast<std::size_t>(parameters()));
  engine_->read(array, flat);
  return detail::split_tensors(shapes_, flat);
}

void Trainer::Implementation::write(EngineArray array, const std::vector<NamedTensor>& tensors) {
  engine_->write(array, detail::join_tensors(shapes_, tensors));
}

Evaluation Trainer::Implementation::evaluate(std::string_view split, Index examples) {
  require_split(*task_, split);
  if (examples <= 0) examples = options_.eval_examples;
  const Index size = task_->size(split);
  if (size > 0) examples = std::min(examples, size);
  const Index most = options_.evaluated_at_a_time();
  Evaluator evaluator(format_);
  for (Index first = 0; first < examples; first += most) {
    task_->batch(split, first, std::min(most, examples - first), batch_);
    evaluator.add(batch_, engine_->outputs(batch_, format_.scored));
  }
  return evaluator.result();
}

std::vector<float> Trainer::Implementation::outputs(std::string_view split, Index first,
                                                    Index count) {
  TaskBatch batch;
  task_->batch(split, first, count, batch);
  return count == 0 ? std::vector<float>() : engine_->outputs(batch, format_.scored);
}

std::vector<float> Trainer::Implementation::latent_codes(std::string_view split, Index first,
                                                         Index count,
                                                         std::span<const TokenPair> pairs) {
  for (const TokenPair& pair : pairs) {
    for (const Index token : {pair.query, pair.key}) {
      if (token >= 0 && token < format_.tokens) continue;
      throw Error(ErrorKind::kBadStudy, fmt::format("token {} of a latent code: must be from 0 to "
                                                    "{}",
                                                    token, format_.tokens - 1));
    }
  }
  TaskBatch batch;
  task_->batch(split, first, count, batch);
  if (count == 0 || pairs.empty()) return {};
  return engine_->latent_codes(batch, pairs);
}

std::vector<NamedTensor> Trainer::Implementation::gradients(std::string_view split, Index first,
                                                            Index count) {
  detail::StepData data;
  task_->batch(split, first, count, data.pieces.emplace_back());
  engine_->compute_gradients(data);
  return read(EngineArray::kGradients);
}

TrainState Trainer::Implementation::state() const {
  TrainState state;
  state.step = step_;
  state.examples = step_ * options_.batch;
  state.seed = options_.seed;
  state.parameters = read(EngineArray::kParameters);
  state.first_moments = read(EngineArray::kFirstMoments);
  state.second_moments = read(EngineArray::kSecondMoments);
  state.best_step = best_step_;
  state.best_loss = best_loss_;
  state.best_parameters = best_parameters_;
  state.loss_since_record = loss_since_record_;
  state.steps_since_record = steps_since_record_;
  return state;
}

void Trainer::Implementation::set_state(const TrainState& state) {
  if (state.seed != options_.seed || state.examples != state.step * options_.batch ||
      state.step < 0) {
    throw Error(ErrorKind::kBadData,
                fmt::format("checkpoint: seed {}, {} examples after {} steps; this run has seed {} "
                            "and {} examples a step",
                            state.seed, state.examples, state.step, options_.seed, options_.batch));
  }
  const std::vector<float> parameters = detail::join_tensors(shapes_, state.parameters);
  const std::vector<float> first = detail::join_tensors(shapes_, state.first_moments);
  const std::vector<float> second = detail::join_tensors(shapes_, state.second_moments);
  if (state.best_step >= 0) static_cast<void>(detail::join_tensors(shapes_, state.best_parameters));
  static_cast<void>(read_steps());  // where an error left some
  engine_->write(EngineArray::kParameters, parameters);
  engine_->write(EngineArray::kFirstMoments, first);
  engine_->write(EngineArray::kSecondMoments, second);
  step_ = state.step;
  best_step_ = state.best_step;
  best_loss_ = state.best_loss;
  best_parameters_ = state.best_parameters;
  loss_since_record_ = state.loss_since_record;
  steps_since_record_ = state.steps_since_record;
}

Trainer::Trainer(const TransformerOptions& model, const TrainOptions& options,
                 const TrainingTask& task)
    : implementation_(std::make_unique<Implementation>(model, options, task, nullptr, 0)) {}
Trainer::Trainer(const TransformerOptions& model, const TrainOptions& options,
                 const TrainingTask& task, TrainingStack& stack, Index place)
    : implementation_(std::make_unique<Implementation>(model, options, task,
                                                       stack.implementation_.get(), place)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

const TransformerOptions& Trainer::model_options() const { return implementation_->model(); }
const TrainOptions& Trainer::options() const { return implementation_->options(); }
Index Trainer::parameters() const { return implementation_->parameters(); }
Device Trainer::device() const { return implementation_->device(); }
Index Trainer::steps_done() const { return implementation_->steps_done(); }
void Trainer::take_steps_with(TrainingRanks& ranks) { implementation_->take_steps_with(ranks); }
StepResult Trainer::step() { return implementation_->step(); }
TrainSummary Trainer::run(Observer& observer, TrainSink& sink) {
  return implementation_->run(observer, sink);
}
Evaluation Trainer::evaluate(std::string_view split, Index examples) {
  return implementation_->evaluate(split, examples);
}
std::vector<float> Trainer::outputs(std::string_view split, Index first, Index count) {
  return implementation_->outputs(split, first, count);
}
std::vector<float> Trainer::latent_codes(std::string_view split, Index first, Index count,
                                         std::span<const TokenPair> pairs) {
  return implementation_->latent_codes(split, first, count, pairs);
}
std::vector<NamedTensor> Trainer::gradients(std::string_view split, Index first, Index count) {
  return implementation_->gradients(split, first, count);
}
std::vector<std::int32_t> Trainer::generate(std::span<const std::int32_t> prompt,
                                            const GenerateOptions& options) {
  return implementation_->generate(prompt, options);
}
TrainState Trainer::state() const { return implementation_->state(); }
void Trainer::set_state(const TrainState& state) { implementation_->set_state(state); }
void Trainer::set_parameters(const std::vector<NamedTensor>& parameters) {
  implementation_->set_parameters(parameters);
}

}  // namespace headway::training
