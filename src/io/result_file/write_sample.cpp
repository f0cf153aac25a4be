#include <fmt/core.h>
#include <fmt/ranges.h>

#include "io/result_file/write.hpp"

namespace headway::io {
namespace {

using studies::SampledMatrix;
using studies::SamplePoint;

void write_point_numbers(const std::string& group, const SamplePoint& point, Hdf5OutputFile& out) {
  out.set(group, "widths", std::vector<std::int64_t>(point.widths.begin(), point.widths.end()));
  out.set(group, "temperature", point.temperature);
  out.set(group, "sampler", point.sampler);
  out.set(group, "chains", std::int64_t{point.chains});
  out.set(group, "draws", std::int64_t{point.draws});
  out.set(group, "accuracy_mcse", point.accuracy_mcse);
  out.set(group, "accuracy_mean", point.accuracy_mean);
  out.set(group, "accuracy_sd", point.accuracy_sd);
  out.set(group, "rhat_max", point.rhat_max);
  out.set(group, "ess_bulk_min", point.ess_bulk_min);
  out.set(group, "ess_tail_min", point.ess_tail_min);
  out.set(group, "ebfmi_min", point.ebfmi_min);
  out.set(group, "divergences", std::int64_t{point.divergences});
  out.set(group, "mean_acceptance", point.mean_acceptance);
  out.set(group, "step_size", point.step_size);
  out.set(group, "log_evidence", point.log_evidence);
  out.set(group, "log_evidence_error", point.log_evidence_error);
  out.set(group, "evidence_reason", point.evidence_reason);
  out.set(group, "biased", std::int64_t{point.biased ? 1 : 0});
  out.set(group, "complete", std::int64_t{point.complete ? 1 : 0});
  out.set(group, "warnings", fmt::format("{}", fmt::join(point.warnings, "\n")));
  out.set(group, "sampling_seconds", point.sampling_seconds);
  out.set(group, "seconds", point.seconds);
}

/// The draws [chain, draw, n, n]; [chain, draw] for a scalar.
void write_draws(const std::string& path, const SampledMatrix& sampled, bool scalar,
                 Hdf5OutputFile& out) {
  std::vector<Index> shape = sampled.draws.shape;
  if (scalar) shape.resize(2);
  out.write(path, shape, sampled.draws.values.data());
}

void write_layer(const std::string& group, std::size_t layer, const SampledMatrix& sampled,
                 Hdf5OutputFile& out) {
  const std::string name = fmt::format("{}/order_parameters/layer_{}", group, layer);
  out.write(name + "_mean", sampled.mean);
  out.write(name + "_mcse", sampled.mcse);
  out.write(name + "_sd", sampled.sd);
  out.write(name + "_rhat", sampled.rhat);
  out.write(name + "_ess_bulk", sampled.ess_bulk);
  out.write(name + "_ess_tail", sampled.ess_tail);
  write_draws(fmt::format("{}/draws/layer_{}", group, layer), sampled, false, out);
}

void write_sampled_readout(const std::string& group, const SampledMatrix& sampled,
                           Hdf5OutputFile& out) {
  write_readout(group + "/U_a_mean", sampled.mean, out);
  write_readout(group + "/U_a_mcse", sampled.mcse, out);
  write_readout(group + "/U_a_sd", sampled.sd, out);
  write_readout(group + "/U_a_rhat", sampled.rhat, out);
  write_readout(group + "/U_a_ess_bulk", sampled.ess_bulk, out);
  write_readout(group + "/U_a_ess_tail", sampled.ess_tail, out);
  write_draws(group + "/draws/U_a", sampled, sampled.mean.size() == 1, out);
}

}  // namespace

void write_sample_point(const std::string& group, const SamplePoint& point, Hdf5OutputFile& out) {
  write_point_numbers(group, point, out);
  write_predictor(group, group + "/predictor", point.predictor, out);
  out.write_outputs(group + "/predictor/mcse", point.predictor_mcse);
  for (std::size_t l = 0; l < point.order_parameters.size(); ++l) {
    write_layer(group, l + 1, point.order_parameters[l], out);
  }
  write_sampled_readout(group, point.readout_order_parameter, out);
  out.write(group + "/energies", point.energies);
  if (point.weights.size() > 0) {  // columns: the draws of chain 1, then those of chain 2, ...
    out.write(group + "/draws/weights", {point.chains, point.draws, point.weights.rows()},
              point.weights.data());
  }
}

}  // namespace headway::io
