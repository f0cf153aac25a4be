#include <fmt/format.h>

#include "io/hdf5/record.hpp"
#include "io/result_file/trained_run.hpp"
#include "io/result_file/write.hpp"

namespace headway::io {

void write_train_result(const std::string& file_path, const studies::Study& study,
                        const studies::TrainResult& result, const ResultProvenance& provenance,
                        bool force) {
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  write_result_header("train", study, provenance, out);
  out.set("/", "planned_runs", static_cast<std::int64_t>(result.planned));
  out.set("/", "task", std::string(word_of(study.task.kind)));
  out.make_group("runs");
  const KeptWeights kept =
      study.train.keep_weights ? KeptWeights::kLastAndBest : KeptWeights::kNone;
  for (std::size_t i = 0; i < result.runs.size(); ++i) {
    write_trained_run(fmt::format("runs/{}", i), result.runs[i], kept, out);
  }
  RecordWriter root(out, "");
  root("groups", studies::group_runs(result), "the final table", {.optional = true});
  out.seal();
  out.write_to(file_path, force);
}

}  // namespace headway::io
