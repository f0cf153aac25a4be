#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headway/studies/results.hpp"

namespace headway::studies {

/// The temperature that one rule takes for one network out of those that a study sweeps.
struct TemperatureChoice {
  std::string model;
  std::vector<Index> widths;
  std::string by;
  std::size_t point = 0;
  double temperature = 0.0;
};
template <class Visitor, RecordOf<TemperatureChoice> Record>
void fields(Visitor& visit, Record& r) {
  visit("model", r.model, "whose temperature is chosen: \"theory\" or \"gaussian_process\"");
  if (shows(visit, !r.widths.empty())) {
    visit("widths", r.widths, "widths N_1, ..., N_L, N_a of the theory",
          {.layout = FieldLayout::kAttribute});
  }
  visit("by", r.by,
        "what chooses: the accuracy on \"validation\" or \"test\", or the \"evidence\"");
  visit("temperature", r.temperature, "the chosen temperature");
  visit("point", r.point, "number of the chosen point in points or gaussian_process");
}

/// For every entry of model.widths, and for the Gaussian process, the temperature
///   - of the highest accuracy on the set "validation" (tasks::kValidationSet), where there is one,
///   - of the highest log evidence: that of theory::saddle_evidence, exact for the Gaussian
///   process,
///   - of the highest accuracy on the test set, where there is one. The convention of [T24]; what
///   it
///     reports is optimistic, since the test labels have been looked at.
/// Equal accuracies go to the smaller mean squared error, which decides alone where labels are no
/// classes; points that are equal in both to the first. Points that did not converge are left out.
/// Evidences by Laplace's method are compared where all candidates have one, else leading orders.
/// Empty when fewer than two temperatures are swept.
std::vector<TemperatureChoice> choose_temperatures(const SolveResult& result);

/// What the chosen point says.
const PredictorReport& predictor_at(const SolveResult& result, const TemperatureChoice& choice);
double log_evidence_at(const SolveResult& result, const TemperatureChoice& choice);

}  // namespace headway::studies
