#include "headway/theory/kernel_cost.hpp"

#include <fmt/format.h>

#include <cmath>
#include <string>
#include <vector>

#include "headway/error.hpp"
#include "kernel_forms.hpp"

namespace headway::theory {
const KernelFormDescription& describe_kernels(KernelForm form) {
  for (const auto description : kKernelForms) {
    if (description().form == form) return description();
  }
  throw Error(ErrorKind::kInternal, "the cost of kernels whose form is not chosen");
}

namespace {

/// The form that is asked for, or the possible one that claims most.
KernelForm choose_form(const KernelCounts& counts, const PathKernelOptions& options) {
  if (options.form != KernelForm::kAuto) {
    const KernelFormDescription& asked = describe_kernels(options.form);
    const std::string refusal = asked.refusal(counts, options);
    if (refusal.empty()) return options.form;
    throw Error(ErrorKind::kBadStudy,
                fmt::format("solve.kernels = \"{}\": {}", asked.word, refusal));
  }
  KernelForm chosen = KernelForm::kAuto;
  Claim most = Claim::kNone;
  for (const auto description : kKernelForms) {
    const KernelFormDescription& form = description();
    if (!form.refusal(counts, options).empty()) continue;
    const Claim claim = form.claim(counts, options);
    if (claim <= most) continue;
    most = claim;
    chosen = form.form;
  }
  return chosen;
}

}  // namespace

Words<KernelForm> words_of(KernelForm) {
  static const std::vector<Word<KernelForm>> words = [] {
    std::vector<Word<KernelForm>> all = {{"auto", KernelForm::kAuto}};
    for (const auto description : kKernelForms)
      all.push_back({description().word, description().form});
    return all;
  }();
  return words;
}

std::string needs_temperature(const KernelCounts& /*counts*/, const PathKernelOptions& options) {
  if (options.smallest_temperature > 0.0) return "";
  return fmt::format("needs model.temperature > 0, but the smallest is {}",
                     options.smallest_temperature);
}

std::string needs_one_output(const KernelCounts& counts) {
  return counts.c == 1.0 ? "" : fmt::format("needs one output, but the data have {}", counts.c);
}

bool holds_compact(const KernelCounts& counts, const PathKernelOptions& options) {
  return options.energy_tolerance > 0.0 && kNumber * counts.packed() > options.compact_above_bytes;
}

KernelCost kernel_cost(const KernelSizes& sizes, KernelForm form, bool compact, int ranks) {
  const KernelFormDescription& description = describe_kernels(form);
  const KernelCounts s(sizes);
  KernelCost cost;
  cost.form = form;
  cost.compact = compact;
  cost.third_derivative_flops = 2.0 * std::pow(s.order(), 4) * s.n0 * s.n0 +
                                2.0 * s.rows() * std::pow(s.order() * s.n0, 2) +
                                4.0 * s.rows() * s.rows() * s.order() * s.n0;
  description.count(s, ranks, cost);
  return cost;
}

KernelCost kernel_cost(const KernelSizes& sizes, const PathKernelOptions& options) {
  const KernelCounts counts(sizes);
  const KernelForm form = choose_form(counts, options);
  const bool compact = form == KernelForm::kStored && holds_compact(counts, options);
  return kernel_cost(sizes, form, compact, options.ranks);
}

}  // namespace headway::theory
