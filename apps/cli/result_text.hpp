#pragma once

#include <string>
#include <vector>

#include "headway/studies/results.hpp"
#include "headway/studies/study.hpp"

namespace headway::cli {

// Words and numbers that the tables of several verbs share.

/// "name: 100 train and 200 test examples, ..." and an empty line.
std::string study_header(const studies::Study& study, const studies::SolveResult& result);

/// U_a for one output, else the diagonal of the C x C matrix.
std::string readout_text(const MatrixXd& readout);

/// The diagonal of U_1.
std::string first_layer_text(const std::vector<MatrixXd>& layers);

/// The diagonal with the deviation of each entry: "14.76+-8.8".
std::string deviations_text(const MatrixXd& mean, const MatrixXd& deviation);

}  // namespace headway::cli
