#include "core/isolated.hpp"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <fstream>

namespace headway {
namespace {

constexpr char kEnd = '\x03';  // of a whole message: one that was cut after a line lacks it

[[maybe_unused]] constexpr rlim_t kExtraAddressSpace = rlim_t{16} << 30;

/// The error's kind or 0, then the strings, each ended by a zero byte; then kEnd.
std::string run_to_message(const std::function<std::vector<std::string>()>& work) {
  int kind = 0;
  std::vector<std::string> lines;
  try {
    lines = work();
  } catch (const Error& e) {
    kind = static_cast<int>(e.kind());
    lines = {e.what()};
  } catch (const std::exception& e) {
    kind = static_cast<int>(ErrorKind::kInternal);
    lines = {e.what()};
  }
  std::string message = std::to_string(kind) + '\0';
  for (std::string& line : lines) {
    std::replace(line.begin(), line.end(), '\0', '?');
    message += line + '\0';
  }
  message += kEnd;
  return message;
}

void lower_limit(int resource, rlim_t value) {
  struct rlimit limit {};
  if (getrlimit(static_cast<__rlimit_resource_t>(resource), &limit) != 0) return;
  limit.rlim_cur = std::min({value, limit.rlim_cur, limit.rlim_max});
  setrlimit(static_cast<__rlimit_resource_t>(resource), &limit);
}

#ifndef HEADWAY_ADDRESS_SANITIZER
/// Bytes of address space that this process takes already.
rlim_t address_space() {
  rlim_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  return pages * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
}
#endif

void restrict_child(int seconds) {
  for (const int s :
       {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGXCPU, SIGINT, SIGTERM, SIGHUP, SIGPIPE}) {
    std::signal(s, SIG_DFL);
  }
  lower_limit(RLIMIT_CPU, static_cast<rlim_t>(seconds));
  lower_limit(RLIMIT_CORE, 0);
#ifndef HEADWAY_ADDRESS_SANITIZER
  lower_limit(RLIMIT_AS, address_space() + kExtraAddressSpace);
  const int null = ::open("/dev/null", O_WRONLY | O_CLOEXEC);  // the C library's last words
  if (null >= 0) ::dup2(null, STDERR_FILENO);
#endif
}

[[noreturn]] void run_child(int pipe_end, const std::function<std::vector<std::string>()>& work) {
  const std::string message = run_to_message(work);
  std::FILE* out = ::fdopen(pipe_end, "w");
  const bool sent = out != nullptr &&
                    std::fwrite(message.data(), 1, message.size(), out) == message.size() &&
                    std::fflush(out) == 0;
  ::_exit(sent ? 0 : 1);
}

std::string read_until_end(int pipe_end) {
  std::string message;
  std::array<char, 65536> buffer{};
  for (;;) {
    const ssize_t n = ::read(pipe_end, buffer.data(), buffer.size());
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return message;
    message.append(buffer.data(), static_cast<std::size_t>(n));
  }
}

/// Reads what run_to_message() wrote. A message that was cut short counts as no answer.
IsolatedOutcome decode(std::string message) {
  IsolatedOutcome outcome;
  if (message.empty() || message.back() != kEnd) return outcome;
  message.pop_back();
  outcome.answered = true;
  for (std::size_t begin = 0; begin < message.size(); begin += outcome.lines.back().size() + 1) {
    outcome.lines.emplace_back(message.c_str() + begin);
  }
  const int kind = std::stoi(outcome.lines.front());
  outcome.lines.erase(outcome.lines.begin());
  if (kind != 0) outcome.error.emplace(static_cast<ErrorKind>(kind), outcome.lines.at(0));
  return outcome;
}

}  // namespace

IsolatedOutcome run_in_copy(const std::function<std::vector<std::string>()>& work, int seconds) {
  std::array<int, 2> ends{-1, -1};
  const pid_t child = ::pipe2(ends.data(), O_CLOEXEC) == 0 ? ::fork() : -1;
  if (child == 0) {
    restrict_child(seconds);
    run_child(ends[1], work);
  }
  ::close(ends[1]);
  if (child < 0) {
    ::close(ends[0]);
    return {work(), std::nullopt, 0, true};
  }
  const std::string message = read_until_end(ends[0]);
  ::close(ends[0]);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  IsolatedOutcome outcome = decode(message);
  if (WIFSIGNALED(status)) outcome.signal = WTERMSIG(status);
  return outcome;
}

}  // namespace headway
