#pragma once

#include <span>
#include <vector>

#include "headway/network_prune_results.hpp"
#include "headway/observer.hpp"
#include "headway/train_task.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway {

/// Removes every head of every network from the network itself (src/training/README.md, "Removing
/// heads"). First each head alone, on every split but train, as zero and as its mean. Then one
/// after the other, as study.prune says: by each score, at random, and greedily on the split that
/// selects checkpoints. Drops and curves are measured on "held_out", else "test", else the
/// selecting split. `theory`: scores of parts of these networks, matched by weights_sha256. The
/// score of a head is the sum over the parts that belong to it. An interrupted run is left out.
/// Errors: as ready_network(); kBadData for scores that belong to none of the networks. Cost: an
/// evaluation of study.prune.trained().examples for each removal.
NetworkPruneResult prune_network(const Study& study, std::span<const TrainedNetwork> networks,
                                 std::span<const TheoryScores> theory, const TaskMaker& make_task,
                                 Observer& observer = no_observer());

}  // namespace headway
