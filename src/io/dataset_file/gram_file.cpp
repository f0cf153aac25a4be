#include "headway/io/gram_file.hpp"

#include <algorithm>

#include "core/fail.hpp"
#include "headway/core/output_path.hpp"
#include "headway/core/text.hpp"
#include "headway/model/path_index.hpp"
#include "io/first_reading.hpp"
#include "io/hdf5/describe.hpp"
#include "io/hdf5/record.hpp"

namespace headway::io {
namespace {

constexpr std::int64_t kGramMajor = 1, kGramMinor = 0;

}  // namespace

std::string describe_gram(const Hdf5InputFile& file) {
  const auto result = read_record<GramResult>(file, "");
  std::string out =
      fmt::format("  examples   {}, summed\n  outputs    {}\n  heads      [{}]\n  features   {}\n",
                  result.data.examples, result.data.outputs(), join(result.heads, ", "),
                  result.data.gram.rows() / std::max<Index>(1, model::path_count(result.heads)));
  for (const GramSet& set : result.sets)
    out += fmt::format("  set        {}: {}\n", shown(set.name),
                       count_text(set.labels.rows(), "example"));
  for (const std::string& source : result.sources)
    out += fmt::format("  from       {}\n", shown(source));
  if (const auto shard = file.text_attribute("/", "shard")) {
    return out + fmt::format("  part       {}\n\nTo join the parts:   headway merge PART...\n",
                             shown(*shard));
  }
  return out + fmt::format("\nTo solve it:         headway solve {} --set model.widths=[10,100]\n",
                           shell_command({file.file_path()}));
}

void write_gram(const std::string& file_path, const GramResult& result,
                const ResultProvenance& provenance, bool force) {
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

GramResult read_gram(const std::string& file_path) {
  return read_hdf5(file_path, kGramSchema, [](const Hdf5InputFile& file) {
    if (const auto shard = file.text_attribute("/", "shard")) {
      bad_data("is part {} of Gram matrices; join the parts first, with headway merge", *shard);
    }
    auto result = read_record<GramResult>(file, "");
    const std::string fault = headway::gram_fault(result);
    if (!fault.empty()) bad_data("{}", fault);
    return result;
  });
}

GramResult read_gram_part(const std::string& file_path) {
  return read_hdf5(file_path, kGramSchema,
                   [](const Hdf5InputFile& file) { return read_record<GramResult>(file, ""); });
}

}  // namespace headway::io
