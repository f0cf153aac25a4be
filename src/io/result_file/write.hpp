#pragma once

#include <string>

#include "headway/io/result_file.hpp"
#include "io/hdf5/output.hpp"

namespace headway::io {

inline constexpr std::int64_t kResultSchemaMajor = 1;
inline constexpr std::int64_t kResultSchemaMinor = 0;

/// Schema, kind ("solve", ..., "train"), name of the study and provenance, as root attributes.
void write_result_header(const std::string& kind, const studies::Study& study,
                         const ResultProvenance& provenance, Hdf5OutputFile& out);

/// Root attributes, names, labels and Gaussian processes of a result, and an empty group points.
/// `kind`: "solve", "align", "prune" or "sample".
void write_root_part(const std::string& kind, const studies::Study& study,
                     const studies::SolveResult& result, const ResultProvenance& provenance,
                     Hdf5OutputFile& out);

/// write_root_part, and the solved points.
void write_solve_part(const std::string& kind, const studies::Study& study,
                      const studies::SolveResult& result, const ResultProvenance& provenance,
                      Hdf5OutputFile& out);

/// One solved point of `result` below `group`.
void write_solve_point(const std::string& group, const studies::SolvePoint& point,
                       const studies::SolveResult& result, Hdf5OutputFile& out);

/// Numbers of a predictor as attributes of `group`, mean and variance as data sets below `arrays`,
/// the further sets as groups <group>/sets/<name>.
void write_predictor(const std::string& group, const std::string& arrays,
                     const studies::PredictorReport& report, Hdf5OutputFile& out);

/// U_a: a scalar for one output, else [C, C]; nothing when it is not there.
void write_readout(const std::string& path, const MatrixXd& value, Hdf5OutputFile& out);

/// One sampled point, without the theory.
void write_sample_point(const std::string& group, const studies::SamplePoint& point,
                        Hdf5OutputFile& out);

/// points/<i>/alignment and points/<i>/pruning.
void write_alignment(const std::string& group, const studies::AlignPoint& point,
                     Hdf5OutputFile& out);
void write_pruning(const std::string& group, const studies::PrunePoint& point, Hdf5OutputFile& out);

}  // namespace headway::io
