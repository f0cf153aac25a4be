#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "headway/core/record.hpp"
#include "headway/numerics/statistics.hpp"
#include "headway/types.hpp"

namespace headway {

/// Simulation-based calibration of a sampler at one point (Talts et al. 2018, arXiv 1804.06788).
struct SampledCalibration {
  std::vector<std::string> statistics;    ///< names
  MatrixXd ranks;                         ///< networks x statistics, from 0 to `draws`
  Index draws = 0;                        ///< that each network was ranked among
  VectorXd p_values;                      ///< of each statistic, that its ranks are uniform
  double p_value = numerics::kUndefined;  ///< of all
};
template <class Visitor, RecordOf<SampledCalibration> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kHere = {.optional = true};
  visit(
      "calibration_statistics", r.statistics,
      "calibration: what was ranked, the squared residual |y - f|^2, order parameters, predictions",
      {.place = FieldPlace::kFile, .optional = true, .axes = "statistic"});
  visit("calibration_ranks", r.ranks,
        "ranks of the networks that labels were drawn from among draws given these labels, "
        "[network, statistic]",
        {.place = FieldPlace::kFile, .optional = true, .axes = "network statistic"});
  visit("calibration_draws", r.draws, "draws that a network was ranked among", kHere);
  visit("calibration_p_values", r.p_values, "p-value of each statistic, that its ranks are uniform",
        {.optional = true, .axes = "statistic"});
  visit("calibration_p_value", r.p_value,
        "smallest of these times their number: below 0.001 the sampler is wrong, or its chains "
        "are too short",
        kHere);
}

/// Written where there is a calibration, and read where a file has one.
template <class Visitor, class Calibration>
void fields_of_calibration(Visitor& visit, Calibration& calibration) {
  if constexpr (std::is_const_v<Calibration>) {
    if (!shows(visit, calibration.has_value())) return;
    const SampledCalibration none;
    fields(visit, calibration ? *calibration : none);
  } else {
    SampledCalibration read;
    fields(visit, read);
    if (!read.statistics.empty()) calibration = std::move(read);
  }
}

}  // namespace headway
