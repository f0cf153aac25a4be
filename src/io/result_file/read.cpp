#include <fmt/core.h>
#include <fmt/ranges.h>

#include <span>

#include "headway/core/error.hpp"
#include "headway/io/result_file.hpp"
#include "headway/model/path_index.hpp"
#include "headway/tasks/dataset.hpp"
#include "io/dataset_file/names.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/input.hpp"
#include "io/hdf5/record.hpp"
#include "io/hdf5/schema.hpp"
#include "io/hdf5/text_digest.hpp"
#include "io/result_file/write.hpp"

namespace headway::io {
namespace {

using studies::SolveResult;

[[noreturn]] void bad(const std::string& where, const std::string& what) {
  throw Error(ErrorKind::kBadData, fmt::format("{}: {}", where, what));
}

void check_schema(const Hdf5InputFile& file) {
  const std::string name = file.text_attribute("/", "schema_name").value_or("");
  if (name != "headway-result") bad("root attribute schema_name", "allowed: \"headway-result\"");
  const auto version = file.number_attribute("/", "schema_version");
  if (!version || version->empty()) {
    bad("root attribute schema_version", "is missing; allowed: [1, 0]");
  }
  if (version->front() == kResultSchemaMajor) return;
  bad("root attribute schema_version",
      fmt::format("is [{}]; this Headway reads 1.x{}", fmt::join(*version, ", "),
                  version->front() > kResultSchemaMajor ? ", the file is newer" : ""));
}

void require_count(const std::string& where, std::size_t found, std::size_t wanted) {
  if (found != wanted) bad(where, fmt::format("has {} entries; allowed: {}", found, wanted));
}

/// What the fields of the root say of each other.
void check_root(SolveResult& result) {
  double paths = 1.0;  // what overflows an Index is refused
  for (const int h : result.heads) paths *= h;
  if (result.heads.empty() || paths > 1e6) bad("root attribute heads", "more than 10^6 paths");
  result.head_names.resize(result.heads.size());
  for (std::size_t l = 0; l < result.heads.size(); ++l) {
    const std::size_t count = result.head_names[l].size();
    if (count > 0) {
      require_count(fmt::format("names/layer_{}", l + 1), count,
                    static_cast<std::size_t>(result.heads[l]));
    }
  }
  for (const std::string& name : result.set_names) {
    const std::string fault = tasks::set_name_fault(name);
    if (!fault.empty()) bad("sets", fmt::format("holds \"{}\", {}", printable(name), fault));
  }
  require_count("sets, attribute examples", result.set_examples.size(), result.set_names.size());
  const auto require_shape = [&](const char* where, const MatrixXd& labels, Index rows) {
    if (labels.rows() == 0 || (labels.rows() == rows && labels.cols() == result.outputs)) return;
    bad(where, fmt::format("has shape [{}, {}]; allowed: [{}, {}]", labels.rows(), labels.cols(),
                           rows, result.outputs));
  };
  require_shape("labels/train", result.train_labels, result.train_examples);
  require_shape("labels/test", result.test_labels, result.test_examples);
  for (const MatrixXd& kernel : result.path_kernels) {
    if (kernel.rows() != kernel.cols()) bad("path_kernels", "allowed: shape [p, P, P]");
  }
}

RecordShapes shapes_of(const SolveResult& result) {
  RecordShapes shapes{result.test_examples, result.outputs, {}, result.set_names};
  for (std::size_t l = 0; l < result.heads.size(); ++l) {
    shapes.layers.push_back(result.outputs * model::path_count(std::span(result.heads).subspan(l)));
  }
  return shapes;
}

ResultProvenance read_provenance(const Hdf5InputFile& file) {
  return read_record<ResultProvenance>(file, "");
}

SolveResult read_solved(const Hdf5InputFile& file) {
  const std::string kind = file.text_attribute("/", "kind").value_or("");
  if (kind != "solve" && kind != "align" && kind != "prune" && kind != "sample") {
    bad("root attribute kind",
        fmt::format("is \"{}\"; allowed here: solve, align, prune, sample", kind));
  }
  auto result = read_record<SolveResult>(file, "");
  check_root(result);
  const RecordShapes shapes = shapes_of(result);
  RecordReader root(file, "", shapes);
  root("gaussian_process", result.gaussian_process, "the limit", {.optional = true});
  const std::size_t points = file.members("points").size();
  for (std::size_t i = 0; i < points; ++i) {
    const std::string group = fmt::format("points/{}", i);
    if (file.kind(group) != NodeKind::kGroup) bad(group, "is missing");
    const std::string theory = kind == "sample" ? group + "/theory" : group;
    result.points.push_back(read_record<studies::SolvePoint>(file, theory, shapes));
    const std::size_t widths = result.points.back().widths.size();
    if (widths != result.heads.size() + 1) {
      bad(theory + ", attribute widths",
          fmt::format("has {} entries; allowed: L + 1 = {}", widths, result.heads.size() + 1));
    }
  }
  const ResultProvenance from = read_provenance(file);
  result.interrupted = from.partial;
  result.seconds = from.seconds;
  result.threads = from.threads;
  return result;
}

/// Opens a file that survived its first reading, checks its schema, calls `read`, and checks the
/// texts.
template <typename Read>
auto read_result(const std::string& file_path, Read read) {
  first_reading(file_path);
  const Hdf5Lock lock;
  const Hdf5InputFile file(file_path);
  try {
    check_schema(file);
    auto value = read(file);
    check_text_digest(file);
    return value;
  } catch (const Error& e) {
    throw Error(e.kind(), fmt::format("{}: {}", file_path, e.what()));
  } catch (const std::bad_alloc&) {
    throw Error(ErrorKind::kBadData, fmt::format("{}: does not fit into memory", file_path));
  }
}

}  // namespace

bool is_result_file(const std::string& file_path) {
  return schema_name(file_path) == "headway-result";
}

SolveResult read_solve_result(const std::string& file_path, ResultProvenance* provenance) {
  auto [result, from] = read_result(file_path, [](const Hdf5InputFile& file) {
    SolveResult solved = read_solved(file);
    return std::pair(std::move(solved), read_provenance(file));
  });
  if (provenance != nullptr) *provenance = from;
  return result;
}

std::string read_result_kind(const std::string& file_path) {
  return read_result(file_path, [](const Hdf5InputFile& file) {
    return file.text_attribute("/", "kind").value_or("");
  });
}

ResultProvenance read_result_provenance(const std::string& file_path) {
  return read_result(file_path, [](const Hdf5InputFile& file) { return read_provenance(file); });
}

}  // namespace headway::io
