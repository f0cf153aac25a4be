#include "training/torch/engine.hpp"

#include <algorithm>

#include "training/step/fused_step.hpp"
#include "training/torch/bfloat16_products.hpp"
#include "training/torch/device_step.hpp"

namespace headway::training::detail {
namespace {

using at::Tensor;

at::DeviceType device_of(const EngineSetup& setup) {
  return setup.device == Device::kCuda ? at::kCUDA : at::kCPU;
}

/// Where each parameter begins in the arrays: as the hand-written step wants it, if there is one.
std::vector<Index> offsets_of(const EngineSetup& setup) {
  if (step_device_of(setup) != nullptr) return step_offsets(setup.shapes);
  std::vector<Index> offsets;
  Index count = 0;
  for (const ParameterShape& shape : setup.shapes) {
    offsets.push_back(count);
    count += shape.count();
  }
  return offsets;
}

UpdatedArrays new_arrays(const EngineSetup& setup, const OwnStream& stream) {
  const OwnStream::Scope scope(stream);
  const auto array = [&](at::IntArrayRef sizes, at::ScalarType type) {
    return at::zeros(sizes, at::TensorOptions().dtype(type).device(device_of(setup)));
  };
  const Index count = total_count(setup.shapes);
  return {array({count}, at::kFloat), array({count}, at::kFloat), array({count}, at::kFloat),
          array({count}, at::kFloat), array({}, at::kDouble)};
}

}  // namespace

TorchEngine::TorchEngine(const EngineSetup& setup)
    : TorchEngine(setup, std::make_shared<OwnStream>(device_of(setup))) {}

TorchEngine::TorchEngine(const EngineSetup& setup, const std::shared_ptr<OwnStream>& stream)
    : TorchEngine(setup, stream, new_arrays(setup, *stream)) {}

TorchEngine::TorchEngine(const EngineSetup& setup, std::shared_ptr<OwnStream> stream,
                         const UpdatedArrays& arrays)
    : setup_(setup),
      memory_(device_of(setup), setup.gpu_kernels != nullptr || setup.make_step_device != nullptr),
      stream_(std::move(stream)),
      offsets_(offsets_of(setup)),
      arrays_(arrays) {
  const OwnStream::Scope scope(*stream_);
  for (std::size_t i = 0; i < offsets_.size(); ++i) {
    const ParameterShape& shape = setup.shapes[i];
    const auto mine = [&](const Tensor& all) {
      return all.narrow(0, offsets_[i], shape.count()).view(shape.shape);
    };
    Tensor parameter = mine(arrays_.values).detach();
    parameter.set_requires_grad(true);
    parameter.mutable_grad() = mine(arrays_.gradients);
    parameters_.push_back(parameter);
  }
  model_ = make_network_model(setup, parameters_);
}

const Tensor& TorchEngine::of(EngineArray array) const {
  switch (array) {
    case EngineArray::kParameters:
      return arrays_.values;
    case EngineArray::kGradients:
      return arrays_.gradients;
    case EngineArray::kFirstMoments:
      return arrays_.first;
    case EngineArray::kSecondMoments:
      return arrays_.second;
  }
  return arrays_.values;
}

void TorchEngine::read(EngineArray array, std::span<float> out) const {
  here(1, [&] {
    const Tensor host = of(array).to(at::kCPU).contiguous();
    Index at = 0;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const Index count = setup_.shapes[i].count();
      std::copy_n(host.data_ptr<float>() + offsets_[i], count, out.data() + at);
      at += count;
    }
  });
}

void TorchEngine::write(EngineArray array, std::span<const float> in) {
  here(1, [&] {
    std::vector<float> ordered(in.size());
    Index at = 0;
    for (std::size_t i = 0; i < offsets_.size(); ++i) {
      const Index count = setup_.shapes[i].count();
      std::copy_n(in.data() + at, count, ordered.data() + offsets_[i]);
      at += count;
    }
    Tensor sent;
    memory_.put(ordered, {static_cast<Index>(in.size())}, &sent);
    of(array).copy_(sent);
  });
}

bool TorchEngine::place(const TaskBatch& batch, Index scored, PlacedBatch* placed) const {
  placed->input.scored = scored;
  const Index examples = batch.examples;
  const TaskFormat& format = setup_.format;
  Tensor* x = &placed->input.x;
  bool moved = false;
  if (format.features > 0) {
    const Index tokens = static_cast<Index>(batch.inputs.size()) / (examples * format.features);
    moved |= memory_.put(batch.inputs, {examples, tokens, format.features}, x);
  } else {
    const Index tokens = static_cast<Index>(batch.ids.size()) / examples;
    moved |= memory_.put(batch.ids, {examples, tokens}, x);
  }
  moved |= memory_.put(batch.mask, {examples, x->size(1)}, &placed->input.mask);
  moved |= memory_.put(batch.targets, {examples, format.scored, format.outputs}, &placed->targets);
  moved |= memory_.put(batch.classes, {static_cast<Index>(batch.classes.size())}, &placed->classes);
  moved |= memory_.put(batch.weights, {examples, format.scored}, &placed->weights);
  return moved;
}

bool TorchEngine::place(const StepPieces& data) {
  bool moved = pieces_.size() != data.pieces.size();
  pieces_.resize(data.pieces.size());
  const Index tokens = setup_.format.tokens;
  moved |= memory_.put(data.dropout, {setup_.model.all_layers(), tokens, tokens}, &dropout_);
  for (std::size_t i = 0; i < pieces_.size(); ++i) {
    moved |= place(data.pieces[i], setup_.format.scored, &pieces_[i]);
    pieces_[i].input.dropout = dropout_;
  }
  return moved;
}

Tensor TorchEngine::loss(const Tensor& outputs, const PlacedBatch& batch) const {
  const Tensor numbers = outputs.to(at::kFloat);
  const bool classes = setup_.format.loss == LossKind::kCrossEntropy;
  const Tensor targets = classes ? batch.classes.to(at::kLong) : batch.targets;
  const auto mean_or_each = batch.weights.defined() ? at::Reduction::None : at::Reduction::Mean;
  const Tensor loss =
      classes ? at::nll_loss(at::log_softmax(numbers.flatten(0, 1), 1), targets, {}, mean_or_each)
              : at::mse_loss(numbers, targets, mean_or_each);
  if (!batch.weights.defined()) return loss;
  return (classes ? loss * batch.weights.flatten() : loss * batch.weights.unsqueeze(2)).mean();
}

Tensor TorchEngine::add_gradients(const PlacedBatch& piece, double share) {
  const double balancing = setup_.model.load_balancing;
  Tensor value, imbalance;
  {
    const ProductsIn products(setup_.precision, memory_.device().type());
    value = loss(model_->outputs(piece.input, balancing > 0.0 ? &imbalance : nullptr), piece);
  }
  const Tensor minimised = imbalance.defined() ? value + balancing * imbalance : value;
  torch::autograd::backward({minimised}, {at::full_like(minimised, share)});
  return value.detach();
}

double TorchEngine::gradients_and_loss() {
  double mean = 0.0;
  add_all_gradients([&](const Tensor& part, double share) { mean += share * part.item<double>(); });
  return mean;
}

double TorchEngine::compute_gradients(const StepPieces& data) {
  return here(library_threads(), [&] {
    place(data);
    return gradients_and_loss();
  });
}

std::vector<float> TorchEngine::outputs(const TaskBatch& batch, Index scored) {
  return here(library_threads(), [&] {
    const at::NoGradGuard no_gradient;
    const ProductsIn products(setup_.precision, memory_.device().type());
    const Tensor y = model_->outputs(placed(batch, scored).input, nullptr)
                         .to(at::kFloat)
                         .to(at::kCPU)
                         .contiguous();
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  });
}

std::vector<float> TorchEngine::latent_codes(const TaskBatch& batch,
                                             std::span<const TokenPair> pairs) {
  return here(library_threads(), [&] {
    const at::NoGradGuard no_gradient;
    choose_float32_products(Precision::kFloat32, memory_.device().type());
    std::vector<Tensor> layers;
    for (const Tensor& a : model_->attention_weights(placed(batch, setup_.format.scored).input)) {
      std::vector<Tensor> codes;
      for (const TokenPair& pair : pairs)
        codes.push_back(a.select(2, pair.query).select(2, pair.key));
      layers.push_back(at::stack(codes, 1));  // [B, pairs, H]
    }
    const Tensor y = at::stack(layers, 1).to(at::kFloat).to(at::kCPU).contiguous();
    return std::vector<float>(y.data_ptr<float>(), y.data_ptr<float>() + y.numel());
  });
}

}  // namespace headway::training::detail
