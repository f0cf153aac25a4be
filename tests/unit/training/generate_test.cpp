// Tokens that continue a text: drawn from the softmax of the logits, each with one uniform number.
#include "training/trainer/generate.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"
#include "headway/core/rng.hpp"

using namespace headway::training;  // NOLINT: a test
using headway::Rng;
using headway::StreamPurpose;

namespace {

Rng stream(std::uint64_t seed) { return Rng(seed, StreamPurpose::kTests); }

// The token whose share of [0, 1) has the uniform number in it, likeliest tokens first.
std::int32_t drawn_slowly(const std::vector<float>& logits, std::vector<std::int32_t> order,
                          double temperature, double u) {
  double whole = 0.0;
  for (const std::int32_t id : order) {
    whole += std::exp(logits[static_cast<std::size_t>(id)] / temperature);
  }
  double share = 0.0;
  for (const std::int32_t id : order) {
    share += std::exp(logits[static_cast<std::size_t>(id)] / temperature) / whole;
    if (u < share) return id;
  }
  return order.back();
}

}  // namespace

TEST_CASE("Tokens are drawn from the softmax of logits over the temperature") {
  const std::vector<float> logits = {0.5F, 2.0F, -1.0F, 2.0F, 1.5F};
  const std::vector<std::int32_t> order = {1, 3, 4, 0, 2};  // of equal ones the first first
  GenerateOptions options;
  for (const int top : {0, 1, 2, 3, 5}) {
    options.top = top;
    for (const double temperature : {0.25, 1.0, 4.0}) {
      options.temperature = temperature;
      std::vector<std::int32_t> among = order;
      if (top > 0) among.resize(static_cast<std::size_t>(top));
      for (std::uint64_t seed = 0; seed < 100; ++seed) {
        Rng rng = stream(seed);
        Rng again = stream(seed);
        const std::int32_t found = detail::draw_token(logits, options, rng);
        REQUIRE(found == drawn_slowly(logits, among, temperature, again.uniform()));
        REQUIRE(rng.next_u64() == again.next_u64());  // one uniform number is used
      }
    }
  }
}

TEST_CASE("Without temperature the likeliest token is taken, of equal ones the first") {
  GenerateOptions options;
  options.temperature = 0.0;
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    Rng rng = stream(seed);
    CHECK(detail::draw_token(std::vector<float>{0.5F, 2.0F, -1.0F, 2.0F}, options, rng) == 1);
    Rng again = stream(seed);
    again.uniform();
    CHECK(rng.next_u64() == again.next_u64());  // so that temperatures share later numbers
  }
}

TEST_CASE("Logits of any size are drawn from") {
  GenerateOptions options;
  Rng rng = stream(1);
  CHECK(detail::draw_token(std::vector<float>{-3e38F, 3e38F, 0.0F}, options, rng) == 1);
  CHECK(detail::draw_token(std::vector<float>{-3e38F}, options, rng) == 0);
}
