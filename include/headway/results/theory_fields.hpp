#pragma once

#include <string>

#include "headway/core/record.hpp"
#include "headway/order_parameters.hpp"
#include "headway/solution.hpp"

// Names in files and JSON of what the theory computes. The theory itself knows of no files. The
// lists are in its namespace, where argument-dependent lookup finds them.
namespace headway::theory {

/// `suffix` ends the names: "_sd" for standard deviations.
template <class Visitor, RecordOf<OrderParameters> Record>
void fields(Visitor& visit, Record& r, const std::string& suffix) {
  const bool deviations = !suffix.empty();
  visit("U_a" + suffix, r.readout,
        deviations ? "posterior standard deviation of U_a, a scalar or [C, C]"
                   : "order parameter U_a, a scalar or [C, C]",
        {.layout = FieldLayout::kReadout, .axes = "output output_other"});
  visit("order_parameters" + suffix, r.layers,
        deviations ? "posterior standard deviations of U_1, ..., U_L, each [C p_l, C p_l]"
                   : "order parameters U_1, ..., U_L, each [C p_l, C p_l]",
        {.json = "U" + suffix, .layout = FieldLayout::kLayers, .axes = "path path_other"});
}

template <class Visitor, RecordOf<SaddlePointSummary::Iteration> Record>
void fields(Visitor& visit, Record& r) {
  visit("iteration", r.iteration, "0 is the start");
  visit("action", r.action, "S / max N");
  visit("gradient_norm", r.gradient_norm, "as in the point");
  visit("step_norm", r.log_step, "size of the step that led here, in affine-invariant units");
}

template <class Visitor, RecordOf<SaddlePointSummary> Record>
void fields(Visitor& visit, Record& r) {
  constexpr FieldForm kOld = {.optional = true};
  visit("converged", r.converged, "whether the iteration converged");
  visit("message", r.message, "why the iteration ended, in words");
  visit("optimizer", r.optimizer,
        "method that ran: \"newton\", \"quasi_newton\", \"newton_cg\" or \"ceres\"", kOld);
  visit("iterations", r.iterations, "iterations taken", {.least = 0});
  visit("evaluations", r.evaluations, "evaluations of the action and its gradient", kOld);
  visit("hessians", r.hessians, "exact Hessians computed", kOld);
  visit("products", r.products, "products of the Hessian with a direction", kOld);
  visit(
      "gradient_norm", r.gradient_norm,
      "largest entry of dS/dU / max N as a matrix derivative; the stopping test takes it in units "
      "of U at infinite width");
  visit("gradient_rounding", r.gradient_rounding,
        "estimated rounding error of the gradient norm in those units", kOld);
  visit("history", r.history, "one row an iteration",
        {.place = FieldPlace::kFile,
         .layout = FieldLayout::kTable,
         .optional = true,
         .axes = "iteration history_column"});
}

template <class Visitor, RecordOf<HessianPair> Record>
void fields(Visitor& visit, Record& r) {
  visit("direction", r.direction, "E_1, ..., E_{L+1}", {.layout = FieldLayout::kLayers});
  visit("image", r.image, "its product with the Hessian", {.layout = FieldLayout::kLayers});
  visit("inverse_curvature", r.inverse_curvature, "1 / <direction, image>");
}

template <class Visitor, RecordOf<SaddlePointState> Record>
void fields(Visitor& visit, Record& r) {
  fields(visit, r.order_parameters, "");
  fields(visit, r.summary);
  visit("pairs", r.pairs, "of the preconditioner");
}

}  // namespace headway::theory
