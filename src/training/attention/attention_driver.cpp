#include <algorithm>

#include "headway/core/parallel.hpp"
#include "training/kernels/cpu/aligned_floats.hpp"
#include "training/kernels/cpu/attention_kernels.hpp"
#include "training/model/row_pieces.hpp"

// Cuts attention into jobs, runs them on threads, and adds what is summed over the batch.
namespace headway::training::detail {
namespace {

constexpr Index kMostCopies = 16;

// The workspace of a thread.
float* thread_workspace(Index floats) {
  static thread_local AlignedBuffer workspace;
  return workspace.reserve(floats);
}

Index ceiling(Index a, Index b) { return (a + b - 1) / b; }

// How the work is cut into jobs: `groups` of examples times `slices` of heads.
struct Cut {
  Index lanes, units, groups, slices, heads;
};

Cut cut_work(const AttentionPlan& plan, const AttentionShape& shape,
             const AttentionOptions& options) {
  const Index lanes = plan.kernels->lanes;
  if (plan.axis == LaneAxis::kExamples) {
    return {lanes, shape.queries, ceiling(shape.batch, lanes), 1, shape.heads};
  }
  const bool single =
      !is_generated(options.value_network) && !normalises_over_heads(options.normalisation);
  return {lanes, ceiling(shape.queries, lanes), shape.batch, single ? shape.heads : 1,
          single ? 1 : shape.heads};
}

// Bias and dropout with queries in the lanes: [count, units, Sk, lanes] of [count, Sq, Sk].
AlignedFloats queries_to_lanes(const float* array, Index count, const AttentionShape& shape,
                               Index lanes) {
  const Index units = ceiling(shape.queries, lanes);
  AlignedFloats result = allocate_aligned(count * units * shape.keys * lanes);
  float* out = result.get();
  for (Index i = 0; i < count * units; ++i) {
    const Index first = (i % units) * lanes;
    const float* in = array + ((i / units) * shape.queries + first) * shape.keys;
    const Index left = std::min(lanes, shape.queries - first);
    for (Index k = 0; k < shape.keys; ++k) {
      for (Index l = 0; l < lanes; ++l) *out++ = l < left ? in[l * shape.keys + k] : 0.0F;
    }
  }
  return result;
}

// A job, filled with all that is the same for every piece of work.
struct Prepared {
  AttentionJob job;
  AlignedFloats bias, dropout;
};

Prepared prepare(const AttentionPlan& plan, const AttentionShape& shape,
                 const AttentionOptions& options, const AttentionInputs<float>& inputs) {
  Prepared result;
  AttentionJob& job = result.job;
  job.shape = shape;
  job.options = options;
  job.axis = plan.axis;
  job.inputs = inputs;
  job.bias = inputs.bias;
  job.dropout = inputs.dropout;
  const Index lanes = plan.kernels->lanes;
  if (plan.axis == LaneAxis::kQueries) {
    if (inputs.bias != nullptr) {
      result.bias = queries_to_lanes(inputs.bias, shape.heads, shape, lanes);
      job.bias = result.bias.get();
    }
    if (inputs.dropout != nullptr) {
      result.dropout = queries_to_lanes(inputs.dropout, 1, shape, lanes);
      job.dropout = result.dropout.get();
    }
  }
  return result;
}

void choose_piece(const AttentionPlan& plan, const Cut& cut, Index group, Index slice,
                  AttentionJob* job) {
  const bool over_examples = plan.axis == LaneAxis::kExamples;
  job->first_example = over_examples ? group * cut.lanes : group;
  job->examples =
      over_examples ? std::min(cut.lanes, job->shape.batch - job->first_example) : Index{1};
  job->first_head = slice * cut.heads;
  job->heads = cut.heads;
  job->first_unit = 0;
  job->units = cut.units;
}

// --- sums over the batch --------------------------------------------------------------------

// Copies of the gradients of bias and M_h, each summed over a fixed run of groups, then added in
// index order: the same sums on any number of threads.
struct BatchSums {
  Index copies = 1;
  Index bias_floats = 0;
  Index mixing_floats = 0;
  AlignedFloats bias, mixing;
};

Index partial_copies(const Cut& cut, Index floats) {
  if (floats == 0) return cut.groups;
  return std::max(Index{1}, std::min({cut.groups, kMostCopies, kMostPartialFloats / floats}));
}

BatchSums partial_sums(const AttentionPlan& plan, const Cut& cut, const AttentionShape& shape,
                       bool with_bias, bool with_mixing) {
  BatchSums sums;
  const Index lanes = plan.axis == LaneAxis::kQueries ? cut.lanes : Index{1};
  if (with_bias) sums.bias_floats = shape.heads * cut.units * lanes * shape.keys;
  if (with_mixing) sums.mixing_floats = shape.heads * shape.value_dim * shape.value_dim;
  sums.copies = partial_copies(cut, sums.bias_floats + sums.mixing_floats);
  return sums;
}

void clear(BatchSums* sums) {
  sums->bias = allocate_aligned(sums->copies * sums->bias_floats);
  sums->mixing = allocate_aligned(sums->copies * sums->mixing_floats);
  std::fill_n(sums->bias.get(), sums->copies * sums->bias_floats, 0.0F);
  std::fill_n(sums->mixing.get(), sums->copies * sums->mixing_floats, 0.0F);
}

// out[i] = sum over copies of sums[copy][place(i)]
template <typename Place>
void add_copies(const float* sums, Index copies, Index stride, Index count, const Place& place,
                float* out) {
  for (Index i = 0; i < count; ++i) {
    const Index at = place(i);
    float sum = 0.0F;
    for (Index c = 0; c < copies; ++c) sum += sums[c * stride + at];
    out[i] = sum;
  }
}

void finish(const AttentionPlan& plan, const Cut& cut, const AttentionShape& shape,
            const BatchSums& sums, const AttentionGradients<float>& gradients) {
  if (gradients.mixing != nullptr) {
    add_copies(
        sums.mixing.get(), sums.copies, sums.mixing_floats, sums.mixing_floats,
        [](Index i) { return i; }, gradients.mixing);
  }
  if (gradients.bias == nullptr) return;
  const Index lanes = plan.axis == LaneAxis::kQueries ? cut.lanes : Index{1};
  parallel_for(shape.heads * shape.queries, plan.threads, [&](Index row) {
    const Index head = row / shape.queries;
    const Index query = row % shape.queries;
    const Index first = (head * cut.units + query / lanes) * shape.keys * lanes + query % lanes;
    add_copies(
        sums.bias.get(), sums.copies, sums.bias_floats, shape.keys,
        [&](Index k) { return first + k * lanes; }, gradients.bias + row * shape.keys);
  });
}

}  // namespace

LaneAxis choose_lane_axis(const AttentionShape& shape, const AttentionOptions& options,
                          Index lanes) {
  static_cast<void>(options);
  const auto used = [lanes](Index count) {
    return static_cast<double>(count) / static_cast<double>(ceiling(count, lanes) * lanes);
  };
  const Index numbers = shape.heads * (shape.keys * (shape.query_dim + shape.value_dim) +
                                       shape.queries * (2 * shape.query_dim + shape.value_dim));
  constexpr Index kNear = Index{1}
                          << 20;  // numbers in lanes before they come from far away (measured)
  const double examples = used(shape.batch) * (numbers * lanes > kNear ? 0.6 : 1.0);
  return examples >= used(shape.queries) ? LaneAxis::kExamples : LaneAxis::kQueries;
}

void forward_with(const AttentionPlan& plan, const AttentionShape& shape,
                  const AttentionOptions& options, const AttentionInputs<float>& inputs,
                  const AttentionOutputs<float>& outputs) {
  const Cut cut = cut_work(plan, shape, options);
  Prepared prepared = prepare(plan, shape, options, inputs);
  prepared.job.outputs = outputs;
  choose_piece(plan, cut, 0, 0, &prepared.job);
  const Index floats = plan.kernels->forward_workspace(prepared.job);
  // Rows of queries do not depend on each other: cut them where there are few examples and heads.
  const Index pieces = cut.groups * cut.slices;
  const Index wanted = plan.axis == LaneAxis::kQueries ? 4 * Index{plan.threads} : Index{1};
  const Index runs = std::min(ceiling(wanted, pieces), ceiling(cut.units, Index{4}));
  const Index units = ceiling(cut.units, runs);
  parallel_for(pieces * runs, plan.threads, [&](Index i) {
    AttentionJob job = prepared.job;
    choose_piece(plan, cut, i / runs / cut.slices, i / runs % cut.slices, &job);
    job.first_unit = (i % runs) * units;
    job.units = std::min(units, cut.units - job.first_unit);
    if (job.units > 0) plan.kernels->forward(job, thread_workspace(floats));
  });
}

void backward_with(const AttentionPlan& plan, const AttentionShape& shape,
                   const AttentionOptions& options, const AttentionInputs<float>& inputs,
                   const AttentionPassedBack<float>& passed,
                   const AttentionGradients<float>& gradients) {
  const Cut cut = cut_work(plan, shape, options);
  Prepared prepared = prepare(plan, shape, options, inputs);
  // Jobs have one struct for both passes; the backward kernel only reads the outputs.
  prepared.job.outputs = {const_cast<float*>(passed.outputs.output),        // NOLINT
                          const_cast<float*>(passed.outputs.log_sum_exp)};  // NOLINT
  prepared.job.d_output = passed.d_output;
  prepared.job.gradients = gradients;
  BatchSums sums =
      partial_sums(plan, cut, shape, gradients.bias != nullptr, gradients.mixing != nullptr);
  clear(&sums);
  choose_piece(plan, cut, 0, 0, &prepared.job);
  prepared.job.d_bias = gradients.bias != nullptr ? sums.bias.get() : nullptr;
  const Index floats = plan.kernels->backward_workspace(prepared.job);
  parallel_for(sums.copies * cut.slices, plan.threads, [&](Index i) {
    const Index copy = i / cut.slices;
    AttentionJob job = prepared.job;
    if (job.d_bias != nullptr) job.d_bias += copy * sums.bias_floats;
    if (gradients.mixing != nullptr) job.d_mixing = sums.mixing.get() + copy * sums.mixing_floats;
    const Index end = (copy + 1) * cut.groups / sums.copies;
    for (Index group = copy * cut.groups / sums.copies; group < end; ++group) {
      choose_piece(plan, cut, group, i % cut.slices, &job);
      plan.kernels->backward(job, thread_workspace(floats));
    }
  });
  finish(plan, cut, shape, sums, gradients);
}

std::size_t workspace_bytes(const AttentionPlan& plan, const AttentionShape& shape,
                            const AttentionOptions& options, bool with_bias, bool with_dropout) {
  const Cut cut = cut_work(plan, shape, options);
  AttentionJob job;
  job.shape = shape;
  job.options = options;
  job.axis = plan.axis;
  choose_piece(plan, cut, 0, 0, &job);
  // What is counted depends on which pointers are set, not on where they point.
  float something = 0.0F;
  const std::uint8_t mask = 1;
  if (with_bias) job.d_bias = &something;
  if (with_dropout) job.dropout = &something;
  job.inputs.key_mask = &mask;
  const bool deep = has_mixing(options.value_network);
  const BatchSums sums = partial_sums(plan, cut, shape, with_bias, deep);
  Index floats = plan.threads * std::max(plan.kernels->forward_workspace(job),
                                         plan.kernels->backward_workspace(job));
  floats += sums.copies * (sums.bias_floats + sums.mixing_floats);
  if (plan.axis == LaneAxis::kQueries) {
    const Index pairs = cut.units * cut.lanes * shape.keys;
    if (with_bias) floats += shape.heads * pairs;
    if (with_dropout) floats += pairs;
  }
  return static_cast<std::size_t>(floats) * sizeof(float);
}

}  // namespace headway::training::detail
