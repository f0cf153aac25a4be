#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headway/types.hpp"

// How results are written as text: tables of columns, lines that fit the terminal, numbers with
// the digits that mean something.
namespace headway {

/// Columns of the terminal behind a stream. COLUMNS, where it is none or does not tell; 0 without
/// either.
std::size_t terminal_columns(int descriptor);
/// The same of standard output.
std::size_t output_columns();

/// Plain-text table: columns two spaces apart, right-aligned to their widest entry, but those whose
/// header ends in '<' (which is not printed) left-aligned.
class Table {
 public:
  /// `keys`: the first columns, those that say what a row is.
  explicit Table(std::vector<std::string> header, std::size_t keys = 2);
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  [[nodiscard]] bool empty() const { return rows_.size() < 2; }
  /// In blocks one below the other where it is wider than `most` characters (0: never), each with
  /// the keys.
  [[nodiscard]] std::string text(std::size_t most = output_columns()) const;

 private:
  [[nodiscard]] std::string block(const std::vector<std::size_t>& columns,
                                  const std::vector<std::size_t>& sizes) const;

  std::vector<std::vector<std::string>> rows_;
  std::vector<std::size_t> left_;  ///< the left-aligned columns
  std::size_t keys_;
};

/// Lines of words, broken between words where they are wider than `most` characters (0: never).
std::string wrapped(const std::string& text, std::size_t most = output_columns());

/// The words of `text`, which begins at column `indent` of its line: the lines that follow begin
/// there, too, and none is wider than `most` characters (0: all in one line).
std::string indented(const std::string& text, std::size_t indent,
                     std::size_t most = output_columns());

/// "  by score  0.951 0.949": a line of values beside their name, which takes `width` characters.
/// Values that do not fit go on below.
std::string values_line(const std::string& name, std::size_t width, const std::string& values);

/// `value` through a fmt format such as "{:.4f}"; "-" when undefined.
std::string cell(double value, const char* format);

/// The same, but with two significant digits where the format, one of fixed decimals, would show
/// fewer: 0.0412 and 2e-06, never 0.0000 for what is not 0.
std::string small_cell(double value, const char* format = "{:.4f}");

/// "13.00 +- 0.04": the error has two digits where they are at most 35, else one, and the value as
/// many decimals. "(2.0 +- 0.3)e-06" where that would be long; without an error, small_cell().
/// An error that rounding alone could leave is 0.
std::string measured_text(double value, double error, const char* format = "{:.4f}");

/// "14.8 +- 8.8": a mean and how far single values lie from it, with two digits of that.
std::string deviation_text(double mean, double deviation, const char* format = "{:.4g}");

/// Seconds with two digits before 100, then whole ones.
std::string seconds_cell(double seconds);

/// "1.25 Gflop"
std::string amount_text(double value, const char* unit);

/// "2, 2"
std::string numbers_text(const std::vector<int>& values);

/// "100", or "100,100,50" where the widths differ.
std::string widths_text(const std::vector<Index>& widths);

/// The diagonal with four significant digits, cut after `most` entries.
std::string diagonal_text(const MatrixXd& matrix, Index most = 6);

/// The entries, each through a format, cut after twelve.
std::string decimals_text(const std::vector<double>& values, const char* format = "{:.3f}");

}  // namespace headway
