#include "headway/core/labels.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace headway {

bool labels_are_classes(const MatrixXd& labels) {
  if (labels.cols() == 1) return (labels.array().abs() == 1.0).all();
  return ((labels.array() == 0.0) || (labels.array() == 1.0)).all() &&
         (labels.rowwise().sum().array() == 1.0).all();
}

std::vector<double> class_numbers(const MatrixXd& labels) {
  constexpr std::size_t kMostClasses = 20;
  if (labels.cols() != 1 || labels_are_classes(labels)) return {};
  std::set<double> values;
  for (const double label : labels.reshaped()) {
    if (label != std::round(label)) return {};
    values.insert(label);
    if (values.size() > kMostClasses) return {};
  }
  return {values.begin(), values.end()};
}

std::string class_numbers_warning(std::string_view file, const MatrixXd& labels) {
  if (labels.rows() > 1 && (labels.rowwise() - labels.row(0)).isZero(0.0)) {
    const RowMatrixXd first = labels.row(0);
    const std::string row =
        fmt::format("{:g}", fmt::join(first.data(), first.data() + first.size(), ", "));
    return fmt::format("{}: train/labels: are all {}: there is nothing to tell apart", file,
                       first.size() == 1 ? row : "[" + row + "]");
  }
  const std::vector<double> numbers = class_numbers(labels);
  if (numbers.empty()) return "";
  constexpr std::size_t kNamed = 4;
  return fmt::format(
      "{}: train/labels: has the whole numbers {:g}{}, taken as real targets; for classes give {}",
      file, fmt::join(numbers.begin(), numbers.begin() + std::min(kNamed, numbers.size()), ", "),
      numbers.size() > kNamed ? ", ..." : "",
      numbers.size() > 2 ? "one-hot rows [P, C]" : "+1 and -1");
}

std::string_view names_of_two_classes(const MatrixXd& labels) {
  if (labels.cols() != 1 || labels.size() == 0) return "";
  if (labels.minCoeff() == labels.maxCoeff()) return "";
  if (((labels.array() == 0.0) || (labels.array() == 1.0)).all()) return "0 and 1";
  return labels_are_classes(labels) ? "-1 and +1" : "";
}

bool names_classes(const MatrixXd& outputs) { return (outputs.array() != 0.0).any(); }

VectorXd right_answers(const MatrixXd& outputs, const MatrixXd& labels) {
  if (labels.cols() == 1) {
    return (outputs.col(0).array() * labels.col(0).array() > 0.0).cast<double>();
  }
  VectorXd right(labels.rows());
  for (Index i = 0; i < labels.rows(); ++i) {
    Index best = 0;
    Index truth = 0;
    outputs.row(i).maxCoeff(&best);
    labels.row(i).maxCoeff(&truth);
    right[i] = best == truth ? 1.0 : 0.0;
  }
  return right;
}

}  // namespace headway
