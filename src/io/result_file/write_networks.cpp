// Results of the verbs that look at trained networks.
#include "io/hdf5/record.hpp"
#include "io/result_file/write.hpp"

namespace headway::io {
namespace {

template <class Result, class Groups>
void write_networks(const std::string& file_path, const std::string& kind,
                    const studies::Study& study, const Result& result, const Groups& groups,
                    const ResultProvenance& provenance, const std::string& evaluated_on,
                    bool force) {
  const Hdf5Lock lock;
  Hdf5OutputFile out;
  write_result_header(kind, study, provenance, out);
  out.set("/", "planned_runs", static_cast<std::int64_t>(result.planned));
  out.set("/", "task", std::string(word_of(study.task.kind)));
  if (!evaluated_on.empty()) out.set("/", "evaluated_on", evaluated_on);
  RecordWriter root(out, "");
  root("runs", result.runs, "the networks");
  root("groups", groups, "the final table", {.optional = true});
  out.seal();
  out.write_to(file_path, force);
}

}  // namespace

void write_latents_result(const std::string& file_path, const studies::Study& study,
                          const studies::LatentsResult& result, const ResultProvenance& provenance,
                          bool force) {
  write_networks(file_path, "latents", study, result, studies::group_latents(result), provenance,
                 "", force);
}

void write_evaluate_result(const std::string& file_path, const studies::Study& study,
                           const studies::EvaluateResult& result,
                           const ResultProvenance& provenance, bool force) {
  write_networks(file_path, "evaluate", study, result, studies::group_evaluations(result),
                 provenance, result.task, force);
}

}  // namespace headway::io
