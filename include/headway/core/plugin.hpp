#pragma once

#include <filesystem>
#include <string>

namespace headway {

/// A library of Headway's own that is loaded when it is first needed. Programs that never need it
/// do not load the libraries that it is linked with. And libraries that conflict in one program,
/// such as two copies of protobuf, can both be used.
struct Plugin {
  std::string what;   ///< for messages
  std::string built;  ///< its file in the build tree
  std::string
      installed;      ///< and where it was to be installed; lib/headway of own_prefix() goes first
  std::string entry;  ///< name of the function asked for
};

/// The folder that this code is installed below, even after that was moved. For a program it is the
/// one that holds bin/ and share/. For Python's extension module it holds
/// lib/python3/dist-packages/; in a wheel it is the package's own folder. In a build tree it holds
/// nothing of ours.
std::filesystem::path own_prefix();

/// The address of the entry. The library is never unloaded. Error{kUnavailable} with what was
/// tried.
void* load_plugin(const Plugin& plugin);

}  // namespace headway
