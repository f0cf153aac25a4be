#include "training/model/cross_attention_block.hpp"

#include <string>
#include <vector>

#include "block_gradients.hpp"
#include "catch.hpp"

using namespace headway::training;          // NOLINT: a test
using namespace headway::training::detail;  // NOLINT
using namespace headway::testing;           // NOLINT
using headway::Index;

namespace {

struct Case {
  CrossAttentionShape shape;
  bool norms = true;
  std::vector<std::uint8_t> mask;
  Array dropout;

  [[nodiscard]] bool deep() const { return shape.options.value_network == ValueNetwork::kHylaDeep; }
  [[nodiscard]] bool softmax() const {
    return shape.options.normalisation == Normalisation::kSoftmax;
  }
};

template <typename Float, typename Arrays>
CrossAttentionArrays<Float> parameters(const Case& c, Arrays& x) {
  CrossAttentionArrays<Float> p;
  std::size_t at = 2;
  for (Float** field :
       {&p.block.query, &p.block.query_bias, &p.block.key, &p.block.key_bias, &p.block.value,
        &p.block.value_bias, &p.block.output, &p.block.output_bias, &p.block.scores}) {
    *field = x[at++].data();
  }
  if (c.norms) {
    p.block.norm.scale = x[at++].data();
    p.memory_norm.scale = x[at++].data();
  }
  if (c.norms && c.shape.centred) {
    p.block.norm.bias = x[at++].data();
    p.memory_norm.bias = x[at++].data();
  }
  if (c.deep()) p.block.mixing = x[at].data();
  return p;
}

// Everything that the forward pass leaves.
struct Kept {
  Array y, stats, memory_stats, query, key, value, output, log_sum_exp;
  bool softmax, norms;

  explicit Kept(const Case& c) : softmax(c.softmax()), norms(c.norms) {
    const AttentionShape& s = c.shape.attention;
    const auto floats = [](Index count) { return Array(static_cast<std::size_t>(count)); };
    y = floats(s.batch * s.queries * c.shape.dim);
    stats = floats(2 * s.batch * s.queries);
    memory_stats = floats(2 * s.batch * s.keys);
    query = floats(s.batch * s.queries * s.heads * s.query_dim);
    key = floats(s.batch * s.keys * s.heads * s.query_dim);
    value = floats(s.batch * s.keys * s.heads * s.value_dim);
    output = floats(s.batch * s.queries * s.heads * s.value_dim);
    log_sum_exp = floats(s.batch * s.heads * s.queries);
  }
  CrossAttentionSaved saved() {
    return {{norms ? stats.data() : nullptr, query.data(), key.data(), value.data(), output.data(),
             softmax ? log_sum_exp.data() : nullptr},
            norms ? memory_stats.data() : nullptr};
  }
};

CrossAttentionGiven given(const Case& c, const std::vector<Array>& x) {
  return {{x[0].data(), c.mask.empty() ? nullptr : c.mask.data(),
           c.dropout.empty() ? nullptr : c.dropout.data()},
          x[1].data()};
}

Block cross_block(const Case& c) {
  const AttentionShape& s = c.shape.attention;
  const Index q = s.heads * s.query_dim;
  const Index v = s.heads * s.value_dim;
  Block block;
  block.add("x", s.batch * s.queries * c.shape.dim, 1.0);
  block.add("memory", s.batch * s.keys * c.shape.memory_dim, 1.0);
  block.add("query", q * c.shape.dim);
  block.add("query bias", q);
  block.add("key", q * c.shape.memory_dim);
  block.add("key bias", q);
  block.add("value", v * c.shape.memory_dim);
  block.add("value bias", v);
  block.add("output", v * c.shape.dim);
  block.add("output bias", c.shape.dim);
  block.add("scores", s.heads * s.queries * s.keys);
  if (c.norms) {
    block.add("scale", c.shape.dim);
    block.add("memory scale", c.shape.memory_dim);
  }
  if (c.norms && c.shape.centred) {
    block.add("norm bias", c.shape.dim);
    block.add("memory norm bias", c.shape.memory_dim);
  }
  if (c.deep()) block.add("mixing", s.heads * s.value_dim * s.value_dim);
  const auto run = [=](const std::vector<Array>& x, int threads) {
    Kept kept(c);
    cross_attention_forward(context(threads), c.shape, parameters<const float>(c, x), given(c, x),
                            kept.y.data(), kept.saved());
    return kept;
  };
  block.forward = [=](const std::vector<Array>& x, int threads) { return run(x, threads).y; };
  block.backward = [=](const std::vector<Array>& x, const Array& dy, int threads) {
    Kept kept = run(x, threads);
    std::vector<Array> g = like(x);
    cross_attention_backward(context(threads), c.shape, parameters<const float>(c, x),
                             {given(c, x), kept.saved()}, {{dy.data(), g[0].data()}, g[1].data()},
                             parameters<float>(c, g));
    return g;
  };
  return block;
}

Case small_case(const std::string& name) {
  Case c;
  c.shape.attention = {3, 2, 4, 5, 4, 3};
  c.shape.options = attention_variant(name);
  if (name == "hyla_deep") {  // smooth, and not RMSHead: it turns sharply at 0
    c.shape.options.nonlinearity = Nonlinearity::kTanh;
    c.shape.options.normalisation = Normalisation::kNone;
  }
  c.shape.dim = 6;
  c.shape.memory_dim = 7;
  return c;
}

}  // namespace

TEST_CASE(
    "Gradients of cross-attention blocks are right with and without norms and rotary positions") {
  for (const char* name : {"softmax", "linear", "hyla_linear_value_no_rms_head", "hyla_deep"}) {
    for (const bool norms : {true, false}) {
      for (const bool rotary : {false, true}) {
        INFO(name << " norms " << norms << " rotary " << rotary);
        Case c = small_case(name);
        c.norms = norms;
        c.shape.centred = rotary;
        c.shape.rotary = rotary;
        check_gradients(cross_block(c));
      }
    }
  }
}

TEST_CASE("Gradients of cross-attention blocks are right with masks, dropout and many chunks") {
  Case masked = small_case("softmax");
  masked.mask = {1, 1, 0, 1, 1, 0, 1, 1, 1, 0, 1, 0, 0, 0, 1};
  masked.dropout = Array(20, 1.25F);
  for (std::size_t i = 0; i < 20; i += 3) masked.dropout[i] = 0.0F;
  check_gradients(cross_block(masked));
  Case many = small_case("hyla_linear_value_no_rms_head");
  many.shape.attention = {60, 2, 7, 9, 2, 2};
  check_gradients(cross_block(many));
}

TEST_CASE("Cross-attention sees all of the memory but masked keys") {
  Case c = small_case("softmax");
  c.shape.options.causal = true;  // not read
  c.mask = {1, 1, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 0};
  const Block block = cross_block(c);
  const Array y = block.forward(block.arrays, 1);
  const auto moved = [&](std::size_t key) {
    std::vector<Array> x = block.arrays;
    x[1][key * 7] += 1.0F;  // of the first example
    return block.forward(x, 1);
  };
  CHECK(moved(4) == y);  // hidden
  for (std::size_t key = 0; key < 4; ++key) {
    const Array z = moved(key);
    for (std::size_t query = 0; query < 4; ++query) CHECK(z[6 * query] != y[6 * query]);
    for (std::size_t i = 24; i < z.size(); ++i) CHECK(z[i] == y[i]);  // the other examples
  }
}

TEST_CASE("Cross-attention on a memory of its own tokens is the attention of the last ones") {
  // With the same norms, the block on the last Sq tokens of a sequence whose memory is the whole
  // sequence gives what the attention block gives. Positions aside: there the queries are keys too.
  for (const char* name : {"softmax", "hyla"}) {
    Case c = small_case(name);
    c.shape.memory_dim = c.shape.dim;
    c.shape.attention.queries = 2;
    Block block = cross_block(c);
    std::vector<Array>& x = block.arrays;
    for (std::size_t b = 0; b < 3; ++b) {
      std::copy_n(x[1].begin() + static_cast<Index>(b * 30 + 18), 12,
                  x[0].begin() + static_cast<Index>(b * 12));
    }
    x[12] = x[11];  // the norms' scales
    x[14] = x[13];  // and biases
    const Array y = block.forward(x, 1);
    const CrossAttentionArrays<const float> p = parameters<const float>(c, x);
    Kept kept(c);
    Array stats(2 * 3 * 5);
    AttentionBlockSaved saved = kept.saved().block;
    saved.stats = stats.data();
    attention_block_forward(context(1), {c.shape.attention, c.shape.options, 6, true, false},
                            p.block, {x[1].data()}, kept.y.data(), saved);
    REQUIRE(kept.y.size() == y.size());
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::abs(kept.y[i] - y[i]) < 1e-5);
  }
}
