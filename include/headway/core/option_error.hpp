#pragma once

#include <string>
#include <utility>
#include <vector>

#include "headway/error.hpp"

namespace headway {

/// Error{kBadStudy} about options. It carries their keys in a study ("train.heads"): first the one
/// that the message is about, then those that it contradicts. The reader of the study adds the
/// place of the first of these keys that the study sets.
class OptionError : public Error {
 public:
  explicit OptionError(const std::string& message, std::vector<std::string> fields)
      : Error(ErrorKind::kBadStudy, message), fields_(std::move(fields)) {}

  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  /// Does the message begin with the place of the fault?
  [[nodiscard]] bool has_place() const { return has_place_; }

  /// The same error with "<place>: " before its message.
  [[nodiscard]] OptionError at(const std::string& place) const {
    OptionError placed(place + ": " + what(), fields_);
    placed.has_place_ = true;
    return placed;
  }

  /// The same error with more at the end of its message.
  [[nodiscard]] OptionError followed_by(const std::string& more) const {
    OptionError longer(what() + more, fields_);
    longer.has_place_ = has_place_;
    return longer;
  }

 private:
  std::vector<std::string> fields_;
  bool has_place_ = false;
};

}  // namespace headway
