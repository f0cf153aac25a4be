// Runs code that file permissions bind, also in tests that run as root, whom they do not bind.
#pragma once

#include <grp.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace headway::testing {

/// The value (0 to 127) of `call` in a child process that permissions bind: there root becomes
/// another user. -1 if the child was killed, or could not become that user.
inline int without_rights(const std::function<int()>& call) {
  constexpr int kFailed = 128;
  constexpr uid_t kNobody = 65534;
  const pid_t child = ::fork();
  if (child < 0) return -1;
  if (child == 0) {
    const bool bound = ::geteuid() != 0 || (::setgroups(0, nullptr) == 0 &&
                                            ::setgid(kNobody) == 0 && ::setuid(kNobody) == 0);
    ::_exit(bound ? call() : kFailed);
  }
  int status = 0;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return -1;
  return WEXITSTATUS(status) == kFailed ? -1 : WEXITSTATUS(status);
}

}  // namespace headway::testing
