#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "headway/jobs/job.hpp"

namespace headway::jobs {

// The jobs of the verbs that compute: a source file each in src/jobs/verbs/, and an entry in the
// list below.
std::shared_ptr<Job> solve_job(Request request);
std::shared_ptr<Job> align_job(Request request);
std::shared_ptr<Job> sample_job(Request request);
std::shared_ptr<Job> train_job(Request request);
std::shared_ptr<Job> evaluate_job(Request request);
std::shared_ptr<Job> latents_job(Request request);
std::shared_ptr<Job> extract_job(Request request);
std::shared_ptr<Job> gram_job(Request request);
std::shared_ptr<Job> merge_job(Request request);
// What these are depends on their input.
std::shared_ptr<Job> prune_job(Request request);
std::shared_ptr<Job> rank_job(Request request);
std::shared_ptr<Job> predict_job(Request request);
std::shared_ptr<Job> predict_networks_job(Request request);

std::shared_ptr<Job> prune_network_job(Request request);
/// The same as `headway prune` of a result of train.
std::shared_ptr<Job> prune_networks_as_prune(Request request);

/// How a verb, as the command line spells it, becomes a job.
struct JobEntry {
  std::string_view verb;
  std::shared_ptr<Job> (*make)(Request);
  bool shared = false;  ///< several ranks can share its work
};

inline constexpr std::array kJobs = {
    JobEntry{"solve", &solve_job, true}, JobEntry{"align", &align_job},
    JobEntry{"prune", &prune_job},       JobEntry{"prune-network", &prune_network_job},
    JobEntry{"rank", &rank_job},         JobEntry{"sample", &sample_job, true},
    JobEntry{"predict", &predict_job},   JobEntry{"train", &train_job, true},
    JobEntry{"latents", &latents_job},   JobEntry{"evaluate", &evaluate_job},
    JobEntry{"extract", &extract_job},   JobEntry{"gram", &gram_job, true},
    JobEntry{"merge", &merge_job}};

/// Whether the input is a result of train, whose networks themselves are meant.
bool is_of_networks(const Request& request);

}  // namespace headway::jobs
