#include "headway/core/examples.hpp"

#include "headway/error.hpp"

namespace headway {

void ExampleSource::read_mask(Index, Index, std::uint8_t*) const {
  throw Error(ErrorKind::kInternal, "read_mask: these examples have no mask");
}

void ExampleSource::read_attention(int, Index, Index, double*) const {
  throw Error(ErrorKind::kInternal, "read_attention: these examples have no supplied attention");
}

}  // namespace headway
