#pragma once

#include <functional>
#include <string>
#include <vector>

namespace headway::io {

/// Processor time for a check of a small file, which takes milliseconds; more for large ones.
inline constexpr int kCheckSeconds = 5;

/// Runs `work` in a forked copy of this process and returns what it returned. The HDF5 library can
/// crash, hang or ask for endless memory on a damaged file; so every file is first read from end to
/// end in such a copy, and this process opens it only when that went well. An Error thrown by
/// `work` is rethrown here; a crash, or more than `seconds` + 1 s per MiB of `file_path` of
/// processor time, becomes Error{kBadData}; Ctrl-C during the work becomes Error{kInterrupted}.
/// Where no process can be forked, `work` runs here. Call it without an Hdf5Lock; `work` runs under
/// one and must not start threads. Limits: a file that is damaged on purpose after this check, or
/// code that a damaged file could make the HDF5 library run, is not held back by this.
std::vector<std::string> run_isolated(const std::string& file_path,
                                      const std::function<std::vector<std::string>()>& work,
                                      int seconds = kCheckSeconds);

}  // namespace headway::io
