#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "headway/core/clock.hpp"
#include "headway/core/text.hpp"
#include "headway/error.hpp"
#include "training/trainer/trainer_implementation.hpp"

namespace headway::training {

using detail::EngineArray;

namespace {

constexpr int kMostMakers = 16;  // threads that make examples: each has a batch in memory

class Stopwatch {
 public:
  [[nodiscard]] double seconds() const { return seconds_since(start_); }

 private:
  Clock::time_point start_ = Clock::now();
};

}  // namespace

void Trainer::Implementation::take_steps_with(TrainingRanks& ranks) {
  ranks_ = &ranks;
  share_ = ranks.share(options_.micro_batches);
  source_.take_share(share_);
  if (!ranks.go_on(false)) return;  // run() finds that out
  std::array<double, 1> step = {static_cast<double>(step_)};
  ranks.tell(step);
  step_ = static_cast<Index>(step.front());
  std::vector<float> flat(static_cast<std::size_t>(parameters()));
  for (const auto array :
       {EngineArray::kParameters, EngineArray::kFirstMoments, EngineArray::kSecondMoments}) {
    engine_->read(array, flat);
    std::vector<double> numbers(flat.begin(), flat.end());
    ranks.tell(numbers);
    std::transform(numbers.begin(), numbers.end(), flat.begin(),
                   [](double x) { return static_cast<float>(x); });
    engine_->write(array, flat);
  }
}

detail::AdamWStep Trainer::Implementation::update() const {
  return {step_ + 1,
          learning_rate_at(options_, step_),
          options_.weight_decay,
          options_.beta_1,
          options_.beta_2,
          options_.epsilon,
          options_.gradient_clip};
}

// Begins a step with its data; null asks to stop. False if this rank or another one stops, so that
// no step is begun.
bool Trainer::Implementation::begin_step(const detail::StepData* data) {
  if (ranks_ != nullptr) {
    if (!begin_step_of_ranks(data)) return false;
  } else if (data == nullptr) {
    return false;
  } else if (options_.micro_batches == 1) {
    engine_->step(*data, update());
  } else {
    update_from(micro_gradients(*data).total());
  }
  ++step_;
  ++unread_;
  return true;
}

// Gradients may fail, so they come before the ranks agree to go on: none waits for one that failed.
bool Trainer::Implementation::begin_step_of_ranks(const detail::StepData* data) {
  TreeSum mine = data != nullptr ? micro_gradients(*data) : TreeSum();
  if (!ranks_->go_on(data == nullptr)) return false;
  update_from(ranks_->total(std::move(mine)));
  return true;
}

// For each micro-batch of this rank: the gradient of its mean loss, then the loss.
TreeSum Trainer::Implementation::micro_gradients(const detail::StepData& data) const {
  TreeSum sum;
  std::vector<float> gradient(static_cast<std::size_t>(parameters()));
  for (Index i = share_.first; i < share_.second; ++i) {
    const detail::StepPieces mine = detail::StepPieces(data).part(
        (i - share_.first) * options_.accumulation, options_.accumulation);
    const double loss = engine_->compute_gradients(mine);
    engine_->read(EngineArray::kGradients, gradient);
    std::vector<double> leaf;
    leaf.reserve(gradient.size() + 1);
    leaf.assign(gradient.begin(), gradient.end());
    leaf.push_back(loss);
    sum.push(static_cast<std::size_t>(i), std::move(leaf));
  }
  return sum;
}

void Trainer::Implementation::update_from(const std::vector<double>& total) {
  const double share = 1.0 / static_cast<double>(options_.micro_batches);
  std::vector<float> gradient(total.size() - 1);
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    gradient[i] = static_cast<float>(share * total[i]);
  }
  engine_->write(EngineArray::kGradients, gradient);
  engine_->update(share * total.back(), update());
}

// Whether the second moments can hold the squares of such a gradient. Else they are infinite, and
// parameters would never move again, with a finite loss.
bool Trainer::Implementation::has_float_squares(double gradient_norm) const {
  constexpr double kMostNorm = 1e19;  // a float ends at 3.4e38
  return options_.gradient_clip > 0.0 || gradient_norm < kMostNorm;
}

// The steps that were begun and not read yet. A step that is not finite is the last one, and only
// the steps before it count as done.
std::vector<StepResult> Trainer::Implementation::read_steps() {
  std::vector<StepResult> results;
  Index step = step_ - std::exchange(unread_, 0);
  for (const detail::StepNumbers& numbers : engine_->read_steps()) {
    const bool good = numbers.finite() && has_float_squares(numbers.gradient_norm);
    results.push_back(
        {step, numbers.loss, numbers.gradient_norm, learning_rate_at(options_, step), good});
    if (!good) break;
    ++step;
    loss_since_record_ += numbers.loss;
    ++steps_since_record_;
  }
  step_ = step;
  return results;
}

StepResult Trainer::Implementation::step() {
  source_.make(step_, &data_);
  if (!begin_step(&data_)) throw Error(ErrorKind::kInterrupted, "another rank stopped");
  return read_steps().front();
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

// Whether to read the numbers of the steps now: for a record, or to see in time that a run has gone
// wrong.
bool Trainer::Implementation::must_read(const Course& course) const {
  constexpr double kSeconds = 0.25;
  const auto due = [this](Index every) { return every > 0 && step_ % every == 0; };
  if (ranks_ != nullptr)
    return true;  // else a rank could notice alone, and leave the others waiting
  return unread_ >= detail::kMostStepsAhead || step_ >= options_.steps || due(options_.log_every) ||
         due(options_.eval_every) || due(options_.checkpoint_every) ||
         course.seconds - course.seconds_at_reading > kSeconds;
}

// False if a step was not finite.
bool Trainer::Implementation::finish_steps(Course* course) {
  const std::vector<StepResult> results = read_steps();
  course->seconds_at_reading = course->seconds;
  if (results.empty()) return true;
  const StepResult& last = results.back();
  if (!last.finite) {
    course->summary.outcome = TrainOutcome::kDiverged;
    course->summary.message = fmt::format(
        "step {}: the loss is {} and the gradient norm {} at learning rate {:.3g}. Lower "
        "train.learning_rate, raise train.warmup_steps, or set train.gradient_clip",
        last.step, number_text(last.loss), number_text(last.gradient_norm), last.learning_rate);
    if (results.size() > 1) course->summary.last_train_loss = results[results.size() - 2].loss;
    return false;
  }
  course->last = last;
  course->summary.last_train_loss = last.loss;
  return true;
}

// Records, evaluations and checkpoints that are due.
void Trainer::Implementation::tell(Course* course) {
  const auto due = [this](Index every) { return every > 0 && step_ % every == 0; };
  if (due(options_.log_every) || (step_ == options_.steps && options_.log_every > 0)) {
    TrainRecord record;
    record.step = step_;
    record.split = "train";
    record.loss = loss_since_record_ / static_cast<double>(steps_since_record_);
    record.learning_rate = course->last.learning_rate;
    record.gradient_norm = course->last.gradient_norm;
    record.steps_per_second = course->summary.steps_per_second;
    loss_since_record_ = 0.0;
    steps_since_record_ = 0;
    course->sink->record(record);
  }
  if (step_ < options_.steps && due(options_.eval_every)) evaluate_all(course);
  if (step_ < options_.steps && due(options_.checkpoint_every)) {
    course->sink->checkpoint(CheckpointKind::kPeriodic, course->seconds,
                             [this] { return state(); });
  }
}

void Trainer::Implementation::after_step(Course* course) {
  TrainSummary& summary = course->summary;
  summary.steps_per_second =
      course->seconds > 0.0 ? static_cast<double>(course->steps) / course->seconds : 0.0;
  if (is_first()) tell(course);
  course->observer->progress("train", static_cast<double>(step_),
                             static_cast<double>(options_.steps));
}

void Trainer::Implementation::train(Course* course) {
  std::optional<detail::StepsAhead> ahead;  // with one thread, another would not help
  if (setup_.threads > 1 || setup_.device == Device::kCuda) {
    // A GPU leaves the cores free. On the CPU the others have the network to do.
    const bool idle_cores = setup_.device == Device::kCuda;
    const int makers = idle_cores ? std::clamp(setup_.threads, 1, kMostMakers) : 1;
    ahead.emplace(source_, step_, options_.steps, makers);
  }
  const auto next_data = [&]() -> const detail::StepData* {
    if (course->observer->interrupted()) return nullptr;
    if (ahead) return &ahead->next();
    source_.make(step_, &data_);
    return &data_;
  };
  bool begun = true;
  while (begun && step_ < options_.steps) {
    const Stopwatch watch;
    begun = begin_step(next_data());
    if (begun) ++course->steps;
    // A run that stops reads the numbers of its last steps, too.
    const bool reads = !begun || must_read(*course);
    const bool finite = !reads || finish_steps(course);
    course->seconds += watch.seconds();
    if (!finite) return;
    if (begun) after_step(course);
  }
  if (begun) return;
  course->summary.outcome = TrainOutcome::kInterrupted;
  course->summary.message = fmt::format("interrupted after step {} of {}", step_, options_.steps);
}

TrainSummary Trainer::Implementation::run(Observer& observer, TrainSink& sink) {
  Course course{&observer, &sink, {}, 0, 0.0, 0.0, {}};
  course.summary.outcome = TrainOutcome::kFinished;
  train(&course);
  finish(&course);
  return course.summary;
}

void Trainer::Implementation::finish(Course* course) {
  TrainSummary& summary = course->summary;
  summary.evaluations.clear();  // earlier evaluations are in the records
  if (is_first()) {
    if (summary.outcome == TrainOutcome::kFinished) evaluate_all(course);
    course->sink->checkpoint(CheckpointKind::kLast, course->seconds, [this] { return state(); });
  }
  summary.steps = step_;
  summary.best_step = best_step_;
  summary.best_loss = best_loss_;
  summary.best_split = options_.best_split;
  summary.training_seconds = course->seconds;
  summary.flops_per_second = flops_per_step_ * summary.steps_per_second;
}

}  // namespace headway::training
