#pragma once

#include <string>

#include "headway/evaluate_results.hpp"
#include "headway/latents_results.hpp"
#include "headway/network_predict_results.hpp"
#include "headway/network_prune_results.hpp"
#include "headway/predict_results.hpp"
#include "headway/prune_results.hpp"
#include "headway/rank_results.hpp"
#include "headway/sample_results.hpp"
#include "headway/study.hpp"
#include "headway/train_results.hpp"
#include "verb.hpp"

namespace headway::cli {

// What each verb prints on standard output without --json.
std::string solve_table(const Study& study, const SolveResult& result);
std::string align_table(const Study& study, const AlignResult& result);
std::string prune_table(const Study& study, const PruneResult& result);
std::string network_prune_table(const Study& study, const NetworkPruneResult& result);
std::string rank_table(const Study& study, const RankResult& result);
std::string sample_table(const Study& study, const SampleResult& result);
std::string predict_table(const Study& study, const PredictResult& result);
std::string network_predict_table(const Study& study, const NetworkPredictResult& result);
/// Variant, seeds, parameters, flops, train loss, the metric of each split as mean +- standard
/// error over seeds; and what trained models of text write.
std::string train_table(const Study& study, const TrainResult& result);
/// What was decoded, layer by layer, then how alike mean codes are.
std::string latents_table(const Study& study, const LatentsResult& result);
/// Loss and metrics of every split.
std::string evaluate_table(const Study& study, const EvaluateResult& result);

/// Lines or JSON of a Gram matrix, which has no table.
std::string print_gram(const Options& options, const jobs::Job& job);

}  // namespace headway::cli
