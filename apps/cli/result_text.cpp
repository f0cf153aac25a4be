#include "result_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "table.hpp"

namespace headway::cli {

std::string study_header(const studies::Study& study, const studies::SolveResult& result) {
  double paths = 1;
  for (const int h : result.heads) paths *= h;
  return fmt::format(
      "{}: {} train and {} test examples, {} features, {} output{}, heads [{}], {:.0f} path{}\n\n",
      study.name, result.train_examples, result.test_examples, result.features, result.outputs,
      result.outputs == 1 ? "" : "s", numbers_text(result.heads), paths, paths == 1 ? "" : "s");
}

std::string readout_text(const MatrixXd& readout) {
  return readout.size() == 1 ? cell(readout(0, 0), "{:.4f}") : diagonal_text(readout, 3);
}

std::string first_layer_text(const std::vector<MatrixXd>& layers) {
  return layers.empty() ? "-" : diagonal_text(layers.front());
}

std::string deviations_text(const MatrixXd& mean, const MatrixXd& deviation) {
  constexpr Index kMost = 4;
  std::string out;
  for (Index i = 0; i < std::min(mean.rows(), kMost); ++i) {
    out += fmt::format("{}{}+-{}", i > 0 ? " " : "", cell(mean(i, i), "{:.4g}"),
                       cell(deviation(i, i), "{:.2g}"));
  }
  return mean.rows() > kMost ? out + " ..." : out;
}

}  // namespace headway::cli
