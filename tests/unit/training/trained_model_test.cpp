// What a model of the trainer computes: which tokens it sees, symmetries, codes, texts.
#include <algorithm>
#include <cmath>

#include "catch.hpp"
#include "headway/training/backend.hpp"
#include "headway/training/trainer.hpp"
#include "larger.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using Catch::Matchers::ContainsSubstring;
using headway::Index;

namespace {

double largest_difference(const std::vector<float>& a, const std::vector<float>& b) {
  double largest = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = larger(largest, std::abs(a[i] - b[i]));
  return largest;
}

}  // namespace

TEST_CASE("A causal model does not see the future; another one does", "[torch]") {
  for (const char* attention : {"softmax", "linear", "hyla"}) {
    for (const auto positions : {Positions::kRotary, Positions::kRelative}) {
      INFO(attention);
      const std::string text = pangram(20);
      std::string changed = text;
      for (std::size_t i = 8; i < changed.size(); i += 12) changed[i] = 'X';
      TextOptions cut = text_options(12);
      cut.held_out = 0.5;
      const auto original = make_byte_text_task(text, cut);
      const auto altered = make_byte_text_task(changed, cut);
      TaskBatch one;
      TaskBatch two;
      original->batch("held_out", 0, 1, one);
      altered->batch("held_out", 0, 1, two);
      Index first = 0;
      while (one.ids[static_cast<std::size_t>(first)] == two.ids[static_cast<std::size_t>(first)]) {
        ++first;
      }
      REQUIRE(first > 0);
      REQUIRE(first < 12);
      for (const bool causal : {true, false}) {
        TransformerOptions model = small_model();
        model.attention = attention;
        model.positions = positions;
        model.causal = causal;
        Trainer a(model, small_run(), *original);
        Trainer b(model, small_run(), *altered);
        std::vector<float> before = a.outputs("held_out", 0, 1);
        std::vector<float> after = b.outputs("held_out", 0, 1);
        before.resize(static_cast<std::size_t>(256 * first));
        after.resize(before.size());
        CHECK((before == after) == causal);
      }
    }
  }
}

TEST_CASE("Renaming heads changes nothing", "[torch]") {
  const PatternTask task(6, 2);
  for (const std::string& name : attention_variant_names()) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = name;
    Trainer trainer(model, small_run(), task);
    TrainState state = trainer.state();
    shake(&state.parameters);
    trainer.set_state(state);
    const std::vector<float> before = trainer.outputs("test", 0, 4);
    const std::size_t heads = 3;
    for (int layer = 1; layer <= 2; ++layer) {
      const std::string prefix = "layers." + std::to_string(layer) + ".";
      for (const char* part : {"query.weight", "query.bias", "key.weight", "key.bias",
                               "value.weight", "value.bias", "mixing"}) {
        if (std::string(part) == "mixing" && name != "hyla_deep") continue;
        std::vector<float>& x = tensor(&state, prefix + part).values;
        std::rotate(x.begin(), x.begin() + static_cast<std::ptrdiff_t>(x.size() / heads), x.end());
      }
      for (const char* part : {"output.weight", "positions"}) {  // heads are the last dimension
        NamedTensor& t = tensor(&state, prefix + part);
        const Index row = t.shape.back();
        for (Index r = 0; r < t.shape.front(); ++r) {
          const auto start = t.values.begin() + r * row;
          std::rotate(start, start + row / static_cast<Index>(heads), start + row);
        }
      }
    }
    trainer.set_state(state);
    CHECK(largest_difference(trainer.outputs("test", 0, 4), before) < 2e-4F);
  }
}

TEST_CASE("Latent codes are the weights: of softmax they sum to one, of RMSHead their squares do",
          "[torch]") {
  const PatternTask task(4, 1);
  std::vector<TokenPair> pairs;
  for (Index k = 0; k < 4; ++k) pairs.push_back({3, k});
  TransformerOptions model = small_model();
  Trainer softmax(model, small_run(), task);
  const std::vector<float> a = softmax.latent_codes("test", 1, 2, pairs);
  REQUIRE(a.size() == 2 * 2 * 4 * 3);  // examples, layers, pairs, heads
  for (std::size_t group = 0; group < 4; ++group) {
    for (std::size_t h = 0; h < 3; ++h) {
      float sum = 0.0F;
      for (std::size_t k = 0; k < 4; ++k) sum += a[(group * 4 + k) * 3 + h];
      CHECK(std::abs(sum - 1.0F) < 1e-5F);
    }
  }
  model.attention = "hyla";
  Trainer hyla(model, small_run(), task);
  const std::vector<float> b = hyla.latent_codes("test", 1, 2, pairs);
  for (std::size_t pair = 0; pair < b.size(); pair += 3) {
    const float squares = b[pair] * b[pair] + b[pair + 1] * b[pair + 1] + b[pair + 2] * b[pair + 2];
    CHECK(std::abs(squares - 3.0F) < 0.01F);
  }
  CHECK_THROWS_WITH(hyla.latent_codes("test", 0, 1, std::vector<TokenPair>{{4, 0}}),
                    ContainsSubstring("token 4"));
}

TEST_CASE("With an encoder, latent codes are those of encoder, self- and cross-attention",
          "[torch]") {
  const Index tokens = 5, scored = 2, context = 3;
  const PatternTask task(tokens, scored);
  TransformerOptions model = small_model();
  model.encoder_layers = 1;
  std::vector<TokenPair> pairs;
  for (Index q = 0; q < tokens; ++q) {
    for (Index k = 0; k < tokens; ++k) pairs.push_back({q, k});
  }
  Trainer trainer(model, small_run(), task);
  const std::vector<float> a = trainer.latent_codes("test", 1, 2, pairs);
  REQUIRE(a.size() == 2 * 3 * 25 * 3);  // examples, layers, pairs, heads
  const auto sum = [&](Index example, Index layer, Index query, Index first, Index last) {
    float total = 0.0F;
    for (Index k = first; k < last; ++k) {
      total += a[static_cast<std::size_t>((((example * 3 + layer) * 5 + query) * 5 + k) * 3 + 1)];
    }
    return total;
  };
  for (Index example = 0; example < 2; ++example) {
    for (Index layer = 0; layer < 3; ++layer) {
      for (Index q = 0; q < tokens; ++q) {
        const bool encoder = layer == 0, of_context = q < context;
        const float to_context = sum(example, layer, q, 0, context);
        const float to_targets = sum(example, layer, q, context, tokens);
        CHECK(std::abs(to_context - (encoder == of_context ? 1.0F : 0.0F)) < 1e-5F);
        CHECK(std::abs(to_targets - (!encoder && !of_context ? 1.0F : 0.0F)) < 1e-5F);
      }
    }
  }
}

TEST_CASE("A language model learns a text and continues it", "[torch]") {
  const auto task = make_byte_text_task(pangram(60), text_options(32));
  TransformerOptions model;
  model.layers = 1;
  model.model_dim = 32;
  model.heads = 2;
  model.query_dim = 32;
  model.value_dim = 32;
  model.mlp_dim = 64;
  model.positions = Positions::kRotary;
  model.causal = true;
  TrainOptions options = small_run();
  options.steps = 250;
  options.learning_rate = 1e-2;
  options.eval_every = 0;
  options.log_every = 0;
  Trainer trainer(model, options, *task);
  headway::Observer quiet;
  TrainSink silent;
  const TrainSummary summary = trainer.run(quiet, silent);
  CHECK(summary.evaluations.front().second.metric("bits_per_byte") < 1.0);
  const std::string prompt = "the quick brown fox jumps ";
  const std::vector<std::int32_t> ids(prompt.begin(), prompt.end());
  GenerateOptions greedy;
  greedy.tokens = 9;
  greedy.temperature = 0.0;
  const std::vector<std::int32_t> next = trainer.generate(ids, greedy);
  CHECK(std::string(next.begin(), next.end()) == "over the ");
  GenerateOptions random;
  random.tokens = 40;
  random.temperature = 3.0;
  CHECK(trainer.generate(ids, random) == trainer.generate(ids, random));
  const std::vector<std::int32_t> once = trainer.generate(ids, random);
  random.seed = 1;
  CHECK(trainer.generate(ids, random) != once);
  CHECK_THROWS_AS(trainer.generate({}, greedy), headway::Error);
}
