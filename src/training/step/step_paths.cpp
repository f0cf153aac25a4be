#include <fmt/format.h>

#include <cmath>

#include "training/step/step_builder.hpp"

// A linear-value network: outputs are path features times effective weights, which are the readout
// times a value matrix of each layer and the input matrix. Both are linear in what enters a layer.
// torch/linear_value_model.cpp is the same in LibTorch's operations.
namespace headway::training::detail {

struct StepBuilder::Paths {
  struct Layer {
    Numbers projected, d_projected;  ///< [B, S, 2, H, G]: parts of the arrays of all layers
    Floats omega, d_omega;           ///< [B, H, S, S], likewise
    Numbers averages;                ///< [B, H, rows, S]
    Numbers values;                  ///< [H, N, N]: a copy, whose runs lie evenly
    Numbers above;                   ///< [H, rows O, N]: weights of the layer above, scaled
    double scale = 1.0;              ///< 1 / sqrt(H N)
    Index rows = 0;                  ///< of paths above: H^(L - l)
    std::string prefix;
  };
  Numbers projected, d_projected;  ///< of all layers
  Floats omega, d_omega;
  std::vector<Layer> layers;  ///< from the first on
  Index paths = 1;
  Numbers features;  ///< [B, p, F]
  Numbers last;      ///< [p O, N]: weights above the input matrix, scaled
  Numbers input;     ///< [N, F]: the input matrix, scaled
  Numbers weights;   ///< [O, p, F]
};

void StepBuilder::paths() {
  Paths p;
  const Index heads = model_.heads;
  const Index pairs = batch_.examples * heads * tokens_ * tokens_;
  const Index projected = rows_ * 2 * model_.query_dim;
  p.projected = numbers("queries, keys", model_.layers * projected);
  p.omega = floats("attention", model_.layers * pairs);
  p.d_projected = numbers("gradient of queries, keys", model_.layers * projected);
  p.d_omega = floats("gradient of attention", model_.layers * pairs);
  p.layers.resize(static_cast<std::size_t>(model_.layers));
  for (Index l = model_.layers - 1; l >= 0; --l) {
    Paths::Layer& layer = p.layers[static_cast<std::size_t>(l)];
    layer.rows = p.paths;
    layer.prefix = fmt::format("layers.{}.", l + 1);
    layer.scale = 1.0 / std::sqrt(static_cast<double>(heads * dim_));
    layer.projected = p.projected + l * projected;
    layer.d_projected = p.d_projected + l * projected;
    layer.omega = p.omega + l * pairs;
    layer.d_omega = p.d_omega + l * pairs;
    p.paths *= heads;
  }
  path_features(&p);
  path_weights(&p);
  path_outputs(&p);
  path_weights_gradient(p);
  path_features_gradient(p);
}

void StepBuilder::path_features(Paths* p) {
  const Index features = setup_.format.features;
  const ConstNumbers x = inputs();
  for (const Paths::Layer& layer : p->layers) {
    launch(layer.prefix + "queries, keys",
           linear({rows_, features, 2 * model_.query_dim}, x, layer.prefix + "query.weight", "",
                  layer.projected));
  }
  launch("attention", StepPathAttention{model_.layers, batch_.examples, tokens_, model_.heads,
                                        model_.query_dim / model_.heads, p->projected, p->omega});
  ConstNumbers above;
  for (auto layer = p->layers.rbegin(); layer != p->layers.rend(); ++layer) {
    layer->averages =
        numbers(layer->prefix + "averages", batch_.examples * model_.heads * layer->rows * tokens_);
    launch(layer->prefix + "averages",
           StepPathRows{batch_.examples, tokens_, model_.heads, layer->rows, above, layer->omega,
                        layer->averages});
    above = layer->averages;
  }
  p->features = numbers("path features", batch_.examples * p->paths * features);
  StepProduct product;
  product.batch = batch_.examples;
  product.rows = p->paths;
  product.columns = features;
  product.inner = tokens_;
  product.left = {above, tokens_, p->paths * tokens_};
  product.right = {x, features, tokens_ * features};
  product.tf32 = tf32();
  product.out = {p->features, features, p->paths * features};
  launch("path features", product);
}

void StepBuilder::path_weights(Paths* p) {
  const Index features = setup_.format.features;
  const Index outputs = setup_.format.outputs;
  const auto scale = [](Index inputs) { return 1.0 / std::sqrt(static_cast<double>(inputs)); };
  const auto scaled = [&](const std::string& name, Index count, Index copies) {
    return numbers(name, copies * count);
  };
  StepScaledCopies copies;
  for (Paths::Layer& layer : p->layers) {
    const Index count = model_.heads * dim_ * dim_;
    layer.values = scaled(layer.prefix + "values", count, 1);
    copies.parts.push_back({count, 1, 1.0, value(layer.prefix + "value.weight"), layer.values});
    layer.above = scaled(layer.prefix + "weights above", layer.rows * outputs * dim_, model_.heads);
  }
  p->input = scaled("input, scaled", dim_ * features, 1);
  copies.parts.push_back({dim_ * features, 1, scale(features), value("input.weight"), p->input});
  copies.parts.push_back({outputs * dim_, model_.heads, scale(dim_) * p->layers.back().scale,
                          value("readout.weight"), p->layers.back().above});
  launch("weights", copies);
  for (Index l = model_.layers - 1; l >= 0; --l) {
    const Paths::Layer& layer = p->layers[static_cast<std::size_t>(l)];
    const Index rows = layer.rows * outputs;
    const Floats below = floats(layer.prefix + "weights below", model_.heads * rows * dim_);
    StepProduct product;
    product.batch = model_.heads;
    product.rows = rows;
    product.columns = product.inner = dim_;
    product.left = {layer.above, dim_, rows * dim_};
    product.right = {layer.values, dim_, dim_ * dim_};
    product.tf32 = tf32();
    product.out = {below, dim_, rows * dim_};
    launch(layer.prefix + "weights below", product);
    StepScaledCopies next;
    if (l == 0) {
      p->last = numbers("weights above input", model_.heads * rows * dim_);
      next.parts.push_back({model_.heads * rows * dim_, 1, scale(features), below, p->last});
    } else {
      const Paths::Layer& lower = p->layers[static_cast<std::size_t>(l - 1)];
      next.parts.push_back(
          {model_.heads * rows * dim_, model_.heads, lower.scale, below, lower.above});
    }
    launch(layer.prefix + "scaled weights", next);
  }
}

void StepBuilder::path_outputs(Paths* p) {
  const Index features = setup_.format.features;
  const Index outputs = setup_.format.outputs;
  const Index all = p->paths * features;
  const Floats by_path = floats("effective weights by path", outputs * all);
  StepProduct product;
  product.rows = p->paths * outputs;
  product.columns = features;
  product.inner = dim_;
  product.left = {p->last, dim_, 0};
  product.right = {factor("input.weight", dim_ * features), features, 0};
  product.tf32 = tf32();
  product.out = {by_path, features, 0};
  launch("effective weights by path", product);
  p->weights = numbers("effective weights", outputs * all);
  launch("effective weights", StepSwap{p->paths, outputs, features, {{by_path, p->weights}}});

  const Floats y = floats("outputs", batch_.examples * outputs);
  StepProduct out;
  out.rows = batch_.examples;
  out.columns = outputs;
  out.inner = all;
  out.left = {p->features, all, 0};
  out.right = {p->weights, all, 0};
  out.right_transposed = true;
  out.tf32 = tf32();
  out.out = {y, outputs, 0};
  launch("outputs", out);
  loss(y);
}

void StepBuilder::path_weights_gradient(const Paths& p) {
  const Index features = setup_.format.features;
  const Index outputs = setup_.format.outputs;
  const Index all = p.paths * features;
  const Floats d_weights = floats("gradient of effective weights", outputs * all);
  StepProduct product;  // over all examples in one go: what follows needs the whole
  product.rows = outputs;
  product.columns = all;
  product.inner = batch_.examples;
  product.left = {d_outputs_, outputs, 0};
  product.left_transposed = true;
  product.right = {p.features, all, 0};
  product.tf32 = tf32();
  product.out = {d_weights, all, 0};
  launch("gradient of effective weights", product);
  const Numbers by_path = numbers("gradient of effective weights by path", outputs * all);
  launch("gradient of effective weights by path",
         StepSwap{outputs, p.paths, features, {{d_weights, by_path}}});

  const Index rows = p.paths * outputs;
  StepProduct input;
  input.rows = dim_;
  input.columns = features;
  input.inner = rows;
  input.left = {p.last, dim_, 0};
  input.left_transposed = true;
  input.right = {by_path, features, 0};
  input.tf32 = tf32();
  input.out = {sum("input.weight", 1, dim_ * features), features, 0};
  launch_aside("gradient of input.weight", input);
  const Numbers d_below = numbers("gradient of weights above input", rows * dim_);
  StepProduct last;
  last.rows = rows;
  last.columns = dim_;
  last.inner = features;
  last.left = {by_path, features, 0};
  last.right = {p.input, features, 0};
  last.right_transposed = true;
  last.tf32 = tf32();
  last.out = {d_below, dim_, 0};
  launch("gradient of weights above input", last);

  value_gradients(p, d_below);
}

void StepBuilder::value_gradients(const Paths& p, Numbers d_below) {
  const Index outputs = setup_.format.outputs;
  for (const Paths::Layer& layer : p.layers) {
    const Index mine = layer.rows * outputs;
    StepProduct values;  // of each head
    values.batch = model_.heads;
    values.rows = values.columns = dim_;
    values.inner = mine;
    values.left = {layer.above, dim_, mine * dim_};
    values.left_transposed = true;
    values.right = {d_below, dim_, mine * dim_};
    values.tf32 = tf32();
    const std::string name = layer.prefix + "value.weight";
    values.out = {sum(name, 1, model_.heads * dim_ * dim_), dim_, dim_ * dim_};
    launch_aside("gradient of " + name, values);
    const Floats of_heads =
        floats(layer.prefix + "gradients of weights above", model_.heads * mine * dim_);
    StepProduct above = values;
    above.rows = mine;
    above.inner = dim_;
    above.left = {d_below, dim_, mine * dim_};
    above.left_transposed = false;
    above.right = {layer.values, dim_, dim_ * dim_};
    above.right_transposed = true;
    above.out = {of_heads, dim_, mine * dim_};
    launch(layer.prefix + "gradients of weights above", above);
    const bool top = &layer == &p.layers.back();
    const double scale = top ? layer.scale / std::sqrt(static_cast<double>(dim_)) : layer.scale;
    d_below = top ? Numbers(sum("readout.weight", 1, outputs * dim_))
                  : numbers(layer.prefix + "gradient of weights above", mine * dim_);
    launch(layer.prefix + "gradient of weights above",
           StepCopySums{{{model_.heads, mine * dim_, scale, of_heads, d_below}}});
  }
}

void StepBuilder::path_features_gradient(const Paths& p) {
  const Index features = setup_.format.features;
  const Index outputs = setup_.format.outputs;
  const Index all = p.paths * features;
  const ConstNumbers x = inputs();
  const Numbers d_features = numbers("gradient of path features", batch_.examples * all);
  StepProduct product;
  product.rows = batch_.examples;
  product.columns = all;
  product.inner = outputs;
  product.left = {d_outputs_, outputs, 0};
  product.right = {p.weights, all, 0};
  product.tf32 = tf32();
  product.out = {d_features, all, 0};
  launch("gradient of path features", product);
  Numbers d_rows = numbers("gradient of averages", batch_.examples * p.paths * tokens_);
  StepProduct averages;
  averages.batch = batch_.examples;
  averages.rows = p.paths;
  averages.columns = tokens_;
  averages.inner = features;
  averages.left = {d_features, features, all};
  averages.right = {x, features, tokens_ * features};
  averages.right_transposed = true;
  averages.tf32 = tf32();
  averages.out = {d_rows, tokens_, p.paths * tokens_};
  launch("gradient of averages", averages);
  for (std::size_t l = 0; l < p.layers.size(); ++l) {
    const Paths::Layer& layer = p.layers[l];
    const bool top = l + 1 == p.layers.size();
    ConstNumbers above;
    Numbers d_above;
    if (!top) {
      above = p.layers[l + 1].averages;
      d_above = numbers(layer.prefix + "gradient of averages above",
                        batch_.examples * layer.rows * tokens_);
    }
    launch(layer.prefix + "gradient of averages above",
           StepPathRowsGradient{batch_.examples, tokens_, model_.heads, layer.rows, above,
                                layer.omega, d_rows, layer.d_omega, d_above});
    d_rows = d_above;
  }
  launch("gradient of attention",
         StepPathAttentionGradient{model_.layers, batch_.examples, tokens_, model_.heads,
                                   model_.query_dim / model_.heads, p.projected, p.omega, p.d_omega,
                                   p.d_projected});
  for (const Paths::Layer& layer : p.layers) {
    weight_gradient({rows_, features, 2 * model_.query_dim}, layer.d_projected, x,
                    layer.prefix + "query.weight", "");
  }
}

}  // namespace headway::training::detail
