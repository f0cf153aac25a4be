#include "headway/dataset.hpp"

#include <numeric>

#include "catch.hpp"
#include "headway/error.hpp"

using headway::Index;
using headway::Tensor;
using headway::tasks::MemoryExamples;

namespace {

Tensor counting(std::vector<Index> shape) {
  Tensor t(std::move(shape));
  std::iota(t.values.begin(), t.values.end(), 0.0);
  return t;
}

}  // namespace

TEST_CASE("Examples in memory are read in any block") {
  const MemoryExamples examples(counting({4, 3, 2}), {1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1},
                                {counting({4, 2, 3, 3}), counting({4, 1, 3, 3})});
  CHECK(examples.size() == 4);
  CHECK(examples.tokens() == 3);
  CHECK(examples.features() == 2);
  CHECK(examples.has_mask());
  CHECK(examples.thread_safe());
  std::vector<double> inputs(12);
  examples.read_inputs(1, 2, inputs.data());
  CHECK(inputs.front() == 6.0);
  CHECK(inputs.back() == 17.0);
  std::vector<std::uint8_t> mask(6);
  examples.read_mask(2, 2, mask.data());
  CHECK(mask == std::vector<std::uint8_t>{1, 1, 1, 0, 1, 1});
  std::vector<double> first(18);
  examples.read_attention(1, 3, 1, first.data());
  CHECK(first.front() == 54.0);
  std::vector<double> second(18);
  examples.read_attention(2, 2, 2, second.data());
  CHECK(second.front() == 18.0);
  CHECK(second.back() == 35.0);
}

TEST_CASE("Asking for a mask or attention that is not there is an error") {
  class Plain final : public headway::ExampleSource {
   public:
    [[nodiscard]] Index size() const override { return 1; }
    [[nodiscard]] Index tokens() const override { return 1; }
    [[nodiscard]] Index features() const override { return 1; }
    void read_inputs(Index, Index, double* out) const override { *out = 0.0; }
  };
  const Plain plain;
  std::uint8_t mask = 0;
  double attention = 0.0;
  CHECK_FALSE(plain.has_mask());
  CHECK_FALSE(plain.thread_safe());
  CHECK_THROWS_AS(plain.read_mask(0, 1, &mask), headway::Error);
  CHECK_THROWS_AS(plain.read_attention(1, 0, 1, &attention), headway::Error);

  const MemoryExamples memory(counting({2, 1, 1}));
  CHECK_FALSE(memory.has_mask());
  CHECK_THROWS_AS(memory.read_mask(0, 1, &mask), headway::Error);
  CHECK_THROWS_AS(memory.read_attention(1, 0, 1, &attention), headway::Error);
}

TEST_CASE("Arrays that do not fit each other are errors") {
  CHECK_THROWS_AS(MemoryExamples(counting({2, 3})), headway::Error);
  CHECK_THROWS_AS(MemoryExamples(counting({2, 3, 2}), {1, 1, 1}), headway::Error);
  CHECK_THROWS_AS(MemoryExamples(counting({2, 3, 2}), {}, {counting({2, 1, 3, 2})}),
                  headway::Error);
  CHECK_THROWS_AS(MemoryExamples(counting({2, 3, 2}), {}, {counting({1, 1, 3, 3})}),
                  headway::Error);
}
