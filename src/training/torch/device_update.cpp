#include "training/torch/device_update.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace headway::training::detail {

using at::Tensor;

DeviceUpdate::DeviceUpdate(const EngineSetup& setup, const std::vector<Index>& offsets,
                           const UpdatedArrays& arrays)
    : on_(arrays), memory_(arrays.values.device()) {
  const auto device = arrays.values.device();
  std::vector<float> rates(static_cast<std::size_t>(arrays.values.numel()));
  std::vector<float> decayed(rates.size());
  bool all_one = true;
  for (std::size_t i = 0; i < offsets.size(); ++i) {
    const ParameterShape& shape = setup.shapes[i];
    const auto rate = static_cast<float>(shape.rate);
    all_one = all_one && shape.rate == 1.0;
    std::fill_n(rates.begin() + offsets[i], shape.count(), rate);
    std::fill_n(decayed.begin() + offsets[i], shape.count(), shape.decayed() ? rate : 0.0F);
  }
  if (!all_one) rates_ = at::tensor(rates).to(device);
  decayed_ = at::tensor(decayed).to(device);
  numbers_ = at::zeros({3}, at::dtype(at::kFloat).device(device));
  alive_ = at::ones({}, at::dtype(at::kBool).device(device));
  history_ = at::zeros({kMostStepsAhead, 2}, at::dtype(at::kDouble).device(device));
  place_ = at::zeros({1}, at::dtype(at::kLong).device(device));
}

void DeviceUpdate::prepare(const AdamWStep& step) {
  constants_ = step;
  ++steps_;
  const auto t = static_cast<double>(step.update);
  sent_ = {static_cast<float>(step.rate / (1.0 - std::pow(step.beta_1, t))),
           static_cast<float>(1.0 / (1.0 - std::pow(step.beta_2, t))),
           static_cast<float>(step.rate * step.decay)};
  memory_.put(sent_, {3}, &numbers_);
}

void DeviceUpdate::run() {
  const at::NoGradGuard no_gradient;
  const AdamWStep& c = constants_;
  const Tensor norm = at::linalg_vector_norm(on_.gradients, 2, c10::nullopt, false, at::kDouble);
  alive_.logical_and_(at::isfinite(on_.loss)).logical_and_(at::isfinite(norm));
  history_.index_copy_(0, place_, at::stack({on_.loss, norm}).unsqueeze(0));
  place_.add_(1);

  Tensor g = on_.gradients;
  if (c.most_norm > 0.0) {
    g = g * at::clamp_max(c.most_norm / norm, 1.0).to(at::kFloat);
  }
  const Tensor first = on_.first * c.beta_1 + g * (1.0 - c.beta_1);
  const Tensor second = on_.second * c.beta_2 + at::square(g) * (1.0 - c.beta_2);
  Tensor change = first / (at::sqrt(second * numbers_[1]) + c.epsilon) * numbers_[0];
  if (rates_.defined()) change = change * rates_;
  const Tensor values = on_.values * (1.0 - decayed_ * numbers_[2]) - change;
  on_.first.copy_(at::where(alive_, first, on_.first));
  on_.second.copy_(at::where(alive_, second, on_.second));
  on_.values.copy_(at::where(alive_, values, on_.values));
}

std::vector<StepNumbers> read_history(const Tensor& history, Index steps) {
  const Tensor host = history.narrow(0, 0, steps).to(at::kCPU).contiguous();
  const auto* numbers = host.data_ptr<double>();
  std::vector<StepNumbers> out;
  for (Index i = 0; i < steps; ++i) out.push_back({numbers[2 * i], numbers[2 * i + 1]});
  return out;
}

std::vector<StepNumbers> DeviceUpdate::read() {
  std::vector<StepNumbers> steps = read_history(history_, std::exchange(steps_, 0));
  place_.zero_();
  alive_.fill_(true);
  return steps;
}

}  // namespace headway::training::detail
