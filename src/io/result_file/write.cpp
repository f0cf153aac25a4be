#include "io/result_file/write.hpp"

#include <fmt/core.h>

#include "headway/core/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/model/path_index.hpp"
#include "headway/studies/choice.hpp"
#include "headway/studies/lookup.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

using studies::SolveResult;
using studies::Study;

std::string point_group(std::size_t i) { return fmt::format("points/{}", i); }

/// Root attributes, names, labels and Gaussian processes of a result, and an empty group points.
void write_root(const std::string& kind, const Study& study, const SolveResult& result,
                const ResultProvenance& provenance, Hdf5OutputFile& out) {
  write_result_header(kind, study, provenance, out);
  RecordWriter root(out, "");
  fields(root, result);
  root("gaussian_process", result.gaussian_process, "the infinite-width limit", {.optional = true});
  out.write_strings("paths", model::path_names(result.heads));
  out.make_group("points");
}

/// The Gaussian process at a point's temperature, beside it.
void write_limit(const std::string& group, const SolveResult& result, double temperature,
                 Hdf5OutputFile& out) {
  out.set(group, "gp_accuracy", studies::gaussian_process_accuracy(result, temperature));
  for (const studies::GaussianProcessPoint& limit : result.gaussian_process) {
    if (limit.temperature != temperature) continue;
    out.write_outputs(group + "/gaussian_process/mean", limit.predictor.mean);
    out.write_outputs(group + "/gaussian_process/variance", limit.predictor.variance);
    return;
  }
}

void write_solved_point(const std::string& group, const studies::SolvePoint& point,
                        const SolveResult& result, Hdf5OutputFile& out) {
  write_record(group, point, out);
  write_limit(group, result, point.temperature, out);
}

/// write_root, and the solved points.
void write_solved(const std::string& kind, const Study& study, const SolveResult& result,
                  const ResultProvenance& provenance, Hdf5OutputFile& out) {
  write_root(kind, study, result, provenance, out);
  RecordWriter root(out, "");
  root("chosen", studies::choose_temperatures(result), "the temperature that each rule takes",
       {.optional = true});
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    write_solved_point(point_group(i), result.points[i], result, out);
  }
}

/// Builds the file in memory with `fill`, then puts it in place.
template <class Fill>
void write_result(const std::string& file_path, bool force, Fill fill) {
  check_output_path(file_path, force);
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  fill(out);
  out.seal();
  out.write_to(file_path, force);
}

template <class Result>
void check_points(const Result& result) {
  if (result.points.size() <= result.solve.points.size()) return;
  throw Error(ErrorKind::kInternal, fmt::format("a result of {} points for {} solved ones",
                                                result.points.size(), result.solve.points.size()));
}

}  // namespace

void write_result_header(const std::string& kind, const Study& study,
                         const ResultProvenance& provenance, Hdf5OutputFile& out) {
  out.set("/", "schema_name", std::string("headway-result"));
  out.set("/", "schema_version", std::vector<std::int64_t>{kResultSchemaMajor, kResultSchemaMinor});
  out.set("/", "kind", kind);
  out.set("/", "study", study.name);
  write_record("", provenance, out);
}

void write_solve_result(const std::string& file_path, const Study& study, const SolveResult& result,
                        const ResultProvenance& provenance, bool force) {
  write_result(file_path, force,
               [&](Hdf5OutputFile& out) { write_solved("solve", study, result, provenance, out); });
}

void write_align_result(const std::string& file_path, const Study& study,
                        const studies::AlignResult& result, const ResultProvenance& provenance,
                        bool force) {
  check_points(result);
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_solved("align", study, result.solve, provenance, out);
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      write_record(point_group(i) + "/alignment", result.points[i], out);
    }
  });
}

void write_prune_result(const std::string& file_path, const Study& study,
                        const studies::PruneResult& result, const ResultProvenance& provenance,
                        bool force) {
  check_points(result);
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_solved("prune", study, result.solve, provenance, out);
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      write_record(point_group(i) + "/pruning", result.points[i], out);
      RecordWriter point(out, point_group(i));
      network_fields(point, result.points[i]);
    }
    if (result.network) write_record("network", *result.network, out);
  });
}

void write_sample_result(const std::string& file_path, const Study& study,
                         const studies::SampleResult& result, const ResultProvenance& provenance,
                         bool force) {
  check_points(result);
  write_result(file_path, force, [&](Hdf5OutputFile& out) {
    write_root("sample", study, result.solve, provenance, out);
    for (std::size_t i = 0; i < result.points.size(); ++i) {
      const studies::SamplePoint& point = result.points[i];
      const std::string group = point_group(i);
      write_record(group, point, out);
      if (point.weights.size() > 0) {  // columns: the draws of chain 1, then those of chain 2, ...
        out.write(group + "/draws/weights", {point.chains, point.draws, point.weights.rows()},
                  point.weights.data());
      }
      out.set(group, "gp_accuracy",
              studies::gaussian_process_accuracy(result.solve, point.temperature));
      write_solved_point(group + "/theory", result.solve.points[i], result.solve, out);
    }
  });
}

}  // namespace headway::io
