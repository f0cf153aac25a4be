// What a stack of runs is made of.
#pragma once

#include <memory>
#include <mutex>
#include <optional>

#include "headway/training/training_stack.hpp"
#include "training/model/transformer_engine.hpp"
#include "training/step/stack_meeting.hpp"

namespace headway::training {

class TrainingStack::Implementation {
 public:
  /// `make`: the device of the step; null where it is a GPU.
  explicit Implementation(Index runs, detail::MakeStepDevice make = nullptr)
      : make_(make), meeting_(std::make_shared<detail::StackMeeting>(runs)) {}

  void enter(Index place) { meeting_->enter(place, std::chrono::seconds(2)); }
  void leave(Index place) { meeting_->leave(place); }
  /// The engine of a run at its place. Null where the run does not fit those that came before it,
  /// or no stack serves it: it then trains by itself, and nobody waits for it.
  std::unique_ptr<detail::TransformerEngine> engine(const detail::EngineSetup& setup,
                                                    const TrainOptions& options, Index place);

 private:
  detail::MakeStepDevice make_;
  std::shared_ptr<detail::StackMeeting> meeting_;
  std::mutex guard_;
  bool begun_ = false;
  TransformerOptions model_;  // of the run that came first
  TrainOptions options_;
  TaskFormat format_;
  std::unique_ptr<detail::EngineStack> engines_;
};

}  // namespace headway::training
