#include "core/whole_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
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

TEST_CASE("a file that is replaced keeps who may read it") {
  namespace fs = std::filesystem;
  const testing::ScratchDirectory directory;
  const std::string file = directory.file("mine");
  write_whole_file(file, "one", false);
  fs::permissions(file, fs::perms::owner_read | fs::perms::owner_write);
  write_whole_file(file, "two", true);
  CHECK(fs::status(file).permissions() == (fs::perms::owner_read | fs::perms::owner_write));
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

TEST_CASE(
    "a file that cannot be read is refused with its name and why, a long one with its limit") {
  namespace fs = std::filesystem;
  const testing::ScratchDirectory directory;
  const std::string file = directory.file("file"), folder = directory.file("folder"),
                    missing = directory.file("missing"), pipe = directory.file("pipe"),
                    link = directory.file("link"), astray = directory.file("astray");
  write_whole_file(file, std::string(70'000, 'x') + "end", false);  // more than is read at a time
  fs::create_directory(folder);
  fs::create_symlink(file, link);
  fs::create_symlink(missing, astray);
  REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
  CHECK(read_whole_file(file) == std::string(70'000, 'x') + "end");
  CHECK(read_whole_file(link, 70'003).size() == 70'003);
  const auto fault = [](const auto& work, ErrorKind kind) -> std::string {
    try {
      work();
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
      return error.what();
    }
    return "none";
  };
  const std::string opened = ": cannot be opened: No such file or directory";
  for (const ErrorKind kind : {ErrorKind::kBadData, ErrorKind::kBadStudy}) {
    CHECK(fault([&] { read_whole_file(file, 70'002, kind); }, kind) ==
          file + ": has more than 70002 bytes");
    CHECK(fault([&] { read_whole_file(file, 0, kind); }, kind) == file + ": has more than 0 bytes");
  }
  const ErrorKind none = ErrorKind::kMissingFile;
  CHECK(fault([&] { read_whole_file(folder); }, none) ==
        folder + ": is a directory; must be a file");
  CHECK(fault([&] { read_whole_file(missing); }, none) == missing + opened);
  CHECK(fault([&] { require_readable_file(file); }, none) == "none");
  CHECK(fault([&] { require_readable_file(link); }, none) == "none");
  CHECK(fault([&] { require_readable_file(folder); }, none) == folder + ": is not a regular file");
  CHECK(fault([&] { require_readable_file(pipe); }, none) == pipe + ": is not a regular file");
  CHECK(fault([&] { require_readable_file(missing); }, none) == missing + opened);
  CHECK(fault([&] { require_readable_file(astray); }, none) == astray + opened);
}

TEST_CASE(
    "an output that cannot be written is refused with its name, why, and where a link leads") {
  namespace fs = std::filesystem;
  const testing::ScratchDirectory directory;
  const std::string taken = directory.file("taken.h5"), link = directory.file("link.h5");
  write_whole_file(taken, "whole", false);
  fs::create_symlink("taken.h5", link);
  fs::create_directory(directory.file("folder"));
  const auto refusal = [](const std::string& path, bool force) -> std::string {
    try {
      check_output_path(path, force);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kCannotWrite);
      return error.what();
    }
    return "none";
  };
  const std::string there = ": cannot be written: it exists already (--force overwrites it)";
  CHECK(refusal(directory.file("new.h5"), false) == "none");
  CHECK(refusal(taken, true) == "none");
  CHECK(refusal(taken, false) == taken + there);
  CHECK(refusal(link, true) == "none");
  CHECK(refusal(link, false) == link + there + " (it is a link to " + taken + ")");
  for (const bool force : {false, true}) {
    CHECK(refusal("", force) == ": cannot be written: the name is empty");
    CHECK(refusal(directory.file("folder"), force) ==
          directory.file("folder") + ": cannot be written: it exists and is not a regular file");
    CHECK(refusal(directory.file("missing/a.h5"), force) ==
          directory.file("missing/a.h5") + ": cannot be written: the directory " +
              directory.file("missing") + ": No such file or directory");
    CHECK(refusal(taken + "/a.h5", force) == taken + "/a.h5: cannot be written: Not a directory");
  }
  CHECK(directory.entries() == 3);  // nothing was made
}

}  // namespace
