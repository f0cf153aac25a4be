#include "headway/core/examples.hpp"

#include "headway/core/error.hpp"

namespace headway {

Words<AttentionKind> words_of(AttentionKind) {
  static constexpr Word<AttentionKind> kWords[] = {{"softmax", AttentionKind::kSoftmax},
                                                   {"hardmax", AttentionKind::kHardmax}};
  return kWords;
}

Words<Readout> words_of(Readout) {
  static constexpr Word<Readout> kWords[] = {{"last_token", Readout::kLastToken},
                                             {"first_token", Readout::kFirstToken},
                                             {"mean", Readout::kMean}};
  return kWords;
}

void ExampleSource::read_mask(Index, Index, std::uint8_t*) const {
  throw Error(ErrorKind::kInternal, "read_mask: these examples have no mask");
}

void ExampleSource::read_attention(int, Index, Index, double*) const {
  throw Error(ErrorKind::kInternal, "read_attention: these examples have no supplied attention");
}

}  // namespace headway
