#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/studies/study.hpp"
#include "headway/tasks/dataset.hpp"

namespace headway::cli {

/// Sizes and estimated costs of a study (--dry-run). Flops count a multiply-add as two.
struct Plan {
  Index train_examples = 0, test_examples = 0;
  std::vector<std::pair<std::string, Index>> sets;  ///< further sets and their sizes
  Index tokens = 0;                                 ///< S; 0 for a file of path features
  Index features = 0, outputs = 1;
  std::vector<int> heads;
  double paths = 1;               ///< p
  double order_parameters = 0;    ///< independent entries of all U_l and U_a
  double points = 0;              ///< sweep points
  double path_feature_flops = 0;  ///< once
  double kernel_flops = 0;        ///< stored kernels, once
  double evaluation_flops = 0;    ///< action and gradient at one U, from stored kernels
  double feature_bytes = 0, kernel_bytes = 0;
  double least_bytes = 0;  ///< what any way of computing needs
  double draw_bytes = 0;   ///< what the draws of `sample` hold at one point
};

Plan make_plan(const studies::Study& study, const tasks::Dataset& dataset);

/// Error{kBadStudy} when even the leanest way would not fit this machine's memory.
void refuse_more_than_memory(const Plan& plan);

/// Error{kBadStudy} when the draws of `sample` would not.
void refuse_draws_beyond_memory(const Plan& plan, const studies::Study& study);

std::string plan_text(const Plan& plan, const studies::Study& study, const std::string& verb,
                      const std::string& output);
std::string plan_json(const Plan& plan, const studies::Study& study, const std::string& verb);

}  // namespace headway::cli
