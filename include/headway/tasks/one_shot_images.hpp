#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "headway/core/option_table_fwd.hpp"
#include "headway/dataset.hpp"
#include "headway/tasks/image_set.hpp"
#include "headway/types.hpp"

namespace headway::tasks {

inline constexpr Index kOneShotSide = 32;          ///< pixels of an image, each way
inline constexpr Index kOneShotPatch = 8;          ///< pixels of a patch, each way
inline constexpr Index kOneShotPatches = 16;       ///< patches of an image
inline constexpr Index kOneShotTokens = 48;        ///< S: two labelled images, then the query
inline constexpr Index kOneShotChannels = 3;       ///< equal: the reference reads RGB
inline constexpr Index kOneShotFeatures = 192;     ///< N_0
inline constexpr double kOneShotPaper = 0.922;     ///< mean grey of Omniglot, 1 = blank
inline constexpr double kOneShotContrast = 0.084;  ///< what the reference divides by
inline constexpr double kOneShotLayerNormEpsilon = 1e-5;

/// Classes of the splits are disjoint. kOutOfDistribution: all classes of another image set.
enum class OneShotSplit { kTrain, kValidation, kTest, kOutOfDistribution };

/// Two-way one-shot classification in context [T24, figure 3] (src/tasks/README.md, eq. 3).
///
/// An example shows one drawing each of two classes, labelled +1 and -1 in random order, and a
/// query: another drawing of one of the two, whose label is asked for. Each image, [32, 32] with x
/// = 1 for blank paper and 0 for ink, is cut into 4 x 4 patches of 8 x 8 pixels. Patch b of image a
/// (both row by row, from 0; the query is image 2) is token s = 16 a + b, and
///   x_s = LN(v) + position_scale p_s + label_scale e_{label of image a}
/// Here v[3 (8 r + c) + channel] = (x - 0.922) / 0.084 at row r and column c of the patch, the same
/// in all three channels. LN(v) = (v - mean v) / sqrt(var v + 1e-5) over the 192 numbers has no
/// parameters; blank patches become 0. p is one_shot_positions(). e is one_shot_label_embedding(),
/// for -1, +1 and the unknown label of the query.
struct OneShotImagesOptions {
  /// Shares of the characters (or alphabets); the rest is for training. The defaults are about
  /// those of the split that the reference takes for the full set: 1028, 172 and 423 of 1623
  /// characters.
  double validation = 0.1;
  double test = 0.25;
  /// Split by alphabet: the characters of an alphabet stay together. False splits by character, as
  /// the reference does.
  bool split_by_group = false;
  /// Each character gives three more classes, turned by 90, 180 and 270 degrees, in the same split.
  bool rotations = false;
  double position_scale = 1.0;  ///< of p: 1 as in the reference
  double label_scale = 1.0;     ///< of e: 1 as in the reference
  std::uint64_t seed = 0;       ///< of the split, the label embedding and every example

  static const OptionTable<OneShotImagesOptions>& table();  ///< [task] kind = "omniglot"
  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// A class of the task: a class of the image set, turned by some quarters anticlockwise.
struct OneShotClass {
  Index image_class = 0;  ///< position in ImageSet::classes
  int quarter_turns = 0;  ///< 0 to 3

  bool operator==(const OneShotClass&) const = default;
};

struct OneShotClasses {
  std::vector<OneShotClass> train;
  std::vector<OneShotClass> validation;
  std::vector<OneShotClass> test;
  std::vector<OneShotClass> out_of_distribution;

  [[nodiscard]] const std::vector<OneShotClass>& of(OneShotSplit split) const;
};

/// Splits the characters (or alphabets) of `images` by shuffling them with the stream
/// (options.seed, kSplits, 0). The first floor(test n) are for test, the next floor(validation n)
/// for validation, the rest for training. Each list is in the order of the set; rotations follow
/// all unturned classes, a turn at a time.
/// Errors: kBadData when a class has fewer than two drawings, for a query and its support, or when
/// the set has too few classes for two in training and in each split with a share above 0.
/// kBadStudy when the shares alone leave one of these with fewer than two, or when alphabets are
/// asked for and the set has none.
OneShotClasses split_one_shot_classes(const ImageSet& images, const OneShotImagesOptions& options);

/// The fixed sinusoidal positions p, [S, N_0]: with w_i = 10000^(-2 i / N_0),
///   P[s, 2i] = sin(s w_i), P[s, 2i + 1] = cos(s w_i),   p = (P - mean P) / sd P
/// standardised over the whole table (one mean, one sd), as the reference does.
RowMatrixXd one_shot_positions();

/// The frozen label embedding e, [3, N_0]: rows for label -1, label +1, and unknown; independent
/// standard normals from the stream (seed, kLabelEmbedding, 0), row by row.
RowMatrixXd one_shot_label_embedding(std::uint64_t seed);

/// Which images an example shows. Entry 0 and 1 are the support, 2 is the query.
struct OneShotTuple {
  std::array<Index, 3> classes{};   ///< positions in OneShotClasses::of(split)
  std::array<Index, 3> drawings{};  ///< positions in the image set
  std::array<int, 3> turns{};       ///< quarter turns, anticlockwise
  std::array<int, 2> labels{};      ///< of the support: +1 and -1, in either order
  int label = 0;                    ///< of the query
};

struct OneShotExample {
  OneShotTuple tuple;
  std::vector<float> inputs;  ///< [S, N_0]
};

/// B examples: inputs [B, S, N_0], labels [B].
struct OneShotBatch {
  std::vector<float> inputs;
  std::vector<float> labels;
};

/// Draws examples. Any example of any split can be had at any time and on any thread: example i
/// comes from its own stream, (seed, purpose of the split, i), with kTrainExamples,
/// kValidationExamples, kTestExamples or kOutOfDistributionExamples. Its query's label is +1 for
/// even and -1 for odd i, so that labels are balanced in every even stretch. Order of draws: the
/// class of the first image, that of the second among the others, whether the first has label +1;
/// then the drawings of both, and that of the query among the others of its class. Cost: about 10
/// us an example.
class OneShotImagesGenerator {
 public:
  /// Error as split_one_shot_classes(); Error{kBadData} when the images are not 32 x 32.
  OneShotImagesGenerator(const std::shared_ptr<const ImageSet>& images,
                         const OneShotImagesOptions& options);

  /// The generator of tuples from all classes of another set (MNIST), with the embedding and scales
  /// of `options`; shares and rotations play no part. It has the split kOutOfDistribution alone.
  static OneShotImagesGenerator out_of_distribution(std::shared_ptr<const ImageSet> images,
                                                    const OneShotImagesOptions& options);

  [[nodiscard]] const OneShotImagesOptions& options() const { return options_; }
  [[nodiscard]] const ImageSet& images() const { return *images_; }
  [[nodiscard]] const OneShotClasses& classes() const { return classes_; }

  /// Which images example `index` >= 0 of `split` shows; Error{kBadStudy} when the split is empty.
  [[nodiscard]] OneShotTuple tuple(OneShotSplit split, Index index) const;
  /// The tokens x of a tuple, out: [S, N_0].
  void inputs(const OneShotTuple& tuple, double* out) const;
  /// Example `index`; the memory of `out` is used again.
  void example(OneShotSplit split, Index index, OneShotExample& out) const;
  /// Examples first, ..., first + count - 1.
  void batch(OneShotSplit split, Index first, Index count, OneShotBatch& out) const;

  /// Everything that the examples depend on, as a SHA-256. Cost: a pass over the images.
  [[nodiscard]] std::string content_hash() const;

 private:
  OneShotImagesGenerator(std::shared_ptr<const ImageSet> images,
                         const OneShotImagesOptions& options, OneShotClasses classes);

  std::shared_ptr<const ImageSet> images_;
  OneShotImagesOptions options_;
  OneShotClasses classes_;
  RowMatrixXd context_;  // [3 S, N_0]: row 48 label + s is what token s gets besides its patch
};

/// Which examples the theory gets.
struct OneShotDatasetOptions {
  Index train_examples = 600;  ///< P of [T24]
  Index test_examples = 1000;  ///< 0: no test set
  Index first_train = 0;       ///< index of the first training example
  Index first_test = 0;        ///< index of the first test example
  /// Where test examples come from: kTest to report, kValidation to choose a temperature,
  /// kOutOfDistribution for another set.
  OneShotSplit test_split = OneShotSplit::kTest;

  void validate() const;  ///< Error{kBadStudy} naming the field, its value and what is allowed
};

/// Examples first, ..., first + count - 1 of one split, with their labels [count, 1]; they are
/// drawn again on every read. Error{kBadStudy} when the split is empty and count above 0.
Split one_shot_split(const std::shared_ptr<const OneShotImagesGenerator>& generator,
                     OneShotSplit split, Index first, Index count);

/// A data set for the theory: examples of the training split of `train`, and of the split
/// options.test_split of `test`, which may be the same generator or one of another set. Attention
/// is given by query and key matrices [G_l, N_0] of layers 1..L: logits = (Q x_s) . (K x_t) /
/// sqrt(G_l). Examples are drawn again on every read: none is stored. Labels +-1, [P, 1]. Missing
/// head names become "head <h>". Errors: kBadData naming layer, head and shape when the matrices do
/// not fit or are not finite.
Dataset make_one_shot_dataset(const std::shared_ptr<const OneShotImagesGenerator>& train,
                              const std::shared_ptr<const OneShotImagesGenerator>& test,
                              std::vector<LayerHeads> heads, const OneShotDatasetOptions& options);

}  // namespace headway::tasks
