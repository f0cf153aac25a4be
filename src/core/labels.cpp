#include "headway/core/labels.hpp"

namespace headway {

bool labels_are_classes(const MatrixXd& labels) {
  if (labels.cols() == 1) return (labels.array().abs() == 1.0).all();
  return ((labels.array() == 0.0) || (labels.array() == 1.0)).all() &&
         (labels.rowwise().sum().array() == 1.0).all();
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
