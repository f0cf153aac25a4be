// The lock of an output: who holds it keeps others away, and a process that is gone holds nothing.
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "catch.hpp"
#include "headway/checkpoints.hpp"
#include "headway/error.hpp"
#include "scratch_directory.hpp"

using namespace headway;
using jobs::OutputLock;
namespace fs = std::filesystem;

namespace {

std::string refusal(const std::string& result) {
  try {
    const OutputLock lock(result);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kCannotWrite);
    return error.what();
  }
  return "(taken)";
}

}  // namespace

TEST_CASE("a second run is refused by name while the first holds the lock") {
  using Catch::Matchers::ContainsSubstring;
  const testing::ScratchDirectory directory;
  const std::string result = directory.file("result.h5");
  {
    const OutputLock lock(result);
    CHECK_THAT(refusal(result),
               ContainsSubstring("result.h5: another run is at work on it (process " +
                                 std::to_string(::getpid()) + " on "));
    CHECK_THAT(refusal(result), ContainsSubstring("another -o"));
    CHECK(refusal(directory.file("other.h5")) == "(taken)");
  }
  CHECK(refusal(result) == "(taken)");
  CHECK(directory.entries() == 0);  // nothing stays behind
}

TEST_CASE("what a killed process left blocks nobody, and checkpoints stay") {
  const testing::ScratchDirectory directory;
  const std::string result = directory.file("result.h5");
  const fs::path folder = result + ".checkpoint";
  int ready[2];
  REQUIRE(::pipe(ready) == 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const OutputLock lock(result);
    static_cast<void>(!::write(ready[1], "x", 1));
    for (;;) ::pause();
  }
  char byte = 0;
  REQUIRE(::read(ready[0], &byte, 1) == 1);
  CHECK(refusal(result) != "(taken)");
  ::kill(child, SIGKILL);
  ::waitpid(child, nullptr, 0);
  CHECK(fs::exists(folder / "lock"));
  std::ofstream(folder / "point_0.h5") << "a checkpoint";
  CHECK(refusal(result) == "(taken)");
  CHECK_FALSE(fs::exists(folder / "lock"));
  CHECK(fs::exists(folder / "point_0.h5"));
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_CASE("a lock that cannot be made says why") {
  using Catch::Matchers::ContainsSubstring;
  const testing::ScratchDirectory directory;
  std::ofstream(directory.file("taken.h5.checkpoint")) << "a file";
  CHECK_THAT(refusal(directory.file("taken.h5")), ContainsSubstring("is not a folder"));
  fs::create_directories(directory.file("odd.h5.checkpoint/lock"));
  CHECK_THAT(refusal(directory.file("odd.h5")),
             ContainsSubstring("odd.h5.checkpoint/lock: cannot be made: Is a directory"));
}
