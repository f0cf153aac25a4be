// A valid data-set file, broken in one way at a time.
#pragma once

#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"

namespace headway::testing {

inline constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Break {
  const char* name;
  BuiltDataset built;
  std::function<void(Surgery&)> apply;
  std::vector<std::string> expected;  ///< parts of one message
};

inline bool one_message_has(const std::vector<std::string>& messages,
                            const std::vector<std::string>& parts) {
  for (const std::string& message : messages) {
    bool all = true;
    for (const std::string& part : parts) all = all && message.find(part) != std::string::npos;
    if (all) return true;
  }
  return false;
}

/// Checks that validate_dataset reports the fault, and that read_dataset refuses the file with exit
/// code 65, naming file and fault.
inline void check_break(const Break& b) {
  INFO(b.name);
  const ScratchDirectory scratch;
  const std::string path = scratch.file("broken.h5");
  write_dataset_file(path, b.built);
  {
    Surgery surgery(path);
    b.apply(surgery);
  }
  const std::vector<std::string> faults = io::validate_dataset(path);
  CAPTURE(faults);
  CHECK(one_message_has(faults, b.expected));
  try {
    io::read_dataset(path);
    FAIL("the file was accepted");
  } catch (const Error& e) {
    CHECK(e.exit_code() == 65);
    CHECK_THAT(e.what(), Catch::Matchers::StartsWith(path));
    CHECK_THAT(e.what(), Catch::Matchers::ContainsSubstring(faults.at(0)));
  }
}

inline void check_all(const std::vector<Break>& breaks) {
  for (const Break& b : breaks) check_break(b);
}

/// A link to another file.
inline void external_link(Surgery& s, const std::string& path) {
  s.remove(path);
  H5Lcreate_external("elsewhere.h5", "/x", s.file(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
}

}  // namespace headway::testing
