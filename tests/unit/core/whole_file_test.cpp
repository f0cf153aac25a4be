#include "core/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>

#include "catch.hpp"
#include "headway/core/output_path.hpp"
#include "headway/error.hpp"
#include "scratch_directory.hpp"

namespace {

using namespace headway;

TEST_CASE("writing a file removes temporary files that killed processes left beside it") {
  using std::filesystem::exists;
  const testing::ScratchDirectory directory;
  const std::string orphan = directory.file(".headway-1-0.tmp"),
                    alive = directory.file(".headway-2-0.tmp"),
                    other = directory.file(".headway-1-0.h5");
  for (const std::string& name : {orphan, alive, other}) std::ofstream(name) << "part of a result";
  std::FILE* const owner = std::fopen(alive.c_str(), "r+b");
  REQUIRE(owner != nullptr);
  struct flock whole {};
  whole.l_type = F_WRLCK;
  REQUIRE(::fcntl(::fileno(owner), F_OFD_SETLK, &whole) == 0);
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

TEST_CASE("a file can be read as HDF5 reads it, with a lock, as soon as it has its name") {
  const testing::ScratchDirectory directory;
  const std::string result = directory.file("result.h5");
  write_whole_file(result, "whole", false);
  std::atomic<bool> done = false;
  std::thread writer([&] {
    for (int i = 0; i < 3000; ++i) write_whole_file(result, "whole", true);
    done = true;
  });
  int read = 0, refused = 0;
  while (!done) {
    const int file = ::open(result.c_str(), O_RDONLY | O_CLOEXEC);
    if (::flock(file, LOCK_SH | LOCK_NB) != 0) ++refused;
    ::close(file);
    ++read;
  }
  writer.join();
  CHECK(read > 0);
  CHECK(refused == 0);
}

TEST_CASE("a link to a file that is not there yet is followed, and stays a link") {
  namespace fs = std::filesystem;
  const testing::ScratchDirectory directory;
  const std::string link = directory.file("link"), chain = directory.file("chain"),
                    named = directory.file("named.h5");
  fs::create_symlink("named.h5", link);  // relative to the folder of the link
  fs::create_symlink(link, chain);
  CHECK(final_path(chain) == named);
  CHECK(final_path(named) == named);
  check_output_path(chain, false);
  write_whole_file(chain, "whole", false);
  CHECK(fs::is_symlink(link));
  CHECK(fs::is_symlink(chain));
  CHECK(read_whole_file(named) == "whole");
  CHECK_THROWS_AS(write_whole_file(link, "other", false), Error);  // the file is there now
  CHECK(read_whole_file(named) == "whole");
  write_whole_file(link, "other", true);
  CHECK(fs::is_symlink(link));
  CHECK(read_whole_file(named) == "other");
}

TEST_CASE(
    "a link into a folder that is missing, and one that goes in a circle, are refused early") {
  namespace fs = std::filesystem;
  const testing::ScratchDirectory directory;
  fs::create_symlink("missing/file.h5", directory.file("astray"));
  fs::create_symlink("circle", directory.file("circle"));
  CHECK_THROWS_AS(check_output_path(directory.file("astray"), true), Error);
  CHECK_THROWS_AS(check_output_path(directory.file("circle"), true), Error);
}

// FIFO_PLACE

}  // namespace
