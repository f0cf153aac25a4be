// What our functions with gradients share: arguments that may be missing, and settings that travel
// from the forward to the backward pass.
#pragma once

#include <cstring>
#include <type_traits>

#include "headway/types.hpp"
#include "training/torch/headers.hpp"

namespace headway::training::detail {

/// LibTorch takes what may be missing as an optional argument, never as an undefined tensor.
using Maybe = c10::optional<at::Tensor>;
inline Maybe maybe(const at::Tensor& x) { return x.defined() ? Maybe(x) : Maybe(); }
inline at::Tensor or_none(const Maybe& x) { return x.value_or(at::Tensor()); }

/// Arguments of a function as one list; what is not there is undefined.
template <class... Arguments>
torch::autograd::variable_list listed(const Arguments&... arguments) {
  return {or_none(arguments)...};
}

/// What a function keeps from its forward pass beside tensors. LibTorch's saved_data holds values
/// of its own kinds only: the settings travel as a tensor of bytes.
template <typename Settings>
void keep_settings(torch::autograd::AutogradContext* context, const Settings& settings) {
  static_assert(std::is_trivially_copyable_v<Settings>);
  at::Tensor bytes = at::empty({static_cast<Index>(sizeof(Settings))}, at::kByte);
  std::memcpy(bytes.data_ptr(), &settings, sizeof(Settings));
  context->saved_data["settings"] = bytes;
}
template <typename Settings>
Settings kept_settings(torch::autograd::AutogradContext* context) {
  Settings settings;
  const at::Tensor bytes = context->saved_data["settings"].toTensor();
  std::memcpy(&settings, bytes.data_ptr(), sizeof(Settings));
  return settings;
}

}  // namespace headway::training::detail
