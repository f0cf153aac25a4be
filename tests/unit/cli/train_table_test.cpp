#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/study_file.hpp"
#include "result_tables.hpp"

using Catch::Matchers::ContainsSubstring;
using headway::Study;
using headway::TrainedRun;
using headway::TrainResult;
using headway::training::Evaluation;

namespace {

Study swept(const std::string& sweep) {
  return headway::io::parse_study(
      "name = \"grid\"\n[task]\nkind = \"fuzzy_logic\"\n"
      "[train]\nsteps = 12\nbatch = 8\nwarmup_steps = 2\n[sweep]\n" +
          sweep + "\n",
      "study");
}

TrainedRun finished(const std::string& label,
                    std::vector<std::pair<std::string, Evaluation>> evaluations) {
  TrainedRun run;
  run.label = label;
  run.seed = 1;
  run.summary.outcome = headway::training::TrainOutcome::kFinished;
  run.summary.evaluations = std::move(evaluations);
  return run;
}

TrainResult result_of(std::vector<TrainedRun> runs) {
  TrainResult result;
  result.planned = runs.size();
  result.runs = std::move(runs);
  return result;
}

/// The words of the line that begins with `start`.
std::vector<std::string> words_of_line(const std::string& text, const std::string& start) {
  const std::size_t begin = text.find("\n" + start) + 1;
  std::vector<std::string> words;
  std::string word;
  for (const char c : text.substr(begin, text.find('\n', begin) - begin) + " ") {
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(std::exchange(word, ""));
    }
  }
  return words;
}

}  // namespace

TEST_CASE("columns are the splits and metrics of all rows, - where a row has none",
          "[not_sanitized]") {
  const TrainResult result =
      result_of({finished("logic", {{"validation", {8, 1.0, {{"r2", 0.5}}}},
                                    {"terms", {8, 1.0, {{"r2", 0.25}}}}}),
                 finished("matrices", {{"validation", {8, 1.0, {{"accuracy", 0.125}}}},
                                       {"test", {8, 1.0, {{"accuracy", 0.75}}}}})});
  const std::string text =
      headway::cli::train_table(swept("\"task.kind\" = [\"fuzzy_logic\", \"sraven\"]"), result);
  CHECK_THAT(text, ContainsSubstring("grid: fuzzy_logic, sraven, 2 of 2 runs"));
  const std::vector<std::string> header = words_of_line(text, "variant");
  const std::vector<std::string> columns(header.begin() + 6, header.begin() + 14);
  CHECK(columns == std::vector<std::string>{"validation", "r2", "terms", "r2", "validation",
                                            "accuracy", "test", "accuracy"});
  const auto cells = [&](const std::string& label) {
    const std::vector<std::string> words = words_of_line(text, label);
    return std::vector<std::string>(words.end() - 6, words.end() - 2);  // then speed and time
  };
  CHECK(cells("logic") == std::vector<std::string>{"0.5000", "0.2500", "-", "-"});
  CHECK(cells("matrices") == std::vector<std::string>{"-", "-", "0.1250", "0.7500"});
}

TEST_CASE("the title has the steps and examples that the runs made", "[not_sanitized]") {
  const auto title = [](const std::string& sweep) {
    const std::string text = headway::cli::train_table(swept(sweep), result_of({}));
    return text.substr(0, text.find('\n'));
  };
  CHECK(title("seed = [1, 2]") == "grid: fuzzy_logic, 0 of 0 runs, 12 steps of 8 examples");
  CHECK(title("\"train.steps\" = [10, 5, 7]") ==
        "grid: fuzzy_logic, 0 of 0 runs, 5 to 10 steps of 8 examples");
  CHECK(title("train = [{steps = 6, batch = 2}, {steps = 6, batch = 4}]") ==
        "grid: fuzzy_logic, 0 of 0 runs, 6 steps of 2 to 4 examples");
}

TEST_CASE("what a model of bytes writes does not steer the terminal", "[not_sanitized]") {
  TrainedRun run = finished("bytes", {{"validation", {8, 1.0, {{"bits_per_byte", 4.0}}}}});
  run.sample = std::string("one\n\ttwo\0\x1B[2J\xFF", 14);
  CHECK_THAT(headway::cli::train_table(swept("seed = [1]"), result_of({run})),
             ContainsSubstring("it writes:\none\n\ttwo\\x00\\x1B[2J\\xFF\n"));
}
