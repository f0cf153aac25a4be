#include "headway/gram.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "gram_text.hpp"
#include "headway/core/sha256.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/gram_file.hpp"
#include "json_text.hpp"
#include "outcomes.hpp"
#include "rank_course.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct GramJob : Job {
  std::vector<tasks::Dataset> datasets;
};

/// The share of the examples that this process reads and checks.
io::CheckedShare checked_share(const Options& options) {
  if (options.ranks != nullptr) return {options.ranks->rank(), options.ranks->size()};
  if (options.shard.empty()) return {};
  const Shard shard = headway::read_shard(options.shard);
  return {static_cast<Index>(shard.index), static_cast<Index>(shard.count)};
}

GramJob load_gram(const Options& options) {
  // Asked first, with the share: asked later without it, the whole file would be read.
  static_cast<void>(io::is_dataset_file(options.input, checked_share(options)));
  return load_study<GramJob>(options);
}

/// Warns of the first file that is given twice.
void warn_of_doubles(const std::vector<std::string>& files, Observer& observer) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      std::error_code ignored;
      if (!std::filesystem::equivalent(files[i], files[j], ignored)) continue;
      observer.warning(
          fmt::format("{} is the same file as {}: its examples count twice", files[i], files[j]));
      return;
    }
  }
}

/// Opens the data sets; their path features stay in the files. The hash is of names and contents.
std::string read_gram_data(const Options& options, GramJob& job, Observer& observer) {
  if (job.study.task.kind() != TaskKind::kDataset) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("{}: gram takes data-set files (HDF5)", options.input));
  }
  const io::CheckedShare checked = checked_share(options);
  std::vector<std::string> files = {job.study.task.file()};
  files.insert(files.end(), options.more_inputs.begin(), options.more_inputs.end());
  Sha256 hash;
  warn_of_doubles(files, observer);
  for (const std::string& file : files) {
    job.datasets.push_back(io::read_dataset(file, io::FeaturesIn::kFile, checked));
    hash.update(fmt::format("{} {}\n", file, job.datasets.back().content_hash));
  }
  return hash.hex_digest();
}

std::string plan_gram(const Options& options, const GramJob& job) {
  double examples = 0;
  for (const tasks::Dataset& dataset : job.datasets)
    examples += static_cast<double>(dataset.train_examples());
  const tasks::Dataset& first = job.datasets.front();
  double columns = static_cast<double>(first.features);
  for (const int h : first.heads) columns *= h;
  if (options.json) {
    return json_text({{"dry_run", true},
                      {"verb", "gram"},
                      {"examples", examples},
                      {"columns", columns},
                      {"flops", examples * columns * columns},
                      {"bytes", 8.0 * columns * columns}});
  }
  return fmt::format(
      "{:.0f} examples in {} files, D = p N_0 = {:.0f}\n{:.3g} flops, a Gram matrix "
      "of {:.3g} MiB\n",
      examples, job.datasets.size(), columns, examples * columns * columns,
      8.0 * columns * columns / (1024 * 1024));
}

GramResult compute_gram(const Options& /*options*/, GramJob& job, Observer& observer) {
  return headway::gram(job.study, job.datasets, observer, job.shard);
}

std::optional<GramResult> share_gram(const Options& options, GramJob& job, Observer& observer) {
  return headway::gram_on_ranks(job.study, job.datasets, observer, *options.ranks);
}

}  // namespace

Verb gram_verb() {
  return make_shared_verb<GramJob, GramResult>(
      {.name = headway::kGramVerb,
       .summary = "sum data sets of any size into a Gram matrix for solve, sample and prune",
       .sections = {"model"},
       .own = {kShardOption},
       .about =
           "Reads files of path features once, in blocks, and writes their Gram matrix, which has "
           "the same size for any number of examples. solve, sample and prune take it in place of "
           "the data.",
       .examples = {{"headway gram part-*.h5 -o all.h5", "then headway solve all.h5"}},
       .more_inputs = "further data-set files, whose examples are added",
       .input = "data-set file (HDF5)"},
      {.load = &load_gram,
       .read_data = &read_gram_data,
       .plan = &plan_gram,
       .compute = &compute_gram,
       .outcome = &gram_outcome,
       .write =
           [](const Options& options, const GramJob& job, const GramResult& result) {
             io::write_gram(options.output, result, job.provenance, options.force);
           },
       .print = [](const Options& options, const GramJob& /*job*/,
                   const GramResult& result) { return gram_text(options, result); },
       .share = &share_gram});
}

}  // namespace headway::cli
