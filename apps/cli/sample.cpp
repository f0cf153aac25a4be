#include "columns.hpp"
#include "result_tables.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

std::vector<ExplainedTable> sample_tables() {
  return {
      {"First table, the runs",
       {kWidthsColumn,
        kTemperatureColumn,
        {"sampler", "how the draws are made; \"biased\" where that has no correction"},
        kAccuracyColumn,
        {"theory, 1/N, GP", "the same for the saddle point, its 1/N correction, infinite width"},
        kSetsColumns,
        {"R-hat",
         "largest over all order parameters; the aim is below 1.01, and above 1.05 the run is not "
         "usable"},
        {"ESS bulk, tail", "fewest effective draws, for means and for quantiles"},
        {"ESS/s", "effective draws for each second of sampling"},
        {"divergent", "steps of the integrator that went wrong; should be 0"},
        {"log evidence", "log p(y) in nats, with its error: of the exact sampler, and of replicas"},
        kSecondsColumn,
        {"*, +", "marks a run that is not usable, and one that was interrupted"}}},
      {"Second table, means beside the theory",
       {{"samples", "posterior means with Monte Carlo standard errors"},
        {"saddle point", "the theory"},
        {"1/N-corrected", "the theory with the next order of 1/N"},
        kReadoutColumn,
        kDiagonalColumn}},
      {"Table of calibration, with --calibrate",
       {{"statistic",
         "what is ranked: the squared residual |y - f|^2, order parameters, predictions of the "
         "first test examples"},
        {"mean rank",
         "over the networks from the prior, from 0 to 1; 0.5 where the sampler is right"},
        {"p", "p-value of uniform ranks; the line below has that of all statistics together"}}},
      {"Hidden weights, where model.value_network gives values a hidden layer",
       {{"S eigenvalues", "largest eigenvalues of the mean of S, and those of the theory"},
        {"integral, exchanges", "as for learned attention, with sample.replicas > 1"}}},
      {"Third table, learned attention",
       {{"entropy, largest", "posterior means, as in solve; with Monte Carlo standard errors"},
        {"bridge, integral",
         "log p(y) in nats by bridge sampling between replicas, and by thermodynamic integration"},
        {"exchanges",
         "mean probability with which exchanges between neighbouring replicas were accepted"}}}};
}

}  // namespace

Verb sample_verb() {
  return Verb{
      .name = "sample",
      .summary = "draw from the exact posterior, with error bars, beside the theory",
      .sections = {kAttentionPriorSection, kValueNetworkSection, "sample"},
      .own = {kShardOption,
              kPointOption,
              {"--calibrate", "",
               "also test the sampler: draw 1,000 networks and their labels from the prior, "
               "sample each, and rank; --set sample.calibrate=200 takes fewer",
               &Options::calibrate}},
      .about =
          "Draws from the posterior of a network of finite width and puts its means, with "
          "their "
          "Monte Carlo errors, beside the saddle point and its 1/N correction. This is the "
          "check "
          "of the theory where the network is narrow. The samplers \"exact\" and \"collapsed\" "
          "work at every width, and \"auto\" takes the one that costs less; the others draw "
          "all "
          "weights and are there to check them. After Ctrl-C, or when it is "
          "killed, the same command goes on from its checkpoints.",
      .tables = sample_tables(),
      .examples = {{"headway sample hmm-four-paths --set model.widths=[10] -o draws.h5",
                    "one width of a study; keep all draws"},
                   {"headway sample four.h5", "every point of a result of solve"}},
      .print = printed(&sample_table)};
}

}  // namespace headway::cli
