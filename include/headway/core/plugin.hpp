#pragma once

#include <filesystem>
#include <string>

namespace headway {

/// A library of Headway's own that is loaded when it is first needed. What it is linked with stays
/// its own: programs that never need it do not wait for that, and libraries that would not bear
/// each other in one program (two copies of protobuf, say) can both be used.
struct Plugin {
  std::string what;   ///< for messages
  std::string built;  ///< its file in the build tree
  std::string
      installed;      ///< and where it was to be installed; lib/headway of own_prefix() goes first
  std::string entry;  ///< name of the function asked for
};

/// The folder that this code is installed below, wherever that was moved to: that of bin/ and
/// share/ for a program; for Python's extension module that of lib/python3/dist-packages/, or, in a
/// wheel, the package's own folder. In a build tree there is nothing of ours below it.
std::filesystem::path own_prefix();

/// The address of the entry. The library is never unloaded. Error{kUnavailable} with what was
/// tried.
void* load_plugin(const Plugin& plugin);

}  // namespace headway
