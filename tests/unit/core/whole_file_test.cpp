#include "core/whole_file.hpp"

#include <sys/file.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>

#include "catch.hpp"
#include "scratch_directory.hpp"

namespace {

using namespace headway;

TEST_CASE("what killed processes left beside a file goes when one is written there") {
  using std::filesystem::exists;
  const testing::ScratchDirectory directory;
  const std::string orphan = directory.file(".headway-1-0.tmp"),
                    alive = directory.file(".headway-2-0.tmp"),
                    other = directory.file(".headway-1-0.h5");
  for (const std::string& name : {orphan, alive, other}) std::ofstream(name) << "part of a result";
  std::FILE* const owner = std::fopen(alive.c_str(), "r+b");
  REQUIRE(owner != nullptr);
  REQUIRE(::flock(::fileno(owner), LOCK_EX | LOCK_NB) == 0);
  const std::string result = directory.file("result.h5");
  write_whole_file(result, "whole", false);
  CHECK_FALSE(exists(orphan));
  CHECK(exists(alive));
  CHECK(exists(other));
  std::fclose(owner);
  write_whole_file(result, "new", true);
  CHECK_FALSE(exists(alive));
  CHECK(read_whole_file(result) == "new");
  CHECK(directory.entries() == 2);
}

}  // namespace
