#include "headway/numerics/blas.hpp"

#include <cblas.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "headway/core/cpu.hpp"
#include "headway/core/parallel.hpp"
#include "numerics/blas_kernels.hpp"

extern "C" {
// Functions of OpenBLAS that no header declares.
void* blas_memory_alloc(int position);
void blas_memory_free(void* buffer);
// Forget the kernels, and choose them as at the start of the process. A build of OpenBLAS for one
// processor has neither.
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] void gotoblas_dynamic_init();
}

namespace headway::numerics {
namespace {

constexpr const char* kUsersChoice = "OPENBLAS_CORETYPE";
// OpenBLAS maps a buffer for each thread that calls it. If that fails, it tries again for ever.
constexpr std::size_t kBlasBuffer = std::size_t{160} << 20U;  // bytes of address space, at most
constexpr int kMostBlasBuffers = 64;  // it has room for twice the threads that it was built for
// OpenBLAS's own threads go on spinning for 2^26 cycles after a product.
constexpr std::chrono::milliseconds kLongestWait(500);

std::vector<std::string_view> kernels_to_try() {
  if (std::getenv(kUsersChoice) != nullptr) return {};
  return better_kernels(openblas_get_corename(), best_instruction_set());
}

/// The letter of a thread's state in /proc/self/task/ID/stat, behind its name in parentheses.
char state_of(const std::filesystem::path& thread) {
  std::ifstream file(thread / "stat");
  std::string line;
  std::getline(file, line);
  const std::size_t name = line.rfind(") ");
  return name == std::string::npos || name + 2 >= line.size() ? 'X' : line[name + 2];
}

/// Whether every other thread of this process waits for something, or has ended. A product is
/// running only if the thread that called it runs, or one that it waits for.
bool others_wait() {
  const std::string own = std::to_string(::gettid());
  std::error_code failure;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task", failure)) {
    if (thread.path().filename() == own) continue;
    if (std::string_view("SIZX").find(state_of(thread.path())) == std::string_view::npos) {
      return false;
    }
  }
  return true;
}

/// Gives threads that were at work time to end it, but only once in a process.
bool others_wait_soon() {
  static std::chrono::milliseconds patience = kLongestWait;
  const auto end = std::chrono::steady_clock::now() + std::exchange(patience, {});
  while (!others_wait()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

bool can_choose_again() {
  return gotoblas_dynamic_quit != nullptr && gotoblas_dynamic_init != nullptr;
}

bool use_kernels(std::string_view name) {
  setenv(kUsersChoice, std::string(name).c_str(), 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kUsersChoice);
  return openblas_get_corename() == name;
}

std::mutex& choice() {
  static std::mutex mutex;
  return mutex;
}
bool chosen_here = false;  // guarded by choice()

void choose_kernels() {
  const std::lock_guard<std::mutex> lock(choice());
  const auto names = kernels_to_try();
  if (!names.empty() && can_choose_again() && others_wait_soon()) {
    chosen_here = std::ranges::any_of(names, use_kernels);
  }
}

}  // namespace

std::vector<std::string_view> better_kernels(std::string_view own, InstructionSet set) {
  // What it takes for a processor that it does not know, by version and maker.
  constexpr std::array<std::string_view, 3> kWithoutAvx = {"Prescott", "Nehalem", "Barcelona"};
  if (std::ranges::find(kWithoutAvx, own) == kWithoutAvx.end()) return {};
  switch (set) {
    case InstructionSet::kBaseline:
      return {};
    case InstructionSet::kAvx2:
      return {"Haswell"};
    case InstructionSet::kAvx512:
      return {"SkylakeX", "Haswell"};
  }
  return {};
}

void prepare_blas() {
  choose_kernels();
  openblas_set_num_threads(1);
  static std::once_flag once;
  std::call_once(once, [] {
    const int threads = std::min(resolve_threads(0), kMostBlasBuffers);
    const std::size_t wanted = kBlasBuffer * static_cast<std::size_t>(threads);
    void* const probe =
        ::mmap(nullptr, wanted, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (probe == MAP_FAILED) throw std::bad_alloc();
    ::munmap(probe, wanted);
    // OpenBLAS keeps buffers that are given back. So later threads find one, and map none.
    std::vector<void*> buffers;
    for (int t = 0; t < threads; ++t) buffers.push_back(blas_memory_alloc(0));
    for (void* const buffer : buffers) blas_memory_free(buffer);
  });
}

std::string blas_description() {
  choose_kernels();
  const std::lock_guard<std::mutex> lock(choice());
  const char* const why = std::getenv(kUsersChoice) != nullptr ? " (OPENBLAS_CORETYPE)"
                          : chosen_here                        ? " (by instruction set)"
                                                               : "";
  return fmt::format("{}, kernels for {}{}", openblas_get_config(), openblas_get_corename(), why);
}

std::string blas_warning() {
  const auto names = kernels_to_try();
  if (names.empty()) return "";
  const std::string way_out =
      can_choose_again()
          ? fmt::format("set {}={} before the process starts", kUsersChoice, names.front())
          : "this build of OpenBLAS has no others, so install another one";
  return fmt::format(
      "OpenBLAS does not know this processor, and computes with its kernels for {}. Those for {} "
      "are several times faster: {}",
      openblas_get_corename(), names.front(), way_out);
}

}  // namespace headway::numerics
