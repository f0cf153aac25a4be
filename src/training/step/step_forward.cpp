#include <fmt/format.h>

#include <cmath>

#include "training/step/step_builder.hpp"

namespace headway::training::detail {
namespace {

// [tokens, half, 2]: cosine and sine of the angle of each pair of dims at each place.
std::vector<float> rotations(Index tokens, Index half) {
  std::vector<float> table;
  for (Index t = 0; t < tokens; ++t) {
    for (Index i = 0; i < half; ++i) {
      const double angle = static_cast<double>(t) *
                           std::pow(10000.0, -static_cast<double>(i) / static_cast<double>(half));
      table.push_back(static_cast<float>(std::cos(angle)));
      table.push_back(static_cast<float>(std::sin(angle)));
    }
  }
  return table;
}

}  // namespace

void StepBuilder::forward() {
  const float* x = embed();
  for (Index l = 0; l < model_.layers; ++l) {
    Layer layer;
    layer.prefix = fmt::format("layers.{}.", l + 1);
    layer.wanted = l + 1 == model_.layers ? setup_.format.scored : tokens_;
    layers_.push_back(layer);
  }
  positions();
  for (Index l = 0; l < model_.layers; ++l) {
    Layer* layer = &layers_[static_cast<std::size_t>(l)];
    layer->x = x;
    attend(layer, l);
    x = feed_forward(layer);
  }
  outputs_and_loss(x);
}

const float* StepBuilder::embed() {
  float* x = floats("embedded", rows_ * dim_);
  const TaskFormat& format = setup_.format;
  if (format.features > 0) {
    launch("embedding", linear({rows_, format.features, dim_}, arrays_.inputs, "embedding.weight",
                               "embedding.bias", x));
  } else {
    launch("embedding",
           StepLookUp{rows_, dim_, format.vocabulary, arrays_.ids, value("embedding.weight"), x});
  }
  return x;
}

// The tables of relative positions by pair, or of rotary ones.
void StepBuilder::positions() {
  if (model_.positions == Positions::kRotary) {
    rotation_ =
        device_->array("rotations", rotations(tokens_, model_.query_dim / model_.heads / 2));
  }
  if (model_.positions != Positions::kRelative) return;
  const Index buckets = model_.position_buckets > 0 ? model_.position_buckets : tokens_;
  std::vector<std::int32_t> bucket_of;
  for (Index distance = 1 - tokens_; distance < tokens_; ++distance) {
    bucket_of.push_back(static_cast<std::int32_t>(relative_position_bucket(distance, buckets)));
  }
  buckets_ = device_->array("buckets", bucket_of);
  StepPositions p = position_tables();
  for (Layer& layer : layers_) {
    float* scores =
        floats(layer.prefix + "scores of places", model_.heads * layer.wanted * tokens_);
    layer.attention.in.bias = scores;
    p.layers.push_back(
        {layer.wanted, tokens_, tokens_ - layer.wanted, value(layer.prefix + "positions"), scores});
  }
  launch("positions", p);
}

StepPositions StepBuilder::position_tables() const {
  const Index buckets = model_.position_buckets > 0 ? model_.position_buckets : tokens_;
  return {model_.heads, buckets, tokens_ - 1, buckets_, {}};
}

void StepBuilder::attend(Layer* layer, Index index) {
  const std::string& prefix = layer->prefix;
  layer->stats = floats(prefix + "attention_norm's statistics", 2 * rows_);
  layer->z = norm(prefix + "attention_norm", rows_, layer->x, layer->stats);
  layer->packed = floats(prefix + "queries, keys, values", rows_ * packed_);
  launch(prefix + "queries, keys, values",
         linear({rows_, dim_, packed_}, layer->z, prefix + "query.weight", prefix + "query.bias",
                layer->packed));
  if (rotation_ != nullptr) {
    launch(prefix + "rotation",
           StepRotation{rows_, tokens_, packed_, 2 * model_.heads,
                        model_.query_dim / model_.heads / 2, false, rotation_, layer->packed});
  }
  const Index skipped = tokens_ - layer->wanted;
  const Index asked = batch_.examples * layer->wanted;
  StepAttention a = *plan_step_attention(setup_, batch_, layer->wanted, device_->sizes());
  a.in.bias = layer->attention.in.bias;
  a.in.query = layer->packed + skipped * packed_;
  a.in.key = layer->packed + model_.query_dim;
  a.in.value = layer->packed + 2 * model_.query_dim;
  a.in.query_steps = a.in.key_steps = a.in.value_steps = {packed_, tokens_ * packed_};
  a.in.key_mask = arrays_.mask;
  a.in.mixing = value(prefix + "mixing");
  if (batch_.dropout) {
    a.in.dropout.given = arrays_.dropout + (index * tokens_ + skipped) * tokens_;
  }
  layer->o = floats(prefix + "attended", asked * model_.value_dim);
  a.out.output = layer->o;
  if (normalises_over_keys(a.layer.options.normalisation)) {
    a.out.log_sum_exp = floats(prefix + "log sums", asked * model_.heads);
  }
  layer->attention = a;
  launch(prefix + "attention", a);
}

const float* StepBuilder::feed_forward(Layer* layer) {
  const std::string& prefix = layer->prefix;
  const Index rows = batch_.examples * layer->wanted;
  const float* stream = layer->x;
  if (layer->wanted < tokens_) {
    float* last = floats(prefix + "last tokens", rows * dim_);
    launch(prefix + "last tokens",
           StepLastTokens{batch_.examples, tokens_, layer->wanted, dim_, layer->x, last});
    stream = last;
  }
  layer->mid = floats(prefix + "stream between", rows * dim_);
  StepProduct out = linear({rows, model_.value_dim, dim_}, layer->o, prefix + "output.weight",
                           prefix + "output.bias", layer->mid);
  out.added = {stream, dim_, 0};
  launch(prefix + "output", out);

  layer->mid_stats = floats(prefix + "feed_forward_norm's statistics", 2 * rows);
  layer->mid_z = norm(prefix + "feed_forward_norm", rows, layer->mid, layer->mid_stats);
  const bool gated = model_.feed_forward == FeedForward::kSwiglu;
  const Index m = model_.mlp_dim;
  layer->hidden = floats(prefix + "hidden", rows * (gated ? 2 * m : m));
  layer->active = floats(prefix + "active", rows * m);
  if (gated) {
    launch(prefix + "gate, up",
           linear({rows, dim_, 2 * m}, layer->mid_z, prefix + "gate.weight", "", layer->hidden));
    launch(prefix + "swiglu", StepSwiglu{rows, m, layer->hidden, layer->active});
  } else {
    StepProduct up = linear({rows, dim_, m}, layer->mid_z, prefix + "up.weight", prefix + "up.bias",
                            layer->active);
    up.end = ProductEnd::kGelu;
    up.kept = layer->hidden;
    launch(prefix + "up", up);
  }
  float* y = floats(prefix + "stream", rows * dim_);
  StepProduct down =
      linear({rows, m, dim_}, layer->active, prefix + "down.weight", prefix + "down.bias", y);
  down.added = {layer->mid, dim_, 0};
  launch(prefix + "down", down);
  return y;
}

void StepBuilder::outputs_and_loss(const float* x) {
  last_ = x;
  const Index outputs = setup_.format.outputs;
  last_stats_ = floats("norm's statistics", 2 * wanted_rows_);
  last_z_ = norm("norm", wanted_rows_, x, last_stats_);
  float* y = floats("outputs", wanted_rows_ * outputs);
  launch("logits",
         linear({wanted_rows_, dim_, outputs}, last_z_, "logits.weight", "logits.bias", y));
  losses_ = floats("losses", wanted_rows_);
  d_outputs_ = floats("gradient of outputs", wanted_rows_ * outputs);
  launch("loss",
         StepLoss{wanted_rows_, outputs, y, arrays_.targets, arrays_.classes, losses_, d_outputs_});
}

}  // namespace headway::training::detail
