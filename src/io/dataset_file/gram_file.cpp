#include "headway/io/gram_file.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/model/path_index.hpp"
#include "headway/theory/gram.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/describe.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

constexpr std::int64_t kGramMajor = 1, kGramMinor = 0;

void check_version(const Hdf5InputFile& file) {
  const auto version = file.number_attribute("/", "schema_version");
  if (version && !version->empty() && version->front() == kGramMajor) return;
  bad_data("root attribute schema_version: {}; allowed: [{}, {}]",
           version ? fmt::format("is [{}]", fmt::join(*version, ", ")) : "is missing", kGramMajor,
           kGramMinor);
}

/// "" or what is wrong with the numbers.
std::string fault_of(const studies::GramResult& result) {
  constexpr double kMostPaths = 1e6;
  if (result.heads.empty() || model::path_count<double>(result.heads) > kMostPaths)
    return "root attribute heads: allowed: at least one layer, at most 10^6 paths";
  const std::string fault = theory::gram_fault(result.data, model::path_count(result.heads));
  if (!fault.empty()) return "gram: " + fault;
  for (const studies::GramSet& set : result.sets) {
    if (set.path_features.cols() != result.data.gram.rows() ||
        set.labels.cols() != result.data.outputs() ||
        set.labels.rows() != set.path_features.rows() || set.labels.rows() == 0) {
      return fmt::format(
          "sets/{}: path_features of {} x {} and labels of {} x {}; allowed: as many "
          "examples, {} numbers and {} outputs as in gram",
          set.name, set.path_features.rows(), set.path_features.cols(), set.labels.rows(),
          set.labels.cols(), result.data.gram.rows(), result.data.outputs());
    }
    if (!set.path_features.allFinite() || !set.labels.allFinite())
      return fmt::format("sets/{}: numbers that are not finite; allowed: finite ones", set.name);
  }
  return {};
}

}  // namespace

std::string describe_gram(const Hdf5InputFile& file) {
  const auto result = read_record<studies::GramResult>(file, "");
  std::string out =
      fmt::format("  examples   {}, summed\n  outputs    {}\n  heads      [{}]\n  features   {}\n",
                  result.data.examples, result.data.outputs(), fmt::join(result.heads, ", "),
                  result.data.gram.rows() / std::max<Index>(1, model::path_count(result.heads)));
  for (const studies::GramSet& set : result.sets)
    out += fmt::format("  set        {}: {} examples\n", shown(set.name), set.labels.rows());
  for (const std::string& source : result.sources)
    out += fmt::format("  from       {}\n", shown(source));
  return out + fmt::format("\nTo solve it:         headway solve {} --set model.widths=[10,100]\n",
                           file.file_path());
}

void write_gram(const std::string& file_path, const studies::GramResult& result,
                const studies::ResultProvenance& provenance, bool force) {
  check_output_path(file_path, force);
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  out.set("/", "schema_name", kGramSchema);
  out.set("/", "schema_version", std::vector<std::int64_t>{kGramMajor, kGramMinor});
  RecordWriter root(out, "");
  fields(root, provenance);
  fields(root, result);
  out.seal();
  out.write_to(file_path, force);
}

studies::GramResult read_gram(const std::string& file_path) {
  const FirstReading reading = first_reading(file_path);
  if (!reading.faults.empty()) bad_data("{}: {}", file_path, reading.faults.front());
  const Hdf5Lock lock;
  try {
    const Hdf5InputFile file(file_path);
    check_version(file);
    auto result = read_record<studies::GramResult>(file, "");
    const std::string fault = fault_of(result);
    if (!fault.empty()) bad_data("{}", fault);
    return result;
  } catch (const Error& e) {
    if (std::string(e.what()).starts_with(file_path)) throw;
    fail(e.kind(), "{}: {}", file_path, e.what());
  }
}

}  // namespace headway::io
