#include <dlfcn.h>
#include <fmt/format.h>

#include "headway/core/memory.hpp"
#include "headway/core/plugin.hpp"
#include "headway/error.hpp"
#include "training/model/transformer_engine.hpp"

namespace headway::training::detail {
namespace {

#ifdef HEADWAY_TORCH_LIBRARY

constexpr double kLibraryBytes = 512.0 * 1024.0 * 1024.0;  // to load it and what it depends on

const TorchLibrary* load() {
  require_address_space(kLibraryBytes, "LibTorch takes");  // without, it ends the process or hangs
  // POSIX lets a pointer from dlsym become one to a function.
  const auto entry = reinterpret_cast<TorchLibraryEntry>(  // NOLINT
      load_plugin({"training: Headway's LibTorch library", HEADWAY_TORCH_LIBRARY,
                   HEADWAY_TORCH_LIBRARY_INSTALLED, kTorchLibraryEntry}));
  const TorchLibrary* library = entry(kTorchInterface);
  if (library == nullptr) {
    Dl_info found{};
    dladdr(reinterpret_cast<void*>(entry), &found);  // NOLINT: as above, the other way round
    throw Error(ErrorKind::kUnavailable,
                fmt::format("training: {} belongs to another version of Headway",
                            found.dli_fname != nullptr ? found.dli_fname : HEADWAY_TORCH_LIBRARY));
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

void require_address_space(double bytes, const std::string& who) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  const double left = free_address_space();
  if (left >= bytes) return;
  throw Error(ErrorKind::kUnavailable,
              fmt::format("training: not enough memory: {} {:.0f} MiB of address space, but the "
                          "limit (ulimit -v) leaves {:.0f}",
                          who, bytes / kMebibyte, left / kMebibyte));
}

const TorchLibrary& torch_library() {
  static const TorchLibrary* const library = load();
  return *library;
}

}  // namespace headway::training::detail
