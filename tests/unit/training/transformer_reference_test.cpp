// The transformer by its definition against the engine, and its frozen contributions against both.
#include "training/model/transformer_reference.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/training/contributions.hpp"
#include "headway/training/task_adapters.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinAbs;
using headway::Index;
using headway::MatrixXd;
using headway::VectorXd;

namespace {

TaskBatch examples_of(const TrainingTask& task, Index count) {
  TaskBatch batch;
  task.batch("train", 0, count, batch);
  return batch;
}

// Outputs of the scored tokens, and what one token's contributions sum up to.
void check_reference_against_engine(const TransformerOptions& model, const TrainingTask& task) {
  TrainOptions options = small_run();
  Trainer trainer(model, options, task);
  const std::vector<NamedTensor> parameters = shaken_parameters(model, task.format());
  trainer.set_parameters(parameters);
  const Index count = 4;
  const std::vector<float> engine = trainer.outputs("train", 0, count);
  const TaskBatch batch = examples_of(task, count);
  const auto reference = reference::make_transformer(model, task.format(), parameters);
  const TaskFormat& format = task.format();
  std::size_t at = 0;
  for (Index b = 0; b < count; ++b) {
    const reference::Trace trace = reference::trace_example(reference, batch, b);
    for (Index t = format.tokens - format.scored; t < format.tokens; ++t) {
      for (Index o = 0; o < format.outputs; ++o, ++at) {
        CHECK(std::abs(engine[at] - trace.outputs(t, o)) <
              1e-5 * (1.0 + std::abs(trace.outputs(t, o))));
      }
    }
  }
}

// Contributions of every choice of kept layers sum up to what the last linear layer reads.
void check_contributions(const TransformerOptions& model, const TrainingTask& task) {
  const std::vector<NamedTensor> parameters = shaken_parameters(model, task.format());
  const TaskBatch batch = examples_of(task, 3);
  const TaskFormat& format = task.format();
  for (const std::vector<Index>& kept : {std::vector<Index>{1}, {2}, {1, 2}}) {
    for (const auto parts : {GeneratedParts::kHeads, GeneratedParts::kPairs}) {
      INFO(kept.size() << " kept, first " << kept.front() << ", " << headway::word_of(parts));
      const FrozenNetwork network(model, format, parameters, kept, parts);
      const auto reference = reference::make_transformer(model, format, parameters);
      for (Index b = 0; b < batch.examples; ++b) {
        const Index token = format.tokens - 1 - b % format.scored;
        const auto got = network.contributions(batch, b, token);
        REQUIRE(got.parts.rows() == network.levels().paths());
        const VectorXd sum = got.parts.colwise().sum();
        CHECK((sum - got.embedding).norm() < 1e-10 * (1.0 + got.embedding.norm()));
        const VectorXd readout = reference.logits * sum + reference.logits_bias;
        CHECK((readout - got.outputs).norm() < 1e-10 * (1.0 + got.outputs.norm()));
      }
    }
  }
}

}  // namespace

TEST_CASE("The engine computes what the definition says, for every attention variant", "[torch]") {
  const PatternTask task(7, 3);
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = name;
    model.causal = name == "linear";
    check_reference_against_engine(model, task);
  }
}

TEST_CASE("The engine computes what the definition says, for every other option", "[torch]") {
  for_each_option(small_model(), [](TransformerOptions model) {
    model.experts = 3;
    model.active_experts = model.norm == Norm::kRmsNorm ? 0 : 2;
    check_reference_against_engine(model, PatternTask(6, 2, true));
    check_reference_against_engine(model, *make_byte_text_task(pangram(40), text_options(5)));
  });
}

TEST_CASE("Contributions sum up to the network's readout, for every attention variant") {
  const PatternTask task(5, 2);
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    TransformerOptions model = small_model();
    model.heads = 3;
    model.attention = name;
    check_contributions(model, task);
    if (attention_variant(name).nonlinearity == Nonlinearity::kIdentity) continue;
    model.nonlinearity = "gelu";
    check_contributions(model, PatternTask(5, 2, true));
  }
}

TEST_CASE("Contributions sum up to the network's readout, for every other option") {
  for_each_option(small_model(), [](TransformerOptions model) {
    model.attention = "softmax_hyla";
    model.experts = 3;
    check_contributions(model, PatternTask(5, 2));
  });
}

TEST_CASE("The contribution of a head is the network's embedding less that without the head") {
  // Frozen norm and feed-forward network: in the last layer, whose output no other layer reads, the
  // stream before the feed-forward network loses exactly the head's part.
  TransformerOptions model = small_model();
  model.attention = "softmax";
  const PatternTask task(5, 2);
  std::vector<NamedTensor> parameters = shaken_parameters(model, task.format());
  const TaskBatch batch = examples_of(task, 1);
  const auto whole = reference::make_transformer(model, task.format(), parameters);
  const FrozenNetwork network(model, task.format(), parameters, {2}, GeneratedParts::kHeads);
  for (NamedTensor& tensor : parameters) {  // head 2's slice of the output projection
    if (tensor.name != "layers.2.output.weight") continue;
    for (Index row = 0; row < 12; ++row) {
      for (Index i = 3; i < 6; ++i) tensor.values[static_cast<std::size_t>(row * 9 + i)] = 0.0F;
    }
  }
  const auto without = reference::make_transformer(model, task.format(), parameters);
  const auto trace = reference::trace_example(whole, batch, 0);
  const auto pruned = reference::trace_example(without, batch, 0);
  VectorXd lost = trace.blocks[1].between.row(4) - pruned.blocks[1].between.row(4);
  lost.array() -= lost.mean();
  lost = trace.norm.factors[4] * lost.cwiseProduct(whole.norm.scale);
  const auto got = network.contributions(batch, 0, 4);
  REQUIRE(lost.norm() > 1e-3);
  CHECK((got.parts.row(2).transpose() - lost).norm() < 1e-10 * lost.norm());
}

TEST_CASE("Parts have names, levels and the numbers of their heads") {
  TransformerOptions model = small_model();
  model.attention = "hyla";
  const PatternTask task(5, 2);
  const auto parameters = shaken_parameters(model, task.format());
  const FrozenNetwork pairs(model, task.format(), parameters, {2}, GeneratedParts::kPairs);
  CHECK(pairs.levels().sizes == std::vector<int>{4, 5});
  CHECK(pairs.levels().names[0] == std::vector<std::string>{"L2 direct", "L2H1 generates",
                                                            "L2H2 generates", "L2H3 generates"});
  CHECK(pairs.levels().names[1][4] == "L2 feed-forward");
  CHECK(pairs.levels().heads[1] == std::vector<int>{-1, 3, 4, 5, -1});
  const FrozenNetwork whole(model, task.format(), parameters, {1, 2}, GeneratedParts::kHeads);
  CHECK(whole.levels().sizes == std::vector<int>{5, 5});
  // The pairs of a head that reads are its whole part.
  const FrozenNetwork last(model, task.format(), parameters, {2}, GeneratedParts::kHeads);
  const TaskBatch batch = examples_of(task, 1);
  const auto split = pairs.contributions(batch, 0, 4).parts;
  const auto parts = last.contributions(batch, 0, 4).parts;
  for (Index reader = 0; reader < 5; ++reader) {
    VectorXd sum = VectorXd::Zero(12);
    for (Index h = 0; h < 4; ++h) sum += split.row(h * 5 + reader).transpose();
    CHECK((sum - parts.row(reader).transpose()).norm() < 1e-12 * (1.0 + sum.norm()));
  }
}

TEST_CASE("A part has its place by the heads that generate, mix and read it") {
  const Index heads = 3;
  const PatternTask task(5, 2);
  const TaskBatch batch = examples_of(task, 1);
  for (const std::string name : {"hyla", "hyla_deep"}) {
    TransformerOptions model = small_model();
    model.attention = name;
    model.nonlinearity = "gelu";  // which is nowhere 0
    const bool deep = name == "hyla_deep";
    const auto whole = shaken_parameters(model, task.format());
    const FrozenNetwork network(model, task.format(), whole, {2}, GeneratedParts::kPairs);
    const ContributionLevels& levels = network.levels();
    CHECK(levels.sizes == (deep ? std::vector<int>{4, 4, 5} : std::vector<int>{4, 5}));
    CHECK(levels.paths() == (deep ? 80 : 20));
    CHECK(levels.names.back() == std::vector<std::string>{"L2 residual", "L2H1 reads", "L2H2 reads",
                                                          "L2H3 reads", "L2 feed-forward"});
    CHECK(levels.heads.front() == std::vector<int>{-1, 3, 4, 5});
    if (deep) {
      CHECK(levels.names[1] ==
            std::vector<std::string>{"L2 direct", "L2H1 mixes", "L2H2 mixes", "L2H3 mixes"});
    }
    // Without a head's values, its matrix or its slice of the output, its parts alone are 0.
    for (const char* without : {"nothing", "value", "mixing", "output"}) {
      for (Index head = 0; head < heads; ++head) {
        INFO(name << ", head " << head << " without " << without);
        auto parameters = whole;
        for (NamedTensor& tensor : parameters) {
          const auto count = static_cast<Index>(tensor.values.size());
          const bool of_heads = tensor.name.find(std::string("layers.2.") + without) == 0;
          if (!of_heads || tensor.name == "layers.2.output.bias") continue;
          for (Index i = 0; i < count; ++i) {
            const Index mine =
                tensor.name == "layers.2.output.weight" ? i % 9 / 3 : i / (count / heads);
            if (mine == head) tensor.values[static_cast<std::size_t>(i)] = 0.0F;
          }
        }
        const FrozenNetwork changed(model, task.format(), parameters, {2}, GeneratedParts::kPairs);
        const auto parts = changed.contributions(batch, 0, 4).parts;
        REQUIRE(parts.rows() == levels.paths());
        for (Index row = 0; row < parts.rows(); ++row) {
          const Index reads = row % 5 - 1;
          const Index mixes = deep ? row / 5 % 4 - 1 : 0;
          const Index generates = row / (deep ? 20 : 5) - 1;
          const bool pair = reads >= 0 && reads < heads && mixes >= 0 && generates >= 0;
          const bool beside = row == 0 || row == 4;  // residual, feed-forward network
          const std::string lost = without;
          const bool gone = (lost == "value" && generates == head) ||
                            (lost == "mixing" && deep && mixes == head) ||
                            (lost == "output" && reads == head);
          CHECK(parts.row(row).isZero(0.0) == (beside ? false : !pair || gone));
        }
      }
    }
  }
}

TEST_CASE("A frozen network tells inputs, attention weights and outputs of the kept layers") {
  const PatternTask task(5, 2);
  const TransformerOptions model = small_model();
  const auto parameters = shaken_parameters(model, task.format());
  const TaskBatch batch = examples_of(task, 2);
  const auto whole = reference::make_transformer(model, task.format(), parameters);
  const auto trace = reference::trace_example(whole, batch, 1);
  const FrozenNetwork both(model, task.format(), parameters, {1, 2}, GeneratedParts::kHeads);
  const FrozenNetwork last(model, task.format(), parameters, {2}, GeneratedParts::kHeads);
  CHECK(both.features() == 12);
  CHECK(both.heads() == 3);
  const auto a = both.attention(batch, 1, 3);
  CHECK(a.inputs == trace.blocks[0].attention_norm.tokens);
  REQUIRE(a.weights.size() == 2);
  CHECK(a.weights[0] == trace.blocks[0].weights);
  CHECK(a.weights[1] == trace.blocks[1].weights);
  CHECK(a.outputs == trace.outputs.row(3).transpose());
  const auto b = last.attention(batch, 1, 4);
  CHECK(b.inputs == trace.blocks[1].attention_norm.tokens);
  REQUIRE(b.weights.size() == 1);
  CHECK(b.weights[0] == trace.blocks[1].weights);
  CHECK(b.outputs == trace.outputs.row(4).transpose());
}

TEST_CASE("Networks that cannot be frozen are refused") {
  const PatternTask task(5, 2);
  TransformerOptions model = small_model();
  const auto parameters = shaken_parameters(model, task.format());
  const auto message = [&](const TransformerOptions& options, std::vector<Index> kept) {
    try {
      FrozenNetwork(options, task.format(), parameters, std::move(kept), GeneratedParts::kHeads);
    } catch (const headway::Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string wanted = ": must be layers from 1 to 2, in rising order, each once";
  CHECK(message(model, {3}) == "extract.layers: 3" + wanted);
  CHECK(message(model, {0}) == "extract.layers: 0" + wanted);
  CHECK(message(model, {2, 1}) == "extract.layers: not rising at 1" + wanted);
  CHECK(message(model, {2, 2}) == "extract.layers: not rising at 2" + wanted);
  CHECK(message(model, {}) == "extract.layers: empty: must name at least one layer");
  model.encoder_layers = 1;
  CHECK_THAT(message(model, {1}), ContainsSubstring("train.encoder_layers = 1: must be 0"));
  model.encoder_layers = 0;
  model.mlp_dim = 11;
  CHECK_THAT(message(model, {1}), ContainsSubstring("layers.1.up.weight"));
}
