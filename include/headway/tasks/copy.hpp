#pragma once

#include <cstdint>

#include "headway/core/option_table_fwd.hpp"
#include "headway/dataset.hpp"

namespace headway::tasks {

/// The copy task (src/tasks/README.md, "Copy"): the last token points at a position, and the label
/// is the value there. S tokens of N_0 = 2 S + 1 features
///   [value, one-hot position, one-hot pointer],
/// each divided by sqrt(3) and multiplied by sqrt(norm N_0), so that |x|^2 = norm N_0. Values are
/// fair coins +-1. Every token points at one of the S positions, all equally likely; only the last
/// pointer matters.
struct CopyOptions {
  Index train_examples = 100;
  Index test_examples = 1000;  ///< 0: no test split
  Index tokens = 8;            ///< S
  double norm = 1.0;           ///< |x|^2 / N_0 of every token
  /// Logit of the token pointed at in the head that the data set gives; the others have 0.
  double beta = 10.0;

  /// [task] kind = "copy"
  static const OptionTable<CopyOptions>& table();
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// Draws the data set, with one layer of one head that solves the task: its W matches pointers with
/// positions. Learned attention is compared with this head, or starts from it. Examples are drawn
/// again on every read. Random streams (core/rng.hpp): (seed, kTrainExamples or kTestExamples,
/// example), S uniforms for the values, then S pointers.
Dataset make_copy(const CopyOptions& options, std::uint64_t seed);

}  // namespace headway::tasks
