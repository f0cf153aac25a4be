#include "training/step/fused_step.hpp"

#include <fmt/format.h>

#include <cmath>

#include "headway/error.hpp"
#include "training/model/named_tensors.hpp"
#include "training/step/step_builder.hpp"

namespace headway::training::detail {

std::vector<Index> step_offsets(const std::vector<ParameterShape>& shapes) {
  std::vector<Index> offsets(shapes.size());
  Index end = 0;
  const auto put = [&](std::size_t i) {
    offsets[i] = end;
    end += shapes[i].count();
  };
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    if (!shapes[i].name.ends_with("query.weight") || !shapes[i + 1].name.ends_with("query.bias")) {
      put(i);
      continue;
    }
    // weight and bias of queries, of keys, of values
    for (const std::size_t step : {0, 2, 4, 1, 3, 5}) put(i + step);
    i += 5;
  }
  return offsets;
}

Index step_parameters(const std::vector<ParameterShape>& shapes) {
  constexpr Index kLine = 64;  // floats: 256 bytes, beyond which no alignment matters
  return (total_count(shapes) + kLine - 1) / kLine * kLine;
}

std::array<float, 4> update_numbers(const AdamWStep& step, Index place) {
  const auto t = static_cast<double>(step.update);
  return {static_cast<float>(step.rate / (1.0 - std::pow(step.beta_1, t))),
          static_cast<float>(1.0 / (1.0 - std::pow(step.beta_2, t))),
          static_cast<float>(step.rate * step.decay), static_cast<float>(place)};
}

std::vector<AttentionPart> attention_parts(const EngineSetup& setup) {
  const TransformerOptions& n = setup.model;
  const Index tokens = setup.format.tokens;
  const Index scored = setup.format.scored;
  const Index context = tokens - scored;
  std::vector<AttentionPart> parts;
  for (Index l = 0; l < n.encoder_layers; ++l) {
    parts.push_back({fmt::format("encoder.{}.", l + 1), l, context, context, 0, 0, false});
  }
  for (Index l = 0; l < n.layers; ++l) {
    const std::string prefix = fmt::format("layers.{}.", l + 1);
    const Index layer = n.encoder_layers + l;
    if (n.encoder_layers > 0) {
      parts.push_back({prefix, layer, scored, scored, context, context, false});
      parts.push_back({prefix + "cross.", layer, scored, context, context, 0, true});
    } else {
      const Index wanted = l + 1 == n.layers ? scored : tokens;
      parts.push_back({prefix, layer, wanted, tokens, tokens - wanted, 0, false});
    }
  }
  return parts;
}

namespace {

GpuArithmetic arithmetic_of(Precision precision) {
  switch (precision) {
    case Precision::kFloat32:
      break;
    case Precision::kTf32:
      return GpuArithmetic::kTf32;
    case Precision::kBfloat16:
      return GpuArithmetic::kBf16;
  }
  return GpuArithmetic::kFloat32;
}

// LibTorch's attention leaves one copy of the gradient of queries.
GpuAttentionPlan with_one_slice(GpuAttentionPlan plan, const AttentionShape& n) {
  AttentionPlanSizes& sizes = plan.backward;
  if (sizes.key_slices == 1) return plan;
  sizes.slice_keys *= sizes.key_slices;
  sizes.key_slices = 1;
  plan.query_sums = n.batch * n.queries * n.heads * n.query_dim;
  return plan;
}

// The plan of a run, for several side by side. Their examples are cut as those of one are.
GpuAttentionPlan of_runs(GpuAttentionPlan plan, Index runs) {
  for (AttentionPlanSizes* sizes : {&plan.forward, &plan.sums, &plan.backward}) {
    sizes->groups *= static_cast<int>(runs);
  }
  for (Index* floats : {&plan.query_sums, &plan.bias_sums, &plan.mixing_sums, &plan.over_keys}) {
    *floats *= runs;
  }
  return plan;
}

}  // namespace

std::optional<StepAttention> plan_step_attention(const EngineSetup& setup,
                                                 const StepBatchShape& batch,
                                                 const AttentionPart& part,
                                                 const GpuDevice& device) {
  const TransformerOptions& n = setup.model;
  StepAttention a;
  a.layer = {{batch.examples, n.heads, part.queries, part.keys, n.query_dim / n.heads,
              n.value_dim / n.heads},
             n.attention_options(),
             arithmetic_of(setup.precision)};
  if (part.crosses) a.layer.options.causal = false;
  const auto plan = plan_gpu_attention(a.layer.shape, a.layer.options, a.layer.arithmetic,
                                       n.positions == Positions::kRelative, batch.dropout, device);
  if (!plan) return std::nullopt;
  const bool by_library = library_attention_takes(
      setup.library_attention, a.layer,
      {n.positions == Positions::kRelative, batch.masked, batch.dropout}, device);
  a.plan = of_runs(by_library ? with_one_slice(*plan, a.layer.shape) : *plan, batch.runs);
  a.layer.shape.batch *= batch.runs;
  return a;
}

std::string FusedStep::obstacle(const EngineSetup& setup, const StepBatchShape& batch,
                                const GpuDevice& device) {
  const TransformerOptions& n = setup.model;
  if (setup.format.weighted) return "targets have weights";
  if (n.encoder_layers > 0 && batch.masked) return "the network has an encoder, and tokens hide";
  constexpr auto kMostLayers = static_cast<Index>(StepPositions::kMostLayers);
  if (n.network == NetworkKind::kLinearValue) {
    // All layers' values and the last two matrices are copied in one launch.
    if (n.layers + 2 > kMostLayers)
      return fmt::format("there are more than {} layers", kMostLayers - 2);
    return batch.masked ? "tokens hide" : "";
  }
  const std::vector<AttentionPart> parts = attention_parts(setup);
  if (static_cast<Index>(parts.size()) > kMostLayers) {
    return fmt::format("there are more than {} layers of attention", kMostLayers);
  }
  constexpr Index kMostBlocks = Index{1} << 31;
  if (batch.runs * batch.examples * n.heads >= kMostBlocks) return "the stack has too many runs";
  for (const AttentionPart& part : parts) {
    if (!plan_step_attention(setup, batch, part, device)) {
      return "no tile of the attention fits the device";
    }
  }
  // A block adds up each distance of two tokens in its own memory: a float and a bucket for each.
  const Index distances = 2 * setup.format.tokens - 1;
  if (n.positions == Positions::kRelative && 8 * distances + 32 > device.block_shared_bytes) {
    return fmt::format("relative positions of {} tokens do not fit a block", setup.format.tokens);
  }
  return "";
}

namespace {

void adopt(const EngineSetup& setup, const StepBatchShape& batch, const StepArrays& a,
           StepDevice* device) {
  const TaskFormat& format = setup.format;
  const Index rows = batch.examples * format.tokens;
  const Index wanted = batch.examples * format.scored;
  const auto put = [&](const char* name, const auto* data, Index count) {
    if (data != nullptr) device->adopt(name, data, batch.runs * count, sizeof *data);
  };
  put("inputs", a.inputs, rows * format.features);
  put("ids", a.ids, rows);
  put("mask", a.mask, rows);
  put("targets", a.targets, wanted * format.outputs);
  put("classes", a.classes, wanted);
  put("dropout", a.dropout, setup.model.all_layers() * format.tokens * format.tokens);
  const Index count = step_parameters(setup.shapes);
  put("values", a.values, count);
  put("gradients", a.gradients, count);
  put("first moments", a.first, count);
  put("second moments", a.second, count);
  put("numbers", a.numbers, 4);
  put("loss", a.loss, 1);
  put("history", a.history, 2 * kMostStepsAhead);
}

}  // namespace

FusedStep::FusedStep(const EngineSetup& setup, const StepBatchShape& batch,
                     const StepArrays& arrays, const AdamWStep& constants, StepDevice* device)
    : device_(device) {
  const std::string reason = obstacle(setup, batch, device->sizes());
  if (!reason.empty()) throw Error(ErrorKind::kInternal, "hand-written step: " + reason);
  adopt(setup, batch, arrays, device);
  // The first list is written to count the partial sums.
  PlannedDevice nowhere(device->sizes());
  StepBuilder counted(setup, batch, arrays, &nowhere, 0);
  static_cast<void>(counted.build(constants));
  launches_ = StepBuilder(setup, batch, arrays, device, counted.copies_used()).build(constants);
}

void FusedStep::run_gradients() {
  const std::size_t sums = launches_.size() - 2;
  for (std::size_t i = 0; i < sums; ++i) {
    const StepLaunch& launch = launches_[i];
    if (launch.aside) {
      device_->run_aside(launch.operation);
    } else {
      device_->run(launch.operation);
    }
  }
  device_->join();
  device_->run(launches_[sums].operation);
}

void FusedStep::run_update() { device_->run(launches_.back().operation); }

StepCost FusedStep::cost() const {
  StepCost all{0.0, 0.0, 0};
  for (const StepLaunch& launch : launches_) {
    const StepCost one = cost_of(launch.operation);
    all.flops += one.flops;
    all.bytes += one.bytes;
    all.launches += one.launches;
  }
  return all;
}

std::string FusedStep::table() const {
  std::string text = fmt::format("{:48}{:>9}{:>12}{:>12}\n", "launch", "launches", "MB", "Mflop");
  const auto line = [&](const std::string& name, const StepCost& c) {
    text += fmt::format("{:48}{:9}{:12.3f}{:12.2f}\n", name, c.launches, c.bytes * 1e-6,
                        c.flops * 1e-6);
  };
  for (const StepLaunch& launch : launches_) line(launch.name, cost_of(launch.operation));
  line("all", cost());
  return text;
}

void PlannedDevice::run(const StepOperation& /*operation*/) {
  throw Error(ErrorKind::kInternal, "a step is planned, not run");
}

void* PlannedDevice::allocate(const char* /*name*/, Index count, std::size_t size,
                              const void* /*numbers*/) {
  constexpr std::uintptr_t kLine = 256;
  const std::uintptr_t here = next_;
  next_ += (static_cast<std::uintptr_t>(count) * size / kLine + 1) * kLine;
  return reinterpret_cast<void*>(here);  // NOLINT: nobody follows it
}

}  // namespace headway::training::detail
