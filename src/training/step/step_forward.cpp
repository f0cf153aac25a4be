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
  for (const AttentionPart& part : attention_parts(setup_)) {
    Attention a;
    a.part = part;
    attentions_.push_back(a);
  }
  ConstFloats x = embed();
  positions();
  dropout_blocks();
  expert_weights();
  outputs_and_loss(run_blocks(x));
}

ConstFloats StepBuilder::run_blocks(ConstFloats x) {
  ConstFloats memory;
  Attention* a = attentions_.data();
  if (context_ > 0) {
    memory = some_tokens("context", x, 0, context_);
    for (Index l = 0; l < model_.encoder_layers; ++l, ++a) {
      memory = feed_forward(a->part.prefix, context_, attend(a, memory, {}));
    }
    x = some_tokens("targets", x, context_, tokens_ - context_);
  }
  for (Index l = 0; l < model_.layers; ++l, ++a) {
    const AttentionPart& self = a->part;
    x = attend(a, x, {});
    if (context_ > 0) x = attend(++a, x, memory);
    x = feed_forward(self.prefix, self.queries, x);
  }
  return x;
}

ConstFloats StepBuilder::embed() {
  Floats x = floats("embedded", rows_ * dim_);
  const TaskFormat& format = setup_.format;
  if (format.features > 0) {
    launch("embedding", linear({rows_, format.features, dim_}, inputs(), "embedding.weight",
                               "embedding.bias", x));
  } else {
    launch("embedding",
           StepLookUp{
               rows_, dim_, format.vocabulary, {arrays_.ids, rows_}, value("embedding.weight"), x});
  }
  return x;
}

ConstNumbers StepBuilder::inputs() {
  const Index count = rows_ * setup_.format.features;
  return factor("inputs", {arrays_.inputs, count}, count);
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
  for (Attention& a : attentions_) {
    const AttentionPart& part = a.part;
    Floats scores =
        floats(part.prefix + "scores of places", model_.heads * part.queries * part.keys);
    a.attention.in.bias = scores.data;
    a.attention.in.stack.bias = scores.step;
    p.layers.push_back({part.queries, part.keys, part.first_query - part.first_key,
                        value(part.prefix + "positions"), scores});
  }
  launch("positions", p);
}

StepPositions StepBuilder::position_tables() const {
  const Index buckets = model_.position_buckets > 0 ? model_.position_buckets : tokens_;
  return {model_.heads, buckets, tokens_ - 1, buckets_, {}};
}

// Where keys are not all tokens, the factors of the pairs are copied to a matrix of their own.
void StepBuilder::dropout_blocks() {
  if (!batch_.dropout) return;
  StepBlocks blocks;
  for (Attention& a : attentions_) {
    const AttentionPart& part = a.part;
    const OfRuns<const float> all = {arrays_.dropout, model_.all_layers() * tokens_ * tokens_};
    ConstFloats from = all + (part.layer * tokens_ + part.first_query) * tokens_ + part.first_key;
    if (part.keys < tokens_) {
      Floats block = floats(part.prefix + "dropout", part.queries * part.keys);
      blocks.parts.push_back({part.queries, part.keys, tokens_, from, block});
      from = block;
    }
    a.attention.in.dropout.given = from.data;
    a.attention.in.stack.dropout = from.step;
  }
  if (!blocks.parts.empty()) launch("dropout", blocks);
}

ConstFloats StepBuilder::some_tokens(const std::string& name, ConstFloats x, Index first,
                                     Index wanted) {
  Floats y = floats(name, batch_.examples * wanted * dim_);
  launch(name, StepSomeTokens{batch_.examples, tokens_, first, wanted, dim_, x, y});
  return y;
}

void StepBuilder::rotate(const std::string& name, const StepMatrix<float>& x, Index tokens,
                         Index heads, Index first, bool backward) {
  if (rotation_ == nullptr) return;
  const Index half = model_.query_dim / model_.heads / 2;
  launch(name, StepRotation{batch_.examples * tokens, tokens, x.row, heads, half, backward,
                            rotation_ + first * half * 2, x.data});
}

// Queries, keys and values of x.
void StepBuilder::project(Attention* a) {
  const std::string& prefix = a->part.prefix;
  const Index rows = batch_.examples * a->part.keys;
  a->stats = floats(prefix + "attention_norm's statistics", 2 * rows);
  a->z = norm(prefix + "attention_norm", rows, a->x, a->stats);
  a->packed = numbers(prefix + "queries, keys, values", rows * packed_);
  launch(prefix + "queries, keys, values",
         linear({rows, dim_, packed_}, a->z, prefix + "query.weight", prefix + "query.bias",
                a->packed));
  rotate(prefix + "rotation", {a->packed, packed_, 0}, a->part.keys, 2 * model_.heads, 0, false);
  GpuAttentionInputs& in = a->attention.in;
  in.query = (a->packed + (a->part.keys - a->part.queries) * packed_).data();
  in.key = (a->packed + model_.query_dim).data();
  in.value = (a->packed + 2 * model_.query_dim).data();
  in.query_steps = in.key_steps = in.value_steps = {packed_, a->part.keys * packed_};
}

// Queries of x, keys and values of the memory.
void StepBuilder::project_with_memory(Attention* a) {
  const std::string& prefix = a->part.prefix;
  const Index asked = batch_.examples * a->part.queries;
  const Index seen = batch_.examples * a->part.keys;
  const Index q = model_.query_dim;
  const Index row = packed_ - q;
  a->stats = floats(prefix + "norm's statistics", 2 * asked);
  a->z = norm(prefix + "norm", asked, a->x, a->stats);
  a->memory_stats = floats(prefix + "memory_norm's statistics", 2 * seen);
  a->memory_z = norm(prefix + "memory_norm", seen, a->memory, a->memory_stats);
  a->query = numbers(prefix + "queries", asked * q);
  launch(prefix + "queries",
         linear({asked, dim_, q}, a->z, prefix + "query.weight", prefix + "query.bias", a->query));
  a->packed = numbers(prefix + "keys, values", seen * row);
  launch(prefix + "keys, values", linear({seen, dim_, row}, a->memory_z, prefix + "key.weight",
                                         prefix + "key.bias", a->packed));
  rotate(prefix + "rotation of queries", {a->query, q, 0}, a->part.queries, model_.heads,
         a->part.first_query, false);
  rotate(prefix + "rotation of keys", {a->packed, row, 0}, a->part.keys, model_.heads, 0, false);
  GpuAttentionInputs& in = a->attention.in;
  in.query = a->query.data();
  in.key = a->packed.data();
  in.value = (a->packed + q).data();
  in.query_steps = {q, a->part.queries * q};
  in.key_steps = in.value_steps = {row, a->part.keys * row};
}

ConstFloats StepBuilder::attend(Attention* a, ConstFloats x, ConstFloats memory) {
  const std::string& prefix = a->part.prefix;
  const Index asked = batch_.examples * a->part.queries;
  a->x = x;
  a->memory = memory;
  if (memory == nullptr) {
    project(a);
  } else {
    project_with_memory(a);
  }
  StepAttention planned = *plan_step_attention(setup_, batch_, a->part, device_->sizes());
  planned.in = a->attention.in;
  planned.in.stack.runs = batch_.runs;
  planned.in.key_mask = arrays_.mask;
  const ConstFloats mixing = value(prefix + "mixing");
  planned.in.mixing = mixing.data;
  planned.in.stack.mixing = mixing.step;
  a->o = numbers(prefix + "attended", asked * model_.value_dim);
  planned.out.output = a->o.data();
  if (normalises_over_keys(planned.layer.options.normalisation)) {
    planned.out.log_sum_exp = floats(prefix + "log sums", asked * model_.heads).data;
  }
  a->attention = planned;
  launch(prefix + "attention", planned);

  Floats y = floats(prefix + "stream between", asked * dim_);
  StepNorm::Added added = {y, {}, x, 1, {0, dim_}};
  if (memory == nullptr && a->part.queries < a->part.keys) {
    if (bf16()) {
      added.stream = some_tokens(prefix + "last tokens", x, a->part.first_query, a->part.queries);
    } else {
      added = {y, {}, x + a->part.first_query * dim_, a->part.queries, {dim_, tokens_ * dim_}};
    }
  }
  launch_stream(prefix + "output",
                linear({asked, model_.value_dim, dim_}, a->o, prefix + "output.weight",
                       prefix + "output.bias", y),
                added);
  return y;
}

ConstFloats StepBuilder::feed_forward(const std::string& prefix, Index tokens, ConstFloats mid) {
  FeedForwardPass pass;
  pass.prefix = prefix;
  pass.rows = batch_.examples * tokens;
  pass.mid = mid;
  pass.mid_stats = floats(prefix + "feed_forward_norm's statistics", 2 * pass.rows);
  pass.mid_z = norm(prefix + "feed_forward_norm", pass.rows, mid, pass.mid_stats);
  if (model_.feed_forward == FeedForward::kMixture) return mixture(&pass);
  const bool gated = model_.feed_forward == FeedForward::kSwiglu;
  const Index m = model_.mlp_dim;
  pass.hidden = numbers(prefix + "hidden", pass.rows * (gated ? 2 * m : m));
  pass.active = numbers(prefix + "active", pass.rows * m);
  if (gated) {
    launch(prefix + "gate, up",
           linear({pass.rows, dim_, 2 * m}, pass.mid_z, prefix + "gate.weight", "", pass.hidden));
    launch(prefix + "swiglu", StepSwiglu{pass.rows, m, pass.hidden, pass.active});
  } else {
    StepProduct up = linear({pass.rows, dim_, m}, pass.mid_z, prefix + "up.weight",
                            prefix + "up.bias", pass.active);
    up.end = ProductEnd::kGelu;
    up.kept = pass.hidden;
    launch(prefix + "up", up);
  }
  Floats y = floats(prefix + "stream", pass.rows * dim_);
  launch_stream(
      prefix + "down",
      linear({pass.rows, m, dim_}, pass.active, prefix + "down.weight", prefix + "down.bias", y),
      {y, {}, mid, 1, {0, dim_}});
  passes_.push_back(pass);
  return y;
}

void StepBuilder::outputs_and_loss(ConstFloats x) {
  last_ = x;
  const Index outputs = setup_.format.outputs;
  last_stats_ = floats("norm's statistics", 2 * wanted_rows_);
  last_z_ = norm("norm", wanted_rows_, x, last_stats_);
  Floats y = floats("outputs", wanted_rows_ * outputs);
  launch("logits",
         linear({wanted_rows_, dim_, outputs}, last_z_, "logits.weight", "logits.bias", y));
  loss(y);
}

void StepBuilder::loss(ConstFloats y) {
  const Index outputs = setup_.format.outputs;
  losses_ = floats("losses", wanted_rows_);
  d_outputs_ = numbers("gradient of outputs", wanted_rows_ * outputs);
  launch("loss", StepLoss{wanted_rows_,
                          outputs,
                          y,
                          {arrays_.targets, wanted_rows_ * outputs},
                          {arrays_.classes, wanted_rows_},
                          losses_,
                          d_outputs_});
}

}  // namespace headway::training::detail
