#include "headway/dataset.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "headway/error.hpp"

namespace headway::tasks {

std::string set_name_fault(const std::string& name) {
  constexpr std::size_t kLongest = 40;
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const bool allowed = std::all_of(name.begin(), name.end(), [&](char c) {
    return letter(c) || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
  if (name.empty() || name.size() > kLongest || !letter(name.front()) || !allowed) {
    return fmt::format(
        "not a valid set name; allowed: a letter, then letters, digits, - and _, at most {}",
        kLongest);
  }
  if (name != "train" && name != "test") return {};
  return "taken by a split outside sets; allowed: any other name";
}

Index Dataset::evaluated_examples() const {
  Index count = test ? test->size() : 0;
  for (const NamedSplit& set : sets) count += set.split.size();
  return count;
}

MemoryExamples::MemoryExamples(Tensor inputs, std::vector<std::uint8_t> mask,
                               std::vector<Tensor> attention)
    : inputs_(std::move(inputs)), mask_(std::move(mask)), attention_(std::move(attention)) {
  if (inputs_.shape.size() != 3 || inputs_.values.size() != inputs_.count()) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format(
            "inputs: has {} dimensions and {} values: must be [P, S, N_0] with as many values",
            inputs_.shape.size(), inputs_.values.size()));
  }
  const auto positions = static_cast<std::size_t>(size() * tokens());
  if (!mask_.empty() && mask_.size() != positions) {
    throw Error(ErrorKind::kBadData,
                fmt::format("mask: has {} values: must be empty or [P, S] = [{}, {}]", mask_.size(),
                            size(), tokens()));
  }
  for (std::size_t l = 0; l < attention_.size(); ++l) {
    const Tensor& a = attention_[l];
    if (a.shape.size() != 4 || a.shape[0] != size() || a.shape[2] != tokens() ||
        a.shape[3] != tokens() || a.values.size() != a.count()) {
      throw Error(ErrorKind::kBadData,
                  fmt::format("attention of layer {}: is [{}]: must be [P, H, S, S] = [{}, H, {}, "
                              "{}] with as many values",
                              l + 1, fmt::join(a.shape, ", "), size(), tokens(), tokens()));
    }
  }
}

void MemoryExamples::read_inputs(Index begin, Index count, double* out) const {
  check_range(begin, count);
  const Index stride = tokens() * features();
  std::copy_n(inputs_.values.data() + begin * stride, count * stride, out);
}

void MemoryExamples::read_mask(Index begin, Index count, std::uint8_t* out) const {
  if (mask_.empty()) ExampleSource::read_mask(begin, count, out);  // throws
  check_range(begin, count);
  std::copy_n(mask_.data() + begin * tokens(), count * tokens(), out);
}

void MemoryExamples::read_attention(int layer, Index begin, Index count, double* out) const {
  const auto at = static_cast<std::size_t>(layer - 1);
  if (at >= attention_.size()) ExampleSource::read_attention(layer, begin, count, out);  // throws
  check_range(begin, count);
  const Tensor& a = attention_[at];
  const Index stride = a.shape[1] * a.shape[2] * a.shape[3];
  std::copy_n(a.values.data() + begin * stride, count * stride, out);
}

void SourcedExamples::read_inputs(Index begin, Index count, double* out) const {
  check_range(begin, count);
  inputs_->read(begin, count, out);
  if (mask_.empty()) return;
  for (Index i = 0; i < count * tokens(); ++i) {
    if (is_real(begin * tokens() + i)) continue;
    std::fill_n(out + i * features(), features(), 0.0);
  }
}

void SourcedExamples::read_mask(Index begin, Index count, std::uint8_t* out) const {
  check_range(begin, count);
  if (mask_.empty()) return ExampleSource::read_mask(begin, count, out);
  std::copy_n(mask_.data() + begin * tokens(), count * tokens(), out);
}

void SourcedExamples::read_attention(int layer, Index begin, Index count, double* out) const {
  if (layer < 1 || static_cast<std::size_t>(layer) > attention_.size()) {
    return ExampleSource::read_attention(layer, begin, count, out);
  }
  check_range(begin, count);
  const ArraySource& array = *attention_[static_cast<std::size_t>(layer - 1)];
  array.read(begin, count, out);
  if (mask_.empty()) return;
  const Index heads = array.shape()[1];
  for (Index r = 0; r < count * heads * tokens(); ++r) {
    if (is_real((begin + r / (heads * tokens())) * tokens() + r % tokens())) continue;
    std::fill_n(out + r * tokens(), tokens(), 0.0);
  }
}

bool SourcedExamples::is_real(Index token) const {
  return mask_[static_cast<std::size_t>(token)] != 0;
}

}  // namespace headway::tasks
