#include "io/dataset_file/faults.hpp"

#include <exception>

#include "headway/io/dataset_file.hpp"

namespace headway::io {

void FaultList::guard(const std::string& dataset, const std::function<void()>& check) {
  try {
    check();
  } catch (const Error& e) {
    add_text(dataset, e.what());
  } catch (const std::exception&) {  // bad_alloc or length_error
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
