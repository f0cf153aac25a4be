#include "headway/core/rng.hpp"

#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"

using Catch::Matchers::WithinAbs;
using headway::Error;
using headway::Rng;
using headway::StreamPurpose;

namespace {

// A stream that stands at block `counter` of `key`, nothing of it used.
Rng rng_at(std::array<std::uint32_t, 4> counter, std::array<std::uint32_t, 2> key) {
  Rng::State state;
  state.counter = counter;
  state.key = key;
  return Rng(state);
}

std::array<std::uint32_t, 4> next_block(Rng rng) {
  std::array<std::uint32_t, 4> words{};
  for (std::uint32_t& word : words) word = rng.next_u32();
  return words;
}

// A stream whose next four words are given.
Rng rng_with_words(std::array<std::uint32_t, 4> words) {
  Rng::State state;
  state.block = words;
  state.used = 0;
  return Rng(state);
}

}  // namespace

TEST_CASE("Divisions made once give the draws of uniform_index") {
  for (const std::uint64_t bound :
       {std::uint64_t{1}, std::uint64_t{2}, std::uint64_t{3}, std::uint64_t{8}, std::uint64_t{248},
        (std::uint64_t{1} << 63U) + 1, UINT64_MAX}) {
    CAPTURE(bound);
    const headway::UniformIndex index(bound);
    Rng rng(5, StreamPurpose::kTests);
    Rng same(5, StreamPurpose::kTests);
    for (int i = 0; i < 200; ++i) REQUIRE(index(rng) == same.uniform_index(bound));
    CHECK(rng.state() == same.state());
    for (const std::uint64_t x : {std::uint64_t{0}, bound - 1, bound, UINT64_MAX - 1, UINT64_MAX}) {
      CHECK(index.remainder(x) == x % bound);
    }
  }
}

TEST_CASE("Philox4x32-10 gives the published vectors of Random123") {
  using Words = std::array<std::uint32_t, 4>;
  const std::uint32_t ones = 0xFFFFFFFFU;
  CHECK(next_block(rng_at({0, 0, 0, 0}, {0, 0})) ==
        Words{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U});
  CHECK(next_block(rng_at({ones, ones, ones, ones}, {ones, ones})) ==
        Words{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU});
  CHECK(next_block(rng_at({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U},
                          {0xa4093822U, 0x299f31d0U})) ==
        Words{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U});
}

TEST_CASE("Every stream purpose starts with its known answers") {
  std::ifstream file(HEADWAY_TEST_DATA "/rng_known_answers.json");
  const nlohmann::json answers = nlohmann::json::parse(file);
  const auto seed = answers.at("seed").get<std::uint64_t>();
  // One stream for each enumerator; adding a purpose means adding its known answers.
  REQUIRE(answers.at("streams").size() ==
          static_cast<std::size_t>(StreamPurpose::kReplicaExchange) + 1);
  for (const auto& stream : answers.at("streams")) {
    CAPTURE(stream.at("name").get<std::string>());
    const auto purpose = static_cast<StreamPurpose>(stream.at("purpose").get<std::uint32_t>());
    const Rng start(seed, purpose, stream.at("index").get<std::uint64_t>());
    Rng words = start;
    for (const auto& word : stream.at("words")) {
      CHECK(words.next_u32() == word.get<std::uint32_t>());
    }
    Rng uniforms = start;
    for (const auto& u : stream.at("uniforms")) CHECK(uniforms.uniform() == u.get<double>());
    Rng normals = start;
    // The answers are rounded themselves: their angle alone has an error of 4e-16.
    for (const auto& x : stream.at("normals")) {
      CHECK_THAT(normals.normal(), WithinAbs(x.get<double>(), 3e-15));
    }
  }
}

TEST_CASE("A chain of a sweep point has the stream of the known answers") {
  std::ifstream file(HEADWAY_TEST_DATA "/rng_known_answers.json");
  const nlohmann::json answers = nlohmann::json::parse(file);
  const nlohmann::json& answer = answers.at("sweep_point");
  Rng chain(answers.at("seed").get<std::uint64_t>(), StreamPurpose::kChain,
            headway::point_stream(answer.at("point").get<std::uint64_t>(),
                                  answer.at("chain").get<std::uint64_t>()));
  for (const auto& word : answer.at("words")) CHECK(chain.next_u32() == word.get<std::uint32_t>());
}

TEST_CASE("The bits of normal draws never change") {
  std::vector<double> draws(4096);
  Rng(7, StreamPurpose::kTests, 1).fill_normal(draws);
  headway::Sha256 hash;
  for (const double x : draws) {
    std::uint64_t bits = 0;
    std::memcpy(&bits, &x, sizeof(bits));
    for (int byte = 0; byte < 8; ++byte) {
      const auto b = static_cast<std::uint8_t>(bits >> (8 * byte));
      hash.update(&b, 1);
    }
  }
  CHECK(hash.hex_digest() == "d405b1e2baa5db3119e4901410dbd9d3cbfe2220ae98c82483ba2c95773380ca");
}

TEST_CASE("Streams of different addresses differ, the same address repeats") {
  const auto first = [](std::uint64_t seed, StreamPurpose purpose, std::uint64_t index) {
    return Rng(seed, purpose, index).next_u64();
  };
  const auto base = first(1, StreamPurpose::kTests, 0);
  CHECK(first(1, StreamPurpose::kTests, 0) == base);
  CHECK(first(2, StreamPurpose::kTests, 0) != base);
  CHECK(first(1 + (std::uint64_t{1} << 32U), StreamPurpose::kTests, 0) != base);
  CHECK(first(1, StreamPurpose::kPrior, 0) != base);
  CHECK(first(1, StreamPurpose::kTests, 1) != base);
  CHECK(first(1, StreamPurpose::kTests, std::uint64_t{1} << 32U) != base);
  CHECK(first(1, StreamPurpose::kTests, (std::uint64_t{1} << 52U) - 1) != base);
  const std::string limits = " must be below 2^52, and the purpose below 2^12";
  CHECK_THROWS_WITH(first(1, StreamPurpose::kTests, std::uint64_t{1} << 52U),
                    "Rng: stream index 4503599627370496" + limits);
  CHECK_NOTHROW(first(1, static_cast<StreamPurpose>(4095), 7));
  CHECK_THROWS_WITH(first(1, static_cast<StreamPurpose>(4096), 7), "Rng: stream index 7" + limits);
}

TEST_CASE("The block counter carries into its high word") {
  Rng rng = rng_at({0xFFFFFFFFU, 4, 9, 9}, {1, 2});
  for (int i = 0; i < 4; ++i) rng.next_u32();
  CHECK(next_block(rng) == next_block(rng_at({0, 5, 9, 9}, {1, 2})));
  std::vector<double> block(2000);
  std::vector<double> single(2000);
  Rng fast = rng_at({0xFFFFFFFFU - 100, 4, 9, 9}, {1, 2});
  Rng slow = fast;
  fast.fill_normal(block);
  for (double& x : single) x = slow.normal();
  CHECK(block == single);
}

TEST_CASE("uniform() never reaches 0 or 1") {
  const std::uint32_t ones = 0xFFFFFFFFU;
  CHECK(rng_with_words({ones, ones, 0, 0}).uniform() == 1.0 - 0x1.0p-53);
  CHECK(rng_with_words({0, 0, 0, 0}).uniform() == 0x1.0p-53);
  CHECK(rng_with_words({0, 0x80000000U, 0, 0}).uniform() == 0.5 + 0x1.0p-53);
}

TEST_CASE("normal() is finite at the ends of its uniforms") {
  const std::uint32_t ones = 0xFFFFFFFFU;
  Rng widest = rng_with_words({0, 0, 0, 0});
  CHECK_THAT(widest.normal(), WithinAbs(std::sqrt(2.0 * 53.0 * std::log(2.0)), 1e-14));
  Rng smallest = rng_with_words({ones, ones, 0, 0});
  CHECK_THAT(smallest.normal() / std::sqrt(2.0 * 0x1.0p-53), WithinAbs(1.0, 1e-14));
}

TEST_CASE("fill_normal equals repeated normal(), from any state and to the same state") {
  for (const std::size_t size : {0UL, 1UL, 2UL, 15UL, 16UL, 17UL, 127UL, 128UL, 129UL, 1001UL}) {
    for (int words_before = 0; words_before < 5; ++words_before) {
      for (const bool spare : {false, true}) {
        CAPTURE(size, words_before, spare);
        Rng fast(3, StreamPurpose::kTests, 4);
        for (int i = 0; i < words_before; ++i) fast.next_u32();
        if (spare) fast.normal();
        Rng slow = fast;
        std::vector<double> block(size);
        std::vector<double> single(size);
        fast.fill_normal(block);
        for (double& x : single) x = slow.normal();
        CHECK(block == single);
        CHECK(fast.state() == slow.state());
        CHECK(fast.next_u32() == slow.next_u32());
      }
    }
  }
}

TEST_CASE("A saved state continues as if never stopped") {
  Rng rng(5, StreamPurpose::kChain, 2);
  std::vector<double> before(37);
  rng.fill_normal(before);
  rng.next_u32();
  Rng resumed(rng.state());
  std::vector<double> here(101);
  std::vector<double> there(101);
  rng.fill_normal(here);
  resumed.fill_normal(there);
  CHECK(here == there);
  CHECK(rng.gamma(0.4) == resumed.gamma(0.4));
  CHECK(rng.uniform_index(1000) == resumed.uniform_index(1000));
  CHECK(rng.state() == resumed.state());
  Rng::State broken = rng.state();
  broken.used = 4;
  CHECK_NOTHROW(Rng(broken));
  broken.used = 5;
  CHECK_THROWS_WITH(Rng(broken), "random stream: used = 5: must be from 0 to 4 words of a block");
}

TEST_CASE("Parameters outside their range are errors") {
  Rng rng(1, StreamPurpose::kTests);
  CHECK_THROWS_WITH(rng.uniform_index(0), "Rng::uniform_index: bound 0 must be at least 1");
  CHECK(rng.uniform_index(1) == 0);
  CHECK_THROWS_WITH(rng.gamma(0.0), "Rng::gamma: shape 0.000000 must be above 0");
  CHECK_THROWS_WITH(rng.gamma(-1.5), "Rng::gamma: shape -1.500000 must be above 0");
  CHECK_THROWS_AS(rng.gamma(std::nan("")), Error);
}
