// Libraries that are loaded while the program runs: where they are looked for, and what is said
// where there is none.
#include "headway/core/plugin.hpp"

#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "scratch_directory.hpp"

using namespace headway;

namespace {

std::string refusal(const Plugin& plugin) {
  try {
    load_plugin(plugin);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kUnavailable);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("a plugin that is nowhere is refused with the places where a user may put it") {
  const testing::ScratchDirectory directory;
  const std::string built = directory.file("one.so"), installed = directory.file("two.so");
  const std::string own = (own_prefix() / "lib" / "headway" / "one.so").string();
  CHECK(refusal({"a thing: its library", built, installed, "entry"}) ==
        "a thing: its library cannot be loaded; " + own + ": missing; " + installed + ": missing");
}

TEST_CASE("a plugin that is no library is refused with what the system says of it") {
  const testing::ScratchDirectory directory;
  const std::string built = directory.file("one.so"), installed = directory.file("two.so");
  const std::string own = (own_prefix() / "lib" / "headway" / "one.so").string();
  std::ofstream(built) << "no library, but long enough for the header of one: "
                       << std::string(100, 'x');
  const std::string words = refusal({"a thing", built, installed, "entry"});
  CHECK(words.starts_with("a thing cannot be loaded; " + own + ": missing; " + built + ": "));
  CHECK(words.ends_with("; " + installed + ": missing"));
  std::filesystem::rename(built, installed);
  const std::string others = refusal({"a thing", built, installed, "entry"});
  CHECK(others.starts_with("a thing cannot be loaded; " + own + ": missing; " + installed + ": "));
  CHECK_FALSE(others.ends_with(": missing"));
}

TEST_CASE("the program's own prefix is the folder above that of the program") {
  CHECK(own_prefix() ==
        std::filesystem::read_symlink("/proc/self/exe").parent_path().parent_path());
}
