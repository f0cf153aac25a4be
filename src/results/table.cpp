#include "headway/results/table.hpp"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <string_view>
#include <utility>

#include "headway/core/text.hpp"
#include "headway/core/utf8.hpp"

namespace headway {
namespace {

constexpr std::string_view kGap = "  ";
/// Values that differ by less than this part of them differ by rounding alone.
constexpr double kRounding = 1e-12;

/// The power of ten of the first digit.
int exponent_of(double value) { return static_cast<int>(std::floor(std::log10(std::abs(value)))); }

/// "value +- error" with so many decimals, with the sign of the value where `format` shows it.
std::string with_decimals(double value, double error, int decimals, const char* format) {
  constexpr int kMostDecimals = 6;
  const bool sign = std::string_view(format).starts_with("{:+");
  const auto both = [sign](double v, double e, int places) {
    return sign ? fmt::format("{:+.{}f} +- {:.{}f}", v, places, e, places)
                : fmt::format("{:.{}f} +- {:.{}f}", v, places, e, places);
  };
  if (decimals <= kMostDecimals) return both(value, error, std::max(decimals, 0));
  const int power = exponent_of(std::max(std::abs(value), error));
  const double scale = std::pow(10.0, power);
  return fmt::format("({})e{:+03d}",
                     both(value / scale, error / scale, std::max(decimals + power, 0)), power);
}

}  // namespace

std::size_t terminal_columns(int descriptor) {
  winsize size = {};
  const bool told = isatty(descriptor) != 0 && ioctl(descriptor, TIOCGWINSZ, &size) == 0;
  if (told && size.ws_col > 0) return size.ws_col;
  const char* set = std::getenv("COLUMNS");  // NOLINT(concurrency-mt-unsafe): nothing sets it
  const std::string_view text = set == nullptr ? "" : set;
  std::size_t columns = 0;
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), columns);
  return failure == std::errc() && end == text.data() + text.size() ? columns : 0;
}

std::size_t output_columns() { return terminal_columns(STDOUT_FILENO); }

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
    for (std::size_t j = 0; j < row.size(); ++j) {
      sizes[j] = std::max(sizes[j], characters_of(row[j]));
    }
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
      const std::string padding(sizes[j] - characters_of(entry), ' ');
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

std::string indented(const std::string& text, std::size_t indent, std::size_t most) {
  std::string out;
  std::size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    const bool first = out.empty();
    if (!first && most > 0 && column + 1 + word.size() > most) {
      out += "\n" + std::string(indent, ' ') + word;
      column = indent + word.size();
      continue;
    }
    out += (first ? "" : " ") + word;
    column += (first ? 0 : 1) + word.size();
  }
  return out;
}

std::string values_line(const std::string& name, std::size_t width, const std::string& values) {
  constexpr std::size_t kBefore = 2;
  return fmt::format("{:{}}{:<{}}{}\n", "", kBefore, name, width,
                     indented(values, kBefore + width));
}

std::string cell(double value, const char* format) {
  return std::isfinite(value) ? fmt::format(fmt::runtime(format), value) : "-";
}

std::string small_cell(double value, const char* format) {
  std::string fixed = cell(value, format);
  if (!std::isfinite(value) || value == 0.0) return fixed;
  const std::size_t digit = fixed.find_first_of("123456789");
  const bool short_of_digits = digit == std::string::npos || digit + 1 == fixed.size();
  if (!short_of_digits || std::abs(value) >= 1.0) return fixed;
  return cell(value, fixed.starts_with('+') ? "{:+.2g}" : "{:.2g}");
}

std::string measured_text(double value, double error, const char* format) {
  if (!std::isfinite(value) || !std::isfinite(error)) return small_cell(value, format);
  if (!(error > kRounding * std::abs(value))) return small_cell(value, format) + " +- 0";
  constexpr double kFewestOfOneDigit = 3.55;  // the rule of the Particle Data Group
  const int power = exponent_of(error);
  const bool two_digits = error / std::pow(10.0, power) < kFewestOfOneDigit;
  return with_decimals(value, error, two_digits ? 1 - power : -power, format);
}

std::string deviation_text(double mean, double deviation, const char* format) {
  if (!std::isfinite(mean) || !std::isfinite(deviation)) return cell(mean, format);
  if (!(deviation > kRounding * std::abs(mean))) return cell(mean, format) + " +- 0";
  return with_decimals(mean, deviation, 1 - exponent_of(deviation), format);
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

}  // namespace headway
