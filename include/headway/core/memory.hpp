#pragma once

namespace headway {

inline constexpr double kGibibyte = 1024.0 * 1024.0 * 1024.0;

/// Bytes of this machine's memory; infinite where the system does not say.
double physical_memory();

/// Bytes of address space that this process may still take (RLIMIT_AS); infinite without a limit.
double free_address_space();

}  // namespace headway
