#include "table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace headway::cli {
namespace {

constexpr std::string_view kGap = "  ";

}  // namespace

Table::Table(std::vector<std::string> header, std::size_t keys) : keys_(keys) {
  for (std::size_t j = 0; j < header.size(); ++j) {
    if (!header[j].ends_with('<')) continue;
    header[j].pop_back();
    left_.push_back(j);
  }
  rows_.push_back(std::move(header));
}

std::string Table::text(std::size_t most) const {
  std::vector<std::size_t> sizes;
  for (const std::vector<std::string>& row : rows_) {
    sizes.resize(std::max(sizes.size(), row.size()), 0);
    for (std::size_t j = 0; j < row.size(); ++j) sizes[j] = std::max(sizes[j], row[j].size());
  }
  const std::size_t keys = std::min(keys_, sizes.size());
  std::string out;
  for (std::size_t next = 0; next < sizes.size();) {
    std::vector<std::size_t> columns;
    std::size_t width = 0;
    const auto take = [&](std::size_t j) {
      width += sizes[j] + (columns.empty() ? 0 : kGap.size());
      columns.push_back(j);
    };
    for (std::size_t j = 0; j < keys; ++j) take(j);
    next = std::max(next, keys);
    const std::size_t first = next;
    while (next < sizes.size() &&
           (next == first || most == 0 || width + kGap.size() + sizes[next] <= most)) {
      take(next++);
    }
    out += (out.empty() ? "" : "\n") + block(columns, sizes);
  }
  return out;
}

std::string Table::block(const std::vector<std::size_t>& columns,
                         const std::vector<std::size_t>& sizes) const {
  std::string out;
  for (const std::vector<std::string>& row : rows_) {
    std::string line;
    for (const std::size_t j : columns) {
      const std::string entry = j < row.size() ? row[j] : "";
      const std::string padding(sizes[j] - entry.size(), ' ');
      if (j != columns.front()) line += kGap;
      const bool left = std::find(left_.begin(), left_.end(), j) != left_.end();
      line += left ? entry + padding : padding + entry;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  }
  return out;
}

std::string wrapped(const std::string& text, std::size_t most) {
  std::string out;
  std::size_t begin = 0;  // of the line
  for (std::size_t next = 0; next < text.size(); ++next) {
    out += text[next];
    if (text[next] == '\n') begin = out.size();
    if (most == 0 || out.size() - begin <= most) continue;
    const std::size_t gap = out.rfind(' ');
    if (gap == std::string::npos || gap < begin) continue;  // a long word
    out[gap] = '\n';
    begin = gap + 1;
  }
  return out;
}

std::string action_text(double action) {
  constexpr double kLarge = 1e7;
  return cell(action, std::abs(action) < kLarge ? "{:.6f}" : "{:.9g}");
}

std::string cell(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

std::string seconds_cell(double seconds) {
  return cell(seconds, seconds < 99.5 ? "{:.2g}" : "{:.0f}");
}

std::string amount_text(double value, const char* unit) {
  if (value >= 1e15) return fmt::format("{:.3g} P{}", value / 1e15, unit);
  if (value >= 1e12) return fmt::format("{:.3g} T{}", value / 1e12, unit);
  if (value >= 1e9) return fmt::format("{:.3g} G{}", value / 1e9, unit);
  if (value >= 1e6) return fmt::format("{:.3g} M{}", value / 1e6, unit);
  return fmt::format("{:.3g} k{}", value / 1e3, unit);
}

std::string numbers_text(const std::vector<int>& values) {
  std::string out;
  for (const int value : values) {
    if (!out.empty()) out += ", ";
    out += std::to_string(value);
  }
  return out;
}

std::string widths_text(const std::vector<Index>& widths) {
  const bool same =
      std::all_of(widths.begin(), widths.end(), [&](Index w) { return w == widths.front(); });
  if (same && !widths.empty()) return std::to_string(widths.front());
  std::string out;
  for (const Index width : widths) {
    if (!out.empty()) out += ',';
    out += std::to_string(width);
  }
  return out;
}

std::string diagonal_text(const MatrixXd& matrix, Index most) {
  const Index size = std::min(matrix.rows(), matrix.cols());
  std::string out;
  for (Index i = 0; i < std::min(size, most); ++i) {
    if (i > 0) out += ' ';
    out += cell(matrix(i, i), "{:.4g}");
  }
  return size > most ? out + " ..." : out;
}

std::string decimals_text(const std::vector<double>& values, const char* format) {
  constexpr std::size_t kMost = 12;
  std::string out;
  for (std::size_t i = 0; i < std::min(values.size(), kMost); ++i) {
    if (i > 0) out += ' ';
    out += cell(values[i], format);
  }
  return values.size() > kMost ? out + " ..." : out;
}

}  // namespace headway::cli
