#include <fcntl.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "core/fail.hpp"
#include "core/file_lock.hpp"
#include "headway/checkpoints.hpp"
#include "headway/core/text.hpp"
#include "jobs/checkpoint/checkpoint_folder.hpp"

namespace headway::jobs {
namespace {

constexpr int kLockTries = 100;
constexpr std::size_t kLongestHolder = 400;

/// "process 4711 on node7, since 2026-11-28T14:24:00Z"
std::string this_process() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {"this machine"};
  return fmt::format("process {} on {}, since {}", ::getpid(), host.data(), headway::utc_now());
}

/// What the holder of the lock wrote; its first moments leave the file empty.
std::string holder_of(int handle) {
  std::array<char, kLongestHolder> text{};
  const ssize_t count = ::pread(handle, text.data(), text.size(), 0);
  if (count <= 0) return "it has just begun";
  return printable({text.data(), static_cast<std::size_t>(count)});
}

}  // namespace

OutputLock::OutputLock(const std::string& result_path)
    : result_path_(result_path),
      folder_(checkpoint_folder_of(result_path)),
      file_path_((std::filesystem::path(folder_) / "lock").string()) {
  require_checkpoint_folder(folder_);
  // A run that ends removes file and folder, maybe between two steps of this one.
  for (int tries = 1; !try_take(); ++tries) {
    if (tries < kLockTries) continue;
    fail(ErrorKind::kCannotWrite, "{}: cannot be made: {}", file_path_, std::strerror(errno));
  }
}

bool OutputLock::try_take() {
  std::error_code failure;
  std::filesystem::create_directory(folder_, failure);
  if (failure && failure != std::errc::no_such_file_or_directory) {
    fail(ErrorKind::kCannotWrite, "{}: cannot be made: {}", folder_, failure.message());
  }
  handle_ = ::open(file_path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666);
  if (handle_ < 0) return false;
  const Lock lock = try_lock_file(handle_, file_path_);
  if (lock == Lock::kTaken) {
    const std::string holder = holder_of(handle_);
    ::close(handle_);
    fail(ErrorKind::kCannotWrite,
         "{}: another run is at work on it ({}): wait until it ends, or choose another -o",
         result_path_, holder);
  }
  if (lock == Lock::kMoved) {
    ::close(handle_);
    errno = ENOENT;
    return false;
  }
  const std::string text = this_process();
  // Words for people: on a full disk the lock holds without them.
  if (::ftruncate(handle_, 0) == 0) {
    static_cast<void>(!::pwrite(handle_, text.data(), text.size(), 0));
  }
  return true;
}

OutputLock::~OutputLock() {
  ::unlink(file_path_.c_str());  // before the lock is gone
  ::close(handle_);
  std::error_code ignored;
  std::filesystem::remove(folder_, ignored);  // stays while there are checkpoints
}

}  // namespace headway::jobs
