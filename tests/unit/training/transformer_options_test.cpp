#include "headway/training/transformer_options.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "larger.hpp"
#include "training/model/named_tensors.hpp"
#include "training/model/transformer_engine.hpp"
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

/// The message, and the fields that are at fault.
using Refusal = std::pair<std::string, std::vector<std::string>>;

template <typename Change>
Refusal refusal(const Change& change) {
  TransformerOptions options;
  change(&options);
  try {
    options.validate();
  } catch (const headway::OptionError& error) {
    return {error.what(), error.fields()};
  }
  return {"no error", {}};
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

TEST_CASE("Flops tell dims of queries, of values and of each feed-forward network apart") {
  // D = 5, 3 heads; queries 12, values 9, mlp 7; 4 tokens of 2 features, 6 outputs, 2 scored.
  TransformerOptions model;
  model.layers = 1;
  model.model_dim = 5;
  model.heads = 3;
  model.query_dim = 12;
  model.value_dim = 9;
  model.mlp_dim = 7;
  model.experts = 11;
  model.active_experts = 2;
  model.attention = "hyla";
  TaskFormat format{4, 2, 0, 6, LossKind::kCrossEntropy, 4, false, {}};
  const double embedding = 4 * 13.0 * 4 * 5 * 2;
  const auto linear = [&] { return flops_per_step(model, format, 13).linear - embedding; };
  const double attention = 5 * (2 * 12 + 2 * 9);  // multiply-adds of a token
  const double logits = 5 * 6;
  const auto of_tokens = [&](double feed_forward) {
    return 6 * 13.0 * 4 * (attention + feed_forward + logits);
  };
  CHECK_THAT(linear(), WithinRel(of_tokens(2 * 5 * 7), 1e-14));
  model.feed_forward = FeedForward::kSwiglu;
  CHECK_THAT(linear(), WithinRel(of_tokens(3 * 5 * 7), 1e-14));
  model.feed_forward = FeedForward::kMixture;
  CHECK_THAT(linear(), WithinRel(of_tokens(11 * 5 + 2 * 2 * 5 * 7), 1e-14));
  model.active_experts = 0;
  CHECK_THAT(linear(), WithinRel(of_tokens(11 * 5 + 11 * 2 * 5 * 7), 1e-14));
  model.feed_forward = FeedForward::kGelu;
  // Of the last layer the tokens that are not scored have keys and values alone.
  format.scored = 1;
  const double scored = 6 * 13.0 * (4 * 5 * (12 + 9) + 5 * (12 + 9) + 2 * 5 * 7 + logits);
  CHECK_THAT(linear(), WithinRel(scored, 1e-14));
  model.width_multiplier = 2;
  const double wide = 6 * 13.0 * (4 * 10 * (24 + 18) + 10 * (24 + 18) + 2 * 10 * 14 + 10 * 6);
  CHECK_THAT(flops_per_step(model, format, 13).linear, WithinRel(wide + 2 * embedding, 1e-14));
  model.width_multiplier = 1;
  // HYLA of 4 x 4 pairs: d = 4 and dv = 3 of each head, once forward and twice back.
  format.scored = 4;
  CHECK_THAT(flops_per_step(model, format, 13).attention,
             WithinRel(2 * 13.0 * 16 * 3 * 3 * (4 + 2 * 3), 1e-14));
  CHECK(flops_per_step(model, format, 13).total() ==
        flops_per_step(model, format, 13).linear + flops_per_step(model, format, 13).attention);
}

TEST_CASE("Arrays of pairs of a query: of each head, and of dims where values are generated") {
  const AttentionShape n = {3, 5, 17, 7, 11, 13};
  const auto floats = [&](const char* name) {
    return detail::pair_bytes_of_query(n, attention_variant(name)) / (4.0 * 3 * 7);
  };
  CHECK(floats("softmax") == 10.0 * 5);
  CHECK(floats("linear_rms_head") == 10.0 * 5);
  CHECK(floats("hyla") == 10.0 * 5 + 6 * 13);
  CHECK(floats("hyla_deep") == 10.0 * 5 + 6 * 13 + 4 * 13 * 5);
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

namespace {

std::string text_of(const detail::ParameterShape& shape) {
  const char* first = shape.first == detail::FirstValues::kZero     ? "0"
                      : shape.first == detail::FirstValues::kOne    ? "1"
                      : shape.first == detail::FirstValues::kNormal ? "normal"
                                                                    : "lecun";
  std::string text = fmt::format("{} [{}] {}", shape.name, fmt::join(shape.shape, ", "), first);
  if (shape.spread > 0.0) text += fmt::format(" {:.4g}", 1.0 / (shape.spread * shape.spread));
  return text;
}

std::vector<std::string> texts_of(const TransformerOptions& model, const TaskFormat& format) {
  std::vector<std::string> texts;
  for (const auto& shape : detail::parameter_shapes(model, format)) texts.push_back(text_of(shape));
  return texts;
}

}  // namespace

// Names, order and shapes are those of saved runs. The number is one over the variance.
TEST_CASE("Parameters have the names, shapes and first values of saved runs") {
  TransformerOptions model;
  model.layers = 1;
  model.model_dim = 10;
  model.heads = 2;
  model.query_dim = 6;
  model.value_dim = 8;
  model.mlp_dim = 7;
  CHECK(texts_of(model, fuzzy_logic_format(9)) ==
        std::vector<std::string>{"embedding.weight [10, 5] normal 10",
                                 "embedding.bias [10] 0",
                                 "layers.1.attention_norm.scale [10] 1",
                                 "layers.1.attention_norm.bias [10] 0",
                                 "layers.1.query.weight [2, 3, 10] lecun 10",
                                 "layers.1.query.bias [2, 3] 0",
                                 "layers.1.key.weight [2, 3, 10] lecun 10",
                                 "layers.1.key.bias [2, 3] 0",
                                 "layers.1.value.weight [2, 4, 10] lecun 10",
                                 "layers.1.value.bias [2, 4] 0",
                                 "layers.1.output.weight [10, 8] lecun 8",
                                 "layers.1.output.bias [10] 0",
                                 "layers.1.positions [9, 2] normal 9",
                                 "layers.1.feed_forward_norm.scale [10] 1",
                                 "layers.1.feed_forward_norm.bias [10] 0",
                                 "layers.1.up.weight [7, 10] lecun 10",
                                 "layers.1.up.bias [7] 0",
                                 "layers.1.down.weight [10, 7] lecun 7",
                                 "layers.1.down.bias [10] 0",
                                 "norm.scale [10] 1",
                                 "norm.bias [10] 0",
                                 "logits.weight [1, 10] lecun 10",
                                 "logits.bias [1] 0"});
  // A decoder with one layer of an encoder, of ids, with swiglu, RMS norm and matrices M_h.
  model.encoder_layers = 1;
  model.attention = "hyla_deep";
  model.norm = Norm::kRmsNorm;
  model.position_buckets = 3;
  model.feed_forward = FeedForward::kSwiglu;
  TaskFormat format = fuzzy_logic_format(9);
  format.features = 0;
  format.vocabulary = 11;
  std::vector<std::string> wanted = {"embedding.weight [11, 10] normal 10"};
  const auto add_attention = [&wanted](const std::string& prefix) {
    for (const char* text :
         {"query.weight [2, 3, 10] lecun 10", "query.bias [2, 3] 0",
          "key.weight [2, 3, 10] lecun 10", "key.bias [2, 3] 0", "value.weight [2, 4, 10] lecun 10",
          "value.bias [2, 4] 0", "output.weight [10, 8] lecun 8", "output.bias [10] 0",
          "mixing [2, 4, 4] lecun 4", "positions [3, 2] normal 3"}) {
      wanted.push_back(prefix + text);
    }
  };
  for (const std::string prefix : {"encoder.1.", "layers.1."}) {
    wanted.push_back(prefix + "attention_norm.scale [10] 1");
    add_attention(prefix);
    if (prefix == "layers.1.") {
      wanted.push_back("layers.1.cross.norm.scale [10] 1");
      wanted.push_back("layers.1.cross.memory_norm.scale [10] 1");
      add_attention("layers.1.cross.");
    }
    wanted.push_back(prefix + "feed_forward_norm.scale [10] 1");
    wanted.push_back(prefix + "gate.weight [7, 10] lecun 10");
    wanted.push_back(prefix + "up.weight [7, 10] lecun 10");
    wanted.push_back(prefix + "down.weight [10, 7] lecun 7");
  }
  wanted.push_back("norm.scale [10] 1");
  wanted.push_back("logits.weight [1, 10] lecun 10");
  wanted.push_back("logits.bias [1] 0");
  CHECK(texts_of(model, format) == wanted);
  model.feed_forward = FeedForward::kMixture;
  model.experts = 5;
  const std::vector<std::string> mixture = texts_of(model, format);
  const auto up =
      std::find(mixture.begin(), mixture.end(), "encoder.1.router.weight [5, 10] lecun 10");
  REQUIRE(mixture.end() - up > 5);
  CHECK(std::vector<std::string>(up + 1, up + 5) ==
        std::vector<std::string>{
            "encoder.1.up.weight [5, 7, 10] lecun 10", "encoder.1.up.bias [5, 7] 0",
            "encoder.1.down.weight [5, 10, 7] lecun 7", "encoder.1.down.bias [5, 10] 0"});
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
      largest = headway::testing::larger(largest, std::abs(static_cast<double>(x)));
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
      case detail::FirstValues::kUniform:
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

TEST_CASE("The first embedding of numbers may go by their features, that of ids may not") {
  TransformerOptions model;
  const auto before = texts_of(model, fuzzy_logic_format(9));
  CHECK(before.front() == "embedding.weight [128, 5] normal 128");
  model.embedding_start = EmbeddingStart::kFeatures;
  auto after = texts_of(model, fuzzy_logic_format(9));
  CHECK(after.front() == "embedding.weight [128, 5] lecun 5");
  after.front() = before.front();
  CHECK(after == before);
  TaskFormat ids = fuzzy_logic_format(9);
  ids.features = 0;
  ids.vocabulary = 17;
  CHECK(texts_of(model, ids).front() == "embedding.weight [17, 128] normal 128");
}

TEST_CASE("Options of a network that do not go together are refused in whole sentences") {
  CHECK(refusal([](auto*) {}).first == "no error");
  CHECK(refusal([](auto* o) { o->query_dim = 20; }) ==
        Refusal{"train.query_dim = 20: must be a multiple of train.heads = 8, which share it",
                {"train.query_dim", "train.heads"}});
  CHECK(refusal([](auto* o) { o->value_dim = 12; }) ==
        Refusal{"train.value_dim = 12: must be a multiple of train.heads = 8, which share it",
                {"train.value_dim", "train.heads"}});
  CHECK(refusal([](auto* o) {
          o->mlp_dim = 300'000;
          o->width_multiplier = 4;
        }) == Refusal{"train.width_multiplier = 4: must be from 1 to 3, so that no dim exceeds "
                      "1048576",
                      {"train.width_multiplier", "train.model_dim", "train.heads",
                       "train.query_dim", "train.value_dim", "train.mlp_dim"}});
  const auto rotary = [](Index dim) {
    return [dim](TransformerOptions* o) {
      o->positions = Positions::kRotary;
      o->query_dim = dim;
    };
  };
  CHECK(refusal(rotary(24)) ==
        Refusal{"train.query_dim = 24: gives each of the 8 heads 3 dims: must be even, because "
                "rotary positions turn pairs of dims",
                {"train.query_dim", "train.heads", "train.positions"}});
  CHECK(refusal(rotary(32)).first == "no error");
  const auto mixture = [](Index experts, Index active) {
    return [experts, active](TransformerOptions* o) {
      o->feed_forward = FeedForward::kMixture;
      o->experts = experts;
      o->active_experts = active;
    };
  };
  CHECK(refusal(mixture(3, 4)) ==
        Refusal{"train.active_experts = 4: must be at most train.experts = 3",
                {"train.active_experts", "train.experts"}});
  CHECK(refusal(mixture(3, 3)).first == "no error");
  CHECK(refusal([](auto* o) { o->nonlinearity = "silu"; }) ==
        Refusal{"train.nonlinearity = \"silu\": must be absent: attention \"softmax\" has no "
                "nonlinearity of its values. Or take a variant that has one",
                {"train.nonlinearity", "train.attention"}});
  TransformerOptions decoder;
  decoder.encoder_layers = 2;
  TaskFormat format = fuzzy_logic_format(7);
  CHECK_NOTHROW(decoder.require_context(format));
  format.scored = 7;
  try {
    decoder.require_context(format);
    FAIL("no error");
  } catch (const headway::OptionError& error) {
    CHECK(std::string(error.what()) ==
          "train.encoder_layers = 2: must be 0 for a task that scores all of its 7 tokens: none is "
          "left to encode");
    CHECK(error.fields() == std::vector<std::string>{"train.encoder_layers"});
  }
  decoder.encoder_layers = 0;
  CHECK_NOTHROW(decoder.require_context(format));
}

TEST_CASE("A widened network has the multiplier in heads and dims, and nowhere else") {
  TransformerOptions model = sraven_model(3, 5);
  model.position_buckets = 7;
  const TransformerOptions wide = model.widened();
  CHECK(wide.model_dim == 5 * model.model_dim);
  CHECK(wide.heads == 5 * 16);
  CHECK(wide.query_dim == 5 * 64);
  CHECK(wide.value_dim == 5 * 64);
  CHECK(wide.mlp_dim == 5 * model.mlp_dim);
  CHECK(wide.width_multiplier == 1);
  CHECK(wide.widened() == wide);
  TransformerOptions rest = wide;
  for (auto* m : {&rest, &model}) {
    m->model_dim = m->heads = m->query_dim = m->value_dim = m->mlp_dim = m->width_multiplier = 1;
  }
  CHECK(rest == model);
}
