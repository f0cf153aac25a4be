#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

#include "headway/core/text.hpp"
#include "io/dataset_file/layout.hpp"

namespace headway::io {
namespace {

// How far the rows of attention computed in half precision are from a sum of 1.
constexpr double kHalfPrecision = 0.005;
constexpr const char* kNormaliseRows =
    " (half precision? cast to float32, then divide each row by its sum)";

constexpr const char* kUnlessAnyRows =
    ", or any where the root attribute attention_rows is \"any\" (for value networks)";

/// Which tokens are real, [P, S]; empty when all are.
using Mask = std::vector<std::uint8_t>;

/// "[3, 0, 2]" of entry `offset` in row `row` of an array.
std::string index_text(const std::vector<Index>& shape, Index row, Index offset) {
  std::vector<Index> index(shape.size(), 0);
  for (std::size_t d = shape.size(); d-- > 1;) {
    index[d] = offset % shape[d];
    offset /= shape[d];
  }
  index[0] = row;
  return fmt::format("[{}]", join(index, ", "));
}

/// The sign of nan means nothing, so it is left out.
std::string number_text(double v) { return std::isnan(v) ? "nan" : fmt::format("{}", v); }

Mask check_mask(const DatasetTree& tree, const std::string& path, FaultList& faults) {
  Mask mask;
  const auto check = [&](const ArrayInfo& info, Index begin, Index count, auto values) {
    const Index tokens = info.shape[1];
    for (Index i = 0; i < count; ++i) {
      bool any = false;
      for (Index s = 0; s < tokens; ++s) {
        const double v = values[static_cast<std::size_t>(i * tokens + s)];
        any = any || v == 1.0;
        mask.push_back(v == 1.0 ? 1 : 0);
        if (v == 0.0 || v == 1.0) continue;
        faults.add(path, "[{}, {}]: {}; allowed: 0 or 1", begin + i, s, number_text(v));
      }
      if (any) continue;
      faults.add(path, "[{}]: no token is 1; allowed: at least one real token in every example",
                 begin + i);
    }
  };
  tree.for_each_block(path, check, 0, 1);
  return mask;
}

/// Why a number that should be finite and moderate is refused.
std::string size_fault(double value) {
  if (!std::isfinite(value)) return number_text(value) + "; allowed: finite numbers";
  return fmt::format("{}; allowed: up to {:g} in size, since products of larger ones overflow",
                     number_text(value), dataset_rules().largest);
}

/// `mask`: where there is one, what stands at masked tokens does not matter.
void check_finite(const DatasetTree& tree, const std::string& path, const Mask& mask,
                  const CheckedShare& checked, FaultList& faults) {
  const double largest = dataset_rules().largest;
  const auto check = [&](const ArrayInfo& info, Index begin, Index count, auto values) {
    const Index row_size = static_cast<Index>(info.elements().value_or(0)) / info.shape[0];
    const Index token_size = mask.empty() ? 1 : row_size / info.shape[1];
    for (Index i = 0; i < count * row_size; ++i) {
      const double v = values[static_cast<std::size_t>(i)];
      if (std::abs(v) <= largest) continue;
      const auto token = static_cast<std::size_t>((begin * row_size + i) / token_size);
      if (!mask.empty() && mask[token] == 0) continue;
      faults.add(path, "{}: {}", index_text(info.shape, begin + i / row_size, i % row_size),
                 size_fault(v));
    }
  };
  tree.for_each_block(path, check, checked.part, checked.parts);
}

/// One supplied attention row: attention of query s over all keys.
struct AttentionRow {
  std::span<const double> values;
  const std::uint8_t* key_mask;  ///< null when all are real
  double tolerance;              ///< of the sum; infinite: signed weights of any sum
};

/// What is wrong with a row, or "". `at`: at which key, as the end of an index.
std::string row_fault(const AttentionRow& row, std::string& at) {
  const bool any = std::isinf(row.tolerance);
  double sum = 0.0;
  for (std::size_t t = 0; t < row.values.size(); ++t) {
    const double v = row.values[t];
    const bool masked = row.key_mask != nullptr && row.key_mask[t] == 0;
    sum += v;
    if ((any || v >= 0.0) && std::abs(v) <= dataset_rules().largest && !(masked && v != 0.0)) {
      continue;
    }
    at = fmt::format(", {}", t);
    if (!(std::abs(v) <= dataset_rules().largest)) return size_fault(v);
    if (v < 0.0 && !any) return fmt::format("{}; allowed: attention >= 0{}", v, kUnlessAnyRows);
    return fmt::format("{} on a masked key; allowed: 0", v);
  }
  if (std::abs(sum - 1.0) <= row.tolerance) return {};
  return fmt::format("the row sums to {:.10g}; allowed: 1 within {}{}", sum, row.tolerance,
                     std::abs(sum - 1.0) <= kHalfPrecision ? kNormaliseRows : kUnlessAnyRows);
}

/// How far the sums of supplied attention may be from 1.
double row_tolerance(const DatasetLayout& layout, ElementKind kind) {
  if (layout.any_rows) return std::numeric_limits<double>::infinity();
  const DatasetRules& rules = dataset_rules();
  return kind == ElementKind::kFloat32 ? rules.row_sum_tolerance_float32 : rules.row_sum_tolerance;
}

void check_attention(const DatasetTree& tree, const DatasetLayout& layout, const std::string& path,
                     const Mask& mask, const CheckedShare& checked, FaultList& faults) {
  const auto check = [&](const ArrayInfo& info, Index begin, Index count, auto values) {
    const Index heads = info.shape[1], tokens = info.shape[2];
    const double tolerance = row_tolerance(layout, info.kind);
    for (Index r = 0; r < count * heads * tokens; ++r) {
      const Index example = begin + r / (heads * tokens), query = r % tokens;
      const std::uint8_t* key_mask = mask.empty() ? nullptr : mask.data() + example * tokens;
      if (key_mask != nullptr && key_mask[query] == 0) continue;
      const AttentionRow row{
          values.subspan(static_cast<std::size_t>(r * tokens), static_cast<std::size_t>(tokens)),
          key_mask, tolerance};
      std::string at;
      const std::string fault = row_fault(row, at);
      if (fault.empty()) continue;
      faults.add(path, "[{}, {}, {}{}]: {}", example, r / tokens % heads, query, at, fault);
    }
  };
  tree.for_each_block(path, check, checked.part, checked.parts);
}

/// [P, S] of a data set of real and padded tokens; empty of others.
std::vector<Index> token_extents(const FoundArray& array) {
  const std::vector<std::string>& symbols = array.member->shapes.back();
  const auto at = std::find(symbols.begin(), symbols.end(), "S") - symbols.begin();
  if (at == static_cast<std::ptrdiff_t>(symbols.size())) return {};
  return {array.info.shape[0], array.info.shape[static_cast<std::size_t>(at)]};
}

/// Reads every number of one split, or outside of the splits (""), once: finiteness, masks,
/// attention rows; `checked`: of all but masks a share of the blocks. Skips data sets that
/// check_layout refused.
void check_split(const DatasetTree& tree, const DatasetLayout& layout, const std::string& split,
                 const CheckedShare& checked, FaultList& faults) {
  using Values = DatasetMember::Values;
  const FoundArray* masks = nullptr;
  for (const FoundArray& array : layout.arrays) {
    if (array.split == split && array.member->values == Values::kMask) masks = &array;
  }
  Mask mask;
  if (masks != nullptr) {
    faults.guard(masks->path, [&] { mask = check_mask(tree, masks->path, faults); });
  }
  for (const FoundArray& array : layout.arrays) {
    if (array.split != split || &array == masks) continue;
    const bool by_mask = masks != nullptr && !token_extents(array).empty();
    // With a mask that is not sound, or of another size, it is unknown which values matter.
    const bool known =
        by_mask && faults.count(masks->path) == 0 && token_extents(array) == masks->info.shape;
    if (by_mask && !known) continue;
    faults.guard(array.path, [&] {
      if (array.member->values == Values::kFinite) {
        check_finite(tree, array.path, by_mask ? mask : Mask(), checked, faults);
      } else if (array.member->values == Values::kAttention &&
                 array.info.shape[2] == array.info.shape[3]) {
        check_attention(tree, layout, array.path, mask, checked, faults);
      }
    });
  }
}

}  // namespace

void check_values(const DatasetTree& tree, const DatasetLayout& layout, const CheckedShare& checked,
                  FaultList& faults) {
  for (const std::string& split : layout.splits) {
    check_split(tree, layout, split, split == "train" ? checked : CheckedShare(), faults);
  }
  check_split(tree, layout, "", {}, faults);
}

std::vector<std::string> dataset_faults(const Hdf5InputFile& file, const CheckedShare& checked) {
  const FileTree tree(file);
  FaultList faults;
  check_values(tree, check_layout(tree, faults), checked, faults);
  return faults.messages();
}

}  // namespace headway::io
