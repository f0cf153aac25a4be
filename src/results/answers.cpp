#include "results/answers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <utility>

#include "headway/core/utf8.hpp"
#include "headway/numerics/statistics.hpp"
#include "results/by_label.hpp"
#include "tasks/bpe_library.hpp"

namespace headway {
namespace {

constexpr std::size_t kLikeliest = 5;

/// Mean and standard deviation, number by number. All lists have one length.
struct MeanAndDeviation {
  std::vector<double> mean, deviation;

  explicit MeanAndDeviation(const std::vector<const std::vector<double>*>& lists) {
    for (std::size_t i = 0; i < lists.front()->size(); ++i) {
      std::vector<double> values;
      for (const std::vector<double>* list : lists) values.push_back((*list)[i]);
      const numerics::Moments moments = numerics::moments(values);
      mean.push_back(moments.mean);
      deviation.push_back(moments.deviation());
    }
  }
};

/// The share of the networks with the sign of the mean.
MatrixXd sign_shares(const std::vector<double>& mean,
                     const std::vector<const std::vector<double>*>& outputs) {
  MatrixXd out(static_cast<Index>(mean.size()), 1);
  for (std::size_t i = 0; i < mean.size(); ++i) {
    double same = 0.0;
    for (const std::vector<double>* one : outputs) same += mean[i] * (*one)[i] > 0.0 ? 1.0 : 0.0;
    out(static_cast<Index>(i), 0) = same / static_cast<double>(outputs.size());
  }
  return out;
}

/// The answers of several networks to one set.
NetworkAnswers joined(const std::vector<const NetworkAnswers*>& each,
                      const std::string& tokenizer) {
  NetworkAnswers out = *each.front();
  if (each.size() < 2) return out;
  const auto lists = [&each](auto member) {
    std::vector<const std::vector<double>*> all;
    for (const NetworkAnswers* one : each) all.push_back(&std::invoke(member, one));
    return all;
  };
  const auto of_mean = [](const NetworkAnswers* a) -> const std::vector<double>& {
    return a->mean.values;
  };
  if (!out.mean.empty()) {
    MeanAndDeviation outputs(lists(of_mean));
    out.mean.values = std::move(outputs.mean);
    out.deviation.shape = out.mean.shape;
    out.deviation.values = std::move(outputs.deviation);
    const bool signs = out.predicted_class.shape == out.mean.shape;
    if (signs) {
      out.right_sign_probability = sign_shares(out.mean.values, lists(of_mean));
      out.predicted_class = signs_of(out.mean);
    } else if (!out.predicted_class.empty()) {
      out.predicted_class = likeliest_classes(out.mean);
    }
  }
  if (out.next.empty()) return out;
  out.bits = MeanAndDeviation(lists(&NetworkAnswers::bits)).mean;
  MeanAndDeviation next(lists(&NetworkAnswers::next));
  out.next = std::move(next.mean);
  out.next_deviation = std::move(next.deviation);
  out.likeliest = likeliest_of(out.next, *tokenizer_of(tokenizer, out.name));
  std::vector<double> of_bytes;
  for (const NetworkAnswers* one : each) of_bytes.push_back(one->bits_per_byte);
  out.bits_per_byte = numerics::moments(of_bytes).mean;
  out.bits_per_byte_deviation = numerics::moments(of_bytes).deviation();
  return out;
}

}  // namespace

std::unique_ptr<tasks::Tokenizer> tokenizer_of(const std::string& model, const std::string& name) {
  if (model.empty()) return std::make_unique<tasks::ByteTokenizer>();
  return tasks::load_bpe_tokenizer(model, name);
}

Tensor likeliest_classes(const Tensor& values) {
  Tensor out;
  out.shape.assign(values.shape.begin(), values.shape.end() - 1);
  const Index classes = values.shape.back();
  for (auto row = values.values.begin(); row != values.values.end(); row += classes) {
    out.values.push_back(static_cast<double>(std::max_element(row, row + classes) - row));
  }
  return out;
}

Tensor signs_of(const Tensor& values) {
  Tensor out = values;
  for (double& v : out.values) v = v > 0.0 ? 1.0 : v < 0.0 ? -1.0 : 0.0;
  return out;
}

std::vector<LikelyToken> likeliest_of(const std::vector<double>& next,
                                      const tasks::Tokenizer& tokenizer) {
  std::vector<std::int32_t> order(next.size());
  std::iota(order.begin(), order.end(), 0);
  const std::size_t count = std::min(kLikeliest, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&](std::int32_t a, std::int32_t b) {
                      const double p = next[static_cast<std::size_t>(a)];
                      const double q = next[static_cast<std::size_t>(b)];
                      return p != q ? p > q : a < b;
                    });
  std::vector<LikelyToken> out;
  for (std::size_t i = 0; i < count; ++i) {
    const std::int32_t id = order[i];
    out.push_back(
        {id, with_replacements(tokenizer.decode({&id, 1})), next[static_cast<std::size_t>(id)]});
  }
  return out;
}

std::vector<PredictingGroup> group_predictions(const NetworkPredictResult& result) {
  std::vector<PredictingGroup> groups;
  for (const std::vector<const PredictingRun*>& runs : by_label(result.runs)) {
    PredictingGroup& group = groups.emplace_back();
    group.label = runs.front()->label;
    for (const PredictingRun* run : runs) group.seeds.push_back(run->seed);
    for (std::size_t s = 0; s < runs.front()->sets.size(); ++s) {
      std::vector<const NetworkAnswers*> each;
      for (const PredictingRun* run : runs) each.push_back(&run->sets[s]);
      group.sets.push_back(joined(each, runs.front()->tokenizer));
    }
  }
  return groups;
}

}  // namespace headway
