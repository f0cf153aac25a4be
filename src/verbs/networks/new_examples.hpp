#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/tasks/text.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway {

/// What the network reads and answers, without the data of its training.
training::TaskFormat format_of(const TrainedNetwork& network);

/// The split of a set "train": a trainer's own split of that name must have no end.
inline constexpr const char* kTrainInputs = "train inputs";

/// Inputs without labels as a task that nobody trains on: a split for each set. Error{kBadData} for
/// inputs that the network does not read.
std::unique_ptr<training::TrainingTask> make_input_task(const TrainedNetwork& network,
                                                        const tasks::Dataset& inputs);

/// Splits of the task of a text.
inline constexpr const char* kWindows = "windows";  ///< of as many tokens as the network reads
inline constexpr const char* kEnd = "end";          ///< one example: the last tokens of the text

/// Of a causal network: short windows end with token 0, which no token before it sees.
std::unique_ptr<training::TrainingTask> make_window_task(const TrainedNetwork& network,
                                                         std::vector<std::int32_t> tokens);

}  // namespace headway
