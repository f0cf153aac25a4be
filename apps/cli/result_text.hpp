#pragma once

#include <string>
#include <vector>

#include "headway/study.hpp"
#include "headway/theory_results.hpp"

namespace headway::cli {

// Words and numbers that the tables of several verbs share.

/// "name: 100 train and 200 test examples, ..." and an empty line.
std::string study_header(const Study& study, const SolveResult& result);

/// How good predictors are on the test set: their accuracy, or the mean squared error where labels
/// are real numbers.
class Measure {
 public:
  explicit Measure(const SolveResult& result);
  [[nodiscard]] bool accuracy() const { return accuracy_; }
  /// "accuracy" or "test MSE".
  [[nodiscard]] std::string name() const { return accuracy_ ? "accuracy" : "test MSE"; }
  /// The number as a cell of a table.
  [[nodiscard]] std::string text(const PredictorReport& report) const;
  /// The Gaussian process's.
  [[nodiscard]] std::string limit_text(const SolveResult& result, double temperature) const;

 private:
  bool accuracy_;
};

/// A column for each further set of the data set: "validation" is the accuracy there; "validation
/// MSE" the mean squared error, where labels are real numbers.
class SetColumns {
 public:
  /// `limits`: each column is followed by that of the Gaussian process.
  explicit SetColumns(const SolveResult& result, bool limits = false);
  /// `header` or `row` with the columns of the sets inserted at position `at`. `limit`: the
  /// Gaussian process at the row's temperature, where there is one.
  [[nodiscard]] std::vector<std::string> header(std::vector<std::string> header,
                                                std::size_t at) const;
  [[nodiscard]] std::vector<std::string> row(std::vector<std::string> row, std::size_t at,
                                             const PredictorReport& report,
                                             const GaussianProcessPoint* limit = nullptr) const;

 private:
  struct Column {
    std::string name;
    bool accuracy = false;
  };
  static std::string text(const Column& column, const PredictorReport& report);

  std::vector<Column> columns_;
  bool limits_;
};

/// U_a for one output, else the diagonal of the C x C matrix.
std::string readout_text(const MatrixXd& readout);

/// The diagonal of U_1.
std::string first_layer_text(const theory::OrderParameters& u);

/// The first entries of a diagonal with the error of each: "13.00 +- 0.04, 1.2 +- 0.3".
std::string measured_diagonal(const MatrixXd& mean, const MatrixXd& error);

/// The same with deviations, which say how far single draws lie from the mean.
std::string deviations_diagonal(const MatrixXd& mean, const MatrixXd& deviation);

}  // namespace headway::cli
