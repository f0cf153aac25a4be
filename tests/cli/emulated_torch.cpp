// A stand-in for headway_torch, which the program loads in its place: the same library, but
// hand-written steps run on the emulator of a GPU. So a sweep is trained in stacks without a
// device. It is off where HEADWAY_GPU_STEP = torch, as on a GPU.
//
// HEADWAY_TEST_LOG: a file that gets a line "stack N" for each stack of N runs that is made, and
// "alone" for each run that is trained without one. HEADWAY_TEST_MEMORY: bytes that the device has
// free.
#include <dlfcn.h>

#include <cstdlib>
#include <fstream>
#include <memory>
#include <string>
#include <string_view>

#include "emulated_step.hpp"
#include "headway/error.hpp"
#include "training/model/transformer_engine.hpp"
#include "training/step/stack_meeting.hpp"

namespace headway::testing {
namespace {

using namespace training::detail;  // NOLINT: a test

std::string_view variable(const char* name) {
  const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe): nobody changes it
  return text == nullptr ? "" : text;
}

// A line of a few bytes at the end of a file: whole, whichever thread writes it.
void log(const std::string& line) {
  const std::string_view file = variable("HEADWAY_TEST_LOG");
  if (!file.empty()) std::ofstream(std::string(file), std::ios::app) << line + "\n" << std::flush;
}

bool by_hand() { return variable("HEADWAY_GPU_STEP") != "torch"; }

const TorchLibrary& real_library() {
  static const TorchLibrary* const library = [] {
    void* handle = dlopen(HEADWAY_REAL_TORCH_LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) throw Error(ErrorKind::kUnavailable, dlerror());  // NOLINT
    const auto entry =
        reinterpret_cast<TorchLibraryEntry>(dlsym(handle, kTorchLibraryEntry));  // NOLINT
    return entry(kTorchInterface);
  }();
  return *library;
}

std::unique_ptr<StepDevice> emulated_device(void* /*stream*/) {
  const std::string_view memory = variable("HEADWAY_TEST_MEMORY");
  return memory.empty() ? std::make_unique<EmulatedStepDevice>()
                        : std::make_unique<EmulatedStepDevice>(training::GpuDevice(),
                                                               std::stod(std::string(memory)));
}

EngineSetup emulated(EngineSetup setup) {
  if (by_hand()) setup.make_step_device = emulated_device;
  return setup;
}

std::unique_ptr<TransformerEngine> make_engine(const EngineSetup& setup) {
  log("alone");
  return real_library().make_engine(emulated(setup));
}

std::unique_ptr<EngineStack> make_stack(const EngineSetup& setup, const StackShape& shape) {
  std::unique_ptr<EngineStack> stack = real_library().make_stack(emulated(setup), shape);
  if (stack != nullptr) log("stack " + std::to_string(shape.meeting->runs()));
  return stack;
}

Index runs_that_fit(const EngineSetup& setup, const StackShape& shape) {
  return real_library().runs_that_fit(emulated(setup), shape);
}

std::string describe() { return real_library().describe() + ", steps on the emulator"; }

}  // namespace
}  // namespace headway::testing

extern "C" __attribute__((visibility("default"))) const headway::training::detail::TorchLibrary*
headway_torch_library(int interface) {
  using namespace headway::testing;  // NOLINT
  if (interface != headway::training::detail::kTorchInterface) return nullptr;
  static const headway::training::detail::TorchLibrary library = [] {
    headway::training::detail::TorchLibrary mine = real_library();
    mine.make_engine = make_engine;
    mine.make_stack = make_stack;
    mine.runs_that_fit = runs_that_fit;
    mine.hand_written_steps = by_hand;
    mine.describe = describe;
    return mine;
  }();
  return &library;
}
