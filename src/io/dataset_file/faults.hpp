#pragma once

#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "core/fail.hpp"

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
  void guard(const std::string& dataset, const std::function<void()>& check);
  [[nodiscard]] bool empty() const { return messages_.empty(); }
  /// How many this data set has.
  [[nodiscard]] int count(const std::string& dataset) const;
  /// The messages, then a line for each data set that has more.
  [[nodiscard]] std::vector<std::string> messages() const;

 private:
  void add_text(const std::string& dataset, const std::string& text);

  std::vector<std::string> messages_;
  std::map<std::string, int> counts_;
};

}  // namespace headway::io
