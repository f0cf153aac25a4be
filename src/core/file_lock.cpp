#include "core/file_lock.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

namespace headway {

Lock try_lock_file(int handle, const std::string& name) {
  struct flock whole {};
  whole.l_type = F_WRLCK;
  whole.l_whence = SEEK_SET;
  if (::fcntl(handle, F_OFD_SETLK, &whole) != 0) {
    return errno == EAGAIN || errno == EACCES ? Lock::kTaken : Lock::kNone;
  }
  struct stat held {
  }, named{};
  const bool same = ::fstat(handle, &held) == 0 && ::stat(name.c_str(), &named) == 0 &&
                    held.st_dev == named.st_dev && held.st_ino == named.st_ino;
  return same ? Lock::kHeld : Lock::kMoved;
}

}  // namespace headway
