#include "headway/analysis/rank_correlation.hpp"

#include <cmath>
#include <vector>

#include "catch.hpp"

using namespace headway;
using namespace headway::analysis;
using Catch::Matchers::WithinAbs;
using Values = std::vector<double>;

TEST_CASE("Spearman's rho and Kendall's tau agree with values by hand, with and without ties") {
  CHECK_THAT(spearman({1, 2, 3, 4}, {10, 20, 30, 45}), WithinAbs(1, 1e-15));
  CHECK_THAT(spearman({1, 2, 3, 4}, {4, 3, 2, -9}), WithinAbs(-1, 1e-15));
  // Without ties rho = 1 - 6 sum d^2 / (n (n^2 - 1)); here d = (1, -1, 1, -1, 0).
  CHECK_THAT(spearman({1, 2, 3, 4, 5}, {0.2, 0.1, 0.4, 0.3, 0.9}),
             WithinAbs(1.0 - 6.0 * 4.0 / 120.0, 1e-15));
  // Ranks (1, 2.5, 2.5, 4) and (1.5, 1.5, 3.5, 3.5): centred products 3, norms^2 4.5 and 4.
  CHECK_THAT(spearman({1, 2, 2, 3}, {0, 0, 7, 7}), WithinAbs(3.0 / std::sqrt(4.5 * 4.0), 1e-15));
  // Pairs tied on neither side: 4 concordant, 0 discordant; untied 5 and 4 of 6.
  CHECK_THAT(kendall({1, 2, 2, 3}, {0, 0, 7, 7}), WithinAbs(3.0 / std::sqrt(5.0 * 4.0), 1e-15));
  CHECK_THAT(kendall({1, 2, 3}, {1, 3, 2}), WithinAbs(1.0 / 3.0, 1e-15));
  CHECK(std::isnan(spearman({1, 2, 3}, {4, 4, 4})));
  CHECK(std::isnan(spearman({1}, {2})));
  CHECK(std::isnan(kendall({1, 1}, {2, 3})));
}

TEST_CASE("pairs with an undefined side are left out") {
  const double nan = std::nan("");
  CHECK(spearman({1, 2, 9, 3}, {5, 6, nan, 7}) == spearman({1, 2, 3}, {5, 6, 7}));
  Rng rng(1, StreamPurpose::kRankPermutations);
  CHECK_THAT(permutation_p_value({1, 2, 9, 3}, {5, 6, nan, 7}, 10, rng),
             WithinAbs(2.0 / 6.0, 1e-15));
}

TEST_CASE("permutation p-values take all pairings of few heads, and random ones of many") {
  Rng rng(1, StreamPurpose::kRankPermutations);
  // A perfect order of four: of the 24 pairings it and its reverse are as extreme.
  CHECK_THAT(permutation_p_value({1, 2, 3, 4}, {1, 2, 3, 4}, 10, rng), WithinAbs(2.0 / 24, 1e-15));
  // rho of (1, 2, 3) with (1, 3, 2) is 1/2; all six pairings have |rho| >= 1/2.
  CHECK(permutation_p_value({1, 2, 3}, {1, 3, 2}, 10, rng) == 1.0);
  Values x;
  Values y;
  for (int i = 0; i < 12; ++i) {
    x.push_back(i);
    y.push_back((5 * i) % 12);  // 5 is coprime to 12: a permutation
  }
  CHECK_THAT(spearman(x, y), WithinAbs(31.0 / 143.0, 1e-14));
  // Two million pairings drawn by another program: 0.4985 +- 0.0004.
  CHECK_THAT(permutation_p_value(x, y, 4000, rng), WithinAbs(0.4985, 0.036));  // 4.6 s.e.
  CHECK(permutation_p_value(x, x, 999, rng) == 1e-3);                          // never zero
}

TEST_CASE("the bootstrap is wide where the examples decide, and narrow where they do not") {
  // Removing head h costs the first 10 h of 100 examples, so the order of the drops is nearly sure.
  // If the drops of heads 3 and 4 differ by one example, resampling often exchanges them.
  MatrixXd sure = MatrixXd::Zero(100, 4);
  for (Index h = 0; h < 4; ++h) sure.col(h).head(20 * h).setOnes();
  Rng rng(3, StreamPurpose::kResampledExamples);
  const Values score = {0, 1, 2, 3};
  const Bootstrap narrow = bootstrap_spearman(score, resampled_means(sure, 400, rng));
  CHECK(narrow.lower == 1.0);
  CHECK(narrow.sd == 0.0);
  MatrixXd close = sure;
  close.col(2).setZero();
  close.col(2).tail(59).setOnes();  // 59 other examples against 60
  const Bootstrap wide = bootstrap_spearman(score, resampled_means(close, 400, rng));
  CHECK(wide.lower <= 0.8);
  CHECK(wide.upper == 1.0);
  // The two orders, rho = 1 and 0.8, are nearly equally likely: sd about 0.1.
  CHECK_THAT(wide.sd, WithinAbs(0.1, 0.03));
  const auto sd = [&](const MatrixXd& effects) {
    return bootstrap_spearman(score, resampled_means(effects, 50, rng)).sd;
  };
  CHECK(std::isnan(sd(MatrixXd::Zero(100, 4))));
  CHECK(std::isnan(sd(MatrixXd(0, 4))));
}

TEST_CASE("ranks are as stable as the draws say") {
  const Values values = {4, 3, 2, 1};
  MatrixXd draws(2, 4);
  draws << 40, 30, 20, 10,  // the same order
      3, 4, 2, 1;           // one of six pairs turned round
  const RankStability found = rank_stability(values, draws, 1);
  CHECK_THAT(found.kendall_tau, WithinAbs((1.0 + 4.0 / 6.0) / 2.0, 1e-14));
  CHECK(found.top_k_overlap == 0.5);
  CHECK(rank_stability(values, draws, 2).top_k_overlap == 1.0);
  CHECK(rank_stability(values, -draws, 2).top_k_overlap == 0.0);
  CHECK(rank_stability(values, draws.topRows(1), 3).kendall_tau == 1.0);
  draws(1, 0) = std::nan("");
  CHECK(rank_stability(values, draws, 1).kendall_tau == 1.0);  // what is undefined does not count
  CHECK(std::isnan(rank_stability(values, MatrixXd(0, 4), 1).kendall_tau));
  CHECK(std::isnan(rank_stability({1, std::nan("")}, MatrixXd::Ones(3, 2), 1).top_k_overlap));
}
