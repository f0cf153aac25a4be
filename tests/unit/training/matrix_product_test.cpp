// The matrix products of the fused kernels: every choice among libraries gives the plain sum, and
// which library computes which shape is a rule of the instruction set.
#include <algorithm>
#include <array>
#include <cmath>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/numerics/dense.hpp"
#include "larger.hpp"
#include "training/model/transformer_engine.hpp"

using namespace headway::training::detail;  // NOLINT: a test
using headway::Index;
using headway::InstructionSet;

namespace {

struct Shape {
  bool transpose_a, transpose_b;
  Index m, n, k;
};

// op(A) [m, k], op(B) [k, n] and C [m, n] with rows longer than they need to be.
struct Problem {
  explicit Problem(const Shape& shape) : s(shape) {
    lda = (s.transpose_a ? s.m : s.k) + 3;
    ldb = (s.transpose_b ? s.k : s.n) + 2;
    ldc = s.n + 1;
    headway::Rng rng(12, headway::StreamPurpose::kTests);
    const auto draw = [&rng](Index rows, Index stride) {
      std::vector<float> x(static_cast<std::size_t>(rows * stride));
      for (float& value : x) value = static_cast<float>(rng.normal());
      return x;
    };
    a = draw(s.transpose_a ? s.k : s.m, lda);
    b = draw(s.transpose_b ? s.n : s.k, ldb);
    c = draw(s.m, ldc);
  }
  [[nodiscard]] std::vector<float> by(MatrixProduct product, float beta) const {
    std::vector<float> result = c;
    product(s.transpose_a, s.transpose_b, s.m, s.n, s.k, a.data(), lda, b.data(), ldb, beta,
            result.data(), ldc);
    return result;
  }
  // C^T = op(B)^T op(A)^T, as rows one after the other are the columns of a transposed matrix.
  [[nodiscard]] std::vector<float> by_openblas(float beta) const {
    using headway::numerics::Transpose;
    using Strides = Eigen::OuterStride<>;
    using Matrix = Eigen::Map<const Eigen::MatrixXf, 0, Strides>;
    std::vector<float> result = c;
    const Matrix left(b.data(), s.transpose_b ? s.k : s.n, s.transpose_b ? s.n : s.k, Strides(ldb));
    const Matrix right(a.data(), s.transpose_a ? s.m : s.k, s.transpose_a ? s.k : s.m,
                       Strides(lda));
    Eigen::Map<Eigen::MatrixXf, 0, Strides> out(result.data(), s.n, s.m, Strides(ldc));
    headway::numerics::multiply(1.0F, left, s.transpose_b ? Transpose::kYes : Transpose::kNo, right,
                                s.transpose_a ? Transpose::kYes : Transpose::kNo, beta, out);
    return result;
  }

  Shape s;
  Index lda, ldb, ldc;
  std::vector<float> a, b, c;
};

// In roundings of float32, one a term; 8 are for numbers above 1 in short sums.
double most_off(const std::vector<float>& x, const std::vector<float>& y, Index k) {
  REQUIRE(x.size() == y.size());
  double most = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    most = headway::testing::larger(most, std::abs(static_cast<double>(x[i]) - y[i]));
  }
  return most / (static_cast<double>(k + 8) * 0x1p-24);
}

// Results around 2^16 numbers, where the rule changes. The sums are so long that libraries cut them
// differently, which shows in the last bits.
const std::vector<Shape>& shapes() {
  static const std::vector<Shape> all = [] {
    std::vector<Shape> result;
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const auto& [m, n, k] : std::vector<std::array<Index, 3>>{
                 {1, 1, 1}, {5, 7, 300}, {255, 257, 900}, {256, 256, 900}, {270, 250, 700}}) {
          result.push_back({transpose_a, transpose_b, m, n, k});
        }
      }
    }
    return result;
  }();
  return all;
}

}  // namespace

TEST_CASE("Matrix products of every instruction set's choice are OpenBLAS's to rounding",
          "[torch]") {
  for (const InstructionSet set :
       {InstructionSet::kBaseline, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    const MatrixProduct product = torch_library().matrix_product(set);
    for (const Shape& s : shapes()) {
      INFO(static_cast<int>(set) << ": " << s.transpose_a << s.transpose_b << ", " << s.m << " x "
                                 << s.n << " x " << s.k);
      const Problem problem(s);
      for (const float beta : {0.0F, 1.0F}) {
        CHECK(most_off(problem.by(product, beta), problem.by_openblas(beta), s.k) < 4.0);
      }
    }
  }
}

TEST_CASE("A product that oneDNN refuses is an error", "[torch]") {
  if (torch_library().describe().find("oneDNN") == std::string::npos) return;
  const MatrixProduct onednn = torch_library().matrix_product(InstructionSet::kAvx512);
  Problem problem(Shape{false, false, 5, 7, 4});
  problem.lda = 3;  // rows of A have 4 numbers
  CHECK_THROWS_WITH(problem.by(onednn, 0.0F), "oneDNN refused a matrix product");
}

TEST_CASE("Without AVX-512 OpenBLAS computes a^T b with a large result, oneDNN the rest",
          "[torch]") {
  if (torch_library().describe().find("oneDNN") == std::string::npos) {
    WARN("not tested: this build has no oneDNN, so there is no choice");
    return;
  }
  const MatrixProduct onednn = torch_library().matrix_product(InstructionSet::kAvx512);
  const MatrixProduct chosen = torch_library().matrix_product(InstructionSet::kAvx2);
  for (const Shape& s : shapes()) {
    INFO(s.transpose_a << s.transpose_b << ", " << s.m << " x " << s.n << " x " << s.k);
    const Problem problem(s);
    const bool large = s.transpose_a && !s.transpose_b && s.m * s.n >= 65536;
    const std::vector<float> wanted = large ? problem.by_openblas(1.0F) : problem.by(onednn, 1.0F);
    CHECK((problem.by(chosen, 1.0F) == wanted));  // to the bit; not 65,536 numbers of text
  }
}
