#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <string>
#include <vector>

#include "headway/core/error.hpp"
#include "training/transformer_engine.hpp"

namespace headway::training::detail {
namespace {

#ifdef HEADWAY_TORCH_LIBRARY

// Where it was built, where it is installed, and ../lib/headway beside the program.
std::vector<std::string> candidates() {
  std::vector<std::string> paths = {HEADWAY_TORCH_LIBRARY, HEADWAY_TORCH_LIBRARY_INSTALLED};
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const std::string name = std::filesystem::path(HEADWAY_TORCH_LIBRARY).filename();
    paths.push_back(program.parent_path().parent_path() / "lib" / "headway" / name);
  }
  return paths;
}

void* open_library() {
  std::string tried;
  for (const std::string& path : candidates()) {
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) {
      tried += fmt::format("; {}: missing", path);
      continue;
    }
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) return handle;
    tried += fmt::format("; {}", dlerror());  // NOLINT(concurrency-mt-unsafe)
  }
  throw Error(ErrorKind::kUnavailable,
              fmt::format("training: its LibTorch library cannot be loaded{}", tried));
}

const TorchLibrary* load() {
  void* handle = open_library();  // never closed: LibTorch does not survive that
  // POSIX: an object pointer from dlsym is a function's.
  const auto entry =
      reinterpret_cast<TorchLibraryEntry>(dlsym(handle, kTorchLibraryEntry));  // NOLINT
  const TorchLibrary* library = entry == nullptr ? nullptr : entry(kTorchInterface);
  if (library == nullptr) {
    throw Error(ErrorKind::kUnavailable,
                "training: the LibTorch library found is that of another version of Headway");
  }
  return library;
}

#else

const TorchLibrary* load() {
  throw Error(ErrorKind::kUnavailable,
              "training: this build of Headway has no LibTorch. Install it (Debian, Ubuntu: "
              "apt-get install libtorch-dev libdnnl-dev) and build again");
}

#endif

}  // namespace

const TorchLibrary& torch_library() {
  static const TorchLibrary* const library = load();
  return *library;
}

}  // namespace headway::training::detail
