#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "headway/core/error.hpp"
#include "headway/io/result_file.hpp"
#include "headway/model/path_index.hpp"
#include "headway/tasks/dataset.hpp"
#include "io/dataset_file/names.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/schema.hpp"
#include "io/result_file/write.hpp"

namespace headway::io {
namespace {

using studies::PredictorReport;
using studies::SolvePoint;
using studies::SolveResult;

[[noreturn]] void bad(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", where, what));
}

std::string attribute_label(const std::string& object, const char* name) {
  return object == "/" ? fmt::format("root attribute {}", name)
                       : fmt::format("{}, attribute {}", object, name);
}

/// Reads the solve part of one open result file; a fault is an Error that names the place.
class ResultReader {
 public:
  explicit ResultReader(const Hdf5InputFile& file) : file_(file) {}

  void check_schema() const;
  [[nodiscard]] ResultProvenance provenance() const;
  [[nodiscard]] SolveResult solve_result();

 private:
  [[nodiscard]] std::string text(const std::string& object, const char* name) const;
  [[nodiscard]] double number(const std::string& object, const char* name) const;
  [[nodiscard]] double optional_number(const std::string& object, const char* name) const;
  [[nodiscard]] std::int64_t integer(const std::string& object, const char* name,
                                     double largest) const;
  [[nodiscard]] std::vector<std::int64_t> integers(const std::string& object,
                                                   const char* name) const;
  [[nodiscard]] MatrixXd matrix(const std::string& path, Index rows, Index columns) const;
  [[nodiscard]] MatrixXd optional_matrix(const std::string& path, Index rows, Index columns) const;
  [[nodiscard]] std::vector<MatrixXd> layers(const std::string& group) const;
  [[nodiscard]] PredictorReport predictor(const std::string& group,
                                          const std::string& arrays) const;
  [[nodiscard]] std::vector<studies::IterationRecord> history(const std::string& path) const;
  [[nodiscard]] studies::CorrectedPoint corrected(const std::string& group) const;
  [[nodiscard]] SolvePoint point(const std::string& group) const;
  [[nodiscard]] std::size_t numbered_groups(const std::string& group) const;
  void read_names(SolveResult& result) const;
  void read_sets(SolveResult& result);
  void read_path_kernels(SolveResult& result) const;

  const Hdf5InputFile& file_;
  std::vector<int> heads_;
  Index outputs_ = 1, test_examples_ = 0;
  std::vector<std::string> sets_;
};

void ResultReader::check_schema() const {
  const std::string name = file_.text_attribute("/", "schema_name").value_or("");
  if (name != "headway-result") bad("root attribute schema_name", "allowed: \"headway-result\"");
  const auto version = file_.number_attribute("/", "schema_version");
  if (!version || version->empty()) {
    bad("root attribute schema_version", "is missing; allowed: [1, 0]");
  }
  if (version->front() == kResultSchemaMajor) return;
  bad("root attribute schema_version",
      fmt::format("is [{}]; this Headway reads 1.x{}", fmt::join(*version, ", "),
                  version->front() > kResultSchemaMajor ? ", the file is newer" : ""));
}

std::string ResultReader::text(const std::string& object, const char* name) const {
  auto value = file_.text_attribute(object, name);
  if (!value) bad(attribute_label(object, name), "is missing");
  return *std::move(value);
}

double ResultReader::number(const std::string& object, const char* name) const {
  const auto values = file_.number_attribute(object, name);
  if (!values) bad(attribute_label(object, name), "is missing");
  if (values->size() != 1) bad(attribute_label(object, name), "allowed: one number");
  return values->front();
}

double ResultReader::optional_number(const std::string& object, const char* name) const {
  return file_.number_attribute(object, name) ? number(object, name) : studies::kUndefined;
}

std::int64_t ResultReader::integer(const std::string& object, const char* name,
                                   double largest) const {
  const double value = number(object, name);
  if (!(value >= 0.0 && value <= largest && value == std::floor(value))) {
    bad(attribute_label(object, name),
        fmt::format("is {}; allowed: an integer from 0 to {}", value, largest));
  }
  return static_cast<std::int64_t>(value);
}

std::vector<std::int64_t> ResultReader::integers(const std::string& object,
                                                 const char* name) const {
  const auto values = file_.number_attribute(object, name);
  if (!values || values->empty()) bad(attribute_label(object, name), "is missing");
  std::vector<std::int64_t> out;
  for (const double v : *values) {
    if (!(v >= 1.0 && v <= 1e15 && v == std::floor(v))) {
      bad(attribute_label(object, name), fmt::format("holds {}; allowed: positive integers", v));
    }
    out.push_back(static_cast<std::int64_t>(v));
  }
  return out;
}

/// The data set at `path`, which may leave out a second extent of one (and both, for a scalar).
MatrixXd ResultReader::matrix(const std::string& path, Index rows, Index columns) const {
  if (file_.kind(path) != NodeKind::kDataset) bad(path, "is missing");
  const ArrayInfo info = file_.info(path);
  const std::vector<Index>& shape = info.shape;
  const Index found_rows = shape.empty() ? 1 : shape[0];
  const Index found_columns = shape.size() < 2 ? 1 : shape[1];
  if (shape.size() > 2 || found_rows != rows || found_columns != columns) {
    bad(path, fmt::format("has shape {}; allowed: [{}, {}]", shape_text(shape), rows, columns));
  }
  const Tensor tensor = file_.read_array(path);
  return Eigen::Map<const RowMatrixXd>(tensor.values.data(), rows, columns);
}

MatrixXd ResultReader::optional_matrix(const std::string& path, Index rows, Index columns) const {
  if (file_.kind(path) == NodeKind::kAbsent) return MatrixXd(0, 0);
  return matrix(path, rows, columns);
}

std::vector<MatrixXd> ResultReader::layers(const std::string& group) const {
  std::vector<MatrixXd> values;
  if (file_.kind(group) == NodeKind::kAbsent) return values;
  for (std::size_t l = 0; l < heads_.size(); ++l) {
    const Index size = outputs_ * model::path_count(std::span(heads_).subspan(l));
    const std::string path = fmt::format("{}/layer_{}", group, l + 1);
    values.push_back(matrix(path, size, size));
    if (!values.back().allFinite()) bad(path, "holds numbers that are not finite");
  }
  return values;
}

PredictorReport ResultReader::predictor(const std::string& group, const std::string& arrays) const {
  PredictorReport report;
  report.train_accuracy = optional_number(group, "train_accuracy");
  report.accuracy = optional_number(group, "accuracy");
  report.mean_squared_error = optional_number(group, "test_mean_squared_error");
  report.right_sign_probability = optional_number(group, "right_sign_probability");
  report.squared_bias = optional_number(group, "squared_bias");
  report.predictor_variance = optional_number(group, "predictor_variance");
  report.mean = optional_matrix(arrays + "/mean", test_examples_, outputs_);
  report.variance = optional_matrix(arrays + "/variance", test_examples_, outputs_);
  if (report.mean.size() == 0) report.mean.resize(0, outputs_);
  if (report.variance.size() == 0) report.variance.resize(0, outputs_);
  for (const std::string& set : sets_) {
    const std::string path = fmt::format("{}/sets/{}", group, set);
    if (file_.kind(path) == NodeKind::kAbsent) continue;
    report.sets.push_back({set, number(path, "accuracy"), number(path, "mean_squared_error")});
  }
  return report;
}

std::vector<studies::IterationRecord> ResultReader::history(const std::string& path) const {
  std::vector<studies::IterationRecord> records;
  if (file_.kind(path) == NodeKind::kAbsent) return records;
  const Tensor tensor = file_.read_array(path);
  if (tensor.shape.size() != 2 || tensor.shape[1] != 4) {
    bad(path, fmt::format("has shape {}; allowed: [n, 4]", shape_text(tensor.shape)));
  }
  for (std::size_t i = 0; i + 3 < tensor.values.size(); i += 4) {
    const double* row = tensor.values.data() + i;
    if (!(std::abs(row[0]) <= std::numeric_limits<int>::max())) {
      bad(path, fmt::format("[{}, 0]: {}; allowed: iteration numbers", i / 4, row[0]));
    }
    records.push_back({static_cast<int>(row[0]), row[1], row[2], row[3]});
  }
  return records;
}

studies::CorrectedPoint ResultReader::corrected(const std::string& group) const {
  studies::CorrectedPoint value;
  if (file_.kind(group) == NodeKind::kAbsent) return value;
  value.defined = number(group, "defined") != 0.0;
  value.reason = text(group, "reason");
  if (!value.defined) return value;
  value.order_parameters = layers(group + "/order_parameters");
  value.order_parameter_deviations = layers(group + "/order_parameters_sd");
  value.readout_order_parameter = optional_matrix(group + "/U_a", outputs_, outputs_);
  value.readout_deviation = optional_matrix(group + "/U_a_sd", outputs_, outputs_);
  value.predictor = predictor(group, group + "/predictor");
  return value;
}

SolvePoint ResultReader::point(const std::string& group) const {
  SolvePoint value;
  const std::vector<std::int64_t> widths = integers(group, "widths");
  if (widths.size() != heads_.size() + 1) {
    bad(attribute_label(group, "widths"),
        fmt::format("has {} entries; allowed: L + 1 = {}", widths.size(), heads_.size() + 1));
  }
  value.widths.assign(widths.begin(), widths.end());
  value.temperature = number(group, "temperature");
  value.method = text(group, "method");
  value.converged = number(group, "converged") != 0.0;
  value.message = text(group, "message");
  value.iterations = static_cast<int>(integer(group, "iterations", 1e9));
  value.gradient_norm = number(group, "gradient_norm");
  value.gradient_rounding = optional_number(group, "gradient_rounding");
  value.action = number(group, "action");
  value.energy = optional_number(group, "energy");
  value.entropy = optional_number(group, "entropy");
  value.smallest_hessian_eigenvalue = optional_number(group, "smallest_hessian_eigenvalue");
  value.log_evidence = optional_number(group, "log_evidence");
  value.log_evidence_leading_order = optional_number(group, "log_evidence_leading_order");
  value.evidence_method = file_.text_attribute(group, "evidence_method").value_or("");
  value.kernels = text(group, "kernels");
  value.start_spread = optional_number(group, "start_spread");
  value.seconds = number(group, "seconds");
  value.order_parameters = layers(group + "/order_parameters");
  value.readout_order_parameter = optional_matrix(group + "/U_a", outputs_, outputs_);
  value.predictor = predictor(group, group + "/predictor");
  value.history = history(group + "/history");
  value.corrected = corrected(group + "/corrected");
  return value;
}

std::size_t ResultReader::numbered_groups(const std::string& group) const {
  const std::size_t count = file_.members(group).size();
  for (std::size_t i = 0; i < count; ++i) {
    const std::string path = fmt::format("{}/{}", group, i);
    if (file_.kind(path) != NodeKind::kGroup) bad(path, "is missing");
  }
  return count;
}

void ResultReader::read_names(SolveResult& result) const {
  for (std::size_t l = 0; l < heads_.size(); ++l) {
    const std::string path = fmt::format("names/layer_{}", l + 1);
    result.head_names.emplace_back();
    if (file_.kind(path) == NodeKind::kAbsent) continue;
    result.head_names.back() = file_.read_strings(path);
    if (result.head_names.back().size() != static_cast<std::size_t>(heads_[l])) {
      bad(path,
          fmt::format("holds {} names; allowed: {}", result.head_names.back().size(), heads_[l]));
    }
  }
}

void ResultReader::read_sets(SolveResult& result) {
  if (file_.kind("sets") == NodeKind::kAbsent) return;
  result.set_names = sets_ = file_.read_strings("sets");
  for (const std::string& name : sets_) {
    const std::string fault = tasks::set_name_fault(name);
    if (!fault.empty()) bad("sets", fmt::format("holds \"{}\", {}", printable(name), fault));
  }
  const std::vector<std::int64_t> examples = integers("sets", "examples");
  if (examples.size() != sets_.size()) {
    bad(attribute_label("sets", "examples"),
        fmt::format("has {} entries; allowed: one a set, {}", examples.size(), sets_.size()));
  }
  result.set_examples.assign(examples.begin(), examples.end());
}

void ResultReader::read_path_kernels(SolveResult& result) const {
  if (file_.kind("path_kernels") == NodeKind::kAbsent) return;
  const Tensor tensor = file_.read_array("path_kernels");
  if (tensor.shape.size() != 3 || tensor.shape[1] != tensor.shape[2]) {
    bad("path_kernels", fmt::format("has shape {}; allowed: [p, P, P]", shape_text(tensor.shape)));
  }
  const Index size = tensor.shape[1];
  for (Index i = 0; i < tensor.shape[0]; ++i) {
    result.path_kernels.emplace_back(
        Eigen::Map<const RowMatrixXd>(tensor.values.data() + i * size * size, size, size));
  }
}

ResultProvenance ResultReader::provenance() const {
  ResultProvenance value;
  value.study_toml = text("/", "study_toml");
  value.study_hash = text("/", "study_hash");
  value.data_hash = text("/", "data_hash");
  value.headway_version = text("/", "headway_version");
  value.git_commit = text("/", "git_commit");
  value.compiler = text("/", "compiler");
  value.blas = text("/", "blas");
  value.command = text("/", "command");
  value.started = text("/", "started");
  value.seed = file_.unsigned_attribute("/", "seed").value_or(0);
  value.threads = static_cast<int>(integer("/", "threads", 1e6));
  value.seconds = number("/", "seconds");
  value.partial = number("/", "partial") != 0.0;
  return value;
}

SolveResult ResultReader::solve_result() {
  const std::string kind = text("/", "kind");
  if (kind != "solve" && kind != "align" && kind != "prune" && kind != "sample") {
    bad("root attribute kind",
        fmt::format("is \"{}\"; allowed here: solve, align, prune, sample", kind));
  }
  const char* theory = kind == "sample" ? "/theory" : "";
  SolveResult result;
  double paths = 1.0;
  for (const std::int64_t h : integers("/", "heads")) {
    paths *= static_cast<double>(h);
    if (paths > 1e6) bad("root attribute heads", "more than 10^6 paths");
    heads_.push_back(static_cast<int>(h));
  }
  result.heads = heads_;
  result.variances = file_.number_attribute("/", "variances").value_or(std::vector<double>{});
  constexpr double kLargest = 1e12;
  outputs_ = result.outputs = integer("/", "outputs", 1e6);
  result.train_examples = integer("/", "train_examples", kLargest);
  test_examples_ = result.test_examples = integer("/", "test_examples", kLargest);
  result.features = integer("/", "features", kLargest);
  read_names(result);
  read_sets(result);
  result.train_labels = optional_matrix("labels/train", result.train_examples, outputs_);
  result.test_labels = optional_matrix("labels/test", test_examples_, outputs_);
  read_path_kernels(result);
  const std::size_t limits = numbered_groups("gaussian_process");
  for (std::size_t j = 0; j < limits; ++j) {
    const std::string group = fmt::format("gaussian_process/{}", j);
    result.gaussian_process.push_back({number(group, "temperature"), predictor(group, group),
                                       optional_number(group, "log_evidence")});
  }
  const std::size_t points = numbered_groups("points");
  for (std::size_t i = 0; i < points; ++i) {
    result.points.push_back(point(fmt::format("points/{}{}", i, theory)));
  }
  const ResultProvenance from = provenance();
  result.interrupted = from.partial;
  result.seconds = from.seconds;
  result.threads = from.threads;
  return result;
}

/// Opens a file that survived its first reading, checks its schema, and calls `read` with a reader.
template <typename Read>
auto read_result(const std::string& file_path, Read read) {
  const auto work = [&] {
    const Hdf5InputFile file(file_path);
    try {
      ResultReader reader(file);
      reader.check_schema();
      return read(reader);
    } catch (const Error& e) {
      throw Error(e.kind(), fmt::format("{}: {}", file_path, e.what()));
    } catch (const std::bad_alloc&) {
      throw Error(ErrorKind::kBadData, fmt::format("{}: does not fit into memory", file_path));
    }
  };
  first_reading(file_path);
  const Hdf5Lock lock;
  return work();
}

}  // namespace

bool is_result_file(const std::string& file_path) {
  return schema_name(file_path) == "headway-result";
}

SolveResult read_solve_result(const std::string& file_path, ResultProvenance* provenance) {
  auto [result, from] = read_result(file_path, [](ResultReader& reader) {
    return std::pair(reader.solve_result(), reader.provenance());
  });
  if (provenance != nullptr) *provenance = from;
  return result;
}

ResultProvenance read_result_provenance(const std::string& file_path) {
  return read_result(file_path, [](ResultReader& reader) { return reader.provenance(); });
}

}  // namespace headway::io
