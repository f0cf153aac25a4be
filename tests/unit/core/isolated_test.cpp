// Work in a forked copy of the process: what comes back of it, however it ends.
#include "core/isolated.hpp"

#include <unistd.h>

#include <csignal>
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"

using namespace headway;

namespace {

using Lines = std::vector<std::string>;

IsolatedOutcome outcome_of(const std::function<Lines()>& work) { return run_in_copy(work, 60); }

}  // namespace

TEST_CASE("a copy gives back the lines of its work, and changes nothing here") {
  const std::string long_line(200'000, 'x');  // more than a pipe holds
  for (const Lines& lines : {Lines{}, Lines{""}, Lines{"one"}, Lines{"", "", ""},
                             Lines{"a", "b\nc", "\x03", "", long_line, "0"}}) {
    int here = 1;
    const IsolatedOutcome outcome = outcome_of([&] {
      here = 2;
      return lines;
    });
    CHECK(outcome.answered);
    CHECK(outcome.lines == lines);
    CHECK_FALSE(outcome.error);
    CHECK(outcome.signal == 0);
    CHECK(here == 1);
  }
  CHECK(outcome_of([] { return Lines{std::string("a\0b", 3), "c"}; }).lines == Lines{"a?b", "c"});
}

TEST_CASE("an error in a copy comes back with its kind and its words") {
  for (const ErrorKind kind : {ErrorKind::kBadData, ErrorKind::kMissingFile}) {
    const IsolatedOutcome outcome =
        outcome_of([&]() -> Lines { throw Error(kind, "x.h5: is broken"); });
    CHECK(outcome.answered);
    REQUIRE(outcome.error);
    CHECK(outcome.error->kind() == kind);
    CHECK(std::string(outcome.error->what()) == "x.h5: is broken");
    CHECK(outcome.signal == 0);
  }
  const IsolatedOutcome other =
      outcome_of([]() -> Lines { throw std::runtime_error("of a library"); });
  CHECK(other.answered);
  REQUIRE(other.error);
  CHECK(other.error->kind() == ErrorKind::kInternal);
  CHECK(std::string(other.error->what()) == "of a library");
}

TEST_CASE("a copy that a signal ends, or that just leaves, has not answered") {
  for (const int signal : {SIGSEGV, SIGABRT, SIGXCPU, SIGTERM, SIGKILL}) {
    const IsolatedOutcome outcome = outcome_of([signal] {
      ::raise(signal);
      return Lines{"survived"};
    });
    CHECK(outcome.signal == signal);
    CHECK_FALSE(outcome.answered);
    CHECK(outcome.lines.empty());
    CHECK_FALSE(outcome.error);
  }
  const IsolatedOutcome gone = outcome_of([]() -> Lines { ::_exit(0); });
  CHECK(gone.signal == 0);
  CHECK_FALSE(gone.answered);
  CHECK(gone.lines.empty());
  CHECK_FALSE(gone.error);
}
