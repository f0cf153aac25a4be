#pragma once

#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace headway {

/// What went wrong, in the terms of the program's exit codes (the numeric value is the exit code).
enum class ErrorKind : int {
  kUsage = 64,         ///< the command line
  kBadData = 65,       ///< a fault inside a data set, result or image file
  kMissingFile = 66,   ///< a file that is missing or unreadable
  kUnavailable = 69,   ///< a device or part that this build lacks
  kInternal = 70,      ///< a bug in Headway
  kCannotWrite = 73,   ///< an output that exists, is forbidden, or does not fit
  kBadStudy = 78,      ///< a value in a study or an option
  kInterrupted = 130,  ///< stopped by the user at a safe point
};

/// The one exception type of the library: bad input and failed I/O. Not converging is a value, not
/// an Error. The message names file, field, value and what is allowed.
class Error : public std::runtime_error {
 public:
  /// `fields`: the options at fault by their keys in a study ("train.heads"), the one that the
  /// message is about first, then those that it contradicts. Who has read the study puts the place
  /// of the first that it sets before the message: see at().
  Error(ErrorKind kind, const std::string& message, std::vector<std::string> fields = {})
      : std::runtime_error(message), kind_(kind), fields_(std::move(fields)) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  [[nodiscard]] int exit_code() const { return static_cast<int>(kind_); }
  [[nodiscard]] const std::vector<std::string>& fields() const { return fields_; }
  /// Does the message begin with the place of the fault?
  [[nodiscard]] bool has_place() const { return has_place_; }

  /// The same Error with "<place>: " before its message.
  [[nodiscard]] Error at(const std::string& place) const {
    Error placed(kind_, place + ": " + what(), fields_);
    placed.has_place_ = true;
    return placed;
  }

 private:
  ErrorKind kind_;
  bool has_place_ = false;
  std::vector<std::string> fields_;
};

}  // namespace headway
