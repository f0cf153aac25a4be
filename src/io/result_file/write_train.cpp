#include <fmt/format.h>

#include "headway/io/study_file.hpp"
#include "io/result_file/trained_run.hpp"
#include "io/result_file/write.hpp"

namespace headway::io {
namespace {

void write_spread(const std::string& at, const std::string& name, const studies::Spread& spread,
                  Hdf5OutputFile& out) {
  out.set(at, name, spread.mean);
  out.set(at, name + "_standard_error", spread.standard_error);
  out.set(at, name + "_count", std::int64_t{spread.count});
}

void write_group(const std::string& at, const studies::TrainGroup& group, Hdf5OutputFile& out) {
  out.set(at, "label", group.label);
  out.set(at, "runs", std::vector<std::int64_t>(group.runs.begin(), group.runs.end()));
  out.set(at, "diverged", std::int64_t{group.diverged});
  out.set(at, "parameters", std::int64_t{group.parameters});
  out.set(at, "flops_per_step", group.flops_per_step);
  write_spread(at, "train_loss", group.train_loss, out);
  for (const studies::SplitSpread& split : group.splits) {
    const std::string path = fmt::format("{}/splits/{}", at, split.split);
    out.set(path, "metric", split.metric);
    write_spread(path, "last", split.last, out);
    write_spread(path, "best", split.best, out);
  }
}

}  // namespace

void write_train_result(const std::string& file_path, const studies::Study& study,
                        const studies::TrainResult& result, const ResultProvenance& provenance,
                        bool force) {
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  write_result_header("train", study, provenance, out);
  out.set("/", "planned_runs", static_cast<std::int64_t>(result.planned));
  out.set("/", "task", study.task.kind);
  out.make_group("runs");
  const KeptWeights kept =
      study.train.keep_weights ? KeptWeights::kLastAndBest : KeptWeights::kNone;
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    write_trained_run(fmt::format("runs/{}", i), result.runs[i], kept, out);
  }
  const std::vector<studies::TrainGroup> groups = studies::group_runs(result);
  for (std::size_t g = 0; g < groups.size(); ++g) {
    write_group(fmt::format("groups/{}", g), groups[g], out);
  }
  out.seal();
  out.write_to(file_path, force);
}

}  // namespace headway::io
