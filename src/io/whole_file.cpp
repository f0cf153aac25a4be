#include "io/whole_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>

#include "headway/io/hdf5_file.hpp"

namespace headway::io {
namespace {

using FileHandle = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

FileHandle open_file(const std::string& file_path) {
  std::error_code ignored;
  if (std::filesystem::is_directory(file_path, ignored)) {
    throw Error(ErrorKind::kMissingFile,
                fmt::format("{}: is a directory, where a file is asked for", file_path));
  }
  FileHandle file(std::fopen(file_path.c_str(), "rb"), &std::fclose);
  if (!file) {
    throw Error(ErrorKind::kMissingFile,
                fmt::format("{}: cannot be opened: {}", file_path, std::strerror(errno)));
  }
  return file;
}

/// A file that is deleted unless keep() is called.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& file_path);
  ~TemporaryFile();
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] bool write(std::string_view bytes) const;
  [[nodiscard]] bool finish();
  void keep() { name_.clear(); }

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
    if (bytes.size() > limit) {
      throw Error(too_long, fmt::format("{}: has more than {} bytes", file_path, limit));
    }
  }
  if (std::ferror(file.get()) != 0) {
    throw Error(ErrorKind::kMissingFile, fmt::format("{}: cannot be read", file_path));
  }
  return bytes;
}

void require_readable_file(const std::string& file_path) {
  std::error_code ignored;
  const auto status = std::filesystem::status(file_path, ignored);
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw Error(ErrorKind::kMissingFile, fmt::format("{}: is no regular file", file_path));
  }
  open_file(file_path);
}

void write_whole_file(const std::string& file_path, std::string_view bytes, bool force) {
  check_output_path(file_path, force);
  const auto fail = [&] {
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: cannot be written: {}", file_path, std::strerror(errno)));
  };
  TemporaryFile temporary(file_path);
  if (temporary.name().empty()) fail();
  if (!temporary.write(bytes) || !temporary.finish()) fail();
  check_output_path(file_path, force);  // somebody may have been faster
  if (::rename(temporary.name().c_str(), file_path.c_str()) != 0) fail();
  temporary.keep();
  sync_directory(file_path);
}

}  // namespace headway::io
