#include "headway/numerics/blas.hpp"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <functional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "catch.hpp"
#include "headway/core/cpu.hpp"
#include "headway/numerics/dense.hpp"
#include "numerics/blas_kernels.hpp"
#include "random_matrices.hpp"

extern "C" {
char* openblas_get_corename();
[[gnu::weak]] void gotoblas_dynamic_quit();
[[gnu::weak]] void gotoblas_dynamic_init();
}

using namespace headway;
using namespace headway::numerics;
using headway::testing::random_matrix;

namespace {

constexpr const char* kUsersChoice = "OPENBLAS_CORETYPE";

// As OpenBLAS starts on a processor that it does not know.
void start_with(const char* kernels) {
  setenv(kUsersChoice, kernels, 1);
  gotoblas_dynamic_quit();
  gotoblas_dynamic_init();
  unsetenv(kUsersChoice);
}

// Whether `body` holds in a copy of this process, whose kernels no other test has.
bool holds_in_a_copy(const std::function<bool()>& body) {
  const pid_t copy = fork();
  if (copy == 0) _exit(body() ? 0 : 1);
  int status = 0;
  waitpid(copy, &status, 0);
  return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

bool can_choose() { return gotoblas_dynamic_quit != nullptr && gotoblas_dynamic_init != nullptr; }

std::string best_kernels() {
  const auto names = better_kernels("Prescott", best_instruction_set());
  return std::string(names.empty() ? "Prescott" : names.front());
}

}  // namespace

TEST_CASE(
    "OpenBLAS's choice stays where it uses the processor, and is bettered where it does not") {
  using Names = std::vector<std::string_view>;
  CHECK(better_kernels("Prescott", InstructionSet::kAvx512) == Names{"SkylakeX", "Haswell"});
  CHECK(better_kernels("Prescott", InstructionSet::kAvx2) == Names{"Haswell"});
  CHECK(better_kernels("Prescott", InstructionSet::kBaseline).empty());
  for (const char* own : {"Zen", "Haswell", "SkylakeX", "Cooperlake", "SapphireRapids", "armv8"}) {
    CHECK(better_kernels(own, InstructionSet::kAvx512).empty());
  }
}

TEST_CASE("A processor that OpenBLAS does not know gets kernels of its instruction set") {
  if (!can_choose()) return;  // OpenBLAS was built for one processor
  const MatrixXd a = random_matrix(130, 70, 1), b = random_matrix(70, 90, 2);
  const auto product = [&] {
    MatrixXd c = MatrixXd::Zero(130, 90);
    multiply(1.0, a, Transpose::kNo, b, Transpose::kNo, 0.0, c);
    return c;
  };
  CHECK(holds_in_a_copy([&] {
    start_with("Prescott");
    const MatrixXd before = product();
    prepare_blas();
    const bool chosen = openblas_get_corename() == best_kernels();
    // Each entry is a sum of 70 products below 25 in size: its rounding error is at most 70 eps
    // times 70 * 25, with either kernel.
    return chosen && (product() - before).cwiseAbs().maxCoeff() < 2 * 70 * 70 * 25 * 2.3e-16 &&
           std::getenv(kUsersChoice) == nullptr && blas_warning().empty();
  }));
}

TEST_CASE("Kernels that the user names stay, and the description says who named them") {
  if (!can_choose()) return;
  CHECK(holds_in_a_copy([] {
    start_with("Prescott");
    setenv(kUsersChoice, "Prescott", 1);
    prepare_blas();
    return std::string_view(openblas_get_corename()) == "Prescott" && blas_warning().empty() &&
           blas_description().ends_with("kernels for Prescott (OPENBLAS_CORETYPE)");
  }));
}

TEST_CASE("Kernels do not change while another thread is at work; they are chosen later") {
  if (!can_choose() || best_kernels() == "Prescott") return;
  CHECK(holds_in_a_copy([] {
    start_with("Prescott");
    std::atomic<bool> stop = false;
    std::thread busy([&stop] {
      while (!stop) {
      }
    });
    prepare_blas();
    const bool kept = std::string_view(openblas_get_corename()) == "Prescott";
    const bool warned = blas_warning().find("OPENBLAS_CORETYPE=" + best_kernels()) < 1000;
    stop = true;
    busy.join();
    prepare_blas();
    return kept && warned && openblas_get_corename() == best_kernels() &&
           blas_description().ends_with("(by instruction set)");
  }));
}

TEST_CASE("The BLAS describes itself, and can be prepared twice") {
  prepare_blas();
  prepare_blas();
  CHECK(blas_description().find("kernels for") != std::string::npos);
}
