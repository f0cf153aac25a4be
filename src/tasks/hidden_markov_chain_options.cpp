#include <fmt/format.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "headway/core/option_error.hpp"
#include "headway/core/option_table.hpp"
#include "headway/error.hpp"
#include "headway/tasks/hidden_markov_chain.hpp"

namespace headway::tasks {
namespace {

constexpr Index kLargestChainSplit = 1'000'000;
constexpr Index kLargestSize = 10'000;  // tokens, and features: W would pass 3 GB a head
constexpr double kLargestStrength = 1e6;
constexpr double kLargestHeadsGib = 8.0;
constexpr std::size_t kMostHeads = 1'000;
constexpr std::size_t kMostLayers = 64;
constexpr const char* kLayersNeeded =
    "task.layers is missing: must be at least one table [[task.layers]] with heads = [{kind = "
    "\"...\"}, ...]";

/// A layer is a table with the one key `heads`.
struct Layer {
  std::vector<HeadOptions> heads;
};

const OptionTable<Layer>& layer_table() {
  const std::string head = "a table such as {kind = \"same_token\", shift = -1, beta = 10.0}";
  static const OptionTable<Layer> table = {
      {required(option("heads", &Layer::heads,
                       list(record(HeadOptions::table(), head),
                            "a list of 1 to 1000 heads, each " + head, 1, kMostHeads),
                       "the heads of this layer"))}};
  return table;
}

OptionType<std::vector<std::vector<HeadOptions>>> layers_type() {
  const OptionType<Layer> layer =
      record(layer_table(), "a table [[task.layers]] with the key heads");
  const OptionType<std::vector<HeadOptions>> heads = {
      layer.allowed,
      [layer](const OptionValue& value, const std::string& path) {
        return layer.read(value, path).heads;
      },
      [layer](const std::vector<HeadOptions>& held) { return layer.write(Layer{held}); },
      [layer](const std::vector<HeadOptions>& held, const std::string& path) {
        layer.check(Layer{held}, path);
      }};
  return list(heads, "1 to 64 tables [[task.layers]], each with the key heads", 1, kMostLayers);
}

/// Shifts must fit the number of tokens, and names must differ within a layer.
void check_layer(const std::vector<HeadOptions>& heads, const std::string& path, Index tokens) {
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const std::string head = element(path, h);
    if (std::abs(heads[h].shift) > tokens) {
      refuse(std::to_string(heads[h].shift), head + ".shift",
             fmt::format("from -{0} to {0}, the number of tokens", tokens));
    }
    for (std::size_t other = 0; other < h; ++other) {
      if (heads[h].name.empty() || heads[h].name != heads[other].name) continue;
      refuse("\"" + heads[h].name + "\"", head + ".name",
             "different from the name of " + element(path, other));
    }
  }
}

void require_memory(const HiddenMarkovChainOptions& options) {
  std::size_t heads = 0;
  for (const auto& layer : options.layers) heads += layer.size();
  const auto size = static_cast<double>(options.features + options.tokens + 1);
  const double gib = static_cast<double>(heads) * size * size * sizeof(double) / 0x1p30;
  if (gib <= kLargestHeadsGib) return;
  throw OptionError(fmt::format("task.layers: {} head matrices of {} x {} numbers take {:.1f} GiB: "
                                "must be at most {} GiB. Take fewer heads, tokens or features",
                                heads, size, size, gib, kLargestHeadsGib),
                    {"task.layers"});
}

}  // namespace

Words<HeadKind> words_of(HeadKind) {
  static constexpr Word<HeadKind> kWords[] = {{"same_token", HeadKind::kSameToken},
                                              {"different_token", HeadKind::kDifferentToken},
                                              {"uniform", HeadKind::kUniform},
                                              {"random", HeadKind::kRandom}};
  return kWords;
}

const OptionTable<HeadOptions>& HeadOptions::table() {
  using H = HeadOptions;
  static const OptionTable<H> table = {{
      required(option("kind", &H::kind, choice<HeadKind>(), "what the head attends to")),
      option("shift", &H::shift, integer<int>(-kLargestSize, kLargestSize),
             "key position minus query position that the positional part rewards"),
      option("beta", &H::beta, real(0.0, kLargestStrength), "inverse temperature of the softmax"),
      option("perturbation", &H::perturbation, real(0.0, kLargestStrength),
             "strength of a random matrix added to the head"),
      option("name", &H::name, text(100, true), "name in tables and figures"),
  }};
  return table;
}

const OptionTable<HiddenMarkovChainOptions>& HiddenMarkovChainOptions::table() {
  using H = HiddenMarkovChainOptions;
  static const OptionTable<H> table = {{
      option("train_examples", &H::train_examples, integer<Index>(1, kLargestChainSplit),
             "training examples P, half of each class"),
      option("test_examples", &H::test_examples, integer<Index>(0, kLargestChainSplit),
             "test examples, half of each class; 0: no test set"),
      option("tokens", &H::tokens, integer<Index>(1, kLargestSize),
             "tokens of an example, not counting the beginning-of-sequence token"),
      option("features", &H::features, integer<Index>(2, kLargestSize),
             "features of a token, not counting the one-hot positions; even"),
      option("stay_probability", &H::stay_probability,
             exactly<double, 2>(real(0.0, 1.0), "two numbers from 0 to 1"),
             "probability that the chain keeps its state, for class +1 and class -1"),
      option("noise", &H::noise,
             exactly<double, 3>(real(0.0, kLargestStrength),
                                "three numbers >= 0: difference, sum, out of plane"),
             "noise of the tokens along v_+ - v_-, along v_+ + v_- and out of that plane"),
      option("layers", &H::layers, layers_type(), "heads of each layer, from the input up"),
  }};
  return table;
}

void HiddenMarkovChainOptions::validate() const {
  check_options(table(), *this, "task");
  if (features % 2 != 0) {
    refuse(std::to_string(features), "task.features",
           "even: half of the features for each hidden state");
  }
  if (layers.empty()) throw OptionError(kLayersNeeded, {"task.layers"});
  for (std::size_t l = 0; l < layers.size(); ++l) {
    const std::string path = element("task.layers", l) + ".heads";
    if (layers[l].empty()) {
      throw OptionError(path + " is empty: must have at least one head", {path});
    }
    check_layer(layers[l], path, tokens);
  }
  require_memory(*this);
}

}  // namespace headway::tasks
