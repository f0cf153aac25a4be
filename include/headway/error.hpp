#pragma once

#include <stdexcept>
#include <string>

namespace headway {

/// What went wrong, in the terms of the program's exit codes (the numeric value is the exit code).
enum class ErrorKind : int {
  kUsage = 64,         ///< the command line
  kBadData = 65,       ///< a fault inside a data set, result or image file
  kMissingFile = 66,   ///< a file that is missing or unreadable
  kUnavailable = 69,   ///< a device or library is missing, or memory or threads
  kInternal = 70,      ///< a bug in Headway
  kCannotWrite = 73,   ///< an output that exists, is forbidden, or does not fit
  kBadStudy = 78,      ///< a value in a study or an option
  kInterrupted = 130,  ///< stopped by the user at a safe point
};

/// The one exception type of the library: bad input and failed I/O. Not converging is a value, not
/// an Error. The message names file, field, value and what is allowed.
class Error : public std::runtime_error {
 public:
  /// `message` is a whole sentence, as users see it.
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  [[nodiscard]] ErrorKind kind() const { return kind_; }
  /// What the program exits with: the number of the kind.
  [[nodiscard]] int exit_code() const { return static_cast<int>(kind_); }

 private:
  ErrorKind kind_;
};

}  // namespace headway
