#include "headway/studies/gram.hpp"

#include <fmt/format.h>

#include "course.hpp"
#include "headway/core/error.hpp"
#include "headway/core/sha256.hpp"
#include "headway/io/dataset_file.hpp"
#include "headway/io/gram_file.hpp"
#include "json_text.hpp"
#include "table.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

struct GramJob : Job {
  std::vector<tasks::Dataset> datasets;
};

/// The data sets, whose path features stay in their files; their hash is that of names and sizes.
std::string read_gram_data(const Options& options, GramJob& job, Observer& /*observer*/) {
  if (job.study.task.kind != studies::TaskKind::kDataset) {
    throw Error(ErrorKind::kBadStudy,
                fmt::format("{}: gram takes data-set files (HDF5)", options.input));
  }
  std::vector<std::string> files = {job.study.task.file};
  files.insert(files.end(), options.more_inputs.begin(), options.more_inputs.end());
  Sha256 hash;
  for (const std::string& file : files) {
    job.datasets.push_back(io::read_dataset(file, io::FeaturesIn::kFile));
    hash.update(fmt::format("{} {}\n", file, job.datasets.back().train_examples()));
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
    nlohmann::ordered_json out;
    out["dry_run"] = true;
    out["verb"] = "gram";
    out["examples"] = examples;
    out["columns"] = columns;
    out["flops"] = examples * columns * columns;
    out["bytes"] = 8.0 * columns * columns;
    return json_text(out);
  }
  return fmt::format(
      "{:.0f} examples in {} files, D = p N_0 = {:.0f}\n{:.3g} flops, a Gram matrix "
      "of {:.3g} MiB\n",
      examples, job.datasets.size(), columns, examples * columns * columns,
      8.0 * columns * columns / (1024 * 1024));
}

studies::GramResult compute_gram(const Options& /*options*/, GramJob& job, Observer& observer) {
  return studies::gram(job.study, job.datasets, observer);
}

std::string print_gram(const Options& options, const GramJob& /*job*/,
                       const studies::GramResult& result) {
  if (options.json) {
    nlohmann::ordered_json out;
    out["examples"] = result.data.examples;
    out["heads"] = result.heads;
    out["columns"] = result.data.gram.rows();
    out["outputs"] = result.data.outputs();
    out["sources"] = result.sources;
    out["sets"] = nlohmann::ordered_json::object();
    for (const studies::GramSet& set : result.sets) out["sets"][set.name] = set.labels.rows();
    out["seconds"] = result.seconds;
    return json_text(out);
  }
  std::string text =
      fmt::format("{} examples, heads [{}], D = p N_0 = {}, {} outputs\n", result.data.examples,
                  numbers_text(result.heads), result.data.gram.rows(), result.data.outputs());
  for (const studies::GramSet& set : result.sets)
    text += fmt::format("{}: {} examples go along\n", set.name, set.labels.rows());
  return text;
}

}  // namespace

Verb gram_verb() {
  return make_verb<GramJob, studies::GramResult>(
      {.name = "gram",
       .summary =
           "data sets of any size as the Gram matrix that solve and sample take in their place",
       .sections = {"model"},
       .more_inputs = "further data-set files: their examples are added"},
      {.load = &load_study<GramJob>,
       .read_data = &read_gram_data,
       .plan = &plan_gram,
       .compute = &compute_gram,
       .outcome =
           [](const studies::GramResult& result) {
             return Outcome{fmt::format("{} examples", result.data.examples), false, result.seconds,
                            result.threads};
           },
       .write =
           [](const Options& options, const GramJob& job, const studies::GramResult& result) {
             io::write_gram(options.output, result, job.provenance, options.force);
           },
       .print = &print_gram});
}

}  // namespace headway::cli
