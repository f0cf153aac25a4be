#include "jobs/verbs.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "headway/error.hpp"

namespace headway::jobs {
namespace {

const JobEntry* entry_of(std::string_view verb) {
  const auto found = std::ranges::find(kJobs, verb, &JobEntry::verb);
  return found == kJobs.end() ? nullptr : found;
}

}  // namespace

std::shared_ptr<Job> make_job(std::string_view verb, Request request) {
  const JobEntry* entry = entry_of(verb);
  if (entry == nullptr) {
    throw Error(ErrorKind::kUsage, std::string(verb) + ": no verb that computes");
  }
  return entry->make(std::move(request));
}

bool ranks_share(std::string_view verb) {
  const JobEntry* entry = entry_of(verb);
  return entry != nullptr && entry->shared;
}

}  // namespace headway::jobs
