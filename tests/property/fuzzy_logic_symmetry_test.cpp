// Symmetries and bounds of Zadeh's logic that hold for every input.
#include <algorithm>
#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"
#include "headway/tasks/fuzzy_logic.hpp"
#include "larger.hpp"

using headway::Rng;
using headway::StreamPurpose;
using headway::tasks::evaluate_fuzzy_logic;

namespace {

constexpr int kVariables = 5;
constexpr int kRepeats = 300;

// Multiples of 2^-24, as the generator draws them, so that 1 - x is exact.
std::vector<float> random_inputs(Rng& rng) {
  std::vector<float> x(kVariables);
  for (float& value : x) value = static_cast<float>(rng.next_u32() >> 8U) * 0x1.0p-24F;
  return x;
}

std::vector<int> random_terms(Rng& rng) {
  std::vector<int> terms(1 + rng.uniform_index(4));
  for (int& term : terms) term = static_cast<int>(rng.uniform_index(1U << kVariables));
  return terms;
}

}  // namespace

TEST_CASE("Negating a variable in the input and in all terms changes nothing") {
  Rng rng(21, StreamPurpose::kTests);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<float> x = random_inputs(rng);
    std::vector<int> terms = random_terms(rng);
    const float before = evaluate_fuzzy_logic(terms, x);
    const auto v = rng.uniform_index(kVariables);
    x[v] = 1.0F - x[v];
    for (int& term : terms) term ^= 1 << (kVariables - 1 - static_cast<int>(v));
    CHECK(evaluate_fuzzy_logic(terms, x) == before);
  }
}

TEST_CASE("Exchanging two variables in the input and in all terms changes nothing") {
  Rng rng(22, StreamPurpose::kTests);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    std::vector<float> x = random_inputs(rng);
    std::vector<int> terms = random_terms(rng);
    const float before = evaluate_fuzzy_logic(terms, x);
    std::swap(x[0], x[3]);
    for (int& term : terms) {
      const int first = (term >> 4) & 1;
      const int fourth = (term >> 1) & 1;
      term = (term & ~0b10010) | (fourth << 4) | (first << 1);
    }
    CHECK(evaluate_fuzzy_logic(terms, x) == before);
  }
}

TEST_CASE("One more term never lowers the value; the value moves no further than the inputs") {
  Rng rng(23, StreamPurpose::kTests);
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const std::vector<float> x = random_inputs(rng);
    const std::vector<float> other = random_inputs(rng);
    std::vector<int> terms = random_terms(rng);
    const float value = evaluate_fuzzy_logic(terms, x);
    double distance = 0.0;
    for (std::size_t v = 0; v < x.size(); ++v) {
      distance = headway::testing::larger(distance, std::abs(x[v] - other[v]));
    }
    CHECK(std::abs(evaluate_fuzzy_logic(terms, other) - value) <= distance);
    terms.push_back(static_cast<int>(rng.uniform_index(1U << kVariables)));
    CHECK(evaluate_fuzzy_logic(terms, x) >= value);
  }
}
