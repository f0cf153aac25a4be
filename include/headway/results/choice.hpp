#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "headway/sample_results.hpp"
#include "headway/theory_results.hpp"

namespace headway {

/// The temperature that one rule chooses for one network, among those that a study sweeps.
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

/// The temperature that each rule chooses, for every entry of model.widths and for the Gaussian
/// process. The rules take the point with
///   - the highest accuracy on the set "validation" (tasks::kValidationSet), if there is one;
///   - the highest log evidence: theory::saddle_evidence, or the exact one of the Gaussian process;
///   - the highest accuracy on the test set, if there is one. This is the convention of [T24]. Its
///     accuracy is optimistic, since it has looked at the test labels.
/// Among equal accuracies the smaller mean squared error wins, then the earlier point. If the
/// labels are no classes, the squared error alone decides. Points that did not converge are left
/// out. Evidences by Laplace's method are compared if all candidates have one, else leading orders.
/// Empty if fewer than two temperatures are swept.
std::vector<TemperatureChoice> choose_temperatures(const SolveResult& result);

/// The point of largest log evidence over all widths and temperatures; null without one. Of points
/// of the theory the converged ones count, compared as by choose_temperatures(). Of samples the
/// evidence is that of their draws.
const SolvePoint* best_by_evidence(const SolveResult& result);
const SamplePoint* best_by_evidence(const SampleResult& result);

/// "the smallest width and the largest temperature of the sweep": in what a point is at the edge of
/// a sweep, among several widths or temperatures. "" inside. Points beyond it may be better.
std::string edge_of_sweep(const SolveResult& result, const std::vector<Index>& widths,
                          double temperature);

/// The predictor of the chosen point.
const PredictorReport& predictor_at(const SolveResult& result, const TemperatureChoice& choice);
/// log p(y) in nats at the chosen point; undefined where the point has no evidence.
double log_evidence_at(const SolveResult& result, const TemperatureChoice& choice);

}  // namespace headway
