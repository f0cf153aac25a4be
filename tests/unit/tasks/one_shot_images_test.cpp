#include "headway/tasks/one_shot_images.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <vector>

#include "catch.hpp"
#include "headway/core/parallel.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "image_sets.hpp"

using Catch::Matchers::WithinAbs;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using headway::RowMatrixXd;
using headway::testing::random_image_set;
using namespace headway::tasks;

namespace {

OneShotImagesOptions options_of(std::uint64_t seed = 3) {
  OneShotImagesOptions options;
  options.validation = 0.2;
  options.test = 0.3;
  options.seed = seed;
  return options;
}

std::vector<OneShotSplit> splits() {
  return {OneShotSplit::kTrain, OneShotSplit::kValidation, OneShotSplit::kTest};
}

RowMatrixXd tokens_of(const OneShotImagesGenerator& generator, const OneShotTuple& tuple) {
  RowMatrixXd tokens(kOneShotTokens, kOneShotFeatures);
  generator.inputs(tuple, tokens.data());
  return tokens;
}

// What every token has besides its patch, by the definition.
RowMatrixXd context_of(const OneShotImagesOptions& options, const OneShotTuple& tuple) {
  RowMatrixXd context = options.position_scale * one_shot_positions();
  const RowMatrixXd embedding = one_shot_label_embedding(options.seed);
  for (Index s = 0; s < kOneShotTokens; ++s) {
    const Index image = s / 16;
    const Index row = image == 2 ? 2 : tuple.labels[static_cast<std::size_t>(image)] > 0 ? 1 : 0;
    context.row(s) += options.label_scale * embedding.row(row);
  }
  return context;
}

// A tuple that shows drawing `d` three times.
OneShotTuple shows(Index d, int turns = 0) {
  OneShotTuple tuple;
  tuple.drawings = {d, d, d};
  tuple.turns = {turns, turns, turns};
  tuple.labels = {1, -1};
  tuple.label = 1;
  return tuple;
}

// A set of one class of two images: blank, and blank but for one pixel.
std::shared_ptr<const ImageSet> one_pixel_set(Index row, Index column, std::uint8_t value) {
  auto set = std::make_shared<ImageSet>();
  set->name = "one pixel";
  set->side = 32;
  std::vector<std::uint8_t> pixels(std::size_t{2} * 32 * 32, 255);
  pixels[static_cast<std::size_t>(1024 + row * 32 + column)] = value;
  add_class(*set, "", "a", pixels);
  add_class(*set, "", "b", pixels);
  return set;
}

OneShotImagesGenerator generator_of(const std::shared_ptr<const ImageSet>& set,
                                    double position_scale, double label_scale) {
  OneShotImagesOptions options = options_of();
  options.position_scale = position_scale;
  options.label_scale = label_scale;
  return OneShotImagesGenerator::out_of_distribution(set, options);
}

}  // namespace

TEST_CASE("Splits are disjoint, complete and of the announced sizes") {
  const auto images = random_image_set(20);
  std::set<std::vector<Index>> tests;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const OneShotClasses classes = split_one_shot_classes(*images, options_of(seed));
    CHECK(classes.train.size() == 10);
    CHECK(classes.validation.size() == 4);
    CHECK(classes.test.size() == 6);
    std::set<Index> all;
    std::vector<Index> test;
    for (const OneShotSplit split : splits()) {
      for (const OneShotClass& c : classes.of(split)) {
        CHECK(all.insert(c.image_class).second);
        CHECK(c.quarter_turns == 0);
        if (split == OneShotSplit::kTest) test.push_back(c.image_class);
      }
    }
    CHECK(all.size() == 20);
    CHECK(std::is_sorted(test.begin(), test.end()));
    tests.insert(test);
  }
  CHECK(tests.size() > 5);  // the seed matters
}

TEST_CASE("A split by alphabet keeps alphabets together") {
  const auto images = random_image_set(20);  // 5 groups of 4
  OneShotImagesOptions options = options_of();
  options.split_by_group = true;
  const OneShotClasses classes = split_one_shot_classes(*images, options);
  CHECK(classes.train.size() == 12);
  CHECK(classes.validation.size() == 4);
  CHECK(classes.test.size() == 4);
  std::map<std::string, OneShotSplit> split_of;
  for (const OneShotSplit split : splits()) {
    for (const OneShotClass& c : classes.of(split)) {
      const std::string& group = images->classes[static_cast<std::size_t>(c.image_class)].group;
      CHECK(split_of.try_emplace(group, split).first->second == split);
    }
  }
  CHECK(split_of.size() == 5);
}

TEST_CASE("Rotations are classes in the split of their character") {
  const auto images = random_image_set(20);
  OneShotImagesOptions options = options_of();
  const OneShotClasses plain = split_one_shot_classes(*images, options);
  options.rotations = true;
  const OneShotClasses turned = split_one_shot_classes(*images, options);
  for (const OneShotSplit split : splits()) {
    const auto& from = plain.of(split);
    const auto& to = turned.of(split);
    REQUIRE(to.size() == 4 * from.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      CHECK(to[i].image_class == from[i % from.size()].image_class);
      CHECK(to[i].quarter_turns == static_cast<int>(i / from.size()));
    }
  }
}

TEST_CASE("A tuple shows two classes and a query of one of them") {
  const auto images = random_image_set(20);
  OneShotImagesOptions options = options_of();
  options.rotations = true;
  const OneShotImagesGenerator generator(images, options);
  for (const OneShotSplit split : splits()) {
    const auto& classes = generator.classes().of(split);
    std::array<int, 4> cases{};
    int positive = 0;
    for (Index i = 0; i < 400; ++i) {
      const OneShotTuple t = generator.tuple(split, i);
      REQUIRE(t.classes[0] != t.classes[1]);
      REQUIRE(t.labels[0] * t.labels[1] == -1);
      REQUIRE(std::abs(t.label) == 1);
      const std::size_t match = t.label == t.labels[0] ? 0 : 1;
      REQUIRE(t.classes[2] == t.classes[match]);
      REQUIRE(t.drawings[2] != t.drawings[match]);
      for (std::size_t a = 0; a < 3; ++a) {
        const OneShotClass& of_split = classes.at(static_cast<std::size_t>(t.classes[a]));
        const ImageClass& c = images->classes[static_cast<std::size_t>(of_split.image_class)];
        REQUIRE((c.first <= t.drawings[a] && t.drawings[a] < c.first + c.count));
        REQUIRE(t.turns[a] == of_split.quarter_turns);
      }
      positive += t.label > 0 ? 1 : 0;
      ++cases[match + (t.label > 0 ? 2 : 0)];
    }
    CHECK(positive == 200);                         // exactly
    for (const int c : cases) CHECK(c > 100 - 50);  // 100 +- 9 by chance
  }
}

TEST_CASE("Every class and drawing is shown") {
  const OneShotImagesGenerator generator(random_image_set(20), options_of());
  std::set<Index> queries;
  for (Index i = 0; i < 2000; ++i) {
    queries.insert(generator.tuple(OneShotSplit::kTrain, i).drawings[2]);
  }
  Index drawings = 0;
  for (const OneShotClass& c : generator.classes().train) {
    drawings += generator.images().classes[static_cast<std::size_t>(c.image_class)].count;
  }
  CHECK(static_cast<Index>(queries.size()) == drawings);
}

TEST_CASE("A pixel lands in its token and features") {
  const Index row = 13;
  const Index column =
      26;  // patch row 1 and column 3: token 16 a + 7; row 5 and column 2 within it
  const auto generator = generator_of(one_pixel_set(row, column, 0), 0.0, 0.0);
  const RowMatrixXd tokens = tokens_of(generator, shows(1));
  // One of 64 values differs by d = 1 / 0.084: mean 1/64 off, variance d^2 (1/64)(63/64).
  const double d = 1.0 / 0.084;
  const double sd = std::sqrt(d * d * 63.0 / 4096.0 + 1e-5);
  for (Index s = 0; s < kOneShotTokens; ++s) {
    for (Index f = 0; f < kOneShotFeatures; ++f) {
      const bool token = s % 16 == 7;
      const bool pixel = f / 3 == 5 * 8 + 2;
      const double expected = !token ? 0.0 : (pixel ? -63.0 : 1.0) / 64.0 * d / sd;
      REQUIRE_THAT(tokens(s, f), WithinAbs(expected, 1e-12));
    }
  }
}

TEST_CASE("Faint ink is damped by the epsilon of the layer norm") {
  const auto generator = generator_of(one_pixel_set(0, 0, 254), 0.0, 0.0);
  const RowMatrixXd tokens = tokens_of(generator, shows(1));
  const double d = 1.0 / 255.0 / 0.084;
  const double sd = std::sqrt(d * d * 63.0 / 4096.0 + 1e-5);
  CHECK_THAT(tokens(0, 0), WithinAbs(-63.0 / 64.0 * d / sd, 1e-10));
  CHECK(tokens.row(0).squaredNorm() / 192.0 < 0.8);  // not unit variance
}

TEST_CASE("Patches are normalised over their 192 numbers") {
  const auto generator = generator_of(random_image_set(2), 0.0, 0.0);
  const RowMatrixXd tokens = tokens_of(generator, shows(3));
  for (Index s = 0; s < kOneShotTokens; ++s) {
    CHECK_THAT(tokens.row(s).mean(), WithinAbs(0.0, 1e-13));
    CHECK_THAT(tokens.row(s).squaredNorm() / 192.0, WithinAbs(1.0, 1e-5));
  }
}

TEST_CASE("Turns are quarter turns anticlockwise") {
  const auto generator = generator_of(one_pixel_set(2, 29, 0), 0.0, 0.0);  // top right
  // Top right, top left, bottom left, bottom right: token, and pixel within the patch.
  const std::array<std::pair<Index, Index>, 4> places = {
      std::pair{3, 2 * 8 + 5}, std::pair{0, 2 * 8 + 2}, std::pair{12, 5 * 8 + 2},
      std::pair{15, 5 * 8 + 5}};
  for (int turns = 0; turns < 4; ++turns) {
    const RowMatrixXd tokens = tokens_of(generator, shows(1, turns));
    Index s = 0;
    Index f = 0;
    tokens.topRows(16).minCoeff(&s, &f);
    CAPTURE(turns, s, f);
    CHECK(s == places[static_cast<std::size_t>(turns)].first);
    CHECK(f / 3 == places[static_cast<std::size_t>(turns)].second);
  }
}

TEST_CASE("Positions are a standardised table of sines and cosines") {
  const RowMatrixXd p = one_shot_positions();
  REQUIRE(p.rows() == 48);
  REQUIRE(p.cols() == 192);
  CHECK_THAT(p.mean(), WithinAbs(0.0, 1e-14));
  CHECK_THAT(p.squaredNorm() / (48.0 * 192.0), WithinAbs(1.0, 1e-12));
  // Undo the standardisation by two entries of row 0, sin 0 = 0 and cos 0 = 1.
  const double scale = p(0, 1) - p(0, 0);
  const double zero = p(0, 0);
  for (const auto& [s, i] :
       {std::pair{1, 0}, std::pair{47, 3}, std::pair{20, 50}, std::pair{47, 95}}) {
    const double angle = s * std::exp(-std::log(10000.0) * 2.0 * i / 192.0);
    CHECK_THAT((p(s, 2 * i) - zero) / scale, WithinAbs(std::sin(angle), 1e-12));
    CHECK_THAT((p(s, 2 * i + 1) - zero) / scale, WithinAbs(std::cos(angle), 1e-12));
  }
}

TEST_CASE("Label embeddings are frozen normals of their seed") {
  const RowMatrixXd e = one_shot_label_embedding(3);
  REQUIRE(e.rows() == 3);
  REQUIRE(e.cols() == 192);
  CHECK(e == one_shot_label_embedding(3));
  CHECK(e != one_shot_label_embedding(4));
  headway::Rng rng(3, headway::StreamPurpose::kLabelEmbedding, 0);
  CHECK(e(0, 0) == rng.normal());
  CHECK(e(0, 1) == rng.normal());
  // 576 normals: mean 0 +- 0.042, mean square 1 +- 0.059; five standard errors.
  CHECK_THAT(e.mean(), WithinAbs(0.0, 0.21));
  CHECK_THAT(e.squaredNorm() / 576.0, WithinAbs(1.0, 0.3));
}

TEST_CASE("Tokens are patch + position + label, the last two times their scales") {
  const auto images = random_image_set(20);
  OneShotImagesOptions options = options_of();
  options.position_scale = 0.5;
  options.label_scale = 2.0;
  const OneShotImagesGenerator generator(images, options);
  OneShotImagesOptions bare = options;
  bare.position_scale = 0.0;
  bare.label_scale = 0.0;
  const OneShotImagesGenerator patches(images, bare);
  for (Index i = 0; i < 4; ++i) {
    const OneShotTuple t = generator.tuple(OneShotSplit::kTrain, i);
    const RowMatrixXd rest = tokens_of(generator, t) - tokens_of(patches, t);
    CHECK((rest - context_of(options, t)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  }
}

TEST_CASE("Any example can be had by its index, alone, in a batch and on any thread") {
  const OneShotImagesGenerator generator(random_image_set(20), options_of());
  constexpr Index kCount = 40;
  constexpr Index kStride = kOneShotTokens * kOneShotFeatures;
  for (const OneShotSplit split : splits()) {
    OneShotBatch batch;
    generator.batch(split, 5, kCount, batch);
    REQUIRE(static_cast<Index>(batch.inputs.size()) == kCount * kStride);
    std::vector<OneShotExample> alone(kCount);
    headway::parallel_for(kCount, 2, [&](Index i) {
      const Index backwards = kCount - 1 - i;
      generator.example(split, 5 + backwards, alone[static_cast<std::size_t>(backwards)]);
    });
    for (Index i = 0; i < kCount; ++i) {
      const OneShotExample& e = alone[static_cast<std::size_t>(i)];
      CHECK(std::equal(e.inputs.begin(), e.inputs.end(), batch.inputs.begin() + i * kStride));
      CHECK(batch.labels[static_cast<std::size_t>(i)] == static_cast<float>(e.tuple.label));
      const RowMatrixXd exact = tokens_of(generator, e.tuple);
      CHECK(static_cast<float>(exact(47, 191)) == e.inputs.back());
    }
  }
  const OneShotTuple train = generator.tuple(OneShotSplit::kTrain, 9);
  const OneShotImagesGenerator other(random_image_set(20), options_of(4));
  CHECK(train.drawings != other.tuple(OneShotSplit::kTrain, 9).drawings);
}

TEST_CASE("Another set gives tuples of all its classes, with the same embeddings") {
  const auto digits = random_image_set(3);
  const auto generator = OneShotImagesGenerator::out_of_distribution(digits, options_of());
  CHECK(generator.classes().out_of_distribution.size() == 3);
  std::set<Index> shown;
  for (Index i = 0; i < 100; ++i) {
    const OneShotTuple t = generator.tuple(OneShotSplit::kOutOfDistribution, i);
    shown.insert(t.drawings.begin(), t.drawings.end());
  }
  CHECK(static_cast<Index>(shown.size()) == digits->drawings());
  const OneShotTuple t = generator.tuple(OneShotSplit::kOutOfDistribution, 1);
  const auto bare = generator_of(digits, 0.0, 0.0);
  const RowMatrixXd rest = tokens_of(generator, t) - tokens_of(bare, t);
  CHECK((rest - context_of(options_of(), t)).cwiseAbs().maxCoeff<Eigen::PropagateNaN>() < 1e-13);
  CHECK_THROWS_WITH(
      generator.tuple(OneShotSplit::kTrain, 0),
      "random images: no characters are set apart for this split: its share must be above 0");
}

TEST_CASE("Options and sets that allow no split are errors that say why") {
  const auto fails = [](const std::shared_ptr<const ImageSet>& set,
                        const OneShotImagesOptions& options, ErrorKind kind,
                        const std::string& text) {
    try {
      const OneShotImagesGenerator generator(set, options);
      FAIL("no error; expected: " << text);
    } catch (const Error& error) {
      CHECK(error.kind() == kind);
      CHECK(std::string(error.what()) == text);
    }
  };
  const auto images = random_image_set(20);
  OneShotImagesOptions options = options_of();
  options.test = 1.5;
  fails(images, options, ErrorKind::kBadStudy, "task.test = 1.5: must be a number >= 0 and <= 1");
  options.test = 0.9;
  fails(images, options, ErrorKind::kBadStudy,
        "task.validation + task.test = 1.1: must be below 1, to leave characters for training");
  options.test = 0.05;
  fails(images, options, ErrorKind::kBadStudy,
        "task.validation = 0.2, task.test = 0.05: of the 20 characters of random images, 1 are for "
        "test: must be at least 2. Take other shares, or more images");
  options = options_of();
  options.label_scale = std::nan("");
  fails(images, options, ErrorKind::kBadStudy,
        "task.label_scale = nan: must be a number >= 0 and <= 1000");
  fails(random_image_set(5), options_of(), ErrorKind::kBadData,
        "random images: has 5 characters: must be at least 6, 2 for each of 3 splits");
  fails(random_image_set(20, 4, 28), options_of(), ErrorKind::kBadData,
        "random images: images of 28 x 28 pixels: must be 32 x 32");

  auto lonely = std::make_shared<ImageSet>(*images);
  add_class(*lonely, "group", "lonely", std::vector<std::uint8_t>(1024));
  fails(
      lonely, options_of(), ErrorKind::kBadData,
      "random images: class group/lonely has 1 drawing: must have at least 2, for a query and its "
      "support");
  auto ungrouped = std::make_shared<ImageSet>(*images);
  ungrouped->classes[7].group = "";
  options = options_of();
  options.split_by_group = true;
  fails(ungrouped, options, ErrorKind::kBadStudy,
        "task.split_by_group = true: must be false: class class7 of random images belongs to no "
        "group");
}
