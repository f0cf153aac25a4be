#include "headway/core/examples.hpp"

#include <fmt/format.h>

#include "headway/error.hpp"

namespace headway {

void ExampleSource::read_mask(Index, Index, std::uint8_t*) const {
  throw Error(ErrorKind::kInternal, "read_mask: these examples have no mask");
}

void ExampleSource::read_attention(int, Index, Index, double*) const {
  throw Error(ErrorKind::kInternal, "read_attention: these examples have no supplied attention");
}

void ExampleSource::check_range(Index begin, Index count) const {
  if (begin >= 0 && count >= 0 && begin <= size() - count) return;
  throw Error(ErrorKind::kInternal,
              fmt::format("examples {} + {} of {} asked for", begin, count, size()));
}

}  // namespace headway
