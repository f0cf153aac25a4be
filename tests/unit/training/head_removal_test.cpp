#include "headway/training/head_removal.hpp"

#include <cmath>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "training/attention/attention_reference.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training/model/transformer_reference.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::EndsWith;
using Catch::Matchers::StartsWith;
using Catch::Matchers::WithinAbs;
using headway::Index;
using headway::RowMatrixXd;
using headway::VectorXd;

namespace {

constexpr Index kHeads = 3;

// The attention of a block with a[removed] = 0, from the weights and values of its trace alone.
RowMatrixXd attention_without(const reference::Transformer& model,
                              const reference::AttentionParameters& p,
                              const reference::BlockTrace& block, Index removed) {
  const Index tokens = block.entered.rows();
  const Index dv = model.options.value_dim / kHeads;
  const AttentionOptions options = model.options.attention_options();
  const auto a = [&](Index h, Index q, Index k) {
    return h == removed ? 0.0
                        : block.weights[static_cast<std::size_t>((h * tokens + q) * tokens + k)];
  };
  const auto phi = [&](const VectorXd& u) {
    return VectorXd(
        u.unaryExpr([&](double x) { return reference::nonlinearity(options.nonlinearity, x); }));
  };
  RowMatrixXd out = RowMatrixXd::Zero(tokens, kHeads * dv);
  for (Index q = 0; q < tokens; ++q) {
    for (Index k = 0; k < tokens; ++k) {
      const auto value = [&](Index h) {
        return VectorXd(block.values.row(k).segment(h * dv, dv).transpose());
      };
      VectorXd u = VectorXd::Zero(dv);
      for (Index h = 0; h < kHeads; ++h) u += a(h, q, k) * value(h);
      if (has_mixing(options.value_network)) {
        const VectorXd z = phi(u);
        u.setZero();
        for (Index h = 0; h < kHeads; ++h) {
          u += a(h, q, k) *
               (Eigen::Map<const RowMatrixXd>(p.mixing.data() + h * dv * dv, dv, dv) * z);
        }
      }
      for (Index h = 0; h < kHeads; ++h) {
        const VectorXd read = phi(is_generated(options.value_network) ? u : value(h));
        out.row(q).segment(h * dv, dv) += a(h, q, k) * read.transpose();
      }
    }
  }
  RowMatrixXd between = block.entered + out * p.output.transpose();
  between.rowwise() += p.output_bias.transpose();
  return between;
}

double loss_of(const TransformerOptions& model, const PatternTask& task,
               const std::vector<NamedTensor>& parameters, Index example) {
  TaskBatch batch;
  task.batch("train", example, 1, batch);
  const auto reference = reference::make_transformer(model, task.format(), parameters);
  const reference::Trace trace = reference::trace_example(reference, batch, 0);
  const Index scored = task.format().scored;
  double loss = 0.0;
  for (Index i = 0; i < scored; ++i) {
    const VectorXd logits = trace.outputs.row(task.format().tokens - scored + i);
    loss +=
        std::log(logits.array().exp().sum()) - logits[batch.classes[static_cast<std::size_t>(i)]];
  }
  return loss / static_cast<double>(scored);
}

// The parameters with those of a head times `mask`.
std::vector<NamedTensor> masked(const TransformerOptions& model,
                                const std::vector<NamedTensor>& parameters, int head, double mask) {
  std::vector<NamedTensor> out = parameters;
  const std::vector<NamedTensor> without = without_heads(model, parameters, {head});
  for (std::size_t i = 0; i < out.size(); ++i) {
    for (std::size_t j = 0; j < out[i].values.size(); ++j) {
      const double x = parameters[i].values[j];
      const double rest = without[i].values[j];
      out[i].values[j] = static_cast<float>(rest + mask * (x - rest));
    }
  }
  return out;
}

/// A small network and its two ways to lose heads.
struct RemovedNetwork {
  RemovedNetwork(const std::string& name, const PatternTask& of_task, const TaskBatch& few)
      : format(of_task.format()), examples(few) {
    model.attention = name;
    parameters = shaken_parameters(model, format);
  }

  [[nodiscard]] HeadRemover zero() const {
    return
        [this](const std::vector<int>& heads) { return without_heads(model, parameters, heads); };
  }
  [[nodiscard]] HeadRemover mean() const {
    return [this](const std::vector<int>& heads) {
      return MeanHeads(model, format, parameters, examples, 1, observer).without(heads);
    };
  }
  void check(const HeadRemover& at_zero, const HeadRemover& at_mean) const {
    check_removal({model, format, parameters, examples}, at_zero, at_mean);
  }

  TransformerOptions model = small_model();
  TaskFormat format;
  TaskBatch examples;
  std::vector<NamedTensor> parameters;
  headway::Observer observer;
};

}  // namespace

TEST_CASE("Parameters without a head are the attention with its weights 0, in every variant") {
  const PatternTask task(5, 2);
  TaskBatch batch;
  task.batch("train", 0, 1, batch);
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = name;
    const auto parameters = shaken_parameters(model, task.format());
    const auto whole = reference::make_transformer(model, task.format(), parameters);
    const auto trace = reference::trace_example(whole, batch, 0);
    for (int h = 0; h < 2 * kHeads; ++h) {
      const auto layer = static_cast<std::size_t>(h / kHeads);
      const auto pruned =
          reference::make_transformer(model, task.format(), without_heads(model, parameters, {h}));
      const RowMatrixXd got = reference::attention_between(whole, pruned.blocks[layer].attention,
                                                           batch, 0, trace.blocks[layer].entered);
      const RowMatrixXd wanted =
          attention_without(whole, whole.blocks[layer].attention, trace.blocks[layer], h % kHeads);
      CHECK((got - wanted).norm() < 1e-10 * wanted.norm());
      CHECK((got - trace.blocks[layer].between).norm() > 1e-3);
    }
  }
}

TEST_CASE("Derivatives with respect to head masks are those of finite differences", "[torch]") {
  const PatternTask task(5, 2);
  for (const std::string name :
       {"softmax", "linear_rms_head_nonlinear_value", "hyla", "hyla_deep"}) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = name;
    model.nonlinearity =
        attention_variant(name).nonlinearity == Nonlinearity::kIdentity ? "" : "tanh";
    Trainer trainer(model, small_run(), task);
    const auto parameters = shaken_parameters(model, task.format());
    trainer.set_parameters(parameters);
    for (Index example = 0; example < 3; ++example) {
      const std::vector<double> got =
          mask_derivatives(model, parameters, trainer.gradients("train", example, 1));
      for (int h = 0; h < 2 * kHeads; ++h) {
        constexpr double kStep = 4e-3;
        const auto change = [&](double step) {
          return loss_of(model, task, masked(model, parameters, h, 1.0 + step), example) -
                 loss_of(model, task, masked(model, parameters, h, 1.0 - step), example);
        };
        const double wanted = (8.0 * change(kStep) - change(2.0 * kStep)) / (12.0 * kStep);
        CHECK_THAT(got[static_cast<std::size_t>(h)],
                   WithinAbs(wanted, 1e-3 * (0.1 + std::abs(wanted))));
      }
    }
  }
}

TEST_CASE("Mean mode keeps what the layer gives on average, of one head or of several") {
  const PatternTask task(5, 2);
  TransformerOptions model = small_model();
  TaskBatch batch;
  task.batch("train", 0, 6, batch);
  const headway::Observer observer;
  for (const std::string name : {"softmax", "hyla"}) {
    model.attention = name;
    const auto parameters = shaken_parameters(model, task.format());
    const MeanHeads means(model, task.format(), parameters, batch, 2, observer);
    const auto whole = reference::make_transformer(model, task.format(), parameters);
    for (const std::vector<int>& removed :
         std::vector<std::vector<int>>{{1}, {4}, {0, 2}, {5, 3}, {0, 1, 2}}) {
      const std::size_t layer = static_cast<std::size_t>(removed.front()) / 3;
      const Index read = layer == 1 ? 2 : 5;
      const auto pruned = reference::make_transformer(model, task.format(), means.without(removed));
      VectorXd difference = VectorXd::Zero(12);
      double size = 0.0;
      for (Index i = 0; i < 6; ++i) {
        const auto trace = reference::trace_example(whole, batch, i);
        const RowMatrixXd between = reference::attention_between(
            whole, pruned.blocks[layer].attention, batch, i, trace.blocks[layer].entered);
        const RowMatrixXd lost = (between - trace.blocks[layer].between).bottomRows(read);
        difference += lost.colwise().mean().transpose();
        size += lost.norm();
      }
      CAPTURE(name, removed.size(), layer);
      CHECK(difference.norm() < 1e-5 * size);  // parameters are in single precision
      CHECK(size > 1e-2);
    }
  }
}

TEST_CASE("Removal checks itself in every variant") {
  const PatternTask task(5, 2);
  TaskBatch batch;
  task.batch("train", 0, 2, batch);
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    const RemovedNetwork network(name, task, batch);
    CHECK_NOTHROW(network.check(network.zero(), network.mean()));
  }
}

TEST_CASE("A broken removal is noticed, and the check that fails is named") {
  const PatternTask task(5, 2);
  TaskBatch batch;
  task.batch("train", 0, 2, batch);
  for (const std::string name : {"softmax", "hyla"}) {
    const RemovedNetwork network(name, task, batch);
    const HeadRemover zero = network.zero(), mean = network.mean();
    const HeadRemover nothing = [&](const std::vector<int>&) { return network.parameters; };
    const HeadRemover too_much = [&](std::vector<int> removed) {
      removed.push_back((removed.front() + 1) % 6);
      return zero(removed);
    };
    const HeadRemover half = [&](const std::vector<int>& removed) {
      return masked(network.model, network.parameters, removed.front(), 0.5);
    };
    const HeadRemover not_all = [&](std::vector<int> removed) {
      if (removed.size() == 3) removed.pop_back();
      return zero(removed);
    };
    const HeadRemover never_all = [&](const std::vector<int>& removed) {
      return removed.size() == 6 ? network.parameters : zero(removed);
    };
    CHECK_THROWS_WITH(network.check(nothing, mean),
                      ContainsSubstring("\"the head is at zero\" (layer 1, head 1)"));
    CHECK_THROWS_WITH(network.check(half, mean), ContainsSubstring("(layer 1, head 1)"));
    CHECK_THROWS_WITH(network.check(too_much, mean),
                      ContainsSubstring("\"the other heads are unchanged\" (layer 1, head 1)"));
    CHECK_THROWS_WITH(network.check(not_all, mean),
                      ContainsSubstring("\"without all heads the attention is gone\" (layer 1)"));
    CHECK_THROWS_WITH(network.check(zero, zero),
                      ContainsSubstring("\"the head is at its mean\" (layer 1, head 1)"));
    CHECK_THROWS_WITH(network.check(zero, nothing),
                      ContainsSubstring("\"the head is at its mean\""));
    CHECK_THROWS_WITH(
        network.check(never_all, mean),
        "removal of heads fails the check \"the network hears its heads\": without all of them its "
        "outputs are the same, so they have no order; were they removed already?");
    // Right everywhere but in its size: the check of the mean alone tells.
    const HeadRemover half_mean = [&](const std::vector<int>& removed) {
      std::vector<NamedTensor> out = zero(removed);
      const std::vector<NamedTensor> whole = mean(removed);
      for (std::size_t i = 0; i < out.size(); ++i) {
        for (std::size_t j = 0; j < out[i].values.size(); ++j) {
          out[i].values[j] = 0.5F * (out[i].values[j] + whole[i].values[j]);
        }
      }
      return out;
    };
    CHECK_THROWS_WITH(network.check(zero, half_mean),
                      StartsWith("removal of heads fails the check \"the head is at its mean\" "
                                 "(layer 1, head 1): it misses by ") &&
                          EndsWith(" of the stream, must be within 0.0001"));
  }
}

TEST_CASE("A network whose heads were removed already is refused") {
  const PatternTask task(5, 2);
  TaskBatch batch;
  task.batch("train", 0, 2, batch);
  RemovedNetwork network("softmax", task, batch);
  network.parameters = network.zero()({0, 1, 2, 3, 4, 5});
  CHECK_THROWS_WITH(network.check(network.zero(), network.zero()),
                    ContainsSubstring("were they removed already?"));
}

TEST_CASE("Heads in another order have their norms in that order") {
  const PatternTask task(5, 2);
  for (const std::string name : {"softmax", "hyla"}) {
    TransformerOptions model = small_model();
    model.attention = name;
    auto parameters = shaken_parameters(model, task.format());
    const std::vector<double> before = head_weight_norms(model, parameters);
    for (NamedTensor& tensor : parameters) {  // swaps heads 1 and 3 of layer 2
      if (tensor.name == "layers.2.value.weight") {
        std::swap_ranges(tensor.values.begin(), tensor.values.begin() + 36,
                         tensor.values.begin() + 72);
      }
      if (tensor.name != "layers.2.output.weight") continue;
      for (std::size_t row = 0; row < 12; ++row) {
        std::swap_ranges(tensor.values.begin() + row * 9, tensor.values.begin() + row * 9 + 3,
                         tensor.values.begin() + row * 9 + 6);
      }
    }
    const std::vector<double> after = head_weight_norms(model, parameters);
    const std::vector<double> wanted = {before[0], before[1], before[2],
                                        before[5], before[4], before[3]};
    CHECK(after == wanted);
  }
}

TEST_CASE("The norm of a head is that of its values through its slice of the output") {
  const PatternTask task(5, 2);
  const TransformerOptions model = small_model();  // D = 12, 3 heads of 3 value dims
  const auto parameters = shaken_parameters(model, task.format());
  const auto of = [&](const std::string& name) -> const std::vector<float>& {
    for (const NamedTensor& tensor : parameters) {
      if (tensor.name == name) return tensor.values;
    }
    throw headway::Error(headway::ErrorKind::kInternal, name);
  };
  const std::vector<double> norms = head_weight_norms(model, parameters);
  REQUIRE(norms.size() == 6);
  for (std::size_t h = 0; h < 6; ++h) {
    const std::string prefix = h < 3 ? "layers.1." : "layers.2.";
    const std::vector<float>& value = of(prefix + "value.weight");    // [H, dv, D]
    const std::vector<float>& output = of(prefix + "output.weight");  // [D, H dv]
    double squares = 0.0;
    for (std::size_t row = 0; row < 12; ++row) {
      for (std::size_t column = 0; column < 12; ++column) {
        double sum = 0.0;
        for (std::size_t e = 0; e < 3; ++e) {
          sum += static_cast<double>(output[row * 9 + h % 3 * 3 + e]) *
                 value[(h % 3 * 3 + e) * 12 + column];
        }
        squares += sum * sum;
      }
    }
    CHECK_THAT(norms[h], WithinAbs(std::sqrt(squares), 1e-6));
  }
  TransformerOptions linear;
  linear.network = NetworkKind::kLinearValue;
  linear.layers = 1;
  linear.heads = 2;
  linear.model_dim = 2;
  linear.query_dim = 2;
  const NamedTensor of_two = {"layers.1.value.weight", {2, 2, 2}, {1, 2, 2, 4, 0, 3, 4, 0}};
  const std::vector<double> of_values = head_weight_norms(linear, {of_two});
  REQUIRE(of_values.size() == 2);
  CHECK_THAT(of_values[0], WithinAbs(5.0, 1e-12));
  CHECK_THAT(of_values[1], WithinAbs(5.0, 1e-12));
}

TEST_CASE("Means of heads stop where the user asks to") {
  const PatternTask task(5, 2);
  const TransformerOptions model = small_model();
  const auto parameters = shaken_parameters(model, task.format());
  TaskBatch batch;
  task.batch("train", 0, 2, batch);
  class Stop final : public headway::Observer {
   public:
    [[nodiscard]] bool interrupted() const override { return stopped; }
    bool stopped = false;
  } observer;
  const MeanHeads means(model, task.format(), parameters, batch, 1, observer);
  CHECK_NOTHROW(means.without({1}));
  observer.stopped = true;
  for (const bool made : {true, false}) {
    try {
      if (made) {
        static_cast<void>(means.without({1}));
      } else {
        MeanHeads(model, task.format(), parameters, batch, 1, observer);
      }
      FAIL("no error");
    } catch (const headway::Error& error) {
      CHECK(error.kind() == headway::ErrorKind::kInterrupted);
      CHECK(std::string(error.what()) == "interrupted");
    }
  }
}

TEST_CASE("A linear-value network loses V of a head, and its layer may be rescaled") {
  TransformerOptions model;
  model.network = NetworkKind::kLinearValue;
  model.layers = 2;
  model.model_dim = 2;
  model.heads = 2;
  const NamedTensor value{"layers.1.value.weight", {2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8}};
  const NamedTensor query{"layers.1.query.weight", {2, 1, 2}, {1, 2, 3, 4}};
  const auto pruned = without_heads(model, {value, query}, {1}, true);
  const float r = std::sqrt(2.0F);
  CHECK(pruned[0].values == std::vector<float>{r, 2 * r, 3 * r, 4 * r, 0, 0, 0, 0});
  CHECK(pruned[1].values == query.values);
  CHECK(without_heads(model, {value}, {3})[0].values == value.values);
}

TEST_CASE("Heads that are not there and encoders are refused") {
  const PatternTask task(5, 2);
  TransformerOptions model = small_model();
  const auto parameters = shaken_parameters(model, task.format());
  const auto message = [&](const TransformerOptions& options, int head) {
    try {
      static_cast<void>(without_heads(options, parameters, {head}));
    } catch (const headway::Error& error) {
      return std::string(error.what());
    }
    return std::string("none");
  };
  CHECK(message(model, 5) == "none");
  CHECK(message(model, 6) == "removed head 6: must be from 0 to 5");
  CHECK(message(model, -1) == "removed head -1: must be from 0 to 5");
  CHECK(head_counts(model) == std::vector<int>{3, 3});
  model.width_multiplier = 2;
  CHECK(head_counts(model) == std::vector<int>{6, 6});
  model.width_multiplier = 1;
  CHECK_THROWS_WITH(head_weight_norms(model, {}), "weights: layers.1.value.weight is missing");
  model.encoder_layers = 2;
  CHECK(message(model, 0) ==
        "train.encoder_layers = 2: must be 0: heads are removed only from networks without an "
        "encoder");
}
