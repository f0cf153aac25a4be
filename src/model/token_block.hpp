#pragma once

#include <cstdint>
#include <mutex>
#include <vector>

#include "headway/core/examples.hpp"
#include "headway/types.hpp"

namespace headway::model {

// Serialises the reads of a source that is not thread_safe().
class SourceReader {
 public:
  explicit SourceReader(const ExampleSource& source) : source_(source) {}

  [[nodiscard]] const ExampleSource& source() const { return source_; }
  // Calls read(source), alone if the source needs that.
  template <typename Read>
  void read(Read&& read_from) {
    if (source_.thread_safe()) {
      read_from(source_);
    } else {
      const std::lock_guard<std::mutex> lock(mutex_);
      read_from(source_);
    }
  }

 private:
  const ExampleSource& source_;
  std::mutex mutex_;
};

// Examples [begin, begin + count), real tokens only: one token a column of `tokens`, example after
// example. Example b has columns offset[b] .. offset[b + 1], at sequence positions `position`.
struct TokenBlock {
  Index begin = 0;
  Index count = 0;
  Index sequence = 0;  // S, padding included
  MatrixXd tokens;     // N_0 x T
  std::vector<Index> offset;
  std::vector<Index> position;

  [[nodiscard]] Index first(Index b) const { return offset[static_cast<std::size_t>(b)]; }
  [[nodiscard]] Index length(Index b) const { return first(b + 1) - first(b); }
  [[nodiscard]] bool padded(Index b) const { return length(b) != sequence; }
  // The column of example b that a readout of one token takes.
  [[nodiscard]] Index readout_column(Index b, Readout readout) const {
    return readout == Readout::kLastToken ? first(b + 1) - 1 : first(b);
  }
};

// Error{kBadData} when an example has no real token.
TokenBlock read_token_block(SourceReader& reader, Index begin, Index count);

// The attention of one query, a column of the block, to the real tokens of its example b. `full` is
// that of the example, [key, query] over all S positions. Error{kBadData} where the query attends
// to a padded token.
void gather_query(const TokenBlock& block, Index b, Index query,
                  const Eigen::Map<const MatrixXd>& full, Eigen::Ref<VectorXd> attention);

}  // namespace headway::model
