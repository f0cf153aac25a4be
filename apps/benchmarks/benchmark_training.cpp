// Times whole training steps: every attention variant at the sizes of the experiments on the fused
// blocks, beside the same model in LibTorch's own operations (einsum) in the same run, on the same
// cores, and the machine's peak of multiply-adds; last how time and memory of a step grow with the
// length of the sequence. One thread unless a number is given (then, where others use the cores
// too, set OMP_WAIT_POLICY=passive). Usage: benchmark_training [threads] [--fused-only]
// [--cpu-time] [--variant=NAME ...] [section ...] with the attention variants that are wanted and
// sections sraven, fuzzy, text, images, length (all by default).
#include <fmt/format.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/process_memory.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/tasks/image_set.hpp"
#include "headway/training/backend.hpp"
#include "headway/training/task_adapters.hpp"
#include "headway/training/trainer.hpp"
#include "timing.hpp"

namespace {

using namespace headway;            // NOLINT: a program
using namespace headway::training;  // NOLINT

struct Setting {
  double peak = 0.0;  // of all threads
  int threads = 1;
  bool eager = true;
  bool cpu_time = false;
  std::set<std::string> variants;  // none: all
};

struct Timing {
  double seconds = 0.0;  // of one step, median
  double mib = 0.0;      // most memory beside what there was before
};

double seconds_now(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<double>(t.tv_sec) + 1e-9 * static_cast<double>(t.tv_nsec);
}

Timing time_steps(const TransformerOptions& model, TrainOptions options, const TrainingTask& task,
                  bool eager, const Setting& setting) {
  options.eager = eager;
  const double before = process_memory_mib("VmRSS:");
  Trainer trainer(model, options, task);
  const clockid_t clock = setting.cpu_time ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_MONOTONIC;
  const double share = setting.cpu_time ? 1.0 / setting.threads : 1.0;
  const auto step = [&] {
    const double start = seconds_now(clock);
    trainer.step();
    return share * (seconds_now(clock) - start);
  };
  step();
  const double first = step();
  const int repeats = std::clamp(static_cast<int>(1.5 / first), 3, 101);
  const double seconds = median_of(repeats, step);
  return {seconds, process_memory_mib("VmHWM:") - before};
}

/// What `work` returns, in a process of its own: memory that another run has freed is not counted
/// as there before, and threads that were begun here would not exist there.
template <typename Work>
auto apart(const Work& work) -> decltype(work()) {
  decltype(work()) result{};
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) return result;
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    result = work();
    const bool sent = write(ends[1], &result, sizeof result) == sizeof result;
    _exit(sent ? 0 : 1);
  }
  close(ends[1]);
  if (read(ends[0], &result, sizeof result) != sizeof result) result = {};
  close(ends[0]);
  waitpid(child, nullptr, 0);
  return result;
}

Timing time_apart(const TransformerOptions& model, const TrainOptions& options,
                  const TrainingTask& task, bool eager, const Setting& setting) {
  return apart([&] { return time_steps(model, options, task, eager, setting); });
}

void header(const char* title) {
  fmt::print("\n{}\n  {:<32} {:>10} {:>8} {:>9} {:>9} {:>7} {:>8} | {:>9} {:>9} {:>7}\n", title, "",
             "parameters", "GF/step", "ms/step", "steps/s", "peak %", "MiB", "eager ms",
             "eager MiB", "faster");
}

void row(const std::string& name, const TransformerOptions& model, const TrainOptions& options,
         const TrainingTask& task, const Setting& setting) {
  const double flops = flops_per_step(model, task.format(), options.batch).total();
  const Timing fused = time_apart(model, options, task, false, setting);
  fmt::print("  {:<32} {:>10} {:>8.2f} {:>9.2f} {:>9.2f} {:>7.1f} {:>8.0f} |", name,
             count_parameters(model, task.format()), 1e-9 * flops, 1e3 * fused.seconds,
             1.0 / fused.seconds, 100.0 * flops / fused.seconds / setting.peak, fused.mib);
  if (setting.eager) {
    const Timing eager = time_apart(model, options, task, true, setting);
    fmt::print(" {:>9.2f} {:>9.0f} {:>7.2f}", 1e3 * eager.seconds, eager.mib,
               eager.seconds / fused.seconds);
  }
  fmt::print("\n");
}

void table(const char* title, TransformerOptions model, const TrainOptions& options,
           const TrainingTask& task, const std::vector<std::string>& variants,
           const Setting& setting) {
  header(title);
  for (const std::string& name : variants) {
    if (!setting.variants.empty() && setting.variants.count(name) == 0) continue;
    model.attention = name;
    row(name, model, options, task, setting);
  }
}

void sraven(const Setting& setting) {
  TransformerOptions model;
  model.layers = 4;
  model.heads = 16;
  model.query_dim = 64;
  model.value_dim = 64;
  TrainOptions options;
  options.threads = setting.threads;
  options.device = Device::kCpu;
  const auto task = make_sraven_task({});
  table("SRAVEN reference: L4 D128 H16 qk64 v64 mlp256, B=128 S=36", model, options, *task,
        attention_variant_names(), setting);
  model.encoder_layers = 2;
  model.layers = 2;
  table("SRAVEN by an encoder (L2) and a decoder with cross-attention (L2)", model, options, *task,
        {"softmax", "linear", "hyla"}, setting);
}

void fuzzy_logic(const Setting& setting) {
  tasks::FuzzyLogicOptions data;
  data.sequence_length = 32;
  TrainOptions options;
  options.threads = setting.threads;
  options.device = Device::kCpu;
  const auto task = make_fuzzy_logic_task(data);
  table("Fuzzy logic reference: L2 D128 H8 qk16 v16 mlp256, B=128 S=32", {}, options, *task,
        attention_variant_names(), setting);
}

void text(const Setting& setting) {
  TransformerOptions model;
  model.layers = 4;
  model.model_dim = 256;
  model.heads = 4;
  model.query_dim = 256;
  model.value_dim = 256;
  model.mlp_dim = 1024;
  model.positions = Positions::kRotary;
  model.causal = true;
  TrainOptions options;
  options.batch = 8;
  options.threads = setting.threads;
  options.device = Device::kCpu;
  std::string words;
  for (int i = 0; i < 20000; ++i) words += fmt::format("{} ", i * i % 9973);
  const auto task = make_byte_text_task(words, {});
  table("Text: L4 D256 H4 qk256 v256 mlp1024 causal RoPE, B=8 S=256", model, options, *task,
        attention_variant_names(), setting);
}

/// Drawings of noise, which cost what others do.
tasks::ImageSet noise_drawings(Index classes, Index drawings) {
  constexpr Index kSide = 32;
  constexpr double kInk = 0.1;
  tasks::ImageSet set;
  set.name = "noise";
  set.side = kSide;
  Rng rng(1, StreamPurpose::kTests);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(drawings * kSide * kSide));
  for (Index c = 0; c < classes; ++c) {
    for (std::uint8_t& pixel : pixels) pixel = rng.uniform() < kInk ? 0 : 255;
    tasks::add_class(set, "noise", fmt::format("{}", c), pixels);
  }
  return set;
}

/// The networks of attention paths of the one-shot study.
void images(const Setting& setting) {
  TransformerOptions model;
  model.network = NetworkKind::kLinearValue;
  model.model_dim = 512;
  TrainOptions options;
  options.batch = 64;
  options.threads = setting.threads;
  options.device = Device::kCpu;
  const auto drawings = std::make_shared<const tasks::ImageSet>(noise_drawings(40, 20));
  const auto task = make_one_shot_task({std::make_shared<const tasks::OneShotImagesGenerator>(
                                            drawings, tasks::OneShotImagesOptions{}),
                                        {}});
  header("One-shot images, attention paths linear in their values: D512 qk128 a head, B=64 S=48");
  for (const auto& [layers, heads] : {std::pair{2, 4}, {2, 8}, {3, 3}}) {
    model.layers = layers;
    model.heads = heads;
    model.query_dim = Index{128} * heads;
    row(fmt::format("{} layers of {} heads", layers, heads), model, options, *task, setting);
  }
}

constexpr Index kShortest = 256;

// MiB for 1000 tokens more than in the shortest sequence.
std::string slope(const Timing& now, const Timing& shortest, Index tokens) {
  if (tokens == kShortest) return "";
  return fmt::format("{:.0f}",
                     1000.0 * (now.mib - shortest.mib) / static_cast<double>(tokens - kShortest));
}

void length_row(const TransformerOptions& model, Index tokens, const std::string& words,
                const Setting& setting, std::array<Timing, 2>* shortest) {
  TrainOptions options;
  options.batch = 1;
  options.threads = setting.threads;
  options.device = Device::kCpu;
  TextOptions cut;
  cut.sequence_length = tokens;
  const auto task = make_byte_text_task(words, cut);
  const double flops = flops_per_step(model, task->format(), options.batch).total();
  const Timing fused = time_apart(model, options, *task, false, setting);
  fmt::print("  {:<8} {:>6} {:>8.2f} {:>9.2f} {:>7.2f} {:>7.1f} {:>9.1f} {:>7} |", model.attention,
             tokens, 1e-9 * flops, 1e3 * fused.seconds, 1.0 / fused.seconds,
             100.0 * flops / fused.seconds / setting.peak, fused.mib,
             slope(fused, shortest->front(), tokens));
  if (tokens == kShortest) shortest->front() = fused;
  if (setting.eager) {
    const Timing eager = time_apart(model, options, *task, true, setting);
    fmt::print(" {:>9.2f} {:>9.1f} {:>7} {:>7.2f}", 1e3 * eager.seconds, eager.mib,
               slope(eager, shortest->back(), tokens), eager.seconds / fused.seconds);
    if (tokens == kShortest) shortest->back() = eager;
  }
  fmt::print("\n");
}

/// Fused memory grows like the tokens, that of arrays of pairs like their square until chunks are
/// made.
void length(const Setting& setting) {
  TransformerOptions model;
  model.heads = 4;
  model.query_dim = 128;
  model.value_dim = 128;
  model.positions = Positions::kRotary;
  model.causal = true;
  fmt::print(
      "\nLength: L2 D128 H4 qk128 v128 mlp256 causal RoPE, B=1; MiB/k: for 1000 tokens more\n");
  fmt::print("  {:<8} {:>6} {:>8} {:>9} {:>7} {:>7} {:>9} {:>7} | {:>9} {:>9} {:>7} {:>7}\n", "",
             "S", "GF/step", "ms/step", "steps/s", "peak %", "MiB", "MiB/k", "eager ms",
             "eager MiB", "MiB/k", "faster");
  std::string words;
  for (int i = 0; i < 20000; ++i) words += fmt::format("{} ", i * i % 9973);
  for (const char* name : {"softmax", "linear", "hyla"}) {
    model.attention = name;
    std::array<Timing, 2> shortest{};
    for (Index tokens = kShortest; tokens <= 4096; tokens *= 2) {
      length_row(model, tokens, words, setting, &shortest);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  numerics::prepare_blas();
  Setting setting;
  std::set<std::string> sections;
  for (int i = 1; i < argc; ++i) {
    const int number = std::atoi(argv[i]);
    if (number > 0) {
      setting.threads = number;
    } else if (std::string(argv[i]) == "--fused-only") {
      setting.eager = false;
    } else if (std::string(argv[i]) == "--cpu-time") {
      setting.cpu_time = true;
    } else if (constexpr std::string_view kVariant = "--variant=";
               std::string_view(argv[i]).substr(0, kVariant.size()) == kVariant) {
      setting.variants.insert(argv[i] + kVariant.size());
    } else {
      sections.insert(argv[i]);
    }
  }
  if (!training_available()) {
    fmt::print("{}\n", training_obstacle());
    return 0;
  }
  setting.peak = apart([&] { return measure_peak_flops(setting.threads); });
  const auto wanted = [&](const char* name) { return sections.empty() || sections.count(name); };
  fmt::print("{}\npeak {:.1f} GF/s on {} thread(s)\n", training_backend(), setting.peak / 1e9,
             setting.threads);
  if (wanted("sraven")) sraven(setting);
  if (wanted("fuzzy")) fuzzy_logic(setting);
  if (wanted("text")) text(setting);
  if (wanted("images")) images(setting);
  if (wanted("length")) length(setting);
  return 0;
}
