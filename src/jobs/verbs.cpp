#include "jobs/verbs.hpp"

#include <algorithm>
#include <array>
#include <string>
#include <utility>

#include "headway/error.hpp"

namespace headway::jobs {
namespace {

struct Entry {
  std::string_view verb;
  std::shared_ptr<Job> (*make)(Request);
  bool shared = false;  ///< several ranks can share its work
};

constexpr std::array kJobs = {
    Entry{"solve", &solve_job, true}, Entry{"align", &align_job},
    Entry{"prune", &prune_job},       Entry{"prune-network", &prune_network_job},
    Entry{"rank", &rank_job},         Entry{"sample", &sample_job, true},
    Entry{"predict", &predict_job},   Entry{"train", &train_job, true},
    Entry{"latents", &latents_job},   Entry{"evaluate", &evaluate_job},
    Entry{"extract", &extract_job},   Entry{"gram", &gram_job, true},
    Entry{"merge", &merge_job}};

const Entry* entry_of(std::string_view verb) {
  const auto found = std::ranges::find(kJobs, verb, &Entry::verb);
  return found == kJobs.end() ? nullptr : found;
}

}  // namespace

std::shared_ptr<Job> make_job(std::string_view verb, Request request) {
  const Entry* entry = entry_of(verb);
  if (entry == nullptr) {
    throw Error(ErrorKind::kUsage, std::string(verb) + ": no verb that computes");
  }
  return entry->make(std::move(request));
}

bool ranks_share(std::string_view verb) {
  const Entry* entry = entry_of(verb);
  return entry != nullptr && entry->shared;
}

}  // namespace headway::jobs
