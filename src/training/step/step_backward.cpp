#include <algorithm>

#include "headway/error.hpp"
#include "training/step/step_builder.hpp"

namespace headway::training::detail {

void StepBuilder::backward() {
  const Index outputs = setup_.format.outputs;
  const Linear logits = {wanted_rows_, dim_, outputs};
  float* dz = floats("gradient of norm's output", wanted_rows_ * dim_);
  launch("gradient before logits", back(logits, d_outputs_, "logits.weight", dz));
  weight_gradient(logits, d_outputs_, last_z_, "logits.weight", "logits.bias");
  const float* dx = norm_gradient("norm", wanted_rows_, last_, last_stats_, dz, nullptr);
  for (auto layer = layers_.rbegin(); layer != layers_.rend(); ++layer) {
    dx = attention_gradient(&*layer, feed_forward_gradient(*layer, dx));
  }
  embedding_gradient(dx);
  positions_gradient();
  launch("gradients of biases", column_sums_);
}

// Given the gradient of what leaves the layer, that of the stream between.
const float* StepBuilder::feed_forward_gradient(const Layer& layer, const float* dx) {
  const std::string& prefix = layer.prefix;
  const Index rows = batch_.examples * layer.wanted;
  const Index m = model_.mlp_dim;
  const bool gated = model_.feed_forward == FeedForward::kSwiglu;
  const Linear down = {rows, m, dim_};
  const Linear up = {rows, dim_, gated ? 2 * m : m};
  float* d_up = floats(prefix + "gradient of hidden", rows * up.out);
  if (gated) {
    float* d_active = floats(prefix + "gradient of active", rows * m);
    launch(prefix + "gradient before down", back(down, dx, prefix + "down.weight", d_active));
    launch(prefix + "gradient of swiglu",
           StepSwigluGradient{rows, m, layer.hidden, d_active, d_up});
  } else {
    StepProduct p = back(down, dx, prefix + "down.weight", d_up);
    p.end = ProductEnd::kGeluGradient;
    p.kept = layer.hidden;
    launch(prefix + "gradient before down", p);
  }
  weight_gradient(down, dx, layer.active, prefix + "down.weight", prefix + "down.bias");
  const std::string first = prefix + (gated ? "gate.weight" : "up.weight");
  weight_gradient(up, d_up, layer.mid_z, first, prefix + "up.bias");
  float* dz = floats(prefix + "gradient of feed_forward_norm's output", rows * dim_);
  launch(prefix + "gradient before up", back(up, d_up, first, dz));
  return norm_gradient(prefix + "feed_forward_norm", rows, layer.mid, layer.mid_stats, dz, dx);
}

// Given the gradient of the stream between, that of what enters the layer.
const float* StepBuilder::attention_gradient(Layer* layer, const float* d_mid) {
  const std::string& prefix = layer->prefix;
  const Index asked = batch_.examples * layer->wanted;
  const Linear output = {asked, model_.value_dim, dim_};
  float* d_o = floats(prefix + "gradient of attended", asked * model_.value_dim);
  launch(prefix + "gradient before output", back(output, d_mid, prefix + "output.weight", d_o));
  weight_gradient(output, d_mid, layer->o, prefix + "output.weight", prefix + "output.bias");

  float* d_packed = floats(prefix + "gradient of queries, keys, values", rows_ * packed_);
  const float* base = d_mid;
  if (layer->wanted < tokens_) {
    float* all = floats(prefix + "gradient of last tokens", rows_ * dim_);
    launch(prefix + "gradient of last tokens",
           StepLastTokensGradient{batch_.examples, tokens_, layer->wanted, dim_, d_mid, all,
                                  model_.query_dim, packed_, d_packed});
    base = all;
  }
  attend_gradient(layer, d_o, d_packed);
  if (rotation_ != nullptr) {
    launch(prefix + "gradient of rotation",
           StepRotation{rows_, tokens_, packed_, 2 * model_.heads,
                        model_.query_dim / model_.heads / 2, true, rotation_, d_packed});
  }
  const Linear in = {rows_, dim_, packed_};
  weight_gradient(in, d_packed, layer->z, prefix + "query.weight", prefix + "query.bias");
  float* dz = floats(prefix + "gradient of attention_norm's output", rows_ * dim_);
  launch(prefix + "gradient before queries, keys, values",
         back(in, d_packed, prefix + "query.weight", dz));
  return norm_gradient(prefix + "attention_norm", rows_, layer->x, layer->stats, dz, base);
}

void StepBuilder::attend_gradient(Layer* layer, const float* d_o, float* d_packed) {
  const std::string& prefix = layer->prefix;
  const StepAttention& a = layer->attention;
  const Index asked = batch_.examples * layer->wanted;
  StepAttentionGradient g = {a.layer, a.plan, a.in, {a.out, d_o}, {}};
  float* d_query = d_packed + (tokens_ - layer->wanted) * packed_;
  const Index slices = a.plan.backward.key_slices;
  g.gradients.key = d_packed + model_.query_dim;
  g.gradients.value = d_packed + 2 * model_.query_dim;
  if (slices == 1) {
    g.gradients.query_sums = d_query;
    g.gradients.query_sum_steps = a.in.query_steps;
  } else {
    g.gradients.query_sums = floats(prefix + "sums of queries", a.plan.query_sums);
  }
  if (a.plan.over_keys > 0) {
    g.gradients.over_keys = floats(prefix + "sums over keys", a.plan.over_keys);
  }
  if (a.plan.bias_sums > 0) {
    layer->score_copies = floats(prefix + "gradients of scores", a.plan.bias_sums);
    g.gradients.bias_sums = layer->score_copies;
  }
  if (a.plan.mixing_sums > 0) {
    const Index count = model_.value_dim * (model_.value_dim / model_.heads);
    g.gradients.mixing_sums = sum(prefix + "mixing", a.plan.mixing_sums / count, count);
  }
  launch(prefix + "gradient of attention", g);
  if (slices == 1) return;
  launch(prefix + "gradient of queries",
         StepQuerySums{asked, model_.query_dim, slices, g.gradients.query_sums, layer->wanted,
                       a.in.query_steps, d_query});
}

void StepBuilder::positions_gradient() {
  if (buckets_ == nullptr) return;
  StepCopySums copies;
  const StepPositions tables = position_tables();
  StepPositionsGradient g = {tables.heads, tables.buckets, tables.farthest, tables.bucket_of, {}};
  for (const Layer& layer : layers_) {
    const Index count = model_.heads * layer.wanted * tokens_;
    float* d_scores = floats(layer.prefix + "gradient of scores", count);
    copies.parts.push_back(
        {layer.attention.plan.backward.groups, count, layer.score_copies, d_scores});
    g.layers.push_back({layer.wanted, tokens_, tokens_ - layer.wanted, d_scores,
                        sum(layer.prefix + "positions", 1, tables.buckets * tables.heads)});
  }
  launch("gradients of scores", copies);
  launch("gradients of positions", g);
}

void StepBuilder::embedding_gradient(const float* dx) {
  const TaskFormat& format = setup_.format;
  if (format.features > 0) {
    weight_gradient({rows_, format.features, dim_}, dx, arrays_.inputs, "embedding.weight",
                    "embedding.bias");
    return;
  }
  launch("gradient of embedding",
         StepLookUpGradient{rows_, dim_, format.vocabulary, arrays_.ids, dx,
                            sum("embedding.weight", 1, format.vocabulary * dim_)});
}

void StepBuilder::finish(const AdamWStep& constants) {
  std::sort(sums_.begin(), sums_.end(),
            [](const StepSum& a, const StepSum& b) { return a.first < b.first; });
  std::vector<std::int64_t> table;
  Index end = 0;
  for (const StepSum& s : sums_) {
    if (s.first != end) throw Error(ErrorKind::kInternal, "a step leaves out a gradient");
    end += s.count;
    for (Index from = 0; from < s.count; from += StepSums::kNumbersOfBlock) {
      const Index count = std::min(StepSums::kNumbersOfBlock, s.count - from);
      for (const Index number : {s.first_copy + from, s.count_of_copies, s.count, s.first + from,
                                 count, Index{s.decayed ? 1 : 0}}) {
        table.push_back(number);
      }
    }
  }
  if (end != parameters_) throw Error(ErrorKind::kInternal, "a step leaves out a gradient");
  StepSums sums;
  sums.blocks = static_cast<Index>(table.size()) / StepSums::kColumns;
  sums.table = device_->array("table of gradients", table);
  sums.copies = copies_;
  sums.copies_size = copies_size_;
  sums.gradients = arrays_.gradients;
  sums.squares = device_->array<double>("squares of gradients", sums.blocks);
  sums.losses_count = wanted_rows_;
  const bool classes = setup_.format.loss == LossKind::kCrossEntropy;
  sums.loss_scale =
      1.0 / static_cast<double>(classes ? wanted_rows_ : wanted_rows_ * setup_.format.outputs);
  sums.losses = losses_;
  sums.loss = arrays_.loss;
  launch("gradients", sums);
  launch("update",
         StepUpdate{sums.blocks, sums.table, arrays_.gradients, sums.squares, arrays_.loss,
                    arrays_.numbers, arrays_.first, arrays_.second, arrays_.values, arrays_.history,
                    constants.beta_1, constants.beta_2, constants.epsilon, constants.most_norm});
}

}  // namespace headway::training::detail
