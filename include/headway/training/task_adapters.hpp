#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "headway/tasks/sraven.hpp"
#include "headway/tasks/text.hpp"
#include "headway/training/training_task.hpp"

namespace headway::training {

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

}  // namespace headway::training
