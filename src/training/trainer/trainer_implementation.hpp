// What a trainer is made of: trainer.cpp has what looks at it, trainer_run.cpp what trains it.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "headway/training/trainer.hpp"
#include "headway/training/training_ranks.hpp"
#include "training/model/named_tensors.hpp"
#include "training/trainer/generate.hpp"
#include "training/trainer/step_source.hpp"
#include "training/trainer/training_stack.hpp"

namespace headway::training {

namespace detail {

/// What a trainer asks an engine for.
EngineSetup engine_setup(const TransformerOptions& model, const TrainOptions& options,
                         const TaskFormat& format);

}  // namespace detail

class Trainer::Implementation {
 public:
  /// `stack` null: the run is no part of one.
  Implementation(const TransformerOptions& model, const TrainOptions& options,
                 const TrainingTask& task, TrainingStack::Implementation* stack, Index place);

  [[nodiscard]] const TransformerOptions& model() const { return model_; }
  [[nodiscard]] const TrainOptions& options() const { return options_; }
  [[nodiscard]] Device device() const { return setup_.device; }
  [[nodiscard]] Index steps_done() const { return step_; }
  [[nodiscard]] Index parameters() const { return detail::total_count(shapes_); }

  void take_steps_with(TrainingRanks& ranks);
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
    write(detail::EngineArray::kParameters, detail::in_order(shapes_, parameters));
  }

 private:
  // The rest of a call of run(): what it started with and what it adds up.
  struct Course {
    Observer* observer;
    TrainSink* sink;
    TrainSummary summary;
    Index steps = 0;
    double seconds = 0.0;
    double seconds_at_reading = 0.0;  // of the updates' numbers
    StepResult last;                  // that was read
  };

  [[nodiscard]] std::vector<NamedTensor> read(detail::EngineArray array) const;
  void write(detail::EngineArray array, const std::vector<NamedTensor>& tensors);
  [[nodiscard]] bool is_first() const { return ranks_ == nullptr || ranks_->is_first(); }
  [[nodiscard]] detail::AdamWStep update() const;
  bool begin_step(const detail::StepData* data);
  bool begin_step_of_ranks(const detail::StepData* data);
  [[nodiscard]] TreeSum micro_gradients(const detail::StepData& data) const;
  void update_from(const std::vector<double>& total);
  [[nodiscard]] bool has_float_squares(double gradient_norm) const;
  std::vector<StepResult> read_steps();
  [[nodiscard]] bool must_read(const Course& course) const;
  bool finish_steps(Course* course);
  void train(Course* course);
  void tell(Course* course);
  void after_step(Course* course);
  void evaluate_all(Course* course);
  void finish(Course* course);

  TransformerOptions model_;
  TrainOptions options_;
  const TrainingTask* task_;
  TaskFormat format_;
  std::vector<detail::ParameterShape> shapes_;
  detail::EngineSetup setup_;
  std::unique_ptr<detail::TransformerEngine> engine_;
  TrainingRanks* ranks_ = nullptr;
  std::pair<Index, Index> share_;  // of the micro-batches
  double flops_per_step_ = 0.0;
  Index step_ = 0;    // updates begun
  Index unread_ = 0;  // how many of these have not been read
  Index best_step_ = -1;
  double best_loss_ = 0.0;
  std::vector<NamedTensor> best_parameters_;
  double loss_since_record_ = 0.0;
  Index steps_since_record_ = 0;
  TaskBatch batch_;
  detail::StepSource source_;
  detail::StepData data_;
};

}  // namespace headway::training
