// A network's queries and keys with one-shot examples become a data set for the theory.
#include <limits>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/tasks/one_shot_images.hpp"
#include "image_sets.hpp"
#include "random_examples.hpp"

using Catch::Matchers::ContainsSubstring;
using headway::AttentionForm;
using headway::Error;
using headway::ErrorKind;
using headway::Index;
using headway::LayerHeads;
using headway::MatrixXd;
using headway::RowMatrixXd;
using headway::testing::random_image_set;
using headway::testing::random_matrix;
using namespace headway::tasks;

namespace {

std::vector<LayerHeads> random_heads(const std::vector<int>& heads, Index dimensions) {
  headway::Rng rng(2, headway::StreamPurpose::kTests);
  std::vector<LayerHeads> layers;
  for (const int count : heads) {
    LayerHeads layer;
    for (int h = 0; h < count; ++h) {
      layer.query.push_back(random_matrix(dimensions, kOneShotFeatures, rng));
      layer.key.push_back(random_matrix(dimensions, kOneShotFeatures, rng));
    }
    layers.push_back(std::move(layer));
  }
  return layers;
}

std::shared_ptr<const OneShotImagesGenerator> make_generator(std::uint64_t seed = 1) {
  OneShotImagesOptions options;
  options.seed = seed;
  return std::make_shared<OneShotImagesGenerator>(random_image_set(24), options);
}

OneShotDatasetOptions sizes(Index train, Index test) {
  OneShotDatasetOptions options;
  options.train_examples = train;
  options.test_examples = test;
  return options;
}

}  // namespace

TEST_CASE("The data set has the generator's examples and the heads it was given") {
  const auto generator = make_generator();
  OneShotDatasetOptions options = sizes(11, 6);
  options.first_train = 4;
  options.test_split = OneShotSplit::kValidation;
  const auto heads = random_heads({4, 3}, 5);
  const Dataset data = make_one_shot_dataset(generator, generator, heads, options);
  CHECK(data.form == AttentionForm::kQueryKey);
  CHECK(data.heads == std::vector<int>{4, 3});
  CHECK(data.features == 192);
  CHECK(data.layers[1].query[2] == heads[1].query[2]);
  CHECK(data.layers[1].names == std::vector<std::string>{"head 1", "head 2", "head 3"});
  REQUIRE(data.train.size() == 11);
  REQUIRE(data.test->size() == 6);
  const headway::ExampleSource& train = *data.train.examples;
  CHECK((train.tokens() == 48 && train.features() == 192 && train.size() == 11));
  CHECK((train.thread_safe() && !train.has_mask()));

  const auto check = [&](const Split& split, OneShotSplit from, Index first) {
    const Index begin = 2;
    std::vector<double> block(std::size_t{3} * 48 * 192);
    split.examples->read_inputs(begin, 3, block.data());
    RowMatrixXd tokens(48, 192);
    for (Index i = 0; i < 3; ++i) {
      const OneShotTuple tuple = generator->tuple(from, first + begin + i);
      generator->inputs(tuple, tokens.data());
      CHECK(std::equal(tokens.data(), tokens.data() + tokens.size(),
                       block.data() + i * tokens.size()));
      CHECK(split.labels(begin + i, 0) == tuple.label);
    }
  };
  check(data.train, OneShotSplit::kTrain, 4);
  check(*data.test, OneShotSplit::kValidation, 0);
}

TEST_CASE("Test examples may come from another set, or not at all") {
  const auto generator = make_generator();
  const auto digits = std::make_shared<OneShotImagesGenerator>(
      OneShotImagesGenerator::out_of_distribution(random_image_set(5), generator->options()));
  OneShotDatasetOptions options = sizes(4, 4);
  options.test_split = OneShotSplit::kOutOfDistribution;
  const Dataset data = make_one_shot_dataset(generator, digits, random_heads({2}, 3), options);
  std::vector<double> block(std::size_t{48} * 192);
  data.test->examples->read_inputs(1, 1, block.data());
  OneShotExample example;
  digits->example(OneShotSplit::kOutOfDistribution, 1, example);
  CHECK(static_cast<float>(block[700]) == example.inputs[700]);
  CHECK(!make_one_shot_dataset(generator, digits, random_heads({2}, 3), sizes(4, 0)).test);
}

TEST_CASE("The content hash tells data sets apart") {
  const auto generator = make_generator();
  const auto hash = [](const std::shared_ptr<const OneShotImagesGenerator>& g, Index dimensions,
                       const OneShotDatasetOptions& options) {
    return make_one_shot_dataset(g, g, random_heads({2}, dimensions), options).content_hash;
  };
  const std::string base = hash(generator, 3, sizes(4, 4));
  CHECK(base.size() == 64);
  CHECK(base == hash(make_generator(), 3, sizes(4, 4)));
  CHECK(base != hash(make_generator(2), 3, sizes(4, 4)));
  CHECK(base != hash(generator, 4, sizes(4, 4)));
  CHECK(base != hash(generator, 3, sizes(5, 4)));
  CHECK(base != hash(generator, 3, sizes(4, 0)));
  OneShotDatasetOptions options = sizes(4, 4);
  options.test_split = OneShotSplit::kValidation;
  CHECK(base != hash(generator, 3, options));
}

TEST_CASE("Heads that do not fit are errors that name layer and head") {
  const auto generator = make_generator();
  const auto fails = [&](const std::vector<LayerHeads>& heads, const std::string& text) {
    try {
      make_one_shot_dataset(generator, generator, heads, sizes(4, 4));
      FAIL("no error; expected: " << text);
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      CHECK(std::string(error.what()) == text);
    }
  };
  const std::string sizes_of = ": must be G x N_0 = 3 x 192, the same G in all heads of a layer";
  const std::string numbers =
      ": must be as many query as key matrices, at least one, no weights, and a name for each head "
      "or none";
  fails({}, "attention: no layer of heads: must have at least one");
  auto heads = random_heads({2, 2}, 3);
  heads[1].key.pop_back();
  fails(heads, "attention of layer 2: 2 query, 1 key and 0 weight matrices, 0 names" + numbers);
  heads = random_heads({2, 2}, 3);
  heads[1].key[1] = MatrixXd::Zero(3, 191);
  fails(heads, "key of layer 2, head 2: is 3 x 191" + sizes_of);
  heads[1].key[1] = MatrixXd::Zero(4, 192);
  fails(heads, "key of layer 2, head 2: is 4 x 192" + sizes_of);
  heads = random_heads({2}, 3);
  heads[0].query[1](2, 7) = std::numeric_limits<double>::infinity();
  fails(heads, "query of layer 1, head 2: has an entry that is not finite");
  heads = random_heads({2}, 3);
  heads[0].weights.push_back(MatrixXd::Zero(192, 192));
  fails(heads, "attention of layer 1: 2 query, 2 key and 1 weight matrices, 0 names" + numbers);
  heads = random_heads({2}, 3);
  heads[0].names = {"one"};
  fails(heads, "attention of layer 1: 2 query, 2 key and 0 weight matrices, 1 names" + numbers);
  OneShotDatasetOptions none = sizes(0, 4);
  CHECK_THROWS_WITH(make_one_shot_dataset(generator, generator, random_heads({1}, 3), none),
                    ContainsSubstring("OneShotDatasetOptions.train_examples = 0"));
}
