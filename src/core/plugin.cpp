#include "headway/core/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <vector>

#include "headway/error.hpp"

namespace headway {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> candidates(const Plugin& plugin) {
  const fs::path own = own_prefix() / "lib" / "headway" / fs::path(plugin.built).filename();
  return {own.string(), plugin.built, plugin.installed};
}

}  // namespace

fs::path own_prefix() {
  std::error_code failure;
  const fs::path program = fs::read_symlink("/proc/self/exe", failure);
  Dl_info place{};
  const bool known = dladdr(reinterpret_cast<void*>(&own_prefix), &place) != 0;
  // For code in the program itself, the name is the one that it was called by. It may lack a
  // folder.
  const fs::path file = known ? fs::path(place.dli_fname) : program;
  if (!file.has_parent_path() || fs::equivalent(file, program, failure)) {
    return program.parent_path().parent_path();
  }
  fs::path package = fs::absolute(file, failure).parent_path();
  if (fs::exists(package / "share" / "headway", failure)) return package;
  return package.parent_path().parent_path().parent_path().parent_path();
}

void* load_plugin(const Plugin& plugin) {
  std::string tried;
  for (const std::string& path : candidates(plugin)) {
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) {
      // The folder that a package was built in says nothing to those who installed it.
      if (path != plugin.built) tried += fmt::format("; {}: missing", path);
      continue;
    }
    if (void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
      if (void* entry = dlsym(handle, plugin.entry.c_str())) return entry;
    }
    tried += fmt::format("; {}", dlerror());  // NOLINT(concurrency-mt-unsafe)
  }
  throw Error(ErrorKind::kUnavailable, fmt::format("{} cannot be loaded{}", plugin.what, tried));
}

}  // namespace headway
