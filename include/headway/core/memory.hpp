#pragma once

namespace headway {

/// Bytes of this machine's memory; infinite where the system does not say.
double physical_memory();

}  // namespace headway
