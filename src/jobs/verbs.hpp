#pragma once

#include <memory>

#include "headway/jobs/job.hpp"

namespace headway::jobs {

// The jobs of the verbs that compute: a source file each in src/jobs/verbs/, and an entry in the
// table of verbs.cpp.
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

/// Whether the input is a result of train, whose networks themselves are meant.
bool is_of_networks(const Request& request);

}  // namespace headway::jobs
