#include "headway/training/transformer_options.hpp"

#include "catch.hpp"
#include "headway/error.hpp"
#include "training/model/named_tensors.hpp"
#include "training/model/transformer_parameters.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using Catch::Matchers::WithinRel;
using headway::Index;

namespace {

TaskFormat fuzzy_logic_format(Index tokens) {
  return {tokens, 5, 0, 1, LossKind::kSquaredError, 1, false, {}};
}

TaskFormat sraven_format() { return {36, 8, 0, 8, LossKind::kCrossEntropy, 4, false, {}}; }

TransformerOptions sraven_model(Index layers, Index width) {
  TransformerOptions model;
  model.layers = layers;
  model.heads = 16;
  model.query_dim = 64;
  model.value_dim = 64;
  model.width_multiplier = width;
  return model;
}

template <typename Change>
void check_refused(const Change& change, const std::string& text) {
  TransformerOptions options;
  change(&options);
  CHECK_THROWS_WITH(options.validate(), Catch::Matchers::ContainsSubstring(text));
}

}  // namespace

TEST_CASE("A width beyond the largest dim is refused") {
  TransformerOptions model;
  model.model_dim = 1 << 19;
  model.width_multiplier = 2;
  CHECK_NOTHROW(model.validate());
  model.width_multiplier = 3;  // products of such dims would not fit the counts of parameters
  CHECK_THROWS_WITH(model.validate(), Catch::Matchers::ContainsSubstring("width_multiplier = 3"));
}

TEST_CASE("Parameter counts are those published with the models") {
  CHECK(count_parameters({}, fuzzy_logic_format(16)) == 151009);
  CHECK(count_parameters(sraven_model(4, 1), sraven_format()) == 402824);
  CHECK(count_parameters(sraven_model(8, 1), sraven_format()) == 803208);
  CHECK(count_parameters(sraven_model(16, 1), sraven_format()) == 1603976);
  CHECK(count_parameters(sraven_model(4, 2), sraven_format()) == 1592072);
  CHECK(count_parameters(sraven_model(8, 2), sraven_format()) == 3179272);
  CHECK(count_parameters(sraven_model(16, 2), sraven_format()) == 6353672);
  CHECK(count_parameters(sraven_model(4, 4), sraven_format()) == 6329864);
}

TEST_CASE("The closed form counts the parameters that the model has, for every option") {
  const auto check = [](const TransformerOptions& model, const TaskFormat& format) {
    CHECK(detail::total_count(detail::parameter_shapes(model, format)) ==
          count_parameters(model, format));
  };
  for (const char* attention : {"softmax", "hyla", "hyla_deep"}) {
    headway::testing::for_each_option({}, [&](TransformerOptions model) {
      model.attention = attention;
      model.width_multiplier = 3;
      model.experts = 5;
      for (TaskFormat format : {fuzzy_logic_format(7), sraven_format()}) {
        model.encoder_layers = 0;
        check(model, format);
        model.encoder_layers = 3;
        check(model, format);
        format.features = 0;
        format.vocabulary = 11;
        check(model, format);
      }
    });
  }
}

TEST_CASE("Flops of a step are those counted by hand") {
  // One layer, every token scored, D = 4, one head of 2, mlp 8, 3 tokens, 2 features, 5 outputs.
  TransformerOptions model;
  model.layers = 1;
  model.model_dim = 4;
  model.heads = 1;
  model.query_dim = 2;
  model.value_dim = 2;
  model.mlp_dim = 8;
  TaskFormat format{3, 2, 0, 5, LossKind::kCrossEntropy, 3, false, {}};
  const StepFlops flops = flops_per_step(model, format, 7);
  const double products = 7.0 * 3 * (4 * 2 * 4 + 2 * 4 * 8 + 4 * 5);
  CHECK_THAT(flops.linear, WithinRel(6 * products + 4 * 7.0 * 3 * 4 * 2, 1e-14));
  CHECK_THAT(flops.attention, WithinRel(6 * 7.0 * 9 * (2 + 2), 1e-14));
  // Scoring one token leaves the keys and values of the others, and nothing else of them.
  format.scored = 1;
  const double kept = 7.0 * (3 * (4 * 2 * 2) + (4 * 2 * 2 + 2 * 4 * 8 + 4 * 5));
  CHECK_THAT(flops_per_step(model, format, 7).linear,
             WithinRel(6 * kept + 4 * 7.0 * 3 * 4 * 2, 1e-14));
}

TEST_CASE("An encoder and a decoder have the parameters and flops counted by hand") {
  // D = 4, one head of 2, mlp 8, 5 tokens of which 2 are scored, 2 features, 3 outputs.
  TransformerOptions model;
  model.encoder_layers = 2;
  model.layers = 3;
  model.model_dim = 4;
  model.heads = 1;
  model.query_dim = 2;
  model.value_dim = 2;
  model.mlp_dim = 8;
  model.causal = true;
  const TaskFormat format{5, 2, 0, 3, LossKind::kCrossEntropy, 2, false, {}};
  const Index attention = 3 * (4 + 1) * 2 + (2 + 1) * 4 + 5;  // q, k, v; output; positions
  const Index feed_forward = 2 * 4 * 8 + 8 + 4;
  const Index norm = 8;
  CHECK(count_parameters(model, format) == (2 + 1) * 4 + 2 * (attention + feed_forward + 2 * norm) +
                                               3 * (2 * attention + feed_forward + 4 * norm) +
                                               norm + (4 + 1) * 3);
  const StepFlops flops = flops_per_step(model, format, 7);
  const double encoder = 3 * (4 * 2 * 4 + 2 * 4 * 8);  // 3 tokens of context
  const double self = 2 * (4 * 2 * 4), cross = 2 * (4 * 2 * 2) + 3 * (4 * 2 * 2);
  const double decoder = self + cross + 2 * (2 * 4 * 8);
  CHECK_THAT(flops.linear,
             WithinRel(7.0 * (6 * (2 * encoder + 3 * decoder + 2 * 4 * 3) + 4 * 5 * 4 * 2), 1e-14));
  // Causal pairs: 6 of 3 x 3 and 3 of 2 x 2; every one of the 2 x 3 across.
  CHECK_THAT(flops.attention, WithinRel(6 * 7.0 * (2 * 6 + 3 * (3 + 6)) * (2 + 2), 1e-14));
  TaskFormat all = format;
  all.scored = 5;
  CHECK_THROWS_WITH(count_parameters(model, all),
                    Catch::Matchers::ContainsSubstring("train.encoder_layers = 2"));
}

TEST_CASE("Buckets of relative positions are T5's") {
  // 8 buckets, largest distance 8: exact below 4; above, 4 + 4 log2(distance / 4).
  const Index expected[] = {0, 1, 2, 3, 4, 5, 6, 7, 7, 7};
  for (Index distance = 0; distance < 10; ++distance) {
    CHECK(relative_position_bucket(distance, 8) == expected[distance]);
  }
  CHECK(relative_position_bucket(-5, 8) == 0);
  CHECK(relative_position_bucket(0, 1) == 0);
  CHECK(relative_position_bucket(9, 1) == 0);
  // 36 buckets: 18 exact ones; distance 35 is 18 + 18 log2(35 / 18) = 35.27 -> the last.
  CHECK(relative_position_bucket(17, 36) == 17);
  CHECK(relative_position_bucket(18, 36) == 18);
  CHECK(relative_position_bucket(27, 36) == 28);  // 18 + 18 log2(1.5) = 28.53
  CHECK(relative_position_bucket(35, 36) == 35);
}

TEST_CASE("Options that do not fit are refused, by name") {
  check_refused([](auto* o) { o->attention = "hylla"; }, "did you mean \"hyla\"");
  check_refused([](auto* o) { o->query_dim = 20; }, "train.query_dim = 20");
  check_refused([](auto* o) { o->value_dim = 20; }, "train.value_dim = 20");
  check_refused([](auto* o) { o->layers = 0; }, "train.layers = 0");
  check_refused([](auto* o) { o->attention_dropout = 1.0; }, "train.attention_dropout = 1");
  check_refused([](auto* o) { o->nonlinearity = "gelu"; }, "train.nonlinearity = \"gelu\"");
  check_refused(
      [](auto* o) {
        o->positions = Positions::kRotary;
        o->query_dim = 24;
      },
      "must be even");
  check_refused(
      [](auto* o) {
        o->feed_forward = FeedForward::kMixture;
        o->active_experts = 9;
      },
      "train.active_experts = 9");
  check_refused([](auto* o) { o->load_balancing = -0.1; }, "train.load_balancing = -0.1");
  TransformerOptions gelu;
  gelu.attention = "hyla";
  gelu.nonlinearity = "gelu";
  CHECK(gelu.attention_options().nonlinearity == Nonlinearity::kGelu);
  CHECK_THROWS_AS(headway::parse_word<FeedForward>("train.feed_forward", "relu"), headway::Error);
  CHECK(headway::word_of(headway::parse_word<Positions>("train.positions", "rotary")) == "rotary");
  CHECK(headway::word_of(headway::parse_word<Norm>("train.norm", "rms_norm")) == "rms_norm");
}

TEST_CASE("First values have the spreads of their kinds, and one stream each") {
  const auto shapes = detail::parameter_shapes(sraven_model(2, 4), sraven_format());
  const auto first = detail::initial_parameters(shapes, 3);
  CHECK(detail::initial_parameters(shapes, 3) == first);
  CHECK_FALSE(detail::initial_parameters(shapes, 4) == first);
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    INFO(shapes[i].name);
    double squares = 0.0;
    double largest = 0.0;
    for (const float x : first[i].values) {
      squares += static_cast<double>(x) * x;
      largest = std::max(largest, std::abs(static_cast<double>(x)));
    }
    const auto count = static_cast<double>(first[i].values.size());
    const double deviation = std::sqrt(squares / count);
    switch (shapes[i].first) {
      case detail::FirstValues::kZero:
        CHECK(largest == 0.0);
        break;
      case detail::FirstValues::kOne:
        CHECK(deviation == 1.0);
        break;
      case detail::FirstValues::kAsBefore:
        FAIL("no transformer has such parameters");
        break;
      case detail::FirstValues::kLecun:
        CHECK(largest <= 2.0 / 0.87962566 * shapes[i].spread);
        [[fallthrough]];
      case detail::FirstValues::kNormal:
        CHECK_THAT(deviation, WithinRel(shapes[i].spread, 5.0 / std::sqrt(2.0 * count)));
        break;
    }
  }
}
