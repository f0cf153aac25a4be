#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "headway/provenance.hpp"

namespace headway::cli {

/// The finished units of a study that several ranks compute. The first rank keeps them, as result
/// files of one part each, in the folder of the checkpoints. Without an output the folder is
/// temporary.
class PartStore {
 public:
  /// Finds what an earlier call left. `whole`: provenance of the result to be made. A part of
  /// another study, data or program is an Error{kBadStudy}; with `force` everything there is
  /// deleted instead, checkpoints too.
  PartStore(const std::string& result_path, const headway::ResultProvenance& whole,
            std::size_t units, bool force);
  /// Deletes a temporary folder.
  ~PartStore();
  PartStore(const PartStore&) = delete;
  PartStore& operator=(const PartStore&) = delete;

  [[nodiscard]] bool has(std::size_t unit) const { return there_[unit]; }
  [[nodiscard]] std::size_t count() const;
  [[nodiscard]] std::string file(std::size_t unit) const;
  void put(std::size_t unit, std::string_view bytes);
  /// Deletes the parts: the whole result is written.
  void remove() const;

 private:
  void look(std::size_t unit, const headway::ResultProvenance& whole);

  std::string folder_;
  bool for_this_call_;
  std::vector<bool> there_;
};

}  // namespace headway::cli
