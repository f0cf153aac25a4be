#include <algorithm>
#include <bit>
#include <utility>

#include "headway/error.hpp"
#include "training/step/step_builder.hpp"

namespace headway::training::detail {

void StepBuilder::backward() {
  const Index outputs = setup_.format.outputs;
  const Linear logits = {wanted_rows_, dim_, outputs};
  Numbers dz = numbers("gradient of norm's output", wanted_rows_ * dim_);
  launch("gradient before logits", back(logits, d_outputs_, "logits.weight", dz));
  weight_gradient(logits, d_outputs_, last_z_, "logits.weight", "logits.bias");
  const StreamGradient dx = norm_gradient("norm", {wanted_rows_, last_, last_stats_}, dz, {});
  embedding_gradient(blocks_gradient(dx));
  sums_so_far();
}

// Twice in a step: beside the gradient of the last attention for all before it, and at the end.
void StepBuilder::sums_so_far() {
  positions_gradient();
  if (column_sums_.parts.empty()) return;
  launch_aside("gradients of biases", column_sums_);
  column_sums_.parts.clear();
}

StepBuilder::StreamGradient StepBuilder::blocks_gradient(StreamGradient dx) {
  auto a = attentions_.rbegin();
  auto pass = passes_.rbegin();
  StreamGradient d_memory;
  for (Index l = 0; l < model_.layers; ++l) {
    dx = feed_forward_gradient(*pass++, dx);
    if (a->part.crosses) dx = cross_attention_gradient(&*a++, dx, &d_memory);
    dx = attention_gradient(&*a++, dx);
  }
  if (context_ == 0) return dx;
  for (Index l = 0; l < model_.encoder_layers; ++l) {
    d_memory = attention_gradient(&*a++, feed_forward_gradient(*pass++, d_memory));
  }
  const Index examples = batch_.examples;
  Floats of_targets = floats("gradient of targets", rows_ * dim_);
  launch("gradient of targets", StepSomeTokensGradient{examples,
                                                       tokens_,
                                                       context_,
                                                       tokens_ - context_,
                                                       dim_,
                                                       dx.sum,
                                                       {},
                                                       of_targets,
                                                       {},
                                                       0,
                                                       0,
                                                       {}});
  Floats all = floats("gradient of embedded", rows_ * dim_);
  OfRuns<Bf16> factor = rounded("rounded gradient of embedded", rows_ * dim_);
  launch(
      "gradient of context",
      StepSomeTokensGradient{
          examples, tokens_, 0, context_, dim_, d_memory.sum, of_targets, all, factor, 0, 0, {}});
  return {all, bf16() ? ConstNumbers(factor) : ConstNumbers(all)};
}

// Given the gradient of what leaves the layer, that of the stream between.
StepBuilder::StreamGradient StepBuilder::feed_forward_gradient(const FeedForwardPass& pass,
                                                               const StreamGradient& dx) {
  if (model_.feed_forward == FeedForward::kMixture) return mixture_gradient(pass, dx);
  const std::string& prefix = pass.prefix;
  const Index rows = pass.rows;
  const Index m = model_.mlp_dim;
  const bool gated = model_.feed_forward == FeedForward::kSwiglu;
  const Linear down = {rows, m, dim_};
  const Linear up = {rows, dim_, gated ? 2 * m : m};
  Numbers d_up = numbers(prefix + "gradient of hidden", rows * up.out);
  if (gated) {
    Numbers d_active = numbers(prefix + "gradient of active", rows * m);
    launch(prefix + "gradient before down",
           back(down, dx.factor, prefix + "down.weight", d_active));
    launch(prefix + "gradient of swiglu", StepSwigluGradient{rows, m, pass.hidden, d_active, d_up});
  } else {
    StepProduct p = back(down, dx.factor, prefix + "down.weight", d_up);
    p.end = ProductEnd::kGeluGradient;
    p.kept = pass.hidden;
    launch(prefix + "gradient before down", p);
  }
  weight_gradient(down, dx.factor, pass.active, prefix + "down.weight", prefix + "down.bias");
  const std::string first = prefix + (gated ? "gate.weight" : "up.weight");
  weight_gradient(up, d_up, pass.mid_z, first, prefix + "up.bias");
  Numbers dz = numbers(prefix + "gradient of feed_forward_norm's output", rows * dim_);
  launch(prefix + "gradient before up", back(up, d_up, first, dz));
  return norm_gradient(prefix + "feed_forward_norm", {rows, pass.mid, pass.mid_stats}, dz, dx.sum);
}

// The gradient of what attention returns.
Numbers StepBuilder::output_gradient(const Attention& a, ConstNumbers d_mid) {
  const std::string& prefix = a.part.prefix;
  const Linear output = {batch_.examples * a.part.queries, model_.value_dim, dim_};
  Numbers d_o = numbers(prefix + "gradient of attended", output.rows * output.in);
  launch(prefix + "gradient before output", back(output, d_mid, prefix + "output.weight", d_o));
  weight_gradient(output, d_mid, a.o, prefix + "output.weight", prefix + "output.bias");
  return d_o;
}

// Given the gradient of the stream between, that of what enters the layer.
StepBuilder::StreamGradient StepBuilder::attention_gradient(Attention* a,
                                                            const StreamGradient& d_mid) {
  const std::string& prefix = a->part.prefix;
  const Index keys = a->part.keys;
  const Index skipped = keys - a->part.queries;
  const Linear in = {batch_.examples * keys, dim_, packed_};
  ConstNumbers d_o = output_gradient(*a, d_mid.factor);
  Numbers d_packed = numbers(prefix + "gradient of queries, keys, values", in.rows * packed_);
  ConstFloats base = d_mid.sum;
  if (skipped > 0) {
    Floats all = floats(prefix + "gradient of last tokens", in.rows * dim_);
    launch(prefix + "gradient of last tokens", StepSomeTokensGradient{batch_.examples,
                                                                      keys,
                                                                      skipped,
                                                                      a->part.queries,
                                                                      dim_,
                                                                      d_mid.sum,
                                                                      {},
                                                                      all,
                                                                      {},
                                                                      model_.query_dim,
                                                                      packed_,
                                                                      d_packed});
    base = all;
  }
  if (a == attentions_.data()) sums_so_far();
  attend_gradient(a, d_o, d_packed + skipped * packed_, d_packed + model_.query_dim);
  rotate(prefix + "gradient of rotation", {d_packed, packed_, 0}, keys, 2 * model_.heads, 0, true);
  weight_gradient(in, d_packed, a->z, prefix + "query.weight", prefix + "query.bias");
  Numbers dz = numbers(prefix + "gradient of attention_norm's output", in.rows * dim_);
  launch(prefix + "gradient before queries, keys, values",
         back(in, d_packed, prefix + "query.weight", dz));
  return norm_gradient(prefix + "attention_norm", {in.rows, a->x, a->stats}, dz, base);
}

StepBuilder::StreamGradient StepBuilder::cross_attention_gradient(Attention* a,
                                                                  const StreamGradient& d_mid,
                                                                  StreamGradient* d_memory) {
  const std::string& prefix = a->part.prefix;
  const Index q = model_.query_dim;
  const Linear asked = {batch_.examples * a->part.queries, dim_, q};
  const Linear seen = {batch_.examples * a->part.keys, dim_, packed_ - q};
  ConstNumbers d_o = output_gradient(*a, d_mid.factor);
  Numbers d_query = numbers(prefix + "gradient of queries", asked.rows * asked.out);
  Numbers d_key = numbers(prefix + "gradient of keys, values", seen.rows * seen.out);
  attend_gradient(a, d_o, d_query, d_key);
  rotate(prefix + "gradient of rotation of queries", {d_query, asked.out, 0}, a->part.queries,
         model_.heads, a->part.first_query, true);
  rotate(prefix + "gradient of rotation of keys", {d_key, seen.out, 0}, a->part.keys, model_.heads,
         0, true);
  weight_gradient(asked, d_query, a->z, prefix + "query.weight", prefix + "query.bias");
  weight_gradient(seen, d_key, a->memory_z, prefix + "key.weight", prefix + "key.bias");
  Numbers dz = numbers(prefix + "gradient of norm's output", asked.rows * dim_);
  launch(prefix + "gradient before queries", back(asked, d_query, prefix + "query.weight", dz));
  Numbers d_memory_z = numbers(prefix + "gradient of memory_norm's output", seen.rows * dim_);
  launch(prefix + "gradient before keys, values",
         back(seen, d_key, prefix + "key.weight", d_memory_z));
  *d_memory = norm_gradient(prefix + "memory_norm", {seen.rows, a->memory, a->memory_stats},
                            d_memory_z, d_memory->sum);
  return norm_gradient(prefix + "norm", {asked.rows, a->x, a->stats}, dz, d_mid.sum);
}

// Values lie behind the keys.
void StepBuilder::attend_gradient(Attention* a, ConstNumbers d_o, Numbers d_query, Numbers d_key) {
  const std::string& prefix = a->part.prefix;
  const StepAttention& passed = a->attention;
  StepAttentionGradient g = {passed.layer, passed.plan, passed.in, {passed.out, d_o.data()}, {}};
  const Index slices = passed.plan.backward.key_slices;
  g.gradients.key = d_key.data();
  g.gradients.value = (d_key + model_.query_dim).data();
  // The general kernel adds to the gradient of a query key by key, so to floats.
  if (slices == 1 && !bf16()) {
    g.gradients.query_sums = d_query.floats.data;
    g.gradients.query_sum_steps = passed.in.query_steps;
  } else if (passed.plan.query_sums > 0) {
    g.gradients.query_sums =
        device_->array<float>((prefix + "sums of queries").c_str(), passed.plan.query_sums);
  }
  if (slices == 1 && bf16()) g.gradients.query = d_query.data();
  if (passed.plan.over_keys > 0) {
    g.gradients.over_keys =
        device_->array<float>((prefix + "sums over keys").c_str(), passed.plan.over_keys);
  }
  if (passed.plan.bias_sums > 0) {
    a->score_copies = floats(prefix + "gradients of scores", passed.plan.bias_sums / batch_.runs);
    g.gradients.bias_sums = a->score_copies.data;
  }
  if (passed.plan.mixing_sums > 0) {
    const Index count = model_.value_dim * (model_.value_dim / model_.heads);
    const Index copies = passed.plan.mixing_sums / count / batch_.runs;
    g.gradients.mixing_sums = sum(prefix + "mixing", copies, count).data;
  }
  launch(prefix + "gradient of attention", g);
  if (slices == 1) return;
  // Copies are of the rows of all runs.
  launch(prefix + "sum of gradients of queries",
         StepQuerySums{batch_.runs * batch_.examples * a->part.queries, model_.query_dim, slices,
                       g.gradients.query_sums, a->part.queries, passed.in.query_steps, d_query});
}

void StepBuilder::positions_gradient() {
  if (buckets_ == nullptr) return;
  StepCopySums copies;
  const StepPositions tables = position_tables();
  StepPositionsGradient g = {tables.heads, tables.buckets, tables.farthest, tables.bucket_of, {}};
  for (Attention& a : attentions_) {
    if (a.score_copies == nullptr) continue;
    const AttentionPart& part = a.part;
    const Index count = model_.heads * part.queries * part.keys;
    Floats d_scores = floats(part.prefix + "gradient of scores", count);
    copies.parts.push_back({a.attention.plan.backward.groups / batch_.runs, count, 1.0,
                            std::exchange(a.score_copies, {}), d_scores});
    g.layers.push_back({part.queries, part.keys, part.first_query - part.first_key, d_scores,
                        sum(part.prefix + "positions", 1, tables.buckets * tables.heads)});
  }
  if (copies.parts.empty()) return;
  launch_aside("gradients of scores", copies);
  launch_aside("gradients of positions", g);
}

void StepBuilder::embedding_gradient(const StreamGradient& dx) {
  const TaskFormat& format = setup_.format;
  if (format.features > 0) {
    weight_gradient({rows_, format.features, dim_}, dx.factor, inputs(), "embedding.weight",
                    "embedding.bias");
    launches_.back().aside = false;  // nothing else is left to do beside it
    return;
  }
  launch("gradient of embedding",
         StepLookUpGradient{rows_,
                            dim_,
                            format.vocabulary,
                            {arrays_.ids, rows_},
                            dx.sum,
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
      for (const Index number :
           {s.first_copy + from, s.count_of_copies, s.step, s.first + from, count,
            Index{s.decayed ? 1 : 0}, Index{std::bit_cast<std::int32_t>(s.rate)}}) {
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
  sums.gradients = {arrays_.gradients, parameters_step_};
  sums.squares = floats<double>("squares of gradients", sums.blocks);
  sums.losses_count = wanted_rows_;
  const bool classes = setup_.format.loss == LossKind::kCrossEntropy;
  sums.loss_scale =
      1.0 / static_cast<double>(classes ? wanted_rows_ : wanted_rows_ * setup_.format.outputs);
  sums.losses = losses_;
  sums.loss = {arrays_.loss, 1};
  launch("gradients", sums);
  launch("update", StepUpdate{sums.blocks,
                              sums.table,
                              sums.gradients,
                              sums.squares,
                              sums.loss,
                              {arrays_.numbers, 4},
                              {arrays_.first, parameters_step_},
                              {arrays_.second, parameters_step_},
                              {arrays_.values, parameters_step_},
                              {arrays_.history, 2 * kMostStepsAhead},
                              constants.beta_1,
                              constants.beta_2,
                              constants.epsilon,
                              constants.most_norm});
}

}  // namespace headway::training::detail
