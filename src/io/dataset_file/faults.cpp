#include "io/dataset_file/faults.hpp"

#include <fmt/core.h>

#include <new>
#include <stdexcept>

#include "headway/core/error.hpp"
#include "headway/io/dataset_file.hpp"

namespace headway::io {

void FaultList::add(const std::string& dataset, const std::string& message) {
  const bool root = dataset == "/" && message.starts_with(": ");
  add_text(dataset, root ? message.substr(2) : dataset + message);
}

void FaultList::guard(const std::string& dataset, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& e) {
    add_text(dataset, e.what());
  } catch (const std::bad_alloc&) {
    add(dataset, ": one example does not fit into memory");
  } catch (const std::length_error&) {
    add(dataset, ": one example does not fit into memory");
  }
}

void FaultList::add_text(const std::string& dataset, const std::string& text) {
  if (++counts_[dataset] <= kMaxFaultsPerDataset) messages_.push_back(text);
}

int FaultList::count(const std::string& dataset) const {
  const auto found = counts_.find(dataset);
  return found == counts_.end() ? 0 : found->second;
}

std::vector<std::string> FaultList::messages() const {
  std::vector<std::string> all = messages_;
  for (const auto& [dataset, count] : counts_) {
    if (count <= kMaxFaultsPerDataset) continue;
    all.push_back(fmt::format("{}: {} more faults", dataset, count - kMaxFaultsPerDataset));
  }
  return all;
}

}  // namespace headway::io
