#pragma once

#include <string>
#include <vector>

#include "headway/evaluate_results.hpp"
#include "headway/observer.hpp"
#include "headway/train_task.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway {

/// `headway evaluate`: loss and metrics of every split of each network's task, after `change`, on
/// study.evaluate.examples examples (0: train.eval_examples). Without a change and with the last
/// weights these are the numbers at the end of training. After an interruption the result has the
/// networks that are finished. Errors: as changed_study() and ready_network().
EvaluateResult evaluate(const std::vector<TrainedNetwork>& networks, const TaskChange& change,
                        const TaskMaker& make_task, Observer& observer = no_observer());

/// [task] of several networks as in a study. Keys that differ between them are comments with their
/// values.
std::string task_of_all(const std::vector<std::string>& tasks);

}  // namespace headway
