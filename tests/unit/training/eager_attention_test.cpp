// Attention in LibTorch's operations: in chunks of queries it gives what whole arrays of pairs and
// the fused kernels give, in memory that is linear in the tokens.
#include <malloc.h>

#include <fstream>

#include "catch.hpp"
#include "core/process_memory.hpp"
#include "engine_answers.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using detail::EngineSetup;
using headway::Index;
using headway::process_memory_mib;

namespace {

constexpr double kWhole = 0x1p60;

EngineSetup setup_of(const TransformerOptions& model, const TrainingTask& task, double bytes) {
  EngineSetup setup = engine_setup(model, task, bytes > 0.0);
  setup.pair_memory = {bytes, bytes};
  return setup;
}

// bytes = 0: the fused kernels.
EngineAnswer answer(const TransformerOptions& model, const TrainingTask& task, double bytes) {
  return engine_answer(setup_of(model, task, bytes), task);
}

double bytes_of_query(const TransformerOptions& model, Index queries, Index keys) {
  return detail::pair_bytes_of_query({kEngineExamples, model.heads, queries, keys,
                                      model.query_dim / model.heads, model.value_dim / model.heads},
                                     model.attention_options());
}

// Chunks of 1, 2, 3, ... of 7 queries: the last one is shorter than the others.
void check_chunks(const TransformerOptions& model, const TrainingTask& task) {
  const Index tokens = task.format().tokens;
  const EngineAnswer whole = answer(model, task, kWhole);
  check_same_answer(whole, answer(model, task, 0.0), 1e-4);
  for (const Index chunk : {1, 2, 3, 5}) {
    INFO("chunks of " << chunk << " queries");
    const double bytes = (static_cast<double>(chunk) + 0.5) * bytes_of_query(model, tokens, tokens);
    check_same_answer(answer(model, task, bytes), whole, 1e-6);
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
  for (const char* name : {"softmax", "linear_rms_head", "hyla_deep"}) {
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
      constexpr double kChunk = 0x1p21;
      static_cast<void>(gradient_mib(model, 800, kChunk));  // what libraries take once
      const double chunks = gradient_mib(model, 200, kChunk);
      const double more_chunks = gradient_mib(model, 800, kChunk);
      const double whole = gradient_mib(model, 120, kWhole);
      const double more_whole = gradient_mib(model, 480, kWhole);
      CAPTURE(chunks, more_chunks, whole, more_whole);
      CHECK(more_chunks < 5.0 * chunks + 4.0);
      CHECK(more_chunks < 0.5 * more_whole);  // although it has more tokens
      CHECK(more_whole > 8.0 * whole);
    }
  }
}
