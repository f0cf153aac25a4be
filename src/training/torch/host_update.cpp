#include "training/torch/host_update.hpp"

#include <algorithm>
#include <cmath>

#include "headway/core/parallel.hpp"
#include "training/kernels/cpu/row_kernels.hpp"

namespace headway::training::detail {

using at::Tensor;

double host_gradient_norm(const Tensor& gradients, int threads) {
  constexpr Index kRun = 1 << 14;
  const float* g = gradients.data_ptr<float>();
  const Index count = gradients.numel();
  std::vector<double> sums(static_cast<std::size_t>((count + kRun - 1) / kRun));
  parallel_for(static_cast<Index>(sums.size()), threads, [&](Index run) {
    double sum = 0.0;
    for (Index i = run * kRun; i < std::min(count, (run + 1) * kRun); ++i) {
      sum += static_cast<double>(g[i]) * g[i];
    }
    sums[static_cast<std::size_t>(run)] = sum;
  });
  double sum = 0.0;
  for (const double part : sums) sum += part;
  return std::sqrt(sum);
}

void host_update(const EngineSetup& setup, const std::vector<Index>& offsets,
                 const UpdatedArrays& on, const AdamWStep& step, double norm) {
  const double clip = step.most_norm > 0.0 && norm > step.most_norm ? step.most_norm / norm : 1.0;
  const auto t = static_cast<double>(step.update);
  const double first = step.rate / (1.0 - std::pow(step.beta_1, t));
  const double second = 1.0 / (1.0 - std::pow(step.beta_2, t));
  const RowKernels& kernels = row_kernels();
  parallel_for(static_cast<Index>(setup.shapes.size()), setup.threads, [&](Index i) {
    const auto at = static_cast<std::size_t>(i);
    const ParameterShape& shape = setup.shapes[at];
    const Index offset = offsets[at];
    AdamWRates rates{static_cast<float>(step.beta_1),
                     static_cast<float>(step.beta_2),
                     static_cast<float>(1.0 - step.beta_1),
                     static_cast<float>(1.0 - step.beta_2),
                     static_cast<float>(first * shape.rate),
                     static_cast<float>(second),
                     static_cast<float>(step.epsilon),
                     1.0F,
                     static_cast<float>(clip)};
    if (shape.decayed()) {
      rates.shrink = static_cast<float>(1.0 - step.rate * shape.rate * step.decay);
    }
    kernels.adamw(shape.count(), rates, on.gradients.data_ptr<float>() + offset,
                  on.first.data_ptr<float>() + offset, on.second.data_ptr<float>() + offset,
                  on.values.data_ptr<float>() + offset);
  });
}

}  // namespace headway::training::detail
