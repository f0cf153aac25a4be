#include "core/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/fail.hpp"
#include "core/file_lock.hpp"
#include "headway/core/output_path.hpp"

namespace headway {
namespace {

using FileHandle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

FileHandle open_file(const std::string& file_path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_path, ignored)) {
    fail(ErrorKind::kMissingFile, "{}: is a directory; must be a file", file_path);
  }
  FileHandle file(std::fopen(file_path.c_str(), "rb"), &std::fclose);
  if (file) return file;
  fail(ErrorKind::kMissingFile, "{}: cannot be opened: {}", file_path, std::strerror(errno));
}

constexpr std::string_view kTemporaryPrefix = ".headway-", kTemporarySuffix = ".tmp";

bool is_lost(Lock lock) { return lock == Lock::kTaken || lock == Lock::kMoved; }

/// A file under a temporary name, locked while it has that name, and deleted unless it gets its
/// proper one. Functions return whether they succeeded, with errno.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& file_path) {
    const std::filesystem::path directory = std::filesystem::path(file_path).parent_path();
    remove_orphans(directory.string());
    static std::atomic<int> names = 0;  // none is given twice: somebody may still remove the first
    for (int attempt = 0; attempt < 1000 && !file_; ++attempt) {
      name_ = (directory /
               fmt::format("{}{}-{}{}", kTemporaryPrefix, ::getpid(), names++, kTemporarySuffix))
                  .string();
      file_.reset(std::fopen(name_.c_str(), "wbxe"));
      if (!file_ && errno != EEXIST) break;
      // Another process took it for an orphan before it was locked: try the next name.
      if (file_ && is_lost(try_lock_file(::fileno(file_.get()), name_))) {
        file_.reset();
        ::unlink(name_.c_str());  // where a file system refuses every lock, it is still there
      }
    }
    if (!file_) name_.clear();
  }
  ~TemporaryFile() {
    if (!name_.empty()) ::unlink(name_.c_str());  // before the lock is gone
    if (locked_ >= 0) ::close(locked_);
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] bool write(std::string_view bytes, std::string_view tail) {
    if (!file_) return false;
    for (const std::string_view piece : {bytes, tail}) {
      if (piece.empty()) continue;  // fwrite() takes no null pointer
      if (std::fwrite(piece.data(), 1, piece.size(), file_.get()) < piece.size()) return false;
    }
    if (std::fflush(file_.get()) != 0) return false;
    // Some file systems do not support fsync. That is not a failure.
    const bool synced = ::fsync(::fileno(file_.get())) == 0 || errno == EINVAL || errno == ENOTSUP;
    if (synced) locked_ = ::fcntl(::fileno(file_.get()), F_DUPFD_CLOEXEC, 0);  // keeps the lock
    return synced && std::fclose(file_.release()) == 0;
  }
  /// Without `force` an existing file stays (EEXIST), even if it was made a moment ago.
  [[nodiscard]] bool rename_to(const std::string& file_path, bool force) {
    if (!force) {
      // link() never replaces a file. The destructor removes the temporary name.
      if (::link(name_.c_str(), file_path.c_str()) == 0) return true;
      if (errno == EEXIST) return false;  // else a file system without links
    }
    // Who may read a file stays as it was.
    struct stat before {};
    if (::stat(file_path.c_str(), &before) == 0) ::chmod(name_.c_str(), before.st_mode & 0777U);
    if (::rename(name_.c_str(), file_path.c_str()) != 0) return false;
    name_.clear();
    return true;
  }

 private:
  std::string name_;
  FileHandle file_{nullptr, &std::fclose};
  int locked_ = -1;  ///< the file's lock, when it is closed
};

void sync_directory(const std::string& file_path) {
  const std::string parent = std::filesystem::path(file_path).parent_path().string();
  const FileHandle directory(std::fopen(parent.empty() ? "." : parent.c_str(), "rbe"),
                             &std::fclose);
  if (directory) ::fsync(::fileno(directory.get()));  // best effort: the file itself is safe
}

}  // namespace

std::vector<std::string> names_in_directory(const std::string& directory, std::error_code& error) {
  std::vector<std::string> names;
  error.clear();
  std::filesystem::directory_iterator entry(directory.empty() ? "." : directory, error);
  for (; !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    names.push_back(entry->path().filename().string());
  }
  if (error == std::errc::no_such_file_or_directory) error.clear();
  std::sort(names.begin(), names.end());
  return names;
}

void remove_orphans(const std::string& directory) {
  std::error_code ignored;
  for (const std::string& leaf : names_in_directory(directory, ignored)) {
    if (!leaf.starts_with(kTemporaryPrefix) || !leaf.ends_with(kTemporarySuffix)) continue;
    const std::string name = (std::filesystem::path(directory) / leaf).string();
    if (!std::filesystem::is_regular_file(name, ignored)) continue;
    const FileHandle left(std::fopen(name.c_str(), "r+be"), &std::fclose);
    if (left && try_lock_file(::fileno(left.get()), name) == Lock::kHeld) ::unlink(name.c_str());
  }
}

std::string read_whole_file(const std::string& file_path, std::uint64_t limit, ErrorKind too_long) {
  const FileHandle file = open_file(file_path);
  std::string bytes;
  std::array<char, 65536> buffer{};
  while (const std::size_t count = std::fread(buffer.data(), 1, buffer.size(), file.get())) {
    bytes.append(buffer.data(), count);
    if (bytes.size() > limit) fail(too_long, "{}: has more than {} bytes", file_path, limit);
  }
  if (std::ferror(file.get()) == 0) return bytes;
  fail(ErrorKind::kMissingFile, "{}: cannot be read", file_path);
}

void require_readable_file(const std::string& file_path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file_path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    fail(ErrorKind::kMissingFile, "{}: is not a regular file", file_path);
  }
  open_file(file_path);
}

std::string final_path(const std::string& file_path) {
  constexpr int kMostLinks = 40;  // as many as Linux follows
  struct stat status {};
  if (::stat(file_path.c_str(), &status) == 0 && !S_ISREG(status.st_mode)) return file_path;
  std::filesystem::path path(file_path);
  for (int i = 0; i < kMostLinks; ++i) {
    std::error_code error;
    const std::filesystem::path target = std::filesystem::read_symlink(path, error);
    if (error) return path.string();
    path = target.is_absolute() ? target : path.parent_path() / target;
  }
  return path.string();
}

void check_output_path(const std::string& given_path, bool force) {
  const std::string file_path = final_path(given_path);
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::kCannotWrite, "{}: cannot be written: {}{}", given_path, why,
         file_path == given_path ? "" : fmt::format(" (it is a link to {})", file_path));
  };
  if (file_path.empty()) refuse("the name is empty");
  struct stat status {};
  if (::stat(file_path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) refuse("it exists and is not a regular file");
    if (!force) refuse("it exists already (--force overwrites it)");
  } else if (errno != ENOENT) {
    refuse(std::strerror(errno));
  }
  const std::string parent = std::filesystem::path(file_path).parent_path().string();
  const std::string directory = parent.empty() ? "." : parent;
  const bool there = ::stat(directory.c_str(), &status) == 0;
  if (there && !S_ISDIR(status.st_mode)) refuse(directory + " is not a directory");
  if (!there || ::access(directory.c_str(), W_OK | X_OK) != 0) {
    refuse(fmt::format("the directory {}: {}", directory, std::strerror(errno)));
  }
  if (status.st_nlink == 0) refuse(fmt::format("the directory {} was removed", directory));
}

void write_whole_file(const std::string& given_path, std::string_view bytes, bool force,
                      std::string_view tail) {
  const std::string file_path = final_path(given_path);
  check_output_path(file_path, force);
  TemporaryFile temporary(file_path);
  if (temporary.write(bytes, tail)) {
    check_output_path(file_path, force);  // another process may have been faster
    if (temporary.rename_to(file_path, force)) return sync_directory(file_path);
    if (errno == EEXIST) check_output_path(file_path, force);
  }
  fail(ErrorKind::kCannotWrite, "{}: cannot be written: {}", file_path, std::strerror(errno));
}

}  // namespace headway
