#include "startup.hpp"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <string_view>

namespace headway::cli {
namespace {

constexpr const char* kPolicy = "OMP_WAIT_POLICY";
constexpr const char* kThreads = "OPENBLAS_NUM_THREADS";

/// Variables that no library reads while it is loaded.
constexpr std::array<std::string_view, 9> kLenders = {"PATH", "PWD",   "OLDPWD",  "SHLVL",   "_",
                                                      "TERM", "SHELL", "LOGNAME", "HOSTNAME"};

/// A setting that stands in the place of another variable until main begins.
struct Loan {
  std::array<char, 32> text;
  char* lender = nullptr;
};

// Initialised at compile time, since they are used before anything else is.
constinit Loan policy{{"OMP_WAIT_POLICY=passive"}};
constinit Loan threads{{"OPENBLAS_NUM_THREADS=1"}};

std::string_view name_in(const char* entry) {
  const std::string_view text(entry);
  return text.substr(0, text.find('='));
}

/// The first entry that `wanted` takes; null where there is none.
template <class Wanted>
char** find_entry(char** environment, const Wanted& wanted) {
  for (char** entry = environment; *entry != nullptr; ++entry) {
    if (wanted(*entry)) return entry;
  }
  return nullptr;
}

bool has(char** environment, std::string_view name) {
  return find_entry(environment, [=](char* entry) { return name_in(entry) == name; }) != nullptr;
}

char** find_lender(char** environment) {
  return find_entry(environment, [](char* entry) {
    for (const std::string_view name : kLenders) {
      if (name_in(entry) == name) return true;
    }
    return false;
  });
}

/// The dynamic loader calls this before the libraries' own code. The environment is an array that
/// cannot grow then, and what setenv() does would be lost, since glibc reads the array again later.
/// So other variables lend their places to those of the two that the user has not set.
void borrow_places(int /*argc*/, char** /*argv*/, char** environment) {
  const bool both = !has(environment, kPolicy);
  if (!has(environment, kThreads)) {
    char** const first = find_lender(environment);
    if (first == nullptr || (both && find_lender(first + 1) == nullptr)) return;
    threads.lender = *first;
    *first = threads.text.data();
  }
  char** const place = both ? find_lender(environment) : nullptr;
  if (place == nullptr) return;
  policy.lender = *place;
  *place = policy.text.data();
}

[[gnu::section(".preinit_array"),
  gnu::used]] void (*const before_libraries)(int, char**, char**) = &borrow_places;

void give_back(const Loan& loan) {
  if (loan.lender == nullptr) return;
  char** const entry =
      find_entry(environ, [&loan](char* text) { return text == loan.text.data(); });
  if (entry != nullptr) *entry = loan.lender;
}

void set_both() {
  setenv(kPolicy, "passive", 0);
  setenv(kThreads, "1", 0);
}

}  // namespace

void bind_thread_pools(char** argv) {
  if (policy.lender != nullptr || threads.lender != nullptr) {  // the libraries have read them
    give_back(policy);
    give_back(threads);
    return set_both();
  }
  if (std::getenv(kPolicy) != nullptr) return;  // the user's choice, or the second start
  std::array<char, 4096> program{};
  // The path rather than /proc/self/exe itself, which would rename the process to "exe".
  const ssize_t length = readlink("/proc/self/exe", program.data(), program.size() - 1);
  if (length <= 0 || static_cast<std::size_t>(length) == program.size() - 1) return;
  set_both();
  execv(program.data(), argv);
}

}  // namespace headway::cli
