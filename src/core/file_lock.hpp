#pragma once

#include <string>

namespace headway {

enum class Lock {
  kHeld,
  kTaken,  ///< by another process
  kMoved,  ///< held, but the name is no longer that of this file
  kNone,   ///< this file system has no locks
};

/// Locks an open file under its name, without waiting. The lock ends when the file is closed, so at
/// the latest with the process, however it ends; of network file systems NFS has it, too. It is
/// not one of flock(): HDF5 asks for those before it reads, and would refuse a file that just got
/// its proper name.
Lock try_lock_file(int handle, const std::string& name);

}  // namespace headway
