#include "io/hdf5/input.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "core/fail.hpp"
#include "headway/io/hdf5_file.hpp"

namespace headway::io {
namespace {

constexpr std::size_t kMaxNames = 100000;

// NOLINTNEXTLINE(readability-function-size): as HDF5 calls it
herr_t refuse_external_link(const char*, const char*, const char*, const char*, unsigned*, hid_t,
                            void*) {
  return -1;
}

/// For H5Literate and H5Aiterate2.
template <class Info>
herr_t collect_name(hid_t, const char* name, const Info*, void* out) {
  try {
    auto& names = *static_cast<std::vector<std::string>*>(out);
    if (names.size() >= kMaxNames) return -1;
    names.emplace_back(name);
  } catch (...) {
    return -1;  // no exception may cross HDF5's C code
  }
  return 0;
}

/// Size in bytes of a readable regular file; Error{kMissingFile} when it is none.
std::uint64_t readable_file_bytes(const std::string& file_path) {
  struct stat status {};
  const bool found = ::stat(file_path.c_str(), &status) == 0;
  if (found && !S_ISREG(status.st_mode)) {
    fail(ErrorKind::kMissingFile, "{}: is not a regular file; must be an HDF5 file", file_path);
  }
  // The file is opened, not only looked up. Without a free descriptor HDF5 would say that the file
  // is not HDF5.
  const int descriptor = found ? ::open(file_path.c_str(), O_RDONLY | O_CLOEXEC) : -1;
  if (descriptor < 0) {
    fail(ErrorKind::kMissingFile, "{}: cannot be read: {}", file_path, std::strerror(errno));
  }
  ::close(descriptor);
  return static_cast<std::uint64_t>(status.st_size);
}

Handle open_read_only(const std::string& file_path, std::string_view bytes) {
  const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose);
  const std::string name = file_path + (bytes.empty() ? "" : "/bytes");  // which must not be there
  if (bytes.empty()) check_is_hdf5(file_path);
  if (!bytes.empty()) {
    H5Pset_fapl_core(access.get(), bytes.size(), false);
    H5Pset_file_image(access.get(), const_cast<char*>(bytes.data()), bytes.size());  // NOLINT
  }
  Handle file(H5Fopen(name.c_str(), H5F_ACC_RDONLY, access.get()), H5Fclose);
  if (file.valid()) return file;
  bad_data(
      "{}: is an HDF5 file that cannot be opened: truncated, damaged or still being written "
      "(HDF5: {})",
      file_path, hdf5_error_text());
}

}  // namespace

void check_is_hdf5(const std::string& file_path) {
  const std::uint64_t bytes = readable_file_bytes(file_path);
  const Hdf5Lock lock;
  if (H5Fis_hdf5(file_path.c_str()) > 0) return;
  bad_data("{}: is not an HDF5 file{}", file_path, bytes == 0 ? ": empty" : "");
}

bool is_hdf5(const std::string& file_path) {
  try {
    check_is_hdf5(file_path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

Hdf5InputFile::Hdf5InputFile(const std::string& file_path, std::string_view bytes)
    : file_path_(file_path),
      file_bytes_(bytes.empty() ? readable_file_bytes(file_path) : bytes.size()),
      file_(open_read_only(file_path, bytes)),
      link_access_(H5Pcreate(H5P_LINK_ACCESS), H5Pclose) {
  H5Pset_elink_cb(link_access_.get(), refuse_external_link, nullptr);
}

NodeKind Hdf5InputFile::kind(const std::string& path) const {
  if (path.empty() || path == "/") return NodeKind::kGroup;
  for (std::size_t end = path.find('/', 1);; end = path.find('/', end + 1)) {
    const std::string prefix = path.substr(0, end);
    const htri_t exists = H5Lexists(file_.get(), prefix.c_str(), link_access_.get());
    if (exists == 0) return NodeKind::kAbsent;
    H5L_info_t link{};
    if (exists < 0 || H5Lget_info(file_.get(), prefix.c_str(), &link, link_access_.get()) < 0) {
      damaged(prefix + ": cannot be looked up");
    }
    if (link.type == H5L_TYPE_EXTERNAL) return NodeKind::kExternalLink;
    const bool soft = link.type == H5L_TYPE_SOFT;
    if (soft && H5Oexists_by_name(file_.get(), prefix.c_str(), link_access_.get()) <= 0) {
      return NodeKind::kDanglingLink;
    }
    const Handle object = open_object(prefix);
    const H5I_type_t type = H5Iget_type(object.get());
    if (end == std::string::npos) {
      return type == H5I_DATASET ? NodeKind::kDataset
             : type == H5I_GROUP ? NodeKind::kGroup
                                 : NodeKind::kOther;
    }
    if (type != H5I_GROUP) return NodeKind::kAbsent;
  }
}

std::vector<std::string> Hdf5InputFile::members(const std::string& group) const {
  if (kind(group) != NodeKind::kGroup) return {};
  const Handle object = open_object(group);
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Literate(object.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_name<H5L_info_t>,
                 &names) < 0) {
    damaged(group + ": the group cannot be listed");
  }
  return names;
}

std::vector<std::string> Hdf5InputFile::attributes(const std::string& object) const {
  const Handle owner = open_object(object);
  std::vector<std::string> names;
  hsize_t position = 0;
  if (H5Aiterate2(owner.get(), H5_INDEX_NAME, H5_ITER_INC, &position, collect_name<H5A_info_t>,
                  &names) < 0) {
    damaged((object.empty() ? "/" : object) + ": the attributes cannot be listed");
  }
  return names;
}

Handle Hdf5InputFile::open_object(const std::string& path) const {
  const std::string name = path.empty() ? "/" : path;
  Handle object(H5Oopen(file_.get(), name.c_str(), link_access_.get()), H5Oclose);
  if (!object.valid()) damaged(name + ": cannot be opened");
  return object;
}

}  // namespace headway::io
