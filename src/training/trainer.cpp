#include "headway/training/trainer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/error.hpp"
#include "headway/core/parallel.hpp"
#include "headway/training/backend.hpp"
#include "training/generate.hpp"
#include "training/named_tensors.hpp"
#include "training/transformer_engine.hpp"

namespace headway::training {

using detail::EngineArray;

namespace {

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return seconds_since(start_); }

 private:
  Clock::time_point start_ = Clock::now();
};

void validate_together(const TrainOptions& options, const TrainingTask& task) {
  options.validate();
  if (task.size("train") != 0) {
    throw Error(ErrorKind::kInternal, "a task's train split must have no end");
  }
  if (!options.best_split.empty()) require_split(task, options.best_split);
  if (options.precision == Precision::kBfloat16 &&
      resolve_device(options.device) != Device::kCuda) {
    throw Error(ErrorKind::kUnavailable,
                "train.precision = \"bf16\": there is no CUDA device, and "
                "the CPU trains in \"fp32\"");
  }
}

}  // namespace

class Trainer::Implementation {
 public:
  Implementation(const TransformerOptions& model, const TrainOptions& options,
                 const TrainingTask& task)
      : model_(model), options_(options), task_(&task), format_(task.format()) {
    shapes_ = detail::parameter_shapes(model, format_);
    validate_together(options, task);
    setup_ = {model.widened(),   format_,
              shapes_,           resolve_device(options.device),
              options.precision, resolve_threads(options.threads),
              options.eager};
    engine_ = detail::torch_library().make_engine(setup_);
    if (options_.best_split.empty()) options_.best_split = task.selection_split();
    write(EngineArray::kParameters, detail::initial_parameters(shapes_, options.seed));
    flops_per_step_ = training::flops_per_step(model, format_, options.batch).total();
  }

  [[nodiscard]] const TransformerOptions& model() const { return model_; }
  [[nodiscard]] const TrainOptions& options() const { return options_; }
  [[nodiscard]] Device device() const { return setup_.device; }
  [[nodiscard]] Index steps_done() const { return step_; }
  [[nodiscard]] Index parameters() const { return detail::total_count(shapes_); }

  StepResult step();
  TrainSummary run(Observer& observer, TrainSink& sink);
  Evaluation evaluate(std::string_view split, Index examples);
  std::vector<float> outputs(std::string_view split, Index first, Index count);
  std::vector<float> latent_codes(std::string_view split, Index first, Index count,
                                  std::span<const TokenPair> pairs);
  std::vector<NamedTensor> gradients(std::string_view split, Index first, Index count);
  [[nodiscard]] std::vector<std::int32_t> generate(std::span<const std::int32_t> prompt,
                                                   const GenerateOptions& options) {
    return detail::generate_text(*engine_, model_, format_, prompt, options);
  }
  [[nodiscard]] TrainState state() const;
  void set_state(const TrainState& state);
  void set_parameters(const std::vector<NamedTensor>& parameters) {
    write(EngineArray::kParameters, detail::in_order(shapes_, parameters));
  }

 private:
  // The rest of a call of run(): what it started with and what it adds up.
  struct Course {
    Observer* observer;
    TrainSink* sink;
    TrainSummary summary;
    Index steps = 0;
    double seconds = 0.0;
  };

  [[nodiscard]] std::vector<NamedTensor> read(EngineArray array) const;
  void write(EngineArray array, const std::vector<NamedTensor>& tensors);
  const std::vector<float>& draw_dropout();
  void after_step(const StepResult& result, Course* course);
  void evaluate_all(Course* course);
  void finish(Course* course);

  TransformerOptions model_;
  TrainOptions options_;
  const TrainingTask* task_;
  TaskFormat format_;
  std::vector<detail::ParameterShape> shapes_;
  detail::EngineSetup setup_;
  std::unique_ptr<detail::TransformerEngine> engine_;
  double flops_per_step_ = 0.0;
  Index step_ = 0;
  Index best_step_ = -1;
  double best_loss_ = 0.0;
  std::vector<NamedTensor> best_parameters_;
  double loss_since_record_ = 0.0;
  Index steps_since_record_ = 0;
  std::vector<float> dropout_;
  TaskBatch batch_;
};

std::vector<NamedTensor> Trainer::Implementation::read(EngineArray array) const {
  std::vector<float> flat(static_cast<std::size_t>(parameters()));
  engine_->read(array, flat);
  return detail::split_tensors(shapes_, flat);
}

void Trainer::Implementation::write(EngineArray array, const std::vector<NamedTensor>& tensors) {
  engine_->write(array, detail::join_tensors(shapes_, tensors));
}

// One mask of pairs for each layer, shared by examples and heads, and by the pieces of a batch:
// from the stream (seed, kDropout, step * layers + layer), the encoder's layers first.
const std::vector<float>& Trainer::Implementation::draw_dropout() {
  const double rate = model_.attention_dropout;
  dropout_.clear();
  if (rate == 0.0) return dropout_;
  const auto kept = static_cast<float>(1.0 / (1.0 - rate));
  for (Index layer = 0; layer < model_.all_layers(); ++layer) {
    Rng rng(options_.seed, StreamPurpose::kDropout,
            static_cast<std::uint64_t>(step_ * model_.all_layers() + layer));
    for (Index i = 0; i < format_.tokens * format_.tokens; ++i) {
      dropout_.push_back(rng.uniform() < rate ? 0.0F : kept);
    }
  }
  return dropout_;
}

StepResult Trainer::Implementation::step() {
  StepResult result;
  result.step = step_;
  result.learning_rate = learning_rate_at(options_, step_);
  const Index count = options_.batch / options_.accumulation;
  const double share = 1.0 / static_cast<double>(options_.accumulation);
  const std::vector<float>& dropout = draw_dropout();
  engine_->clear_gradients();
  for (Index piece = 0; piece < options_.accumulation; ++piece) {
    task_->batch("train", step_ * options_.batch + piece * count, count, batch_);
    result.loss += share * engine_->add_gradients(batch_, dropout, share);
  }
  result.gradient_norm = engine_->gradient_norm();
  result.finite = std::isfinite(result.loss) && std::isfinite(result.gradient_norm);
  if (!result.finite) return result;
  detail::AdamWStep update{step_ + 1,
                           result.learning_rate,
                           options_.weight_decay,
                           options_.beta_1,
                           options_.beta_2,
                           options_.epsilon,
                           1.0};
  if (options_.gradient_clip > 0.0 && result.gradient_norm > options_.gradient_clip) {
    update.clip = options_.gradient_clip / result.gradient_norm;
  }
  engine_->update(update);
  ++step_;
  loss_since_record_ += result.loss;
  ++steps_since_record_;
  return result;
}

Evaluation Trainer::Implementation::evaluate(std::string_view split, Index examples) {
  require_split(*task_, split);
  if (examples <= 0) examples = options_.eval_examples;
  const Index size = task_->size(split);
  if (size > 0) examples = std::min(examples, size);
  const Index most = options_.eval_batch > 0 ? options_.eval_batch : options_.batch;
  Evaluator evaluator(format_);
  for (Index first = 0; first < examples; first += most) {
    task_->batch(split, first, std::min(most, examples - first), batch_);
    evaluator.add(batch_, engine_->outputs(batch_, format_.scored));
  }
  return evaluator.result();
}

void Trainer::Implementation::evaluate_all(Course* course) {
  course->summary.evaluations.clear();
  for (const std::string& split : task_->splits()) {
    if (split == "train" && split != options_.best_split) continue;
    const Evaluation evaluation = evaluate(split, 0);
    TrainRecord record;
    record.step = step_;
    record.split = split;
    record.loss = evaluation.loss;
    record.metrics = evaluation.metrics;
    record.steps_per_second = course->summary.steps_per_second;
    course->sink->record(record);
    course->summary.evaluations.emplace_back(split, evaluation);
    const bool better = best_step_ < 0 || evaluation.loss < best_loss_;
    if (split == options_.best_split && std::isfinite(evaluation.loss) && better) {
      best_step_ = step_;
      best_loss_ = evaluation.loss;
      best_parameters_ = read(EngineArray::kParameters);
      course->sink->checkpoint(CheckpointKind::kBest, course->seconds, [this] { return state(); });
    }
  }
}

void Trainer::Implementation::after_step(const StepResult& result, Course* course) {
  TrainSummary& summary = course->summary;
  summary.steps_per_second =
      course->seconds > 0.0 ? static_cast<double>(course->steps) / course->seconds : 0.0;
  const auto due = [this](Index every) { return every > 0 && step_ % every == 0; };
  if (due(options_.log_every) || (step_ == options_.steps && options_.log_every > 0)) {
    TrainRecord record;
    record.step = step_;
    record.split = "train";
    record.loss = loss_since_record_ / static_cast<double>(steps_since_record_);
    record.learning_rate = result.learning_rate;
    record.gradient_norm = result.gradient_norm;
    record.steps_per_second = summary.steps_per_second;
    loss_since_record_ = 0.0;
    steps_since_record_ = 0;
    course->sink->record(record);
  }
  if (step_ < options_.steps && due(options_.eval_every)) evaluate_all(course);
  if (step_ < options_.steps && due(options_.checkpoint_every)) {
    course->sink->checkpoint(CheckpointKind::kPeriodic, course->seconds,
                             [this] { return state(); });
  }
  course->observer->progress("train", static_cast<double>(step_),
                             static_cast<double>(options_.steps));
}

TrainSummary Trainer::Implementation::run(Observer& observer, TrainSink& sink) {
  Course course{&observer, &sink, {}, 0, 0.0};
  TrainSummary& summary = course.summary;
  summary.outcome = TrainOutcome::kFinished;
  while (step_ < options_.steps) {
    if (observer.interrupted()) {
      summary.outcome = TrainOutcome::kInterrupted;
      summary.message = fmt::format("interrupted after step {} of {}", step_, options_.steps);
      break;
    }
    const Stopwatch watch;
    const StepResult result = step();
    if (!result.finite) {
      summary.outcome = TrainOutcome::kDiverged;
      summary.message = fmt::format(
          "step {}: the loss is {}, the gradient's norm {}, at learning rate {:.3g}; a lower "
          "learning rate, more warm-up or gradient clipping may help",
          result.step, result.loss, result.gradient_norm, result.learning_rate);
      break;
    }
    course.seconds += watch.seconds();
    ++course.steps;
    summary.last_train_loss = result.loss;
    after_step(result, &course);
  }
  finish(&course);
  return summary;
}

void Trainer::Implementation::finish(Course* course) {
  TrainSummary& summary = course->summary;
  summary.evaluations.clear();  // those of the middle are in the records
  if (summary.outcome == TrainOutcome::kFinished) evaluate_all(course);
  course->sink->checkpoint(CheckpointKind::kLast, course->seconds, [this] { return state(); });
  summary.steps = step_;
  summary.best_step = best_step_;
  summary.best_loss = best_loss_;
  summary.best_split = options_.best_split;
  summary.training_seconds = course->seconds;
  summary.flops_per_second = flops_per_step_ * summary.steps_per_second;
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
  TaskBatch batch;
  task_->batch(split, first, count, batch);
  engine_->clear_gradients();
  engine_->add_gradients(batch, {}, 1.0);
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
    : implementation_(std::make_unique<Implementation>(model, options, task)) {}
Trainer::~Trainer() = default;
Trainer::Trainer(Trainer&&) noexcept = default;
Trainer& Trainer::operator=(Trainer&&) noexcept = default;

const TransformerOptions& Trainer::model_options() const { return implementation_->model(); }
const TrainOptions& Trainer::options() const { return implementation_->options(); }
Index Trainer::parameters() const { return implementation_->parameters(); }
Device Trainer::device() const { return implementation_->device(); }
Index Trainer::steps_done() const { return implementation_->steps_done(); }
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
