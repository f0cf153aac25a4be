#pragma once

#include <span>
#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/network_predict_results.hpp"
#include "headway/observer.hpp"
#include "headway/verbs/networks/trained.hpp"

namespace headway {

/// `headway predict` of trained networks: what each answers on the inputs of every split of
/// `inputs`. Labels and head matrices of `inputs` are ignored. Networks that differ in their seeds
/// alone form a group, which has mean and spread. No training data are needed. An interruption
/// leaves out the network at work and those after it. Errors: as ready_network(); kBadData for
/// inputs that the network does not read: path features, attention of every example, a mask, other
/// features or tokens (fuzzy logic takes any number of tokens).
NetworkPredictResult predict_inputs(const std::vector<TrainedNetwork>& networks,
                                    const tasks::Dataset& inputs,
                                    Observer& observer = no_observer());

/// The same of networks of text: the bits of every token of `text`, in the windows of evaluate(),
/// and the probabilities of the token after its end, given as many tokens before it as the network
/// reads. `name`: of the text, for messages. Errors: kBadStudy for networks that are not causal;
/// kBadData for a text without a token or with one that byte-pair encoding refuses.
NetworkPredictResult predict_text(const std::vector<TrainedNetwork>& networks,
                                  const std::string& name, const std::string& text,
                                  Observer& observer = no_observer());

/// All splits of new inputs: "train", "test" and further sets.
std::vector<tasks::NamedSplit> input_splits(const tasks::Dataset& inputs);

/// Error{kBadData} where one of the networks does not read these inputs: as predict_inputs().
void require_readable_inputs(const std::vector<TrainedNetwork>& networks,
                             const tasks::Dataset& inputs);

/// The same for a text: as predict_text().
void require_predictable_text(const std::vector<TrainedNetwork>& networks, const std::string& name,
                              const std::string& text);

}  // namespace headway
