#include "training/torch/linear_value_model.hpp"

#include <cmath>

#include "training/torch/matrix_product.hpp"
#include "training/torch/model.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// An array of floats that is used again by the next step where it has the same size: above some
// size the allocator gives pages back at once, and clearing new ones costs a tenth of a step. One
// batch at a time is between its forward and its backward pass.
Tensor kept_floats(Tensor* kept, at::IntArrayRef sizes) {
  if (!kept->defined() || kept->sizes() != sizes) *kept = at::empty(sizes, at::kFloat);
  return *kept;
}

/// head_paths_forward() and its gradient.
struct HeadPathFunction : Function<HeadPathFunction> {
  static Tensor forward(AutogradContext* context, const Tensor& x, const Tensor& projections,
                        const BlockContext& block, const HeadPathShape& n, HeadPathMemory* memory) {
    const Tensor attention =
        kept_floats(&memory->attention, {n.batch, n.layers, n.heads, n.tokens, n.tokens});
    Tensor projected;
    if (!n.merged) {
      projected = kept_floats(&memory->projected, {n.batch, n.tokens, n.projected()});
    }
    Tensor out = at::empty({n.batch, n.paths(), n.features}, at::kFloat);
    head_paths_forward(
        block, n, projections.data_ptr<float>(), x.data_ptr<float>(), out.data_ptr<float>(),
        {n.merged ? nullptr : projected.data_ptr<float>(), attention.data_ptr<float>()});
    context->save_for_backward({x, projected, attention});
    context->saved_data["sizes"] = std::vector<std::int64_t>(
        {n.batch, n.tokens, n.features, n.layers, n.heads, n.query_dim, n.merged ? 1 : 0});
    context->saved_data["threads"] = static_cast<std::int64_t>(block.threads);
    context->saved_data["shape"] = projections.sizes().vec();
    return out;
  }
  static variable_list backward(AutogradContext* context, const variable_list& d) {
    const variable_list saved = context->get_saved_variables();
    const std::vector<std::int64_t> n = context->saved_data["sizes"].toIntVector();
    const BlockContext block = {matrix_product(), &row_kernels(),
                                static_cast<int>(context->saved_data["threads"].toInt())};
    const HeadPathShape shape = {n[0], n[1], n[2], n[3], n[4], n[5], n[6] == 1};
    const Tensor d_out = d[0].contiguous();
    Tensor d_projections = at::empty(context->saved_data["shape"].toIntVector(), at::kFloat);
    head_paths_backward(
        block, shape, saved[0].data_ptr<float>(),
        {shape.merged ? nullptr : saved[1].data_ptr<float>(), saved[2].data_ptr<float>()},
        d_out.data_ptr<float>(), d_projections.data_ptr<float>());
    return {Tensor(), d_projections, Tensor(), Tensor(), Tensor()};
  }
};

/// Omega of one layer, [B, H, S, S].
Tensor attention_of(const Tensor& x, const Tensor& query, const Tensor& key) {
  const Tensor q = at::einsum("bsf,hgf->bhsg", {x, query});
  const Tensor k = at::einsum("bsf,hgf->bhsg", {x, key});
  const double scale = 1.0 / std::sqrt(static_cast<double>(query.size(1)));
  return at::softmax(at::matmul(q, k.transpose(2, 3)) * scale, 3);
}

}  // namespace

LinearValueModel::LinearValueModel(const EngineSetup& setup, const std::vector<Tensor>& parameters)
    : setup_(setup),
      context_{matrix_product(), &row_kernels(), setup.threads},
      fused_(setup.device == Device::kCpu && !setup.eager) {
  // The order of linear_value_shapes().
  input_ = parameters.front();
  for (std::size_t i = 1; i + 1 < parameters.size(); i += 3) {
    layers_.push_back({parameters[i], parameters[i + 1], parameters[i + 2]});
  }
  readout_ = parameters.back();
}

Tensor LinearValueModel::effective_weights() const {
  const auto scale = [](Index inputs) { return 1.0 / std::sqrt(static_cast<double>(inputs)); };
  Tensor v = readout_ * scale(readout_.size(1));  // [paths so far * O, N]
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const Tensor& value = layer->value;
    v = at::matmul((v * scale(value.size(0) * value.size(2))).unsqueeze(0), value).flatten(0, 1);
  }
  return at::matmul(v * scale(input_.size(1)), input_);
}

Tensor LinearValueModel::eager_path_features(const Tensor& x) const {
  const Index examples = x.size(0);
  const Index tokens = x.size(1);
  Tensor rows = at::full({examples, 1, tokens}, 1.0 / static_cast<double>(tokens), x.options());
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    const Tensor omega = attention_of(x, layer->query, layer->key);
    rows = at::matmul(rows.unsqueeze(1), omega).flatten(1, 2);  // [B, H, g, S] -> [B, (h, g), S]
  }
  return at::matmul(rows, x);
}

Tensor LinearValueModel::path_features(const Tensor& x) const {
  if (!fused_) return eager_path_features(x);
  const TransformerOptions& n = setup_.model;
  HeadPathShape shape = {x.size(0), x.size(1), x.size(2), n.layers, n.heads, n.query_dim / n.heads};
  shape.merged = shape.merging_pays();
  std::vector<Tensor> projections;
  for (const Layer& layer : layers_) {
    if (shape.merged) {
      projections.push_back(at::matmul(layer.key.transpose(1, 2), layer.query));
    } else {
      projections.push_back(layer.query);
      projections.push_back(layer.key);
    }
  }
  return HeadPathFunction::apply(x.contiguous(), at::stack(projections), context_, shape, &memory_);
}

Tensor LinearValueModel::outputs(const ModelInput& input, Tensor* /*imbalance*/) const {
  const Index outputs = setup_.format.outputs;
  const Tensor features = path_features(input.x).flatten(1, 2);  // [B, p F]
  const Tensor weights = effective_weights()                     // [p O, F] -> [p F, O]
                             .unflatten(0, {-1, outputs})
                             .transpose(1, 2)
                             .flatten(0, 1);
  return at::matmul(features, weights).unsqueeze(1);
}

std::vector<Tensor> LinearValueModel::attention_weights(const ModelInput& input) const {
  std::vector<Tensor> weights;
  for (const Layer& layer : layers_) {
    weights.push_back(attention_of(input.x, layer.query, layer.key));
  }
  return weights;
}

std::unique_ptr<NetworkModel> make_network_model(const EngineSetup& setup,
                                                 const std::vector<Tensor>& parameters) {
  if (setup.model.network == NetworkKind::kLinearValue) {
    return std::make_unique<LinearValueModel>(setup, parameters);
  }
  return std::make_unique<TransformerModel>(setup, parameters);
}

}  // namespace headway::training::detail
