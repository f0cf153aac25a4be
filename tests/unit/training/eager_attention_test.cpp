// Attention in LibTorch's operations: in chunks of queries it gives what whole arrays of pairs and
// the fused kernels give, in memory that is linear in the tokens.
#include <malloc.h>

#include <cmath>
#include <fstream>

#include "catch.hpp"
#include "core/process_memory.hpp"
#include "training/named_tensors.hpp"
#include "training/transformer_engine.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineArray;
using detail::EngineSetup;
using headway::Index;
using headway::process_memory_mib;

namespace {

constexpr double kWhole = 0x1p60;

EngineSetup setup_of(const TransformerOptions& model, const TrainingTask& task, double bytes) {
  EngineSetup setup;
  setup.model = model.widened();
  setup.format = task.format();
  setup.shapes = detail::parameter_shapes(model, task.format());
  setup.eager = bytes > 0.0;
  setup.pair_memory = {bytes, bytes};
  return setup;
}

std::vector<float> dropout_of(const TransformerOptions& model, Index tokens) {
  headway::Rng rng(2, headway::StreamPurpose::kTests);
  std::vector<float> factors(static_cast<std::size_t>(model.all_layers() * tokens * tokens));
  for (float& x : factors) x = rng.uniform() < 0.3 ? 0.0F : 1.0F / 0.7F;
  return factors;
}

struct Answer {
  std::vector<float> outputs;
  std::vector<NamedTensor> gradients;
};

constexpr Index kExamples = 3;

// bytes = 0: the fused kernels.
Answer answer(const TransformerOptions& model, const TrainingTask& task, double bytes) {
  const EngineSetup setup = setup_of(model, task, bytes);
  const auto engine = detail::torch_library().make_engine(setup);
  const auto parameters = shaken_parameters(model, task.format());
  engine->write(EngineArray::kParameters, detail::join_tensors(setup.shapes, parameters));
  detail::StepData data;
  task.batch("train", 4, kExamples, data.pieces.emplace_back());
  data.dropout = dropout_of(model, task.format().tokens);
  engine->compute_gradients(data);
  std::vector<float> flat(detail::join_tensors(setup.shapes, parameters).size());
  engine->read(EngineArray::kGradients, flat);
  return {engine->outputs(data.pieces[0], task.format().scored),
          detail::split_tensors(setup.shapes, flat)};
}

double distance(const std::vector<float>& a, const std::vector<float>& b, double least) {
  REQUIRE(a.size() == b.size());
  double difference = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - b[i], 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / (size + least * least));
}

double size_of(const std::vector<NamedTensor>& tensors) {
  double size = 0.0;
  for (const NamedTensor& t : tensors) {
    for (const float x : t.values) size += std::pow(static_cast<double>(x), 2);
  }
  return std::sqrt(size);
}

// Gradients that vanish but for rounding (keys' biases under softmax) are held to the whole size.
void check_same(const Answer& a, const Answer& b, double most) {
  CHECK(distance(a.outputs, b.outputs, 0.0) < most);
  const double least = 1e-3 * size_of(b.gradients);
  for (std::size_t i = 0; i < a.gradients.size(); ++i) {
    INFO(a.gradients[i].name);
    CHECK(distance(a.gradients[i].values, b.gradients[i].values, least) < 10 * most);
  }
}

double bytes_of_query(const TransformerOptions& model, Index queries, Index keys) {
  return detail::pair_bytes_of_query({kExamples, model.heads, queries, keys,
                                      model.query_dim / model.heads, model.value_dim / model.heads},
                                     model.attention_options());
}

// Chunks of 1, 2, 3, ... of 7 queries: the last one is shorter than the others.
void check_chunks(const TransformerOptions& model, const TrainingTask& task) {
  const Index tokens = task.format().tokens;
  const Answer whole = answer(model, task, kWhole);
  check_same(whole, answer(model, task, 0.0), 1e-4);
  for (const Index chunk : {1, 2, 3, 5}) {
    INFO("chunks of " << chunk << " queries");
    const double bytes = (static_cast<double>(chunk) + 0.5) * bytes_of_query(model, tokens, tokens);
    check_same(answer(model, task, bytes), whole, 1e-6);
  }
}

}  // namespace

TEST_CASE("Attention in chunks of queries is that of whole arrays, for every variant", "[torch]") {
  for (const std::string& name : attention_variant_names()) {
    for (const bool causal : {false, true}) {
      INFO(name << (causal ? ", causal" : ""));
      TransformerOptions model = small_model();
      model.attention = name;
      model.causal = causal;
      check_chunks(model, PatternTask(7, 3, true));
    }
  }
}

TEST_CASE("Cross-attention in chunks of queries is that of whole arrays", "[torch]") {
  for (const std::string& name : {"softmax", "linear_rms_head", "hyla_deep"}) {
    for (const auto positions : {Positions::kRelative, Positions::kRotary}) {
      INFO(name);
      TransformerOptions model = small_model();
      model.attention = name;
      model.positions = positions;
      model.position_buckets = positions == Positions::kRelative ? 4 : 0;
      model.encoder_layers = 1;
      check_chunks(model, PatternTask(9, 4, true));
    }
  }
}

TEST_CASE("Attention in chunks of queries is that of whole arrays, for every nonlinearity",
          "[torch]") {
  for (const std::string& name : nonlinearity_names()) {
    INFO(name);
    TransformerOptions model = small_model();
    model.attention = "hyla";
    model.nonlinearity = name;
    check_chunks(model, PatternTask(7, 6));
  }
}

namespace {

// MiB that a gradient takes at most, beside what was there before.
double gradient_mib(const TransformerOptions& model, Index tokens, double bytes) {
  const PatternTask task(tokens, 1);
  const EngineSetup setup = setup_of(model, task, bytes);
  const auto engine = detail::torch_library().make_engine(setup);
  detail::StepData data;
  task.batch("train", 0, 1, data.pieces.emplace_back());
  malloc_trim(0);
  std::ofstream("/proc/self/clear_refs") << "5\n";  // the most so far is what there is now
  const double before = process_memory_mib("VmRSS:");
  engine->compute_gradients(data);
  return process_memory_mib("VmHWM:") - before;
}

}  // namespace

TEST_CASE("Memory of attention in chunks is linear in the tokens, of whole arrays quadratic",
          "[torch]") {
  TransformerOptions model = small_model();
  model.heads = 4;
  model.query_dim = 16;
  model.value_dim = 32;
  model.position_buckets = 32;
  for (const char* name : {"softmax", "hyla"}) {
    for (const bool causal : {false, true}) {
      INFO(name << (causal ? ", causal" : ""));
      model.attention = name;
      model.causal = causal;
      static_cast<void>(gradient_mib(model, 32, kWhole));  // what only the first one takes
      constexpr double kChunk = 0x1p22;
      const double chunks = gradient_mib(model, 400, kChunk);
      const double more_chunks = gradient_mib(model, 1600, kChunk);
      const double whole = gradient_mib(model, 200, kWhole);
      const double more_whole = gradient_mib(model, 800, kWhole);
      CAPTURE(chunks, more_chunks, whole, more_whole);
      CHECK(more_chunks < 5.0 * chunks + 4.0);
      CHECK(more_chunks < 0.5 * more_whole);  // although it has twice the tokens
      CHECK(more_whole > 8.0 * whole);
    }
  }
}
