#pragma once

#include <exception>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/fail.hpp"
#include "headway/io/dataset_file.hpp"

namespace headway::io {

/// Faults of a data-set file in the order in which they were found, at most kMaxFaultsPerDataset of
/// each data set.
class FaultList {
 public:
  /// `text` follows the name of the data set: "train/labels" + "[3]: nan; allowed: finite numbers".
  /// Those of the root ("/") stand alone.
  template <class... Args>
  void add(const std::string& dataset, fmt::format_string<Args...> text, Args&&... args) {
    const std::string message = fmt::format(text, std::forward<Args>(args)...);
    add_text(dataset, dataset == "/" ? message : dataset + message);
  }
  /// Runs one part of the checks; damage found by HDF5 on the way is a fault of `dataset` like any
  /// other.
  template <class Check>
  void guard(const std::string& dataset, Check check) {
    try {
      check();
    } catch (const Error& e) {
      add_text(dataset, e.what());
    } catch (const std::exception&) {  // bad_alloc or length_error
      add(dataset, ": one example does not fit into memory");
    }
  }
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  /// How many this data set has.
  [[nodiscard]] int count(const std::string& dataset) const {
    const auto found = counts_.find(dataset);
    return found == counts_.end() ? 0 : found->second;
  }
  /// The messages, then a line for each data set that has more.
  [[nodiscard]] std::vector<std::string> messages() const {
    std::vector<std::string> all = messages_;
    for (const auto& [dataset, count] : counts_) {
      if (count <= kMaxFaultsPerDataset) continue;
      all.push_back(fmt::format("{}: {} more faults", dataset, count - kMaxFaultsPerDataset));
    }
    return all;
  }

 private:
  void add_text(const std::string& dataset, const std::string& text) {
    if (++counts_[dataset] <= kMaxFaultsPerDataset) messages_.push_back(text);
  }

  std::vector<std::string> messages_;
  std::map<std::string, int> counts_;
};

}  // namespace headway::io
