#include "training/model/transformer_blocks.hpp"

#include <cmath>
#include <string>
#include <vector>

#include "block_gradients.hpp"
#include "catch.hpp"

using namespace headway::training;          // NOLINT: a test
using namespace headway::training::detail;  // NOLINT
using namespace headway::testing;           // NOLINT
using headway::Index;

namespace {

Block linear_block(Index rows, Index in, Index out, bool norm, bool centred) {
  Block block;
  block.add("x", rows * in, 1.0);
  block.add("weight", out * in);
  block.add("bias", out);
  if (norm) block.add("scale", in);
  if (norm && centred) block.add("norm bias", in);
  const LinearShape shape{rows, in, out, centred};
  const auto arrays = [=]<typename Float>(auto& x, Float* /*kind*/) {
    LinearArrays<Float> result;
    result.weight = x[1].data();
    result.bias = x[2].data();
    if (norm) result.norm.scale = x[3].data();
    if (norm && centred) result.norm.bias = x[4].data();
    return result;
  };
  block.forward = [=](const std::vector<Array>& x, int threads) {
    Array y(static_cast<std::size_t>(rows * out));
    Array stats(static_cast<std::size_t>(2 * rows));
    linear_forward(context(threads), shape, arrays(x, static_cast<const float*>(nullptr)),
                   x[0].data(), y.data(), norm ? stats.data() : nullptr);
    return y;
  };
  block.backward = [=](const std::vector<Array>& x, const Array& dy, int threads) {
    Array y(static_cast<std::size_t>(rows * out));
    Array stats(static_cast<std::size_t>(2 * rows));
    const auto p = arrays(x, static_cast<const float*>(nullptr));
    linear_forward(context(threads), shape, p, x[0].data(), y.data(),
                   norm ? stats.data() : nullptr);
    std::vector<Array> g = like(x);
    linear_backward(context(threads), shape, p, {x[0].data(), stats.data()},
                    {dy.data(), g[0].data()}, arrays(g, static_cast<float*>(nullptr)));
    return g;
  };
  return block;
}

Block feed_forward_block(const FeedForwardShape& n, bool norm) {
  Block block;
  block.add("x", n.rows * n.dim, 1.0);
  block.add("up", n.hidden * n.dim);
  block.add("down", n.hidden * n.dim);
  if (n.gated) {
    block.add("gate", n.hidden * n.dim);
  } else {
    block.add("up bias", n.hidden);
    block.add("down bias", n.dim);
  }
  const std::size_t at = block.names.size();
  if (norm) block.add("scale", n.dim);
  if (norm && n.centred) block.add("norm bias", n.dim);
  const auto arrays = [=]<typename Float>(auto& x, Float* /*kind*/) {
    FeedForwardArrays<Float> result;
    result.up = x[1].data();
    result.down = x[2].data();
    if (n.gated) {
      result.gate = x[3].data();
    } else {
      result.up_bias = x[3].data();
      result.down_bias = x[4].data();
    }
    if (norm) result.norm.scale = x[at].data();
    if (norm && n.centred) result.norm.bias = x[at + 1].data();
    return result;
  };
  struct Kept {
    Array y, stats, hidden;
  };
  const auto run = [=](const std::vector<Array>& x, int threads) {
    Kept kept{Array(x[0].size()), Array(static_cast<std::size_t>(2 * n.rows)),
              Array(static_cast<std::size_t>(2 * n.rows * n.hidden))};
    feed_forward_forward(context(threads), n, arrays(x, static_cast<const float*>(nullptr)),
                         x[0].data(), kept.y.data(),
                         {norm ? kept.stats.data() : nullptr, kept.hidden.data()});
    return kept;
  };
  block.forward = [=](const std::vector<Array>& x, int threads) { return run(x, threads).y; };
  block.backward = [=](const std::vector<Array>& x, const Array& dy, int threads) {
    Kept kept = run(x, threads);
    std::vector<Array> g = like(x);
    feed_forward_backward(context(threads), n, arrays(x, static_cast<const float*>(nullptr)),
                          {x[0].data(), {kept.stats.data(), kept.hidden.data()}},
                          {dy.data(), g[0].data()}, arrays(g, static_cast<float*>(nullptr)));
    return g;
  };
  return block;
}

Block attention_block(const AttentionBlockShape& n) {
  const AttentionShape& s = n.attention;
  const Index q = s.heads * s.query_dim;
  const Index v = s.heads * s.value_dim;
  Block block;
  block.add("x", s.batch * s.keys * n.dim, 1.0);
  for (const char* name : {"query", "key"}) {
    block.add(name, q * n.dim);
    block.add(std::string(name) + " bias", q);
  }
  block.add("value", v * n.dim);
  block.add("value bias", v);
  block.add("output", v * n.dim);
  block.add("output bias", n.dim);
  block.add("scores", s.heads * s.queries * s.keys);
  block.add("scale", n.dim);
  const bool deep = n.options.value_network == ValueNetwork::kHylaDeep;
  if (n.centred) block.add("norm bias", n.dim);
  if (deep) block.add("mixing", s.heads * s.value_dim * s.value_dim);
  const auto arrays = [=]<typename Float>(auto& x, Float* /*kind*/) {
    AttentionBlockArrays<Float> p;
    p.query = x[1].data();
    p.query_bias = x[2].data();
    p.key = x[3].data();
    p.key_bias = x[4].data();
    p.value = x[5].data();
    p.value_bias = x[6].data();
    p.output = x[7].data();
    p.output_bias = x[8].data();
    p.scores = x[9].data();
    p.norm.scale = x[10].data();
    if (n.centred) p.norm.bias = x[11].data();
    if (deep) p.mixing = x.back().data();
    return p;
  };
  struct Kept {
    Array y, stats, query, key, value, output, log_sum_exp;
    bool softmax;
    AttentionBlockSaved saved() {
      return {stats.data(), query.data(),  key.data(),
              value.data(), output.data(), softmax ? log_sum_exp.data() : nullptr};
    }
  };
  const auto run = [=](const std::vector<Array>& x, int threads) {
    const auto floats = [](Index count) { return Array(static_cast<std::size_t>(count)); };
    Kept kept{
        floats(s.batch * s.queries * n.dim),   floats(2 * s.batch * s.keys),
        floats(s.batch * s.queries * q),       floats(s.batch * s.keys * q),
        floats(s.batch * s.keys * v),          floats(s.batch * s.queries * v),
        floats(s.batch * s.heads * s.queries), n.options.normalisation == Normalisation::kSoftmax};
    attention_block_forward(context(threads), n, arrays(x, static_cast<const float*>(nullptr)),
                            {x[0].data()}, kept.y.data(), kept.saved());
    return kept;
  };
  block.forward = [=](const std::vector<Array>& x, int threads) { return run(x, threads).y; };
  block.backward = [=](const std::vector<Array>& x, const Array& dy, int threads) {
    Kept kept = run(x, threads);
    std::vector<Array> g = like(x);
    attention_block_backward(context(threads), n, arrays(x, static_cast<const float*>(nullptr)),
                             {{x[0].data()}, kept.saved()}, {dy.data(), g[0].data()},
                             arrays(g, static_cast<float*>(nullptr)));
    return g;
  };
  return block;
}

}  // namespace

TEST_CASE("Gradients of linear blocks are right, and no bit depends on the threads") {
  for (const bool norm : {false, true}) {
    for (const bool centred : {false, true}) {
      INFO("norm " << norm << " centred " << centred);
      check_gradients(linear_block(3, 5, 4, norm, centred));
      check_gradients(linear_block(600, 6, 3, norm, centred));  // several chunks
    }
  }
}

TEST_CASE("Gradients of feed-forward blocks are right, and no bit depends on the threads") {
  for (const bool gated : {false, true}) {
    for (const bool norm : {false, true}) {
      for (const bool residual : {false, true}) {
        INFO("gated " << gated << " norm " << norm << " residual " << residual);
        check_gradients(feed_forward_block({5, 6, 9, residual, gated, residual}, norm));
        check_gradients(feed_forward_block({520, 4, 3, true, gated, residual}, norm));
      }
    }
  }
}

TEST_CASE(
    "Gradients of attention blocks are right with fewer queries, rotary positions and every norm") {
  for (const char* name : {"softmax", "linear", "hyla_linear_value_no_rms_head", "hyla_deep"}) {
    for (const Index queries : {5, 2}) {
      for (const bool rotary : {false, true}) {
        INFO(name << " queries " << queries << " rotary " << rotary);
        AttentionBlockShape shape;
        shape.attention = {3, 2, queries, 5, 4, 3};
        shape.options = attention_variant(name);
        if (std::string(name) == "hyla_deep") {  // smooth, and not RMSHead: it turns sharply at 0
          shape.options.nonlinearity = Nonlinearity::kTanh;
          shape.options.normalisation = Normalisation::kNone;
        }
        shape.options.causal = queries == 2;
        shape.dim = 6;
        shape.centred = rotary;
        shape.rotary = rotary;
        check_gradients(attention_block(shape));
      }
    }
  }
}

TEST_CASE("Attention blocks of many chunks give the same bits on any number of threads") {
  AttentionBlockShape shape;
  shape.attention = {40, 2, 20, 20, 2, 2};
  shape.options = attention_variant("hyla_linear_value_no_rms_head");
  shape.dim = 4;
  check_gradients(attention_block(shape));
}

TEST_CASE("Rotary scores depend on distances alone, and turning back undoes the turn") {
  const Index dim = 6;
  const RotaryTable table(40, dim);
  const Array q = draw(dim, 1, 1.0);
  const Array k = draw(dim, 2, 1.0);
  const auto score = [&](Index query_place, Index key_place) {
    Array a = q;
    Array b = k;
    table.turn(1, 1, query_place, false, a.data());
    table.turn(1, 1, key_place, false, b.data());
    return dot(a, b);
  };
  CHECK(std::abs(score(0, 0) - dot(q, k)) < 1e-6);
  CHECK(std::abs(score(9, 4) - score(35, 30)) < 1e-5);
  CHECK(std::abs(score(9, 4) - score(9, 5)) > 1e-3);
  Array x = draw(3 * 2 * dim, 3, 1.0);
  const Array before = x;
  table.turn(3, 2, 7, false, x.data());
  table.turn(3, 2, 7, true, x.data());
  for (std::size_t i = 0; i < x.size(); ++i) CHECK(std::abs(x[i] - before[i]) < 1e-6);
}
