#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "headway/network_predict_results.hpp"
#include "headway/predict_results.hpp"
#include "headway/results/table.hpp"
#include "result_tables.hpp"
#include "trained_network_tables.hpp"

namespace headway::cli {

namespace {

constexpr Index kShown = 5;  // examples of each set

std::string row_text(const MatrixXd& values, Index row) {
  std::vector<double> entries;
  for (Index c = 0; c < values.cols(); ++c) entries.push_back(values(row, c));
  return decimals_text(entries, "{:.4f}");
}

/// Answers to an example of a set: the numbers of one output, or of one scored token.
struct AnswerView {
  const NetworkAnswers& set;

  [[nodiscard]] Index examples() const { return set.mean.shape.front(); }
  [[nodiscard]] bool classes() const {
    return !set.predicted_class.empty() && set.predicted_class.shape != set.mean.shape;
  }
  /// Numbers of one example of an array of the set.
  [[nodiscard]] static std::vector<double> row(const Tensor& values, Index example) {
    if (values.empty()) return {};
    const auto size = values.count() / static_cast<std::size_t>(values.shape.front());
    const auto begin = values.values.begin() + example * static_cast<Index>(size);
    return {begin, begin + static_cast<Index>(size)};
  }
  /// Those of `values` that belong to the predicted classes.
  [[nodiscard]] std::vector<double> of_classes(const Tensor& values, Index example) const {
    const std::vector<double> all = row(values, example);
    if (all.empty()) return {};
    const auto outputs = static_cast<std::size_t>(set.mean.shape.back());
    std::vector<double> out;
    for (const double one : row(set.predicted_class, example)) {
      out.push_back(all[out.size() * outputs + static_cast<std::size_t>(one)]);
    }
    return out;
  }
};

std::string dash_or(const std::vector<double>& values, const char* format = "{:.4f}") {
  return values.empty() ? "-" : decimals_text(values, format);
}

std::string inputs_table(const std::vector<PredictingGroup>& groups) {
  const AnswerView first{groups.front().sets.front()};
  const bool classes = first.classes();
  const bool signs = !classes && !first.set.predicted_class.empty();
  std::vector<std::string> header = {"variant<", "seeds<", "set<", "example"};
  for (const char* name : classes ? std::vector{"class", "probability", "sd"}
                          : signs ? std::vector{"mean", "sd", "right sign", "class"}
                                  : std::vector{"mean", "sd"}) {
    header.emplace_back(name);
  }
  Table table(header, 4);
  bool cut = false;
  for (const PredictingGroup& group : groups) {
    for (const NetworkAnswers& set : group.sets) {
      const AnswerView view{set};
      cut = cut || view.examples() > kShown;
      for (Index i = 0; i < std::min(view.examples(), kShown); ++i) {
        const std::string answer =
            dash_or(AnswerView::row(set.predicted_class, i), signs ? "{:+.0f}" : "{:.0f}");
        std::vector<std::string> row = {group.label, seeds_text(group.seeds), set.name,
                                        std::to_string(i + 1)};
        if (classes) {
          row.insert(row.end(), {answer, dash_or(view.of_classes(set.mean, i)),
                                 dash_or(view.of_classes(set.deviation, i))});
        } else {
          row.push_back(dash_or(AnswerView::row(set.mean, i)));
          row.push_back(dash_or(AnswerView::row(set.deviation, i)));
        }
        if (signs) {
          row.push_back(set.right_sign_probability.size() == 0
                            ? "-"
                            : cell(set.right_sign_probability(i, 0), "{:.4f}"));
          row.push_back(answer);
        }
        table.add(std::move(row));
      }
    }
  }
  std::string text = table.text();
  if (cut) {
    text += wrapped(fmt::format(
        "Only the first {} examples of each set are shown; -o and --json have all\n", kShown));
  }
  return text;
}

std::string text_table(const std::vector<PredictingGroup>& groups) {
  Table bits({"variant<", "seeds<", "tokens", "bits/byte", "sd"});
  Table next({"variant<", "seeds<", "next token<", "probability", "sd"});
  for (const PredictingGroup& group : groups) {
    const NetworkAnswers& set = group.sets.front();
    const bool several = !set.next_deviation.empty();
    bits.add({group.label, seeds_text(group.seeds), std::to_string(set.bits.size()),
              cell(set.bits_per_byte, "{:.4f}"),
              several ? cell(set.bits_per_byte_deviation, "{:.4f}") : "-"});
    for (const LikelyToken& token : set.likeliest) {
      next.add({group.label, seeds_text(group.seeds), nlohmann::json(token.text).dump(),
                cell(token.probability, "{:.4f}"),
                several ? cell(set.next_deviation[static_cast<std::size_t>(token.token)], "{:.4f}")
                        : "-"});
    }
  }
  return bits.text() + wrapped("\nafter the end of the text\n") + next.text();
}

}  // namespace

std::string predict_table(const Study& /*study*/, const PredictResult& result) {
  const bool classes = std::ranges::any_of(result.points, [](const PredictedPoint& point) {
    return std::ranges::any_of(point.sets,
                               [](const auto& s) { return !s.predicted_class.empty(); });
  });
  const bool signs = classes && result.outputs == 1;
  std::vector<std::string> header = {"widths", "T", "set<", "example", "mean", "sd"};
  if (signs) header.emplace_back("right sign");
  if (classes) header.emplace_back("class");
  Table table(header, 4);
  bool cut = false;
  for (const PredictedPoint& point : result.points) {
    for (const PredictedSet& set : point.sets) {
      const Index shown = std::min(kShown, set.mean.rows());
      cut = cut || shown < set.mean.rows();
      for (Index i = 0; i < shown; ++i) {
        std::vector<std::string> row = {
            widths_text(point.widths), cell(point.temperature, "{:g}"), set.name,
            fmt::format("{}", i + 1),  row_text(set.mean, i),           row_text(set.deviation, i)};
        if (signs) row.push_back(cell(set.right_sign_probability(i, 0), "{:.4f}"));
        if (classes) {
          const int answer = set.predicted_class[static_cast<std::size_t>(i)];
          row.push_back(signs ? fmt::format("{:+d}", answer) : fmt::format("{}", answer));
        }
        table.add(std::move(row));
      }
    }
  }
  std::string text = table.text();
  if (cut) {
    text += fmt::format(
        "Only the first {} examples of each set are shown; -o and --json have all\n", kShown);
  }
  return text;
}

std::string network_predict_table(const Study& /*study*/, const NetworkPredictResult& result) {
  const std::vector<PredictingGroup> groups = headway::group_predictions(result);
  if (groups.empty()) return "";
  std::string text =
      groups.front().sets.front().next.empty() ? inputs_table(groups) : text_table(groups);
  const bool spread = std::ranges::any_of(groups, [](const auto& g) { return g.seeds.size() > 1; });
  text += wrapped(spread ? "sd is the spread over seeds, no posterior\n"
                         : "Each network stands alone: no sd without several seeds\n");
  return text;
}

}  // namespace headway::cli
