#include "headway/tasks/one_shot_images.hpp"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <utility>

#include "headway/core/rng.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"

namespace headway::tasks {
namespace {

constexpr Index kPatchesAcross = kOneShotSide / kOneShotPatch;
constexpr Index kPatchPixels = kOneShotPatch * kOneShotPatch;
constexpr Index kUnknownLabel = 2;  // row of the label embedding
constexpr double kWavelengths = 10'000.0;

StreamPurpose purpose_of(OneShotSplit split) {
  switch (split) {
    case OneShotSplit::kTrain:
      return StreamPurpose::kTrainExamples;
    case OneShotSplit::kValidation:
      return StreamPurpose::kValidationExamples;
    case OneShotSplit::kTest:
      return StreamPurpose::kTestExamples;
    case OneShotSplit::kOutOfDistribution:
      return StreamPurpose::kOutOfDistributionExamples;
  }
  throw Error(ErrorKind::kInternal, "one_shot_images: unknown split");
}

Index label_row(int label) { return label < 0 ? 0 : 1; }

// A draw from {0, ..., count - 1} without `taken`.
Index draw_other(Rng& rng, Index count, Index taken) {
  const auto drawn = static_cast<Index>(rng.uniform_index(static_cast<std::uint64_t>(count - 1)));
  return drawn < taken ? drawn : drawn + 1;
}

// Where pixel (row, column) of an image turned anticlockwise comes from.
Index source_pixel(int quarter_turns, Index row, Index column) {
  constexpr Index kLast = kOneShotSide - 1;
  switch (quarter_turns) {
    case 0:
      return row * kOneShotSide + column;
    case 1:
      return column * kOneShotSide + kLast - row;
    case 2:
      return (kLast - row) * kOneShotSide + kLast - column;
    default:
      return (kLast - column) * kOneShotSide + row;
  }
}

using Patch = Eigen::Array<double, kPatchPixels, 1>;

// v of each grey value.
std::array<double, 256> contrast_table() {
  std::array<double, 256> table{};
  for (std::size_t grey = 0; grey < table.size(); ++grey) {
    table[grey] = (static_cast<double>(grey) / 255.0 - kOneShotPaper) / kOneShotContrast;
  }
  return table;
}

// LN(v) of one patch, a value per pixel: the three channels have the same.
Patch normalised_patch(std::span<const std::uint8_t> image, int quarter_turns, Index patch_index) {
  static const std::array<double, 256> kContrast = contrast_table();
  const Index top = patch_index / kPatchesAcross * kOneShotPatch;
  const Index left = patch_index % kPatchesAcross * kOneShotPatch;
  Patch v;
  for (Index r = 0; r < kOneShotPatch; ++r) {
    for (Index c = 0; c < kOneShotPatch; ++c) {
      const Index from = source_pixel(quarter_turns, top + r, left + c);
      v(r * kOneShotPatch + c) = kContrast[image[static_cast<std::size_t>(from)]];
    }
  }
  v -= v.mean();
  v /= std::sqrt(v.square().mean() + kOneShotLayerNormEpsilon);
  return v;
}

// The 16 tokens of one image; context: [16, N_0], what is added to them.
template <typename Real>
void write_image(std::span<const std::uint8_t> image, int quarter_turns, const double* context,
                 Real* out) {
  using Token =
      Eigen::Array<double, kOneShotChannels, kPatchPixels>;  // a pixel's channels together
  for (Index b = 0; b < kOneShotPatches; ++b) {
    const Patch v = normalised_patch(image, quarter_turns, b);
    const Eigen::Map<const Token> added(context + b * kOneShotFeatures);
    Token token = added;
    token.rowwise() += v.transpose();
    Eigen::Map<Eigen::Array<Real, kOneShotChannels, kPatchPixels>>(out + b * kOneShotFeatures) =
        token.template cast<Real>();
  }
}

template <typename Real>
void write_tuple(const ImageSet& images, const RowMatrixXd& context, const OneShotTuple& tuple,
                 Real* out) {
  for (std::size_t a = 0; a < tuple.drawings.size(); ++a) {
    const Index label = a < tuple.labels.size() ? label_row(tuple.labels[a]) : kUnknownLabel;
    const Index first = static_cast<Index>(a) * kOneShotPatches;
    write_image(images.drawing(tuple.drawings[a]), tuple.turns[a],
                context.row(label * kOneShotTokens + first).data(), out + first * kOneShotFeatures);
  }
}

}  // namespace

RowMatrixXd one_shot_positions() {
  RowMatrixXd table(kOneShotTokens, kOneShotFeatures);
  for (Index i = 0; i < kOneShotFeatures; i += 2) {
    const double exponent = static_cast<double>(i) / static_cast<double>(kOneShotFeatures);
    const double frequency = std::pow(kWavelengths, -exponent);
    for (Index s = 0; s < kOneShotTokens; ++s) {
      const double angle = static_cast<double>(s) * frequency;
      table(s, i) = std::sin(angle);
      table(s, i + 1) = std::cos(angle);
    }
  }
  table.array() -= table.mean();
  table /= std::sqrt(table.squaredNorm() / static_cast<double>(table.size()));
  return table;
}

RowMatrixXd one_shot_label_embedding(std::uint64_t seed) {
  RowMatrixXd embedding(kUnknownLabel + 1, kOneShotFeatures);
  Rng rng(seed, StreamPurpose::kLabelEmbedding);
  rng.fill_normal({embedding.data(), static_cast<std::size_t>(embedding.size())});
  return embedding;
}

OneShotImagesGenerator::OneShotImagesGenerator(std::shared_ptr<const ImageSet> images,
                                               const OneShotImagesOptions& options,
                                               OneShotClasses classes)
    : images_(std::move(images)), options_(options), classes_(std::move(classes)) {
  if (images_->side != kOneShotSide) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: images of {} x {} pixels: must be {} x {}", images_->name,
                            images_->side, images_->side, kOneShotSide, kOneShotSide));
  }
  const RowMatrixXd positions = options_.position_scale * one_shot_positions();
  const RowMatrixXd labels = options_.label_scale * one_shot_label_embedding(options_.seed);
  context_.resize(labels.rows() * kOneShotTokens, kOneShotFeatures);
  for (Index label = 0; label < labels.rows(); ++label) {
    context_.middleRows(label * kOneShotTokens, kOneShotTokens) =
        positions.rowwise() + labels.row(label);
  }
}

OneShotImagesGenerator::OneShotImagesGenerator(const std::shared_ptr<const ImageSet>& images,
                                               const OneShotImagesOptions& options)
    : OneShotImagesGenerator(images, options, split_one_shot_classes(*images, options)) {}

OneShotImagesGenerator OneShotImagesGenerator::out_of_distribution(
    std::shared_ptr<const ImageSet> images, const OneShotImagesOptions& options) {
  OneShotImagesOptions whole = options;
  whole.validation = 0.0;
  whole.test = 0.0;
  whole.split_by_group = false;
  whole.rotations = false;
  OneShotClasses classes = split_one_shot_classes(*images, whole);
  std::swap(classes.train, classes.out_of_distribution);
  return {std::move(images), whole, std::move(classes)};
}

OneShotTuple OneShotImagesGenerator::tuple(OneShotSplit split, Index index) const {
  const std::vector<OneShotClass>& classes = classes_.of(split);
  if (classes.empty()) {
    throw Error(
        ErrorKind::kBadStudy,
        fmt::format("{}: no characters are set apart for this split: its share must be above 0",
                    images_->name));
  }
  const auto count = static_cast<Index>(classes.size());
  const auto image_class = [&](Index c) -> const ImageClass& {
    const OneShotClass& of_split = classes[static_cast<std::size_t>(c)];
    return images_->classes[static_cast<std::size_t>(of_split.image_class)];
  };
  const auto draw_below = [](Rng& rng, Index bound) {
    return static_cast<Index>(rng.uniform_index(static_cast<std::uint64_t>(bound)));
  };
  Rng rng(options_.seed, purpose_of(split), static_cast<std::uint64_t>(index));
  OneShotTuple tuple;
  tuple.classes[0] = draw_below(rng, count);
  tuple.classes[1] = draw_other(rng, count, tuple.classes[0]);
  const bool first_positive = rng.uniform() < 0.5;
  tuple.labels = {first_positive ? 1 : -1, first_positive ? -1 : 1};
  tuple.label = index % 2 == 0 ? 1 : -1;
  const std::size_t match = tuple.labels[0] == tuple.label ? 0 : 1;
  tuple.classes[2] = tuple.classes[match];
  std::array<Index, 3> within{};
  for (std::size_t a = 0; a < 2; ++a) {
    within[a] = draw_below(rng, image_class(tuple.classes[a]).count);
  }
  within[2] = draw_other(rng, image_class(tuple.classes[2]).count, within[match]);
  for (std::size_t a = 0; a < within.size(); ++a) {
    tuple.drawings[a] = image_class(tuple.classes[a]).first + within[a];
    tuple.turns[a] = classes[static_cast<std::size_t>(tuple.classes[a])].quarter_turns;
  }
  return tuple;
}

void OneShotImagesGenerator::inputs(const OneShotTuple& tuple, double* out) const {
  write_tuple(*images_, context_, tuple, out);
}

void OneShotImagesGenerator::example(OneShotSplit split, Index index, OneShotExample& out) const {
  out.tuple = tuple(split, index);
  out.inputs.resize(static_cast<std::size_t>(kOneShotTokens * kOneShotFeatures));
  write_tuple(*images_, context_, out.tuple, out.inputs.data());
}

void OneShotImagesGenerator::batch(OneShotSplit split, Index first, Index count,
                                   OneShotBatch& out) const {
  constexpr Index kStride = kOneShotTokens * kOneShotFeatures;
  out.inputs.resize(static_cast<std::size_t>(count * kStride));
  out.labels.resize(static_cast<std::size_t>(count));
  for (Index i = 0; i < count; ++i) {
    const OneShotTuple drawn = tuple(split, first + i);
    write_tuple(*images_, context_, drawn, out.inputs.data() + i * kStride);
    out.labels[static_cast<std::size_t>(i)] = static_cast<float>(drawn.label);
  }
}

std::string OneShotImagesGenerator::content_hash() const {
  const OneShotImagesOptions& o = options_;
  std::string text = fmt::format("one_shot_images 1\nimages {}\nseed {}\nscales {:a} {:a}\n",
                                 image_set_hash(*images_), o.seed, o.position_scale, o.label_scale);
  for (const OneShotSplit split : {OneShotSplit::kTrain, OneShotSplit::kValidation,
                                   OneShotSplit::kTest, OneShotSplit::kOutOfDistribution}) {
    text += "split";
    for (const OneShotClass& c : classes_.of(split)) {
      text += fmt::format(" {}:{}", c.image_class, c.quarter_turns);
    }
    text += '\n';
  }
  return sha256_hex(text);
}

}  // namespace headway::tasks
