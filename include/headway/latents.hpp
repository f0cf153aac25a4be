#pragma once

#include <vector>

#include "headway/latents_results.hpp"
#include "headway/observer.hpp"
#include "headway/train_task.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway {

/// The study of a run with the task that its codes are taken on: the task of training, changed by
/// the keys of latents.task. SRAVEN is taken without permutations unless these say otherwise.
/// task.seed is always set. Errors as changed_study().
Study latents_study(const Study& run);

/// Error{kBadStudy} unless networks of this study have latent codes to decode. That takes fuzzy
/// logic, SRAVEN whose features stay in their places, or examples of one's own, and layers that the
/// network has.
void check_latents(const Study& study);

/// `headway latents`: the latent codes of trained networks, and what can be decoded from them [S25,
/// figures 2 and 5]. A code is the weights a[1..H] of a query-key pair.
///   Fuzzy logic: the last token attends to itself.
///   SRAVEN: the answer of a feature drawn at random attends to the same feature of panels 7 and 8,
///   on unpermuted instances.
///   Examples of one's own: the last token attends to every token; their factors are decoded.
/// Decoders are fitted to fresh examples of training tasks and asked about held-out tasks
/// (analysis::decode()). latents.task of each network's study changes its task. After an
/// interruption the result has the networks that are finished. Errors: as check_latents(); kBadData
/// for too few tasks or examples. Cost of a run: three passes of the network over the examples, and
/// 30 to 50 fits for each layer and decoder.
LatentsResult latents(const std::vector<TrainedNetwork>& networks, const TaskMaker& make_task,
                      Observer& observer = no_observer());

}  // namespace headway
