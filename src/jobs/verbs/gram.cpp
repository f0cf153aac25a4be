#include "headway/gram.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "headway/core/sha256.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/gram_file.hpp"
#include "jobs/json_text.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/ranks_share.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

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

class GramJob final : public SharedJob<JobFor<GramResult>> {
 public:
  using SharedJob::SharedJob;

 private:
  void load() override {
    // Asked first, with the share: asked later without it, the whole file would be read.
    static_cast<void>(io::is_dataset_file(request.input, checked_share()));
    Job::load();
  }
  /// Opens the data sets; their path features stay in the files. The hash is of names and contents.
  std::string read_data(Observer& observer) override {
    if (study.task.kind() != TaskKind::kDataset) {
      throw Error(ErrorKind::kBadStudy,
                  fmt::format("{}: gram takes data-set files (HDF5)", request.input));
    }
    const io::CheckedShare checked = checked_share();
    std::vector<std::string> files = {study.task.file()};
    files.insert(files.end(), request.more_inputs.begin(), request.more_inputs.end());
    Sha256 hash;
    warn_of_doubles(files, observer);
    for (const std::string& file : files) {
      datasets_.push_back(io::read_dataset(file, io::FeaturesIn::kFile, checked));
      hash.update(fmt::format("{} {}\n", file, datasets_.back().content_hash));
    }
    return hash.hex_digest();
  }
  [[nodiscard]] std::string plan() const override {
    double examples = 0;
    for (const tasks::Dataset& dataset : datasets_)
      examples += static_cast<double>(dataset.train_examples());
    const tasks::Dataset& first = datasets_.front();
    double columns = static_cast<double>(first.features);
    for (const int h : first.heads) columns *= h;
    if (request.json) {
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
        examples, datasets_.size(), columns, examples * columns * columns,
        8.0 * columns * columns / (1024 * 1024));
  }
  GramResult compute(Observer& observer) override {
    return headway::gram(study, datasets_, observer, shard);
  }
  std::optional<GramResult> share(Observer& observer) override {
    return headway::gram_on_ranks(study, datasets_, observer, ranks());
  }
  [[nodiscard]] Outcome outcome_of(const GramResult& result) const override {
    return gram_outcome(result);
  }
  void write_result() const override {
    io::write_gram(request.output, result_, provenance, request.force);
  }

  /// The share of the examples that this process reads and checks.
  [[nodiscard]] io::CheckedShare checked_share() const {
    if (request.ranks != nullptr) return {request.ranks->rank(), request.ranks->size()};
    if (request.shard.empty()) return {};
    const Shard part = headway::read_shard(request.shard);
    return {static_cast<Index>(part.index), static_cast<Index>(part.count)};
  }

  std::vector<tasks::Dataset> datasets_;
};

}  // namespace

std::shared_ptr<Job> gram_job(Request request) {
  return std::make_shared<GramJob>(std::move(request));
}

}  // namespace headway::jobs
