// Small problems of learned attention, from the tests' own streams.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/model/learned_attention.hpp"
#include "headway/posterior/learned_chain.hpp"
#include "random_examples.hpp"

namespace headway::testing {

struct LearnedProblem {
  std::string name;
  model::AttentionPrior prior;
  Readout readout = Readout::kLastToken;
  bool masked = false;
  Index outputs = 1;
  Shape shape = {7, 4, 3};
  std::vector<Index> widths = {};  // one for all layers and the readout if empty
};

// Depths 1 to 3, both forms and kinds, all readouts, masks, frozen heads, several outputs.
inline std::vector<LearnedProblem> learned_problems() {
  using model::AttentionPriorForm;
  using model::LearnedKind;
  constexpr auto kMatrix = AttentionPriorForm::kMatrix;
  constexpr auto kPairs = AttentionPriorForm::kQueriesKeys;
  constexpr auto kSoftmax = LearnedKind::kSoftmax;
  constexpr auto kLinear = LearnedKind::kLinear;
  return {
      {"one head", {{1}, kMatrix, 4.0, 0, kSoftmax, {}}},
      {"two heads, mean", {{2}, kMatrix, 9.0, 0, kSoftmax, {}}, Readout::kMean},
      {"two layers", {{2, 3}, kMatrix, 6.0, 0, kSoftmax, {}}, Readout::kLastToken, true},
      {"linear", {{2, 2}, kMatrix, 6.0, 0, kLinear, {}}, Readout::kFirstToken, true},
      {"queries and keys", {{2, 2}, kPairs, 5.0, 2, kSoftmax, {}}, Readout::kMean, true},
      {"linear queries and keys", {{2, 1, 2}, kPairs, 7.0, 3, kLinear, {}}},
      {"frozen", {{2, 2}, kMatrix, 6.0, 0, kSoftmax, {{0, 1}, {1, 0}}}, Readout::kLastToken, true},
      {"three outputs", {{2, 2}, kMatrix, 6.0, 0, kSoftmax, {}}, Readout::kLastToken, false, 3},
      {"many examples",
       {{2}, kMatrix, 6.0, 0, kSoftmax, {}},
       Readout::kMean,
       false,
       2,
       {40, 30, 3}},
  };
}

struct LearnedData {
  std::shared_ptr<tasks::MemoryExamples> examples;
  std::vector<LayerHeads> given;  // for frozen heads
  std::shared_ptr<const MatrixXd> labels;
  std::shared_ptr<const model::LearnedAttention> attention;
};

inline LearnedData learned_data(const LearnedProblem& problem, int threads = 1) {
  Rng rng(77, StreamPurpose::kTests, problem.name.size());
  const Shape& shape = problem.shape;
  LearnedData data;
  Tensor inputs = random_tensor({shape.examples, shape.tokens, shape.features}, rng);
  std::vector<std::uint8_t> mask;
  if (problem.masked) mask = random_mask(shape, rng);
  data.examples = std::make_shared<tasks::MemoryExamples>(std::move(inputs), std::move(mask));
  data.given = random_weight_layers(problem.prior.heads, shape.features, rng);
  data.labels = std::make_shared<MatrixXd>(random_matrix(shape.examples, problem.outputs, rng));
  data.attention = std::make_shared<model::LearnedAttention>(
      *data.examples, problem.prior, data.given, problem.readout, AttentionKind::kSoftmax, threads);
  return data;
}

inline model::Architecture learned_architecture(const LearnedProblem& problem, Index width = 4) {
  model::Architecture a =
      model::uniform_architecture(problem.prior.heads, width, 1.0, problem.outputs);
  if (!problem.widths.empty()) a.widths = problem.widths;
  return a;
}

inline posterior::LearnedChain learned_chain(const LearnedProblem& problem, const LearnedData& data,
                                             double temperature = 0.2, Index width = 4) {
  return {learned_architecture(problem, width), temperature, data.attention, data.labels,
          data.attention};
}

}  // namespace headway::testing
