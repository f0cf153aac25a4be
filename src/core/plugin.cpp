#include "headway/core/plugin.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <filesystem>
#include <vector>

#include "headway/core/error.hpp"

namespace headway {
namespace {

std::vector<std::string> candidates(const Plugin& plugin) {
  std::vector<std::string> paths = {plugin.built, plugin.installed};
  std::error_code failure;
  const auto program = std::filesystem::read_symlink("/proc/self/exe", failure);
  if (!failure) {
    const auto name = std::filesystem::path(plugin.built).filename();
    paths.push_back(program.parent_path().parent_path() / "lib" / "headway" / name);
  }
  return paths;
}

}  // namespace

void* load_plugin(const Plugin& plugin) {
  std::string tried;
  for (const std::string& path : candidates(plugin)) {
    std::error_code failure;
    if (!std::filesystem::exists(path, failure)) {
      tried += fmt::format("; {}: missing", path);
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
