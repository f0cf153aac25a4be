// The linear-value network: fused block, LibTorch's own operations and the theory's definition of
// the network in double precision agree, in outputs and gradients.
#include "headway/training/linear_value.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/training/backend.hpp"
#include "headway/training/task_adapters.hpp"
#include "training/contributions/head_paths.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training_tasks.hpp"

using namespace headway;            // NOLINT: a test
using namespace headway::training;  // NOLINT
using namespace headway::testing;   // NOLINT
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

std::unique_ptr<TrainingTask> fuzzy_task() {
  tasks::FuzzyLogicOptions options;
  options.variables = 3;
  options.terms_per_task = 2;
  options.sequence_length = 6;
  options.held_out = 0.2;
  options.reject_uncovered = false;
  options.seed = 4;
  return make_fuzzy_logic_task(options);
}

TransformerOptions linear_model(Index layers, Index heads) {
  TransformerOptions model;
  model.network = NetworkKind::kLinearValue;
  model.layers = layers;
  model.heads = heads;
  model.model_dim = 7;
  model.query_dim = 5 * heads;
  return model;
}

TrainOptions constant_run() {
  TrainOptions options = small_run();
  options.schedule = LearningRateSchedule::kConstant;
  options.warmup_steps = 0;
  return options;
}

/// f(x) of one example as eqs. 1 to 3 write it.
double reference_output(const TrainedLinearValue& trained, const RowMatrixXd& x) {
  std::vector<std::vector<MatrixXd>> attention;
  for (const LayerHeads& layer : trained.heads) {
    attention.emplace_back();
    for (std::size_t h = 0; h < layer.query.size(); ++h) {
      const MatrixXd logits = (x * layer.query[h].transpose()) *
                              (x * layer.key[h].transpose()).transpose() /
                              std::sqrt(static_cast<double>(layer.query[h].rows()));
      MatrixXd omega = (logits.colwise() - logits.rowwise().maxCoeff()).array().exp();
      omega.array().colwise() /= omega.rowwise().sum().array();
      attention.back().push_back(omega);
    }
  }
  const VectorXd readout = model::readout_vector(Readout::kMean, x.rows());
  return model::network_output(trained.network, x, attention, readout)(0);
}

RowMatrixXd inputs_of(const TaskBatch& batch, const TaskFormat& format, Index example) {
  using RowMatrixXf = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<const RowMatrixXf>(
             batch.inputs.data() + example * format.tokens * format.features, format.tokens,
             format.features)
      .cast<double>();
}

/// Mean squared error of a batch, from the theory's definition.
double reference_loss(const std::vector<NamedTensor>& parameters, const TaskBatch& batch,
                      const TaskFormat& format) {
  const TrainedLinearValue trained = linear_value_network(parameters);
  double loss = 0.0;
  for (Index i = 0; i < batch.examples; ++i) {
    const double y = batch.targets[static_cast<std::size_t>(i)];
    loss += std::pow(reference_output(trained, inputs_of(batch, format, i)) - y, 2);
  }
  return loss / static_cast<double>(batch.examples);
}

bool same_numbers(const TrainState& a, const TrainState& b) {
  return a.parameters == b.parameters && a.first_moments == b.first_moments &&
         a.second_moments == b.second_moments && a.best_parameters == b.best_parameters;
}

class Ignore : public TrainSink {};

}  // namespace

TEST_CASE("A linear-value network has the parameters and costs of its closed form") {
  const auto task = fuzzy_task();
  const TransformerOptions model = linear_model(2, 3);
  const Index features = task->format().features;
  const Index expected = 7 * features + 2 * (2 * 15 * features + 3 * 7 * 7) + 7;
  CHECK(count_parameters(model, task->format()) == expected);
  // The main network of [T24]: 2 layers of 4 heads, N = 512, G = 128.
  TransformerOptions paper = model;
  paper.heads = 4;
  paper.model_dim = 512;
  paper.query_dim = 512;
  TaskFormat images;
  images.tokens = 48;
  images.features = 192;
  images.outputs = 1;
  images.scored = 1;
  CHECK(count_parameters(paper, images) == 512 * 192 + 2 * (2 * 512 * 192 + 4 * 512 * 512) + 512);
  const StepFlops flops = flops_per_step(paper, images, 128);
  // Logits as x_t . (M x_s), M = K^T Q.
  const double projections = 128.0 * 2 * 2 * (48.0 * 192 * 192 * 8);
  CHECK(flops.linear > projections);
  CHECK(flops.linear < 1.1 * projections);
  // And M and its gradient; features of 16 paths, their gradient and the outputs; weights of paths
  // above each layer (1, 4 and 16 of them), with two products back.
  const double merging = 2.0 * 3 * (2 * 4 * 192.0 * 192 * 128);
  const double path_features = 128.0 * 2 * 2 * (16 * 192 * (48.0 + 1));
  const double weights = 2.0 * 3 * ((1.0 + 4) * 4 * 512 * 512 + 16.0 * 512 * 192);
  CHECK_THAT(flops.linear, WithinRel(projections + merging + path_features + weights, 1e-12));
  const double logits = 128.0 * 2 * 2 * (48.0 * 48 * 192 * 8);
  CHECK(flops.attention > logits);
  CHECK(flops.attention < 1.1 * logits);
  // And averages of paths above each layer, with two products back.
  const double averages = 128.0 * 2 * 4 * (48.0 * 48 * 4 * (1 + 4));
  CHECK_THAT(flops.attention, WithinRel(logits + averages, 1e-12));
  // With 8 heads of G = 64 queries and keys are projected apart.
  paper.heads = 8;
  const StepFlops apart = flops_per_step(paper, images, 128);
  const double queries = 128.0 * 2 * 2 * (48.0 * 192 * 2 * 2 * 512);
  CHECK(apart.linear > queries);
  CHECK(apart.linear < 1.1 * queries);
  const double of_apart = 128.0 * 2 * 2 * (64 * 192 * (48.0 + 1)) +
                          2.0 * 3 * ((1.0 + 8) * 8 * 512 * 512 + 64.0 * 512 * 192);
  CHECK_THAT(apart.linear, WithinRel(queries + of_apart, 1e-12));
  CHECK_THAT(apart.attention,
             WithinRel(128.0 * 2 * (48.0 * 48 * (16 * 3 * 64 + 8 * 4 * (1 + 8))), 1e-12));
}

TEST_CASE("The parameters of a linear-value network have names, shapes and first spreads") {
  TransformerOptions model = linear_model(2, 3);
  model.initial_query_scale = 0.5;
  model.query_rate = 0.25;
  TaskFormat format;
  format.tokens = 6;
  format.features = 4;
  format.outputs = 2;
  format.scored = 1;
  for (const bool copies : {false, true}) {
    model.keys_start_as_queries = copies;
    const auto shapes = training::detail::parameter_shapes(model, format);
    std::vector<std::string> names;
    for (const auto& shape : shapes) {
      INFO(shape.name);
      names.push_back(shape.name);
      const bool query = shape.name.find("query") != std::string::npos;
      const bool key = shape.name.find("key") != std::string::npos;
      const bool value = shape.name.find("value") != std::string::npos;
      CHECK(shape.shape == (query || key                   ? std::vector<Index>{3, 5, 4}
                            : value                        ? std::vector<Index>{3, 7, 7}
                            : shape.name == "input.weight" ? std::vector<Index>{7, 4}
                                                           : std::vector<Index>{2, 7}));
      CHECK(shape.spread == (query || key ? 0.25 : 1.0));  // 0.5 / sqrt(4)
      CHECK(shape.rate == (query || key ? 0.25 : 1.0));
      CHECK(shape.first == (key && copies ? training::detail::FirstValues::kAsBefore
                                          : training::detail::FirstValues::kNormal));
    }
    CHECK(names == std::vector<std::string>{"input.weight", "layers.1.query.weight",
                                            "layers.1.key.weight", "layers.1.value.weight",
                                            "layers.2.query.weight", "layers.2.key.weight",
                                            "layers.2.value.weight", "readout.weight"});
    const auto first = training::detail::initial_parameters(shapes, 2);
    CHECK((first[1].values == first[2].values) == copies);
    CHECK(first[1].values != first[4].values);
  }
}

TEST_CASE("A linear-value network may start and move as PyTorch's linear layers") {
  TransformerOptions model = linear_model(2, 3);
  model.initial_query_scale = 0.5;
  TaskFormat format;
  format.tokens = 6;
  format.features = 400;
  format.outputs = 2;
  format.scored = 1;
  const auto usual = training::detail::parameter_shapes(model, format);
  model.weights_start = WeightsStart::kLinearLayers;
  const auto shapes = training::detail::parameter_shapes(model, format);
  const auto first = training::detail::initial_parameters(shapes, 2);
  REQUIRE(shapes.size() == usual.size());
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    INFO(shapes[i].name);
    CHECK(shapes[i].name == usual[i].name);
    CHECK(shapes[i].shape == usual[i].shape);
    const bool attends = shapes[i].spread == usual[i].spread;
    CHECK(attends == (usual[i].spread != 1.0));
    // A linear layer of n inputs starts uniform on +-1 / sqrt(n), and AdamW at rate r moves its
    // weights by r. Here the product is divided by sqrt(n) instead.
    const double root = std::sqrt(static_cast<double>(shapes[i].shape.back()));
    CHECK_THAT(shapes[i].rate, WithinRel(attends ? 1.0 : root, 1e-12));
    const double bound = attends ? 0.5 / 20.0 * std::sqrt(3.0) : 1.0;
    const Eigen::Map<const Eigen::ArrayXf> values(first[i].values.data(), shapes[i].count());
    const float largest = values.abs().maxCoeff<Eigen::PropagateNaN>();
    CHECK(largest <= static_cast<float>(bound) * (1.0F + 1e-6F));
    if (shapes[i].count() < 1000) continue;  // the largest of so many is close to the bound
    CHECK(largest > 0.97 * bound);
  }
}

TEST_CASE("Fields of a transformer, and tasks without numbers, are refused") {
  TransformerOptions model = linear_model(2, 3);
  model.causal = true;
  CHECK_THROWS_WITH(model.validate(), ContainsSubstring("train.causal"));
  model = linear_model(2, 3);
  model.query_dim = 16;
  CHECK_THROWS_WITH(model.validate(), ContainsSubstring("train.query_dim = 16"));
  const auto refused = [](const auto& call) {
    try {
      call();
    } catch (const OptionError& error) {
      return std::pair(std::string(error.what()), error.fields());
    }
    return std::pair(std::string("no error"), std::vector<std::string>());
  };
  const std::string many =
      " layers of so many heads make more than 4096 paths, the most that a linear-value network "
      "may "
      "have";
  const std::vector<std::string> fields = {"train.heads", "train.layers"};
  CHECK(refused([] { linear_model(5, 8).validate(); }) ==
        std::pair("train.heads = 8: 5" + many, fields));
  CHECK(refused([] { linear_model(4, 8).validate(); }).first == "no error");  // 4096
  CHECK(refused([] { linear_model(3, 17).validate(); }) ==
        std::pair("train.heads = 17: 3" + many, fields));
  TaskFormat format;
  format.tokens = 6;
  format.features = 4;
  format.outputs = 2;
  format.scored = 1;
  const std::string other =
      "train.network = \"linear_value\": must be \"transformer\" for this task. A linear-value "
      "network needs task.kind = \"omniglot\", \"fuzzy_logic\" or \"arrays\": tokens of numbers, "
      "one answer an example, squared error";
  const auto counted = [&](const auto& change) {
    TaskFormat changed = format;
    change(&changed);
    return refused([&] { count_parameters(linear_model(1, 2), changed); });
  };
  CHECK(counted([](auto*) {}).first == "no error");
  const std::vector<std::string> network = {"train.network"};
  CHECK(counted([](auto* f) { f->scored = 2; }) == std::pair(other, network));
  CHECK(counted([](auto* f) { f->loss = LossKind::kCrossEntropy; }) == std::pair(other, network));
  CHECK(counted([](auto* f) {
          f->features = 0;
          f->vocabulary = 3;
        }) == std::pair(other, network));
}

TEST_CASE("The fused block, LibTorch and the theory's network agree", "[torch]") {
  const auto task = fuzzy_task();
  // One query dim a head: queries and keys apart; five: K^T Q.
  for (const auto& [layers, heads, dim] :
       {std::tuple<Index, Index, Index>{1, 2, 5}, {2, 3, 1}, {2, 3, 5}, {3, 2, 1}}) {
    INFO(layers << " layers of " << heads << " heads of " << dim << " query dims");
    TransformerOptions model = linear_model(layers, heads);
    model.query_dim = dim * heads;
    const headway::training::detail::HeadPathShape shape = {
        11, task->format().tokens, task->format().features, layers, heads, dim};
    CHECK(shape.merging_pays() == (dim == 5));
    TrainOptions options = constant_run();
    options.batch = 11;
    Trainer fused(model, options, *task);
    options.eager = true;
    Trainer eager(model, options, *task);
    const std::vector<NamedTensor> parameters = fused.state().parameters;
    const TrainedLinearValue trained = linear_value_network(parameters);
    CHECK(trained.head_counts() ==
          std::vector<int>(static_cast<std::size_t>(layers), static_cast<int>(heads)));
    const std::vector<float> ours = fused.outputs("held_out", 2, 9);
    const std::vector<float> theirs = eager.outputs("held_out", 2, 9);
    TaskBatch batch;
    task->batch("held_out", 2, 9, batch);
    for (Index i = 0; i < 9; ++i) {
      const double exact = reference_output(trained, inputs_of(batch, task->format(), i));
      const auto at = static_cast<std::size_t>(i);
      CHECK_THAT(ours[at], Catch::Matchers::WithinAbs(exact, 3e-6 * (1 + std::abs(exact))));
      CHECK_THAT(theirs[at], Catch::Matchers::WithinAbs(exact, 3e-6 * (1 + std::abs(exact))));
    }
    // After one step the first moments are 0.1 times the gradient.
    task->batch("train", 0, options.batch, batch);
    fused.step();
    eager.step();
    const TrainState a = fused.state();
    const TrainState b = eager.state();
    for (std::size_t t = 0; t < parameters.size(); ++t) {
      INFO(parameters[t].name);
      const std::size_t count = parameters[t].values.size();
      for (std::size_t i = 0; i < count; ++i) {
        const double gradient = 10.0 * a.first_moments[t].values[i];
        CHECK_THAT(gradient, Catch::Matchers::WithinAbs(10.0 * b.first_moments[t].values[i],
                                                        2e-5 * (1 + std::abs(gradient))));
        if (i % (count / 3) != 0) continue;
        constexpr double kStep = 1.0 / 256;
        std::vector<NamedTensor> moved = parameters;
        moved[t].values[i] += static_cast<float>(kStep);
        double slope = reference_loss(moved, batch, task->format());
        moved[t].values[i] -= static_cast<float>(2 * kStep);
        slope -= reference_loss(moved, batch, task->format());
        CHECK_THAT(gradient, Catch::Matchers::WithinAbs(slope / (2 * kStep),
                                                        2e-4 * (1 + std::abs(gradient))));
      }
    }
  }
}

TEST_CASE("Queries and keys learn, and decay, at their own rate", "[torch]") {
  const auto task = fuzzy_task();
  TransformerOptions model = linear_model(2, 3);
  model.query_rate = 0.25;
  TrainOptions options = constant_run();
  options.learning_rate = 0.01;
  options.weight_decay = 0.5;
  options.epsilon = 1e-3;
  Trainer trainer(model, options, *task);
  TrainState before = trainer.state();
  for (NamedTensor& p : before.parameters) {  // so that what decays differs from what does not
    for (std::size_t j = 0; j < p.values.size(); ++j) {
      p.values[j] += 0.3F + 0.01F * static_cast<float>(j % 7);
    }
  }
  trainer.set_state(before);
  trainer.step();
  const TrainState after = trainer.state();
  int slow = 0;
  for (std::size_t i = 0; i < before.parameters.size(); ++i) {
    const NamedTensor& p = before.parameters[i];
    INFO(p.name);
    const bool own =
        p.name.find("query") != std::string::npos || p.name.find("key") != std::string::npos;
    slow += own ? 1 : 0;
    for (std::size_t j = 0; j < p.values.size(); ++j) {
      const double g = after.first_moments[i].values[j] / 0.1;  // the clipped gradient
      const double step = g / (std::abs(g) + 1e-3) + 0.5 * p.values[j];
      CHECK(std::abs(after.parameters[i].values[j] - p.values[j] +
                     0.01 * (own ? 0.25 : 1.0) * step) < 1e-6);
    }
  }
  CHECK(slow == 4);
}

TEST_CASE("A linear-value network trains to the same bits on any threads and after any stop",
          "[torch]") {
  const auto task = fuzzy_task();
  const TransformerOptions model = linear_model(2, 3);
  TrainOptions options = constant_run();
  options.steps = 60;
  options.batch = 64;  // more than one chunk of rows
  options.learning_rate = 0.02;
  Observer quiet;
  Ignore sink;
  Trainer whole(model, options, *task);
  const double before = whole.evaluate("held_out").loss;
  CHECK(whole.run(quiet, sink).outcome == TrainOutcome::kFinished);
  CHECK(whole.evaluate("held_out").loss < 0.5 * before);
  TrainOptions half = options;
  half.steps = 30;
  half.threads = 3;
  Trainer first(model, half, *task);
  first.run(quiet, sink);
  Trainer second(model, options, *task);
  second.set_state(first.state());
  second.run(quiet, sink);
  CHECK(same_numbers(whole.state(), second.state()));
  // Weights of attention sum to 1 over keys: every pair of one query.
  const std::vector<TokenPair> pairs = {{0, 0}, {0, 1}, {0, 2}, {0, 3}, {0, 4}, {0, 5}};
  const std::vector<float> codes = whole.latent_codes("held_out", 0, 1, pairs);
  double sum = 0.0;
  for (std::size_t pair = 0; pair < pairs.size(); ++pair) sum += codes[pair * 3];
  CHECK_THAT(sum, Catch::Matchers::WithinAbs(1.0, 1e-5));
}

TEST_CASE("Path outputs add up to the network, and U_1 is that of its effective weights",
          "[torch]") {
  const auto task = fuzzy_task();
  Trainer trainer(linear_model(2, 3), constant_run(), *task);
  const TrainedLinearValue trained = linear_value_network(trainer.state().parameters);
  TaskBatch batch;
  task->batch("held_out", 0, 7, batch);
  Tensor inputs;
  inputs.shape = {7, task->format().tokens, task->format().features};
  inputs.values.assign(batch.inputs.begin(), batch.inputs.end());
  const tasks::MemoryExamples examples(inputs);
  VectorXd labels(7);
  for (Index i = 0; i < 7; ++i) labels(i) = batch.targets[static_cast<std::size_t>(i)];
  Observer quiet;
  const TrainedPathOutputs paths = trained_path_outputs(trained, examples, labels, 2, quiet);
  CHECK(paths.heads == std::vector<int>{3, 3});
  REQUIRE(paths.outputs.cols() == 9);
  const std::vector<float> outputs = trainer.outputs("held_out", 0, 7);
  for (Index i = 0; i < 7; ++i) {
    CHECK_THAT(paths.outputs.row(i).sum(),
               Catch::Matchers::WithinAbs(outputs[static_cast<std::size_t>(i)], 1e-5));
  }
  // Without head 2 of layer 1 the network has lost the paths (2, *): rows 3 to 5.
  TrainedLinearValue pruned = trained;
  pruned.network.values[0][1].setZero();
  const TrainedPathOutputs less = trained_path_outputs(pruned, examples, labels, 1, quiet);
  CHECK(less.outputs.middleCols(3, 3).isZero());
  CHECK(less.outputs.leftCols(3) == paths.outputs.leftCols(3));
  const MatrixXd effective = model::effective_weights(trained.network);
  CHECK(model::order_parameter(trained.network)
            .isApprox(effective * effective.transpose() / 7.0, 1e-12));
  CHECK_THROWS_WITH(
      trained_path_outputs(trained, examples, VectorXd::Zero(6), 1, quiet),
      fmt::format(
          "path outputs: the network has 1 outputs and {0} features, and there are 6 labels, "
          "for 7 examples of {0} features: must be 1 output, and as many labels and features",
          task->format().features));
}

TEST_CASE("Weights that are not those of a linear-value network are refused by name", "[torch]") {
  const auto task = fuzzy_task();
  const Trainer transformer(small_model(), small_run(), *task);
  const std::string not_these = "these are not the weights of a linear-value network: ";
  CHECK_THROWS_WITH(linear_value_network(transformer.state().parameters),
                    not_these + "input.weight is missing");
  const Trainer trainer(linear_model(2, 3), constant_run(), *task);
  const std::vector<NamedTensor> good = trainer.state().parameters;
  std::vector<NamedTensor> bad = good;
  bad.pop_back();
  CHECK_THROWS_WITH(linear_value_network(bad), not_these + "readout.weight is missing");
  bad = {good[0], good.back()};
  CHECK_THROWS_WITH(linear_value_network(bad), not_these + "layers.1.query.weight is missing");
  bad = good;
  bad[5].values.pop_back();
  CHECK_THROWS_WITH(
      linear_value_network(bad),
      not_these + fmt::format("{} has shape [{}]", bad[5].name, fmt::join(bad[5].shape, ", ")));
  bad = good;
  bad[3].values.front() = std::nanf("");
  CHECK_THROWS_WITH(linear_value_network(bad), not_these + bad[3].name + " holds nan");
  bad = good;
  bad[2].shape = {1, 1};
  CHECK_THROWS_WITH(linear_value_network(bad), not_these + bad[2].name + " has shape [1, 1]");
  bad = good;
  bad.push_back({"norm.scale", {1}, {1.0F}});
  CHECK_THROWS_WITH(linear_value_network(bad),
                    not_these + "there are 9 tensors; a network of 2 layers has 8");
}
