#include "io/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "core/fail.hpp"
#include "headway/io/hdf5_file.hpp"

namespace headway::io {
namespace {

using FileHandle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

FileHandle open_file(const std::string& file_path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_path, ignored)) {
    fail(ErrorKind::kMissingFile, "{}: is a directory, where a file is asked for", file_path);
  }
  FileHandle file(std::fopen(file_path.c_str(), "rb"), &std::fclose);
  if (file) return file;
  fail(ErrorKind::kMissingFile, "{}: cannot be opened: {}", file_path, std::strerror(errno));
}

/// A file that is deleted unless it gets its proper name. All but the constructor say whether they
/// went well, with errno.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& file_path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] bool write(std::string_view bytes) const;
  [[nodiscard]] bool finish();
  [[nodiscard]] bool rename_to(const std::string& file_path);

 private:
  std::string name_;
  int descriptor_ = -1;
};

TemporaryFile::TemporaryFile(const std::string& file_path) {
  const std::filesystem::path target(file_path);
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const std::string leaf = fmt::format(".headway-{}-{}.tmp", ::getpid(), attempt);
    name_ = (target.parent_path() / leaf).string();
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor_ >= 0 || errno != EEXIST) break;
  }
  if (descriptor_ < 0) name_.clear();
}

TemporaryFile::~TemporaryFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
  if (!name_.empty()) ::unlink(name_.c_str());
}

bool TemporaryFile::write(std::string_view bytes) const {
  if (descriptor_ < 0) return false;
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::write(descriptor_, bytes.data() + done, bytes.size() - done);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) return false;
    done += static_cast<std::size_t>(n);
  }
  return true;
}

bool TemporaryFile::finish() {
  // Some file systems do not support fsync; their answer is no loss of data.
  const bool synced = ::fsync(descriptor_) == 0 || errno == EINVAL || errno == ENOTSUP;
  const int sync_error = errno;
  const bool closed = ::close(descriptor_) == 0;
  descriptor_ = -1;
  if (!synced) errno = sync_error;
  return synced && closed;
}

bool TemporaryFile::rename_to(const std::string& file_path) {
  if (::rename(name_.c_str(), file_path.c_str()) != 0) return false;
  name_.clear();
  return true;
}

void sync_directory(const std::string& file_path) {
  const std::string parent = std::filesystem::path(file_path).parent_path().string();
  const int descriptor = ::open(parent.empty() ? "." : parent.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return;
  ::fsync(descriptor);  // best effort: the file itself is safe
  ::close(descriptor);
}

}  // namespace

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
    fail(ErrorKind::kMissingFile, "{}: is no regular file", file_path);
  }
  open_file(file_path);
}

void check_output_path(const std::string& file_path, bool force) {
  const auto refuse = [&](const std::string& why) {
    fail(ErrorKind::kCannotWrite, "{}: cannot be written: {}", file_path, why);
  };
  if (file_path.empty()) refuse("the name is empty");
  struct stat status {};
  if (::stat(file_path.c_str(), &status) == 0) {
    if (!S_ISREG(status.st_mode)) refuse("it exists and is no regular file");
    if (!force) refuse("it exists already (--force overwrites it)");
  } else if (errno != ENOENT) {
    refuse(std::strerror(errno));
  }
  const std::string parent = std::filesystem::path(file_path).parent_path().string();
  const std::string directory = parent.empty() ? "." : parent;
  const bool there = ::stat(directory.c_str(), &status) == 0;
  if (there && !S_ISDIR(status.st_mode)) refuse(directory + " is no directory");
  if (!there || ::access(directory.c_str(), W_OK | X_OK) != 0) {
    refuse(fmt::format("the directory {}: {}", directory, std::strerror(errno)));
  }
}

void write_whole_file(const std::string& file_path, std::string_view bytes, bool force) {
  check_output_path(file_path, force);
  TemporaryFile temporary(file_path);
  if (temporary.write(bytes) && temporary.finish()) {
    check_output_path(file_path, force);  // somebody may have been faster
    if (temporary.rename_to(file_path)) return sync_directory(file_path);
  }
  fail(ErrorKind::kCannotWrite, "{}: cannot be written: {}", file_path, std::strerror(errno));
}

}  // namespace headway::io
