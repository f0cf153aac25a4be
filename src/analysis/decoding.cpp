#include "headway/analysis/decoding.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "analysis/decoding_score.hpp"
#include "analysis/linear_decoder.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/numerics/statistics.hpp"

namespace headway::analysis {
namespace {

constexpr double kSingleRounding = 1e-5;  // of codes in single precision

/// One decoder a question, or one for all targets.
using Decoders = std::vector<LinearDecoder>;

DecodingData rows_of(const DecodingData& data, const std::vector<Index>& rows) {
  DecodingData out;
  out.codes = data.codes(rows, Eigen::all);
  if (data.targets.size() > 0) out.targets = data.targets(rows, Eigen::all);
  for (const Index i : rows) out.tasks.push_back(data.tasks[static_cast<std::size_t>(i)]);
  if (!data.places.empty()) {
    for (const Index i : rows) out.places.push_back(data.places[static_cast<std::size_t>(i)]);
  }
  for (const std::vector<int>& question : data.classes) {
    std::vector<int>& kept = out.classes.emplace_back();
    for (const Index i : rows) kept.push_back(question[static_cast<std::size_t>(i)]);
  }
  return out;
}

bool varies(const std::vector<int>& classes) {
  return std::adjacent_find(classes.begin(), classes.end(), std::not_equal_to<>()) != classes.end();
}

/// `start`: decoders of the same questions with another penalty, or none. A question whose labels
/// do not vary gets no decoder (no weights).
Decoders fit(const DecodingData& data, const DecodingOptions& options, double penalty,
             const Decoders& start) {
  if (options.kind == DecoderKind::kRidge) return {fit_ridge(data.codes, data.targets, penalty)};
  Decoders out;
  for (std::size_t q = 0; q < data.classes.size(); ++q) {
    if (varies(data.classes[q])) {
      out.push_back(fit_logistic(data.codes, data.classes[q], options.class_count, penalty,
                                 start.empty() ? MatrixXd() : start[q].weights));
    } else {
      out.push_back({Standardisation(data.codes, kCodeRounding), {}, true, 0, {}});
    }
  }
  return out;
}

bool all_converged(const Decoders& decoders) {
  return std::all_of(decoders.begin(), decoders.end(),
                     [](const LinearDecoder& decoder) { return decoder.converged; });
}

/// The loss that cross-validation compares, summed over examples and questions: squared error, or
/// cross-entropy with the class weights of all training examples.
double loss_of(const Decoders& decoders, const DecodingData& data, const DecodingOptions& options,
               const std::vector<VectorXd>& class_weights) {
  if (options.kind == DecoderKind::kRidge) {
    return (decoders.front().values(data.codes) - data.targets).squaredNorm();
  }
  double loss = 0.0;
  for (std::size_t q = 0; q < decoders.size(); ++q) {
    if (decoders[q].weights.size() == 0) continue;
    loss += logistic_objective(decoders[q].standardisation.apply(data.codes), data.classes[q],
                               class_weights[q], 0.0, decoders[q].weights, nullptr);
  }
  return loss * static_cast<double>(data.codes.rows());
}

/// The penalty of the lowest loss on tasks that were left out. `converged`: whether all fits with
/// it did.
double choose_penalty(const DecodingData& train, const DecodingOptions& options, bool* converged) {
  const std::vector<int> folds = task_folds(train.tasks, options.folds, options.seed);
  const std::vector<Index> numbers = task_numbers(train.tasks);
  std::vector<VectorXd> class_weights;
  for (const std::vector<int>& question : train.classes) {
    class_weights.push_back(balanced_class_weights(question, options.class_count));
  }
  std::vector<double> loss(options.penalties.size(), 0.0);
  std::vector<bool> good(loss.size(), true);
  for (int fold = 0; fold < options.folds; ++fold) {
    std::vector<Index> kept, left_out;
    for (Index i = 0; i < train.codes.rows(); ++i) {
      const Index task = numbers[static_cast<std::size_t>(i)];
      (folds[static_cast<std::size_t>(task)] == fold ? left_out : kept).push_back(i);
    }
    const DecodingData seen = rows_of(train, kept), unseen = rows_of(train, left_out);
    Decoders decoders;  // kept from penalty to penalty: each fit starts at the last solution
    for (std::size_t k = 0; k < loss.size(); ++k) {
      decoders = fit(seen, options, options.penalties[k], decoders);
      good[k] = good[k] && all_converged(decoders);
      loss[k] += loss_of(decoders, unseen, options, class_weights);
    }
  }
  const auto best =
      static_cast<std::size_t>(std::min_element(loss.begin(), loss.end()) - loss.begin());
  *converged = good[best];
  return options.penalties[best];
}

ScoreSums sums_of(const Decoders& decoders, const DecodingData& data,
                  const DecodingOptions& options) {
  if (options.kind == DecoderKind::kRidge) {
    return regression_sums(decoders.front().values(data.codes), data.targets, data.tasks);
  }
  std::vector<std::vector<int>> answers;
  for (const LinearDecoder& decoder : decoders) answers.push_back(decoder.classes(data.codes));
  return class_sums(answers, data.classes, options.class_count, options.metric, data.tasks);
}

/// Gives every training task the labels of another one: the next task in a random order that has
/// examples at the same place.
DecodingData with_exchanged_labels(const DecodingData& data, Rng& rng) {
  const std::vector<Index> numbers = task_numbers(data.tasks);
  const auto tasks = static_cast<std::size_t>(task_count(data.tasks));
  std::map<int, std::vector<std::vector<Index>>> examples;  // of each place and task
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const int place = data.places.empty() ? 0 : data.places[i];
    auto& of_place = examples.try_emplace(place, tasks).first->second;
    of_place[static_cast<std::size_t>(numbers[i])].push_back(static_cast<Index>(i));
  }
  std::vector<std::size_t> order(tasks);
  for (std::size_t t = 0; t < order.size(); ++t) order[t] = t;
  numerics::shuffle(order, rng);
  std::vector<Index> from(static_cast<std::size_t>(data.codes.rows()));
  for (const auto& [place, of_place] : examples) {
    std::vector<std::size_t> there;
    for (const std::size_t task : order) {
      if (!of_place[task].empty()) there.push_back(task);
    }
    for (std::size_t t = 0; t < there.size(); ++t) {
      const std::vector<Index>& giver = of_place[there[(t + 1) % there.size()]];
      const std::vector<Index>& taker = of_place[there[t]];
      for (std::size_t j = 0; j < taker.size(); ++j) {
        from[static_cast<std::size_t>(taker[j])] = giver[j % giver.size()];
      }
    }
  }
  DecodingData out = rows_of(data, from);
  out.codes = data.codes;
  out.tasks = data.tasks;
  out.places = data.places;
  return out;
}

void require_decodable(const DecodingData& train, const DecodingData& held_out,
                       const DecodingOptions& options) {
  const Index tasks = task_count(train.tasks), others = task_count(held_out.tasks);
  if (tasks < options.folds) {
    throw Error(
        ErrorKind::kBadData,
        fmt::format("{} training tasks: must be at least {}, one for each fold of cross-validation",
                    tasks, options.folds));
  }
  if (others < 2) {
    throw Error(ErrorKind::kBadData,
                fmt::format("{} held-out tasks: must be at least 2, to give an error bar", others));
  }
  for (std::size_t q = 0; q < train.classes.size(); ++q) {
    if (varies(train.classes[q])) continue;
    throw Error(ErrorKind::kBadData, fmt::format("label {} is the same in all {} training "
                                                 "examples: must vary; take more examples or tasks",
                                                 q, train.codes.rows()));
  }
}

}  // namespace

Words<DecoderKind> words_of(DecoderKind) {
  static constexpr Word<DecoderKind> kWords[] = {{"logistic", DecoderKind::kLogistic},
                                                 {"ridge", DecoderKind::kRidge}};
  return kWords;
}

Words<DecoderMetric> words_of(DecoderMetric) {
  static constexpr Word<DecoderMetric> kWords[] = {
      {"f1", DecoderMetric::kF1},
      {"balanced_accuracy", DecoderMetric::kBalancedAccuracy},
      {"r2", DecoderMetric::kR2}};
  return kWords;
}

std::vector<int> task_folds(const std::vector<Index>& tasks, int folds, std::uint64_t seed) {
  std::vector<int> out(static_cast<std::size_t>(task_count(tasks)));
  for (std::size_t t = 0; t < out.size(); ++t) {
    out[t] = static_cast<int>(t % static_cast<std::size_t>(folds));
  }
  Rng rng(seed, StreamPurpose::kDecodingFolds, 0);
  numerics::shuffle(out, rng);
  return out;
}

Decoding decode(const DecodingData& train, const DecodingData& held_out,
                const DecodingOptions& options) {
  require_decodable(train, held_out, options);
  Decoding out;
  out.penalty = choose_penalty(train, options, &out.converged);
  const Decoders decoders = fit(train, options, out.penalty, {});
  out.converged = out.converged && all_converged(decoders);
  out.train = sums_of(decoders, train, options).score();
  const ScoreSums sums = sums_of(decoders, held_out, options);
  out.held_out = sums.score();
  out.standard_error = sums.jackknife_error();
  out.chance = chance_of(train, held_out, options);
  std::vector<double> shuffled;
  for (int s = 0; s < options.shuffles; ++s) {
    Rng rng(options.seed, StreamPurpose::kShuffledLabels, static_cast<std::uint64_t>(s));
    const Decoders exchanged = fit(with_exchanged_labels(train, rng), options, out.penalty, {});
    out.converged = out.converged && all_converged(exchanged);
    shuffled.push_back(sums_of(exchanged, held_out, options).score());
  }
  const numerics::Moments spread = numerics::moments(shuffled);
  out.shuffled = spread.mean;
  out.shuffled_deviation = spread.deviation();
  return out;
}

namespace {

/// Codes over their lengths, added up.
struct UnitCodes {
  VectorXd sum;
  double examples = 0.0;
};

/// Sums of codes over their lengths, for each set of labels that an example has.
std::map<std::set<int>, UnitCodes> by_label_set(const MatrixXd& codes,
                                                const std::vector<std::vector<int>>& labels) {
  std::map<std::set<int>, UnitCodes> out;
  for (Index i = 0; i < codes.rows(); ++i) {
    const std::vector<int>& own = labels[static_cast<std::size_t>(i)];
    UnitCodes& of_set = out[std::set<int>(own.begin(), own.end())];
    if (of_set.examples == 0.0) of_set.sum = VectorXd::Zero(codes.cols());
    const double length = codes.row(i).norm();
    if (length > 0.0) of_set.sum += codes.row(i).transpose() / length;
    of_set.examples += 1.0;
  }
  return out;
}

/// CodeSimilarity::same and ::different.
void set_label_cosines(const std::map<std::set<int>, UnitCodes>& train,
                       const std::map<std::set<int>, UnitCodes>& held_out, int count,
                       CodeSimilarity& out) {
  MatrixXd cosines = MatrixXd::Zero(count, count);
  MatrixXd pairs = MatrixXd::Zero(count, count);
  for (const auto& [of_train, a] : train) {
    for (const auto& [of_held_out, b] : held_out) {
      const bool shared = std::ranges::any_of(
          of_train, [&held = of_held_out](int label) { return held.contains(label); });
      for (const int r : of_train) {
        for (const int s : of_held_out) {
          if (shared != (r == s)) continue;
          cosines(r, s) += a.sum.dot(b.sum);
          pairs(r, s) += a.examples * b.examples;
        }
      }
    }
  }
  std::vector<double> same, different;
  for (Index r = 0; r < count; ++r) {
    for (Index s = 0; s < count; ++s) {
      if (pairs(r, s) > 0.0) (r == s ? same : different).push_back(cosines(r, s) / pairs(r, s));
    }
  }
  out.same = numerics::moments(same).mean;
  out.different = numerics::moments(different).mean;
}

}  // namespace

CodeSimilarity code_similarity(const MatrixXd& train,
                               const std::vector<std::vector<int>>& train_labels,
                               const MatrixXd& held_out,
                               const std::vector<std::vector<int>>& held_out_labels, int count) {
  MatrixXd sum = MatrixXd::Zero(count, held_out.cols());
  VectorXd examples = VectorXd::Zero(count);
  for (Index i = 0; i < held_out.rows(); ++i) {
    for (const int label : held_out_labels[static_cast<std::size_t>(i)]) {
      sum.row(label) += held_out.row(i);
      examples(label) += 1.0;
    }
  }
  const auto cosines = [](const MatrixXd& codes) {
    const MatrixXd unit = codes.rowwise().norm().cwiseInverse().asDiagonal() * codes;
    return MatrixXd(unit * unit.transpose());
  };
  CodeSimilarity out;
  out.mean = examples.cwiseInverse().asDiagonal() * sum;  // 0 / 0: NaN
  out.cosine = cosines(out.mean);
  const auto present = [&out](Index r) { return std::isfinite(out.mean.row(r).sum()); };
  VectorXd centre = VectorXd::Zero(held_out.cols());
  double labels = 0.0;
  for (Index r = 0; r < count; ++r) {
    if (!present(r)) continue;
    centre += out.mean.row(r).transpose();
    labels += 1.0;
  }
  centre /= labels;
  MatrixXd about = out.mean.rowwise() - centre.transpose();
  for (Index r = 0; r < count;
       ++r) {  // the difference of equal codes is rounding, which has no direction
    if (about.row(r).norm() <= kSingleRounding * centre.norm()) about.row(r).setZero();
  }
  out.centred = cosines(about);
  set_label_cosines(by_label_set(train, train_labels), by_label_set(held_out, held_out_labels),
                    count, out);
  return out;
}

}  // namespace headway::analysis
