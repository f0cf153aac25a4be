// New inputs by trained networks: what the networks answer, mean and spread over seeds, and texts.
#include "headway/predict_networks.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/train.hpp"
#include "small_studies.hpp"
#include "verbs/networks/new_examples.hpp"

using namespace headway;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::ContainsSubstring;
using Catch::Matchers::WithinRel;

namespace {

std::vector<TrainedNetwork> two_seeds(const Study& study, const TaskMaker& make_task) {
  std::vector<TrainRun> runs = {{{{"seed", "1"}}, study}, {{{"seed", "2"}}, study}};
  runs[0].study.seed = 1;
  runs[1].study.seed = 2;
  Observer observer;
  const TrainResult trained = train(runs, make_task, observer);
  return trained_networks(runs, trained, KeptWeights::kLast);
}

/// A data set of new inputs: the first examples of a split of the task, without their labels.
tasks::Dataset inputs_of(const TrainedNetwork& network, const TaskMaker& make_task, Index count) {
  const ReadyNetwork ready = ready_network(network, network.study, make_task);
  training::TaskBatch batch;
  ready.task.task->batch("held_out", 0, count, batch);
  Tensor values({count, ready.task.task->format().tokens, ready.task.task->format().features});
  values.values.assign(batch.inputs.begin(), batch.inputs.end());
  tasks::Dataset out;
  out.name = "new.h5";
  out.features = ready.task.task->format().features;
  tasks::Split split;
  split.labels.resize(count, 0);
  split.examples = std::make_shared<tasks::MemoryExamples>(std::move(values));
  out.sets = {{"later", split}};
  return out;
}

/// Outputs [examples, scored, O] as `predict` gives them: of classes their softmax.
std::vector<double> answers_of(const training::TaskFormat& format,
                               const std::vector<float>& outputs) {
  std::vector<double> out(outputs.begin(), outputs.end());
  if (format.loss != training::LossKind::kCrossEntropy) return out;
  const auto classes = static_cast<std::size_t>(format.outputs);
  for (std::size_t row = 0; row < out.size(); row += classes) {
    double sum = 0.0;
    for (std::size_t c = 0; c < classes; ++c) sum += out[row + c] = std::exp(out[row + c]);
    for (std::size_t c = 0; c < classes; ++c) out[row + c] /= sum;
  }
  return out;
}

std::string fault_of(const std::vector<TrainedNetwork>& networks, const tasks::Dataset& inputs) {
  try {
    require_readable_inputs(networks, inputs);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadData);
    return error.what();
  }
  return "";
}

/// Keeps what it is told, and stops the computation after `most` calls.
struct Recorder final : Observer {
  std::vector<double> done;
  double total = 0.0;
  std::size_t most = 100;

  void whole(std::string_view /*stage*/, double now, double all, double /*earlier*/) override {
    done.push_back(now);
    total = all;
  }
  [[nodiscard]] bool interrupted() const override { return done.size() >= most; }
};

Study text_study() {
  Study study = testing::small_study();
  study.task.set_kind(TaskKind::kText);
  study.task.as<TextTaskOptions>().text.sequence_length = 6;
  study.train.model.causal = true;
  study.train.model.positions = training::Positions::kRotary;
  study.train.model.layers = 1;
  return study;
}

TrainTask make_bytes(const Study& study) {
  std::string text;
  while (text.size() < 400) text += "to be or not to be; ";
  TrainTask out;
  out.task = training::make_byte_text_task(text, study.task.as<TextTaskOptions>().text);
  return out;
}

/// New inputs without labels, [M, S, F], as the set "later".
tasks::Dataset later_inputs(const Tensor& values) {
  tasks::Dataset inputs;
  inputs.name = "new.h5";
  inputs.features = values.shape[2];
  tasks::Split split;
  split.labels.resize(values.shape[0], 0);
  split.examples = std::make_shared<tasks::MemoryExamples>(values);
  inputs.sets = {{"later", split}};
  return inputs;
}

}  // namespace

TEST_CASE("networks answer new inputs as they answer the same examples of their task", "[torch]") {
  const TaskMaker make_task = &make_generated_task;
  const auto networks = two_seeds(testing::small_study(), make_task);
  const tasks::Dataset inputs = inputs_of(networks[0], make_task, 7);
  Observer observer;
  const NetworkPredictResult result = predict_inputs(networks, inputs, observer);
  REQUIRE(result.runs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const NetworkAnswers& found = result.runs[i].sets.at(0);
    CHECK(found.name == "later");
    CHECK(found.mean.shape == std::vector<Index>{7});
    CHECK(found.predicted_class.empty());  // real labels
    const ReadyNetwork ready = ready_network(networks[i], networks[0].study, make_task);
    const std::vector<float> wanted = ready.trainer->outputs("held_out", 0, 7);
    for (std::size_t e = 0; e < 7; ++e) {
      CHECK_THAT(found.mean.values[e], WithinRel(static_cast<double>(wanted[e]), 1e-5));
    }
  }
  const auto groups = group_predictions(result);
  REQUIRE(groups.size() == 1);
  CHECK(groups[0].seeds == std::vector<std::uint64_t>{1, 2});
  const NetworkAnswers& joined = groups[0].sets.at(0);
  const double a = result.runs[0].sets[0].mean.values[3], b = result.runs[1].sets[0].mean.values[3];
  CHECK(a != b);
  CHECK_THAT(joined.mean.values[3], WithinRel((a + b) / 2, 1e-12));
  CHECK_THAT(joined.deviation.values[3], WithinRel(std::abs(a - b) / std::sqrt(2.0), 1e-12));
}

TEST_CASE("blocks of any size keep every answer to every example, in order", "[torch]") {
  Study classes = testing::small_study();  // of several scored tokens each
  classes.task.set_kind(TaskKind::kSraven);
  for (const Study& study : {testing::small_study(), classes}) {
    const TaskMaker make_task = &make_generated_task;
    std::vector<TrainedNetwork> networks = two_seeds(study, make_task);
    constexpr Index kCount = 7;
    const tasks::Dataset inputs = inputs_of(networks[0], make_task, kCount);
    const ReadyNetwork ready = ready_network(networks[1], networks[0].study, make_task);
    const training::TaskFormat& format = ready.task.task->format();
    const std::vector<double> wanted =
        answers_of(format, ready.trainer->outputs("held_out", 0, kCount));
    REQUIRE(wanted.size() == static_cast<std::size_t>(kCount * format.scored * format.outputs));
    for (const Index block : {1, 2, 3, 7, 100}) {
      INFO("blocks of " << block);
      for (TrainedNetwork& network : networks) network.study.train.run.eval_batch = block;
      Recorder progress;
      const NetworkPredictResult result = predict_inputs(networks, inputs, progress);
      const NetworkAnswers& found = result.runs.at(1).sets.at(0);
      CHECK(static_cast<Index>(progress.done.size()) == 2 * ((kCount + block - 1) / block));
      CHECK(progress.done.front() == static_cast<double>(std::min(block, kCount)));
      REQUIRE(found.mean.count() == wanted.size());
      REQUIRE(found.mean.values.size() == wanted.size());
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        CHECK_THAT(found.mean.values[i], WithinRel(wanted[i], 1e-5));
      }
      CHECK(found.predicted_class.values.size() == found.predicted_class.count());
      if (format.loss != training::LossKind::kCrossEntropy) continue;
      CHECK(found.predicted_class.count() == static_cast<std::size_t>(kCount * format.scored));
      const NetworkAnswers joined = group_predictions(result).at(0).sets.at(0);
      CHECK(joined.mean.values.size() == wanted.size());
      CHECK(joined.deviation.values.size() == wanted.size());
      CHECK(joined.predicted_class.values.size() == found.predicted_class.values.size());
    }
  }
}

TEST_CASE("every split of new inputs is a set, also one with the name of the training's",
          "[torch]") {
  const auto networks = two_seeds(testing::small_study(), &make_generated_task);
  tasks::Dataset inputs = inputs_of(networks[0], &make_generated_task, 5);
  inputs.train = inputs.sets[0].split;
  inputs.test = inputs.sets[0].split;
  Observer observer;
  const std::vector<NetworkAnswers> sets =
      predict_inputs(networks, inputs, observer).runs.at(1).sets;
  REQUIRE(sets.size() == 3);
  CHECK(sets[0].name == "train");
  CHECK(sets[1].name == "test");
  CHECK(sets[2].name == "later");
  CHECK(sets[0].mean.values.size() == 5);
  CHECK(sets[0].mean.values == sets[2].mean.values);
  CHECK(sets[1].mean.values == sets[2].mean.values);
}

TEST_CASE("progress counts the examples of all networks, and a stop keeps whole networks",
          "[torch]") {
  const auto networks = two_seeds(testing::small_study(), &make_generated_task);
  const tasks::Dataset inputs = inputs_of(networks[0], &make_generated_task, 7);
  Recorder all;
  CHECK_FALSE(predict_inputs(networks, inputs, all).interrupted);
  CHECK(all.done == std::vector<double>{4, 7, 11, 14});  // in blocks of 4
  CHECK(all.total == 14);
  Recorder some;
  some.most = 3;
  const NetworkPredictResult result = predict_inputs(networks, inputs, some);
  CHECK(result.interrupted);
  CHECK(result.planned == 2);
  REQUIRE(result.runs.size() == 1);
  CHECK(result.runs[0].seed == 1);
  CHECK(result.runs[0].sets[0].mean.values.size() == 7);
}

TEST_CASE("classes have probabilities", "[torch]") {
  Study study = testing::small_study();
  study.task.set_kind(TaskKind::kSraven);
  const TaskMaker make_task = &make_generated_task;
  const auto networks = two_seeds(study, make_task);
  Observer observer;
  const auto result = predict_inputs(networks, inputs_of(networks[0], make_task, 3), observer);
  const auto groups = group_predictions(result);
  const NetworkAnswers& found = groups.at(0).sets.at(0);
  const auto& options = study.task.as<tasks::SravenOptions>();
  CHECK(found.mean.shape == std::vector<Index>{3, options.features, options.values});
  CHECK(found.predicted_class.shape == std::vector<Index>{3, options.features});
  const NetworkAnswers& first = result.runs[0].sets[0];
  CHECK(first.predicted_class.shape == found.predicted_class.shape);
  CHECK_THAT(found.mean.values[1],
             WithinRel((first.mean.values[1] + result.runs[1].sets[0].mean.values[1]) / 2, 1e-12));
  CHECK(found.right_sign_probability.size() == 0);
  const auto classes = static_cast<std::size_t>(options.values);
  for (std::size_t row = 0; row < found.predicted_class.values.size(); ++row) {
    double sum = 0.0, largest = 0.0;
    for (std::size_t c = 0; c < classes; ++c) {
      sum += found.mean.values[row * classes + c];
      largest = std::max(largest, found.mean.values[row * classes + c]);
    }
    CHECK_THAT(sum, WithinRel(1.0, 1e-12));
    const auto chosen = static_cast<std::size_t>(found.predicted_class.values[row]);
    CHECK(found.mean.values[row * classes + chosen] == largest);
  }
}

TEST_CASE("inputs that the networks do not read are refused", "[torch]") {
  const auto networks = two_seeds(testing::small_study(), &make_generated_task);
  const tasks::Dataset good = inputs_of(networks[0], &make_generated_task, 3);
  CHECK(fault_of(networks, good).empty());
  const auto with = [&](Tensor values, std::vector<std::uint8_t> mask = {}) {
    tasks::Dataset changed = good;
    changed.sets[0].split.examples =
        std::make_shared<tasks::MemoryExamples>(std::move(values), std::move(mask));
    return changed;
  };
  REQUIRE(good.features == 5);
  const std::string wide =
      ": has 6 features a token; allowed: 5, as in the training of " + networks[0].study_name;
  tasks::Dataset one_too_wide = with(Tensor({3, 12, 6}));
  CHECK(fault_of(networks, one_too_wide) == "new.h5: sets/later/inputs" + wide);
  for (const std::string name : {"train", "test"}) {
    tasks::Dataset split = good;
    tasks::Split bad = one_too_wide.sets[0].split;
    if (name == "train") {
      split.train = bad;
    } else {
      split.test = bad;
    }
    CHECK(fault_of(networks, split) == "new.h5: " + name + "/inputs" + wide);
  }
  one_too_wide.name = tasks::kArraysInMemory;
  CHECK(fault_of(networks, one_too_wide) ==
        std::string(tasks::kArraysInMemory) + ": inputs" + wide);
  CHECK(fault_of(networks, with(Tensor({3, 1, 5}))) ==
        "new.h5: sets/later/inputs: has 1 tokens an example; allowed: 2 or more");
  CHECK(fault_of(networks, with(Tensor({3, 20, 5}))).empty());  // another length
  CHECK(fault_of(networks, with(Tensor({3, 12, 5}), std::vector<std::uint8_t>(36, 1))) ==
        "new.h5: sets/later/inputs: has a mask; allowed: none, as the network was trained without "
        "one");
  tasks::Dataset features = good;
  features.form = AttentionForm::kPathFeatures;
  CHECK_THAT(fault_of(networks, features), ContainsSubstring("new.h5: holds path features"));
}

TEST_CASE("new inputs are a task with a split for each set, and none to train on") {
  TrainedNetwork network;
  network.study = testing::small_study();
  Tensor values({7, 9, 5});
  std::iota(values.values.begin(), values.values.end(), 0.0);
  tasks::Dataset inputs = later_inputs(values);
  inputs.train = inputs.sets[0].split;
  inputs.sets.push_back({"last", inputs.train});
  const auto task = make_input_task(network, inputs);
  CHECK(task->splits() == std::vector<std::string>{"train", kTrainInputs, "later", "last"});
  CHECK(task->selection_split() == "last");
  CHECK(task->format().tokens == 9);
  CHECK(task->size("train") == 0);
  CHECK(task->size("nowhere") == 0);
  for (const char* name : {kTrainInputs, "later", "last"}) CHECK(task->size(name) == 7);
  training::TaskBatch batch;
  task->batch("later", 5, 2, batch);
  CHECK(batch.examples == 2);
  REQUIRE(batch.inputs.size() == 2 * 9 * 5);
  CHECK(batch.inputs.front() == 225.0F);
  CHECK(batch.inputs.back() == 314.0F);
  CHECK_THROWS_WITH(task->batch("later", 5, 3, batch), "examples 5 to 8 of new inputs \"later\"");
  CHECK_THROWS_WITH(task->batch("train", 0, 1, batch), "examples 0 to 1 of new inputs \"train\"");
}

TEST_CASE("new inputs whose norm overflows in single precision are refused by their example") {
  TrainedNetwork network;
  network.study = testing::small_study();
  Tensor values({7, 9, 5});
  values.values[4 * 45 + 2] = -1e15;
  values.values[6 * 45 + 3] = 2e15;
  const tasks::Dataset inputs = later_inputs(values);
  const auto task = make_input_task(network, inputs);
  training::TaskBatch batch;
  CHECK_NOTHROW(task->batch("later", 2, 4, batch));
  CHECK_THROWS_WITH(task->batch("later", 5, 2, batch),
                    "new.h5: sets/later/inputs: example 6 has 2e+15; allowed: up to 1e+15 in size, "
                    "since norms of larger ones overflow in single precision");
}

TEST_CASE("a text is a task of whole windows, the last cut short, and of its end") {
  TrainedNetwork network;
  network.study = text_study();  // windows of 6 bytes
  std::vector<std::int32_t> ids(14);
  std::iota(ids.begin(), ids.end(), 1);
  const auto task = make_window_task(network, ids);
  CHECK(task->format().vocabulary == 256);
  CHECK(task->size(kWindows) == 3);
  CHECK(task->size(kEnd) == 1);
  CHECK(task->size("train") == 0);
  training::TaskBatch batch;
  task->batch(kWindows, 1, 2, batch);
  CHECK(batch.ids == std::vector<std::int32_t>{7, 8, 9, 10, 11, 12, 13, 14, 0, 0, 0, 0});
  task->batch(kEnd, 0, 1, batch);
  CHECK(batch.ids == std::vector<std::int32_t>{9, 10, 11, 12, 13, 14});
  ids.resize(4);
  const auto shorter = make_window_task(network, ids);
  CHECK(shorter->size(kWindows) == 1);
  shorter->batch(kEnd, 0, 1, batch);
  CHECK(batch.ids == std::vector<std::int32_t>{1, 2, 3, 4, 0, 0});
}

TEST_CASE("a text has the bits of evaluate, and a next token", "[torch]") {
  const auto networks = two_seeds(text_study(), &make_bytes);
  // The held-out part is the last tenth of the 400 bytes: 40 of them, of which 37 are whole windows
  // and a target.
  std::string text;
  while (text.size() < 400) text += "to be or not to be; ";
  text = text.substr(360, 37);
  Observer observer;
  Recorder progress;
  const auto result = predict_text(networks, "letter.txt", text, progress);
  CHECK(progress.total == 2 * (7 + 1));  // windows of 6 bytes, and the next token
  REQUIRE_FALSE(progress.done.empty());
  CHECK(progress.done.back() == progress.total);
  for (std::size_t i = 0; i < 2; ++i) {
    const NetworkAnswers& found = result.runs[i].sets.at(0);
    CHECK(found.bits.size() == 37);
    CHECK(std::isnan(found.bits[0]));
    const double sum = std::accumulate(found.bits.begin() + 1, found.bits.end(), 0.0);
    CHECK_THAT(found.bits_per_byte, WithinRel(sum / 36.0, 1e-12));
    const ReadyNetwork ready = ready_network(networks[i], networks[i].study, &make_bytes);
    CHECK_THAT(found.bits_per_byte,
               WithinRel(ready.trainer->evaluate("held_out", 6).metric("bits_per_byte"), 1e-6));
    REQUIRE(found.likeliest.size() == 5);
    std::vector<std::int32_t> prompt(text.begin(), text.end());
    training::GenerateOptions next;
    next.tokens = 1;
    next.temperature = 0.0;
    CHECK(ready.trainer->generate(prompt, next).front() == found.likeliest[0].token);
    CHECK(found.next[static_cast<std::size_t>(found.likeliest[0].token)] ==
          found.likeliest[0].probability);
  }
  const NetworkAnswers joined = group_predictions(result).at(0).sets.at(0);
  CHECK_THAT(
      joined.bits_per_byte,
      WithinRel((result.runs[0].sets[0].bits_per_byte + result.runs[1].sets[0].bits_per_byte) / 2,
                1e-12));
  const NetworkAnswers& a = result.runs[0].sets[0];
  const NetworkAnswers& b = result.runs[1].sets[0];
  CHECK_THAT(joined.bits_per_byte_deviation,
             WithinRel(std::abs(a.bits_per_byte - b.bits_per_byte) / std::sqrt(2.0), 1e-9));
  CHECK_THAT(joined.bits[7], WithinRel((a.bits[7] + b.bits[7]) / 2, 1e-12));
  CHECK(joined.next_deviation.size() == 256);
  const auto token = static_cast<std::size_t>(joined.likeliest.at(0).token);
  CHECK(joined.likeliest[0].probability == *std::ranges::max_element(joined.next));
  CHECK_THAT(joined.next[token], WithinRel((a.next[token] + b.next[token]) / 2, 1e-12));
  CHECK_THAT(joined.next_deviation[token],
             WithinRel(std::abs(a.next[token] - b.next[token]) / std::sqrt(2.0), 1e-9));
  CHECK_THROWS_AS(predict_text(networks, "none.txt", "", observer), Error);
  auto seeing = networks;
  for (TrainedNetwork& network : seeing) network.study.train.model.causal = false;
  CHECK_THROWS_WITH(predict_text(seeing, "letter.txt", text, observer),
                    "train.causal = false: must be true to predict the next tokens of a text; " +
                        seeing[0].label + " sees what follows");
  auto pieces = networks;
  pieces[0].tokenizer = "another";
  CHECK_THROWS_WITH(
      ready_network(pieces[0], pieces[0].study, &make_bytes),
      "task.file: gives another tokenizer than the network has: must be the text that "
      "the network was trained on. Networks of bytes take any text");
}

TEST_CASE("every byte of a text has the bits of the window before it, in blocks of any size",
          "[torch]") {
  std::vector<TrainedNetwork> networks = two_seeds(text_study(), &make_bytes);
  const std::string text = "be not to be; or to be not, or be";  // five windows of 6, and a half
  Observer observer;
  std::vector<double> wanted = {0.0};  // of the second network
  for (std::size_t t = 1; t < text.size(); ++t) {
    const std::size_t begin = (t - 1) / 6 * 6;
    const NetworkAnswers before =
        predict_text({networks[1]}, "part", text.substr(begin, t - begin), observer)
            .runs.at(0)
            .sets.at(0);
    wanted.push_back(-std::log2(before.next[static_cast<unsigned char>(text[t])]));
  }
  for (const Index block : {1, 2, 4, 100}) {
    INFO("blocks of " << block);
    for (TrainedNetwork& network : networks) network.study.train.run.eval_batch = block;
    const NetworkPredictResult result = predict_text(networks, "letter.txt", text, observer);
    const NetworkAnswers& found = result.runs.at(1).sets.at(0);
    REQUIRE(found.bits.size() == text.size());
    CHECK(std::isnan(found.bits[0]));
    for (std::size_t t = 1; t < text.size(); ++t) {
      CHECK_THAT(found.bits[t], WithinRel(wanted[t], 1e-5));
    }
    CHECK(found.next.size() == 256);
    CHECK_THAT(std::accumulate(found.next.begin(), found.next.end(), 0.0), WithinRel(1.0, 1e-9));
  }
}

TEST_CASE("a text shorter than a window is predicted as its part of a longer one", "[torch]") {
  const auto networks = two_seeds(text_study(), &make_bytes);
  Observer observer;
  const auto answers = [&](const std::string& text) {
    return predict_text(networks, "letter.txt", text, observer).runs.at(0).sets.at(0);
  };
  const NetworkAnswers to = answers("to "), whole = answers("to be ");
  REQUIRE(to.bits.size() == 3);
  for (std::size_t i = 1; i < 3; ++i) CHECK_THAT(to.bits[i], WithinRel(whole.bits[i], 1e-6));
  // What may follow "to " decides the bits of the "b" behind it.
  CHECK_THAT(-std::log2(to.next['b']), WithinRel(whole.bits[3], 1e-6));
  CHECK(to.likeliest[0].probability > to.likeliest[1].probability);
  const NetworkAnswers one = answers("t");
  CHECK(std::isnan(one.bits_per_byte));  // nothing before it predicts it
  CHECK_THAT(-std::log2(one.next['o']), WithinRel(whole.bits[1], 1e-6));
}

TEST_CASE(
    "the probability of the right sign is the share of the networks with the sign of the mean") {
  NetworkPredictResult result;
  for (const double output : {0.5, 0.7, -0.2}) {
    PredictingRun& run = result.runs.emplace_back();
    run.label = "softmax";
    NetworkAnswers& set = run.sets.emplace_back();
    set.name = "new";
    set.mean.shape = set.predicted_class.shape = {1};
    set.mean.values = {output};
    set.predicted_class.values = {output > 0.0 ? 1.0 : -1.0};
  }
  const NetworkAnswers joined = group_predictions(result).at(0).sets.at(0);
  CHECK_THAT(joined.right_sign_probability(0, 0), WithinRel(2.0 / 3.0, 1e-12));
  CHECK(joined.predicted_class.values[0] == 1.0);
  result.runs.resize(1);
  const NetworkAnswers alone = group_predictions(result).at(0).sets.at(0);
  CHECK(alone.right_sign_probability.size() == 0);
  CHECK(alone.deviation.empty());
  CHECK(alone.mean.values[0] == 0.5);
}
