#include "headway/core/error.hpp"
#include "headway/core/plugin.hpp"
#include "training/transformer_engine.hpp"

namespace headway::training::detail {
namespace {

#ifdef HEADWAY_TORCH_LIBRARY

const TorchLibrary* load() {
  // POSIX: an object pointer from dlsym is a function's.
  const auto entry = reinterpret_cast<TorchLibraryEntry>(  // NOLINT
      load_plugin({"training: its LibTorch library", HEADWAY_TORCH_LIBRARY,
                   HEADWAY_TORCH_LIBRARY_INSTALLED, kTorchLibraryEntry}));
  const TorchLibrary* library = entry(kTorchInterface);
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
