#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/core/words.hpp"
#include "headway/tasks/example_arrays.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "headway/tasks/sraven.hpp"
#include "headway/tasks/text.hpp"
#include "headway/training/training_task.hpp"

namespace headway::training {

namespace detail {
class HeldSets;
}

/// Fuzzy logic in context: S tokens of V + 1 numbers, the last token scored by squared error.
/// Splits train, validation, held_out, unknown_terms; selection by validation.
std::unique_ptr<TrainingTask> make_fuzzy_logic_task(const tasks::FuzzyLogicOptions& options);

/// SRAVEN: 9 K one-hot tokens of F numbers (a blank is all 0), the last K scored by cross-entropy.
/// Splits train, validation, test, held_out; selection by validation.
std::unique_ptr<TrainingTask> make_sraven_task(const tasks::SravenOptions& options);

/// Images of another set, for evaluation alone.
struct OutOfDistributionImages {
  std::string name;  ///< of the split
  std::shared_ptr<const tasks::OneShotImagesGenerator> examples;
};

/// The generators of a one-shot task.
struct OneShotExamples {
  std::shared_ptr<const tasks::OneShotImagesGenerator> images;
  std::vector<OutOfDistributionImages> out_of_distribution;
};

/// What one-shot classification gives a network, and asks of it.
TaskFormat one_shot_format();

/// One-shot classification of images: 48 tokens of 192 numbers; the label, -1 or +1, is the target
/// of the last token, by squared error, with the accuracy of the sign. Splits train, validation,
/// test (where the generator has classes for it), and one for each set of other images by its name;
/// selection by validation. Error{kBadStudy} when there are no validation classes, or a name is
/// taken.
std::unique_ptr<TrainingTask> make_one_shot_task(OneShotExamples examples);

/// Prediction of the next token of a text.
struct TextOptions {
  Index sequence_length = 256;  ///< S
  double held_out = 0.1;        ///< shares of the bytes (tasks::TextShares)
  double validation = 0.05;
  std::uint64_t seed = 0;  ///< of the places that training reads

  [[nodiscard]] tasks::TextShares shares() const { return {held_out, validation}; }
  static const OptionTable<TextOptions>& table();  ///< [task] kind = "text"
};

/// A text as tokens. Every token is scored by the one after it. Train example i starts at a place
/// drawn from the stream (seed, kTrainExamples, i); the other examples are the S-token windows of
/// their part, end to end. Splits train, validation, held_out; selection by validation.
/// options.shares() is not read: the text is split already. Error{kBadStudy} when an id is none of
/// the vocabulary, or a part has fewer than S + 1 tokens.
std::unique_ptr<TrainingTask> make_text_task(std::shared_ptr<const tasks::TokenizedText> text,
                                             const TextOptions& options);

/// Byte-level text: 256 ids, one byte each. Errors as tasks::TextCorpus and above.
std::unique_ptr<TrainingTask> make_byte_text_task(std::string_view text,
                                                  const TextOptions& options);

/// The split of arrays without a set "validation" that chooses the best weights: examples of train.
inline constexpr const char* kSeenSplit = "seen";

/// In which order training takes the examples of arrays.
enum class ArrayOrder {
  kShuffled,  ///< every epoch in a random order of its own
  kFile,      ///< as they lie, again and again
};
Words<ArrayOrder> words_of(ArrayOrder);

/// Examples of one's own, as arrays.
struct ArrayOptions {
  tasks::ArrayCounts counts;
  ArrayOrder order = ArrayOrder::kShuffled;
  std::uint64_t seed = 0;  ///< of the order
  /// Sets are held as 4-byte numbers while they take no more than this; else a part of train is.
  /// No study sets it: another value is another order of large sets.
  Index held_bytes = Index{512} << 20;

  static const OptionTable<ArrayOptions>& table();  ///< [task] kind = "arrays"
};

/// Arrays that were checked, and what of them is held; the tasks of several runs share it.
struct CheckedArrays {
  std::shared_ptr<const tasks::ExampleArrays> arrays;
  tasks::ArrayFacts facts;
  std::shared_ptr<const detail::HeldSets> held;  ///< null: too large
};

/// tasks::check_arrays(), and room to hold them. Errors as there.
CheckedArrays checked_arrays(std::shared_ptr<const tasks::ExampleArrays> arrays,
                             const ArrayOptions& options);

/// The sets of arrays as splits, with their names. Targets of every token are scored from the first
/// token on that counts anywhere, else the last token is. Integers are scored by cross-entropy,
/// reals by squared error, with the accuracy of the sign where all are -1 and +1. A loss mask
/// becomes weights: 0 where a target does not count, else one over the share of train's that does.
/// So the mean loss of batches is, on average, the mean over all targets that count, however a
/// batch is cut. Train goes through detail::ExampleOrder with the seed; so does the first part of
/// another set, where not all of it is evaluated. Selection by "validation" where there is such a
/// set, else by kSeenSplit, which is then there. Error{kBadData} where a set has that name. Memory:
/// held_bytes for each run, or for all where everything is held.
std::unique_ptr<TrainingTask> make_array_task(const CheckedArrays& arrays,
                                              const ArrayOptions& options);

}  // namespace headway::training
