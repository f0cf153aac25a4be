// What a language model writes after its training: the prompt, then its own tokens.
#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"
#include "grammar_text.hpp"
#include "headway/train.hpp"
#include "small_studies.hpp"

using namespace headway;

namespace {

const std::string& corpus() {
  static const std::string text = [] {
    std::string ascii = testing::grammar_text(60);
    std::erase_if(ascii, [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
    return ascii;
  }();
  return text;
}

TaskFiles memory_files() {
  TaskFiles files;
  files.text = [](const std::string& path, const tasks::TextShares& shares) {
    return tasks::TextCorpus(path, corpus(), shares);
  };
  return files;
}

Study text_study(Index sequence_length) {
  Study study = testing::small_study();
  study.task.set_kind(TaskKind::kText);
  study.task.as<TextTaskOptions>().file = "grammar.txt";
  study.task.as<TextTaskOptions>().text.sequence_length = sequence_length;
  study.train.model.attention = "softmax";
  study.train.model.layers = 1;
  study.train.model.causal = true;
  study.train.run.steps = 3;
  study.train.run.warmup_steps = 1;
  study.train.run.eval_every = 0;
  study.train.run.eval_examples = 2;
  study.train.sample_tokens = 21;
  study.train.sample_temperature = 0.7;
  return study;
}

TrainedRun trained(const Study& study) {
  std::vector<TrainRun> runs(1);
  runs[0].study = study;
  Observer quiet;
  return train(runs, make_task_maker(memory_files()), quiet).runs.at(0);
}

}  // namespace

TEST_CASE("a sample begins with the validation text, and goes on as the trained model does",
          "[torch]") {
  for (const Index length : {12, 40}) {  // a prompt has 32 tokens at most
    const Study study = text_study(length);
    const TrainedRun run = trained(study);
    REQUIRE(run.done());
    const TrainTask task = make_task_maker(memory_files())(study);
    const tasks::TextCorpus text("grammar.txt", corpus(),
                                 study.task.as<TextTaskOptions>().text.shares());
    const std::string prompt(text.validation().substr(0, std::min<std::size_t>(length, 32)));
    REQUIRE(run.sample.starts_with(prompt));
    training::Trainer trainer(study.train.model, resolved_run(study), *task.task);
    trainer.set_state(run.state);
    training::GenerateOptions options;
    options.tokens = 21;
    options.temperature = 0.7;
    options.seed = study.seed;
    const std::vector<std::int32_t> ids(prompt.begin(), prompt.end());
    CHECK(run.sample.substr(prompt.size()) == task.decode(trainer.generate(ids, options)));
  }
}

TEST_CASE("no tokens are no sample, and neither is a task without text", "[torch]") {
  Study study = text_study(12);
  study.train.sample_tokens = 0;
  CHECK(trained(study).sample.empty());
  Study logic = testing::small_study();
  logic.train.run.steps = 4;
  logic.train.run.warmup_steps = 1;
  logic.train.run.eval_every = 0;
  CHECK(trained(logic).sample.empty());
}
