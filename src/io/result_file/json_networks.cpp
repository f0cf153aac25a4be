// JSON of the verbs that look at trained networks.
#include "headway/io/json.hpp"
#include "headway/studies/study_hash.hpp"
#include "io/result_file/json_writer.hpp"

namespace headway::io {
namespace {

template <class Result, class Groups>
Json object_of(const studies::Study& study, const Result& result, const Groups& groups) {
  Json out;
  out["study"] = study.name;
  out["study_hash"] = studies::study_hash(study);
  out["partial"] = result.interrupted;
  out["planned_runs"] = result.planned;
  JsonWriter write(out);
  write("runs", result.runs, "the networks");
  write("table", groups, "over seeds");
  out["seconds"] = json_value(result.seconds);
  out["threads"] = result.threads;
  return out;
}

std::string dump(const Json& object) {
  return object.dump(1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string latents_json(const studies::Study& study, const studies::LatentsResult& result) {
  return dump(object_of(study, result, studies::group_latents(result)));
}

std::string evaluate_json(const studies::Study& study, const studies::EvaluateResult& result) {
  Json out = object_of(study, result, studies::group_evaluations(result));
  out["evaluated_on"] = result.task;
  return dump(out);
}

}  // namespace headway::io
