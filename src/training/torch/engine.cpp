#include "training/torch/engine.hpp"

#include <algorithm>
#include <cmath>

#include "training/torch/bfloat16_products.hpp"
#include "training/torch/host_update.hpp"

namespace headway::training::detail {

using at::Tensor;

void TorchEngine::take_arrays(bool of_step) {
  Index count = 0;
  for (const ParameterShape& shape : setup_.shapes) {
    offsets_.push_back(count);
    count += shape.count();
  }
  if (of_step) offsets_ = step_offsets(setup_.shapes);
  if (place_) {
    const UpdatedArrays mine = place_->stack->arrays(place_->run);
    values_ = mine.values;
    gradients_ = mine.gradients;
    first_ = mine.first;
    second_ = mine.second;
    return;
  }
  const auto on_device = at::TensorOptions().dtype(at::kFloat).device(memory_.device());
  for (Tensor* array : {&values_, &gradients_, &first_, &second_}) {
    *array = at::zeros({count}, on_device);
  }
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

void TorchEngine::add_gradients(const PlacedBatch& piece, double share) {
  const double balancing = setup_.model.load_balancing;
  Tensor value, imbalance;
  {
    const ProductsIn products(setup_.precision, memory_.device().type());
    value = loss(model_->outputs(piece.input, balancing > 0.0 ? &imbalance : nullptr), piece);
  }
  const Tensor minimised = imbalance.defined() ? value + balancing * imbalance : value;
  torch::autograd::backward({minimised}, {at::full_like(minimised, share)});
  if (update_) {
    loss_.add_(value.detach().to(at::kDouble), share);
  } else {
    loss_on_cpu_ += share * value.item<double>();
  }
}

void TorchEngine::add_all_gradients() {
  gradients_.zero_();
  if (update_) {
    loss_.zero_();
  } else {
    loss_on_cpu_ = 0.0;
  }
  for (const PlacedBatch& piece : pieces_) {
    add_gradients(piece, 1.0 / static_cast<double>(pieces_.size()));
  }
}

// Whoever comes last launches the step of all, perhaps after this run has gone.
void TorchEngine::step_in_stack(const StepPieces& data, const AdamWStep& step) {
  const StackPlace& mine = *place_;
  here(1, [&] { mine.stack->prepare(mine.run, data, step); });
  mine.meeting->arrive(mine.run, [stack = mine.stack](const std::vector<bool>& ready) {
    guarded(1, [&] {
      const OwnStream::Scope scope(*stack->stream());
      stack->launch(ready);
    });
  });
}

void TorchEngine::step(const StepPieces& data, const AdamWStep& step) {
  if (place_) return step_in_stack(data, step);
  here(library_threads_, [&] {
    const bool moved = place(data);
    if (hand_written(moved, step)) {
      if (step_->is_new()) work_.forget();
      step_->prepare(step);
      work_.run([this] {
        step_->run_gradients();
        step_->run_update();
      });
      return;
    }
    if (update_) {
      if (moved) work_.forget();
      update_->prepare(step);
      work_.run([this] {
        add_all_gradients();
        update_->run();
      });
      return;
    }
    add_all_gradients();
    update_on_cpu(step);
  });
}

void TorchEngine::update(double loss, const AdamWStep& step) {
  here(library_threads_, [&] {
    if (update_) {
      loss_.fill_(loss);
      update_->prepare(step);
      update_->run();
      return;
    }
    loss_on_cpu_ = loss;
    update_on_cpu(step);
  });
}

std::vector<StepNumbers> TorchEngine::read_steps() {
  return here(1, [&] {
    if (place_) return place_->stack->read(place_->run);
    if (step_ && step_->steps() > 0) return step_->read();
    return update_ ? update_->read() : std::exchange(steps_, {});
  });
}

void TorchEngine::update_on_cpu(const AdamWStep& step) {
  const bool alive = steps_.empty() || steps_.back().finite();
  steps_.push_back({loss_on_cpu_, host_gradient_norm(gradients_, setup_.threads)});
  if (!alive) steps_.back().loss = std::nan("");
  if (!steps_.back().finite()) return;
  host_update(setup_, offsets_, {values_, gradients_, first_, second_, {}}, step,
              steps_.back().gradient_norm);
}

std::vector<float> TorchEngine::outputs(const TaskBatch& batch, Index scored) {
  return here(library_threads_, [&] {
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
  return here(library_threads_, [&] {
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
