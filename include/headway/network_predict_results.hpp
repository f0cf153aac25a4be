#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/train_results.hpp"
#include "headway/types.hpp"

namespace headway {

/// A token that may follow a text.
struct LikelyToken {
  Index token = 0;
  std::string text;
  double probability = 0.0;
};
template <class Visitor, RecordOf<LikelyToken> Record>
void fields(Visitor& visit, Record& r) {
  visit("token", r.token, "id of the token");
  visit("text", r.text, "what it stands for; U+FFFD for bytes that are no text by themselves");
  visit("probability", r.probability, "probability that it follows the text");
}

/// What a trained network, or the mean of several, answers to one set of new inputs, or to a text.
struct NetworkAnswers {
  std::string name;
  Tensor mean;                      ///< [M] or [M, O]; of classes [M, O] or [M, scored, O]
  Tensor deviation;                 ///< likewise; empty for one network
  MatrixXd right_sign_probability;  ///< [M, 1]; of several networks with labels -1 and +1
  Tensor predicted_class;           ///< [M] or [M, scored]; empty for real labels
  // Of a text, which has none of the arrays above:
  std::vector<double> bits;
  double bits_per_byte = 0.0, bits_per_byte_deviation = 0.0;
  std::vector<double> next, next_deviation;
  std::vector<LikelyToken> likeliest;
};
template <class Visitor, RecordOf<NetworkAnswers> Record>
void fields(Visitor& visit, Record& r) {
  const auto array = [&visit](const char* name, auto& values, bool there, const char* meaning,
                              FieldForm form = {}) {
    form.optional = true;
    if (shows(visit, there)) visit(name, values, meaning, form);
  };
  visit("name", r.name, "name of the set", {.layout = FieldLayout::kKey});
  array("mean", r.mean, !r.mean.empty(),
        "output of the network on each example, [M] or [M, O]; probabilities of the O classes, [M, "
        "O] or [M, scored tokens, O]; in a group the mean over seeds");
  array("sd", r.deviation, !r.deviation.empty(),
        "standard deviation of that over seeds; in a group of two networks or more");
  array("right_sign_probability", r.right_sign_probability, r.right_sign_probability.size() > 0,
        "share of the networks whose output has the sign of the mean, [M]; in a group of two "
        "networks or more, labels -1 and +1",
        {.layout = FieldLayout::kOutputs});
  array("predicted_class", r.predicted_class, !r.predicted_class.empty(),
        "sign of the output, or the likeliest class, counted from 0: [M] or [M, scored tokens]");
  array("bits", r.bits, !r.bits.empty(),
        "of a text: -log2 of the probability of each token, given those before it in its window; "
        "the first is undefined");
  const bool text = !r.next.empty();
  if (shows(visit, text)) {
    visit("bits_per_byte", r.bits_per_byte, "of a text: sum of the bits over its bytes");
  }
  if (shows(visit, !r.next_deviation.empty())) {
    visit("bits_per_byte_sd", r.bits_per_byte_deviation, "its standard deviation over seeds");
  }
  array("next", r.next, text, "of a text: probability of each token to be the next after its end");
  array("next_sd", r.next_deviation, !r.next_deviation.empty(),
        "standard deviation of that over seeds");
  array("likeliest", r.likeliest, text, "of a text: the five likeliest next tokens",
        {.layout = FieldLayout::kColumns});
}

/// One network on all sets.
struct PredictingRun : NetworkRun {
  Index step = 0;
  std::vector<NetworkAnswers> sets;
  std::string tokenizer;  ///< as TrainedNetwork's
};
template <class Visitor, RecordOf<PredictingRun> Record>
void fields(Visitor& visit, Record& r) {
  fields_of_network(visit, r);
  visit("step", r.step, "updates of the weights before they were taken");
  visit("sets", r.sets, "sets of new inputs", {.layout = FieldLayout::kByName});
}

/// The networks that differ in their seeds alone.
struct PredictingGroup {
  std::string label;
  std::vector<std::uint64_t> seeds;
  std::vector<NetworkAnswers> sets;
};
template <class Visitor, RecordOf<PredictingGroup> Record>
void fields(Visitor& visit, Record& r) {
  visit("label", r.label, "the runs in short");
  visit("seeds", r.seeds, "seeds of the runs", {.layout = FieldLayout::kAttribute});
  visit("sets", r.sets, "mean and spread over seeds", {.layout = FieldLayout::kByName});
}

/// `headway predict` of a train result.
struct NetworkPredictResult : NetworkRuns<PredictingRun> {
  static constexpr const char* kVerb = "network_predict";  ///< the kind of its file
  std::string predicted_from;                              ///< the train result
  std::string inputs;  ///< the data set, or the text, of the new inputs
};

/// Over seeds, in the order of the first runs. A group of one network has its answers.
std::vector<PredictingGroup> group_predictions(const NetworkPredictResult& result);

}  // namespace headway
