#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace headway {

/// What a random stream is for. The number is part of the address of every draw, so it never
/// changes meaning; new purposes are appended. tests/data/rng_known_answers.json fixes the first
/// draws of each.
enum class StreamPurpose : std::uint32_t {
  kTaskParameters = 0,  ///< random head weights, vocabularies: one stream per task layer
  kTrainExamples = 1,   ///< one stream per training example
  kTestExamples = 2,    ///< one stream per test example
  kValidationExamples = 3,
  kPruningOrder = 4,      ///< one stream per random pruning order
  kSolverStart = 5,       ///< starts of the saddle point; k of sweep point i: point_stream(i, k)
  kChain = 6,             ///< MCMC transitions; chain c of sweep point i: point_stream(i, c)
  kChainStart = 7,        ///< starting points of chains, likewise
  kPrior = 8,             ///< draws of the evidence's proposal, one stream per sweep point
  kSplits = 9,            ///< train / held-out splits of task sets
  kHeldOutExamples = 10,  ///< one stream per held-out example
  kInitialWeights = 11,   ///< network initialisation
  kDropout = 12,
  kTests = 13,                ///< the tests' own draws
  kUnknownTermExamples = 14,  ///< fuzzy logic of unknown terms, one stream per example
  kCeilingExamples = 15,  ///< instances a Bayes-optimal accuracy is averaged over, one stream each
  kOutOfDistributionExamples = 16,  ///< one stream per example of another set than training's
  kLabelEmbedding = 17,             ///< frozen vectors that tell tokens their label
  kGeneratedText = 18,              ///< tokens drawn from a language model, one stream per token
  kResampledExamples = 19,          ///< bootstraps and random halves of examples, one stream each
  kRankPermutations = 20,           ///< permutation tests
  kRounding = 21,                   ///< unbiased rounding of stored numbers, one stream per column
  kDecodingFolds = 22,              ///< tasks over the folds of a decoder's cross-validation
  kShuffledLabels = 23,             ///< labels exchanged between tasks, one stream per exchange
  kLatentFeatures = 24,   ///< which feature of an instance gives its latent code, one stream each
  kHessianProbes = 25,    ///< random probes of a Hessian, one stream per probe
  kReplicaExchange = 26,  ///< exchanges between the replicas of a chain; chain c: point_stream
};

/// Index of stream `i` < 2^20 of sweep point `point` (both from 0), where every point has several
/// streams. The seed is no part of it: adding the point to the seed would give point 1 of seed 1
/// the streams of point 0 of seed 2.
constexpr std::uint64_t point_stream(std::uint64_t point, std::uint64_t i) {
  return (point << 20U) + i;
}

/// Counter-based generator Philox4x32-10 (Salmon et al., SC 2011), addressed by (seed, purpose,
/// index): the same address gives the same numbers on every thread, machine and run. Streams of
/// different addresses are independent. Key = seed (64 bit); counter = (block number: 64 bit,
/// index: low 32 bit, purpose and high index bits: 32 bit).
class Rng {
 public:
  struct State {
    std::array<std::uint32_t, 4> counter{};
    std::array<std::uint32_t, 2> key{};
    std::array<std::uint32_t, 4> block{};
    std::uint32_t used = 4;
    double spare_normal = 0.0;
    bool has_spare = false;
    bool operator==(const State&) const = default;
  };

  /// index < 2^52; purposes < 2^12.
  Rng(std::uint64_t seed, StreamPurpose purpose, std::uint64_t index = 0);
  /// Continues a saved stream; Error{kBadData} when `state` is none.
  explicit Rng(const State& state);

  std::uint32_t next_u32() {
    if (state_.used == 4) next_block();
    return state_.block[state_.used++];
  }
  std::uint64_t next_u64() {
    const std::uint64_t low = next_u32();
    return low | (static_cast<std::uint64_t>(next_u32()) << 32);
  }
  /// Uniform on the open interval (0, 1): (n + 1/2) 2^-52 with n of 52 bits, never 0 or 1.
  double uniform();
  /// Uniform on {0, ..., bound - 1}, unbiased (rejection); bound >= 1.
  std::uint64_t uniform_index(std::uint64_t bound);
  /// Standard normal: Box-Muller with our own logarithm and sine, of the same bits everywhere. Its
  /// error is < 5e-16 max(1, |result|). Pairs: four words make two normals, the second is kept.
  double normal();
  /// The same numbers, and the same state after, as calling normal() for each entry; several times
  /// faster (AVX-512 or AVX2 where the machine has them, with the same bits).
  void fill_normal(std::span<double> out);
  /// Gamma(shape, scale 1), shape > 0 (Marsaglia and Tsang 2000; boosted below 1).
  double gamma(double shape);
  /// Chi-squared with `degrees` > 0 degrees of freedom.
  double chi_squared(double degrees) { return 2.0 * gamma(0.5 * degrees); }

  [[nodiscard]] const State& state() const { return state_; }

 private:
  void next_block();
  void fill_pairs(std::size_t pairs, double* out);

  State state_;
};

/// Rng::uniform_index(bound) with the divisions by `bound` made once: the same draws and numbers.
class UniformIndex {
 public:
  constexpr UniformIndex() = default;
  constexpr explicit UniformIndex(std::uint64_t bound)  ///< bound >= 1
      : bound_(bound),
        limit_(UINT64_MAX - (UINT64_MAX % bound + 1) % bound),
        inverse_(UINT64_MAX / bound) {}

  [[nodiscard]] constexpr std::uint64_t bound() const { return bound_; }
  std::uint64_t operator()(Rng& rng) const {
    std::uint64_t draw = rng.next_u64();
    while (draw > limit_) draw = rng.next_u64();
    return remainder(draw);
  }
  /// x % bound. The product of high words is x / bound, or one less.
  [[nodiscard]] constexpr std::uint64_t remainder(std::uint64_t x) const {
    __extension__ using Wide = unsigned __int128;
    const auto quotient = static_cast<std::uint64_t>((static_cast<Wide>(x) * inverse_) >> 64U);
    const std::uint64_t rest = x - quotient * bound_;
    return rest >= bound_ ? rest - bound_ : rest;
  }

 private:
  std::uint64_t bound_ = 1;
  std::uint64_t limit_ = UINT64_MAX;
  std::uint64_t inverse_ = UINT64_MAX;
};

}  // namespace headway
