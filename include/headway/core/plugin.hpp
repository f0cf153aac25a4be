#pragma once

#include <string>

namespace headway {

/// A library of Headway's own that is loaded when it is first needed. What it is linked with stays
/// its own: programs that never need it do not wait for that, and libraries that would not bear
/// each other in one program (two copies of protobuf, say) can both be used.
struct Plugin {
  std::string what;       ///< for messages
  std::string built;      ///< its file in the build tree
  std::string installed;  ///< and where it is installed; also tried: ../lib/headway of the program
  std::string entry;      ///< name of the function asked for
};

/// The address of the entry. The library is never unloaded. Error{kUnavailable} with what was
/// tried.
void* load_plugin(const Plugin& plugin);

}  // namespace headway
