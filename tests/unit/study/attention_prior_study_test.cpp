// What learned attention allows, and the whole sentence where a study asks for more.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/task_kinds.hpp"
#include "headway/study_file.hpp"
#include "headway/train_task.hpp"

using namespace headway;

namespace {

const std::string kLearned =
    "[task]\nkind = \"copy\"\n[model]\ntemperature = 0.1\n[model.attention_prior]\nheads = [1]\n";

std::string fault(const std::vector<std::string>& overlays, const std::string& text = kLearned) {
  try {
    io::parse_study(text, "s.toml", overlays);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  return "none";
}

}  // namespace

TEST_CASE("learned attention refuses what it cannot use, with what it can") {
  CHECK(fault({}) == "none");
  const std::string beside = " beside model.attention_prior";
  const std::vector<std::pair<std::vector<std::string>, std::string>> faults = {
      {{"model.heads=[2, 1]"},
       "model.heads = [2, 1]: must be absent, and its place model.attention_prior.heads," + beside},
      {{"model.temperature=[0.1, 0]"}, "model.temperature = 0: must be above 0" + beside},
      {{"sample.sampler=\"mala\""},
       "sample.sampler = \"mala\": must be \"auto\", \"exact\" (the same: NUTS over attention and "
       "order parameters) or \"hmc\"" +
           beside},
      {{"sample.metric=\"information\""},
       "sample.metric = \"information\": must be \"auto\", \"unit\", \"diagonal\" or \"dense\"" +
           beside},
      {{"solve.kernels=\"distributed\""},
       "solve.kernels = \"distributed\": must be \"auto\", \"stored\", \"streamed\" or "
       "\"feature_space\"" +
           beside},
      {{"solve.kernels=\"gram\""},
       "solve.kernels = \"gram\": must be \"auto\", \"stored\", \"streamed\" or \"feature_space\"" +
           beside},
      {{"model.attention_prior.form=\"queries_keys\""},
       "model.attention_prior.dims is missing: form = \"queries_keys\" needs the number G of rows "
       "of "
       "Q and K"},
      {{"model.attention_prior.dims=3"},
       "model.attention_prior.dims = 3: must be absent with form = \"matrix\""}};
  for (const auto& [overlays, words] : faults) {
    // A key that is missing has the place of the table that lacks it.
    const bool missing = words.find(" is missing: ") != std::string::npos;
    CHECK(fault(overlays) == (missing ? "s.toml:5: " : "--set " + overlays.front() + ": ") + words);
  }
  for (const char* sound : {"sample.sampler=\"hmc\"", "sample.metric=\"dense\"",
                            "solve.kernels=\"stored\"", "sample.replicas=4"}) {
    CHECK(fault({sound}) == "none");
  }
  CHECK(fault({"model.attention_prior.form=\"queries_keys\"", "model.attention_prior.dims=3"}) ==
        "none");
}

TEST_CASE("replicas need learned attention or the collapsed sampler") {
  const std::string given = "[task]\nkind = \"dataset\"\nfile = \"x.h5\"\n";
  CHECK(fault({"sample.replicas=1"}, given) == "none");
  CHECK(fault({"sample.replicas=2"}, given) ==
        "--set sample.replicas=2: sample.replicas = 2: must be 0 or 1 without "
        "model.attention_prior, model.value_network or sample.sampler = \"collapsed\"");
  CHECK(fault({"sample.replicas=2", "sample.sampler=\"collapsed\""}, given) == "none");
  CHECK(fault({}, given + "[sample]\nchains = 2\nreplicas = 5\n") ==
        "s.toml:6: sample.replicas = 5: must be 0 or 1 without model.attention_prior, "
        "model.value_network or sample.sampler = \"collapsed\"");
}

TEST_CASE("a task of training makes no examples of the theory, and says which do") {
  Study study;
  study.task.set_kind(TaskKind::kFuzzyLogic);
  CHECK(is_training_task(study.task.kind()));
  try {
    make_dataset(study);
    FAIL("it made examples");
  } catch (const OptionError& error) {
    CHECK(std::string(error.what()) ==
          "task.kind = \"fuzzy_logic\": this task is for headway train; solve, align, prune and "
          "sample take \"hidden_markov_chain\", \"copy\", \"modules\", "
          "\"bilinear_sequence_regression\", \"in_context_regression\" and \"dataset\"");
    CHECK(error.fields() == std::vector<std::string>{"task.kind"});
  }
  study.task.set_kind(TaskKind::kDataset);
  CHECK_FALSE(is_training_task(study.task.kind()));
  try {
    make_dataset(study);
    FAIL("it made examples");
  } catch (const OptionError& error) {
    CHECK(std::string(error.what()) ==
          "task.kind = \"dataset\": this task makes no examples by itself");
    CHECK(error.fields() == std::vector<std::string>{"task.kind"});
  }
  study.task.set_kind(TaskKind::kCopy);
  CHECK(make_dataset(study).train.size() > 0);
}

TEST_CASE("solutions are those of another study if only the sweep points differ") {
  Study a, b;
  b.model.widths = {{5}, {7}};
  b.model.temperatures = {0.3};
  CHECK(solve_hash(a) != solve_hash(b));
  CHECK(solves_alike(a, b));
  b.model.variances = {2.0};
  CHECK_FALSE(solves_alike(a, b));
  Study distributed;
  distributed.solve.kernels = theory::KernelForm::kDistributed;
  CHECK(solves_alike(distributed, a));
  CHECK_FALSE(solves_alike(a, distributed));
}

TEST_CASE("data of several runs have their own hash if they share it, else one of all") {
  CHECK(combined_data_hash({"a", "a"}) == "a");
  const std::string both = combined_data_hash({"b", "a", "b"});
  CHECK(both.size() == 64);
  CHECK(combined_data_hash({"a", "b"}) == both);
  CHECK(combined_data_hash({"a", "c"}) != both);
}

TEST_CASE("where attention starts is read and written, for solve and for sample") {
  const Study usual = io::parse_study(kLearned, "s.toml", {});
  CHECK(usual.solve.attention_start == AttentionStart::kNone);
  CHECK(usual.sample.attention_start == AttentionStart::kPrior);
  const std::pair<const char*, AttentionStart> words[] = {{"none", AttentionStart::kNone},
                                                          {"prior", AttentionStart::kPrior},
                                                          {"given", AttentionStart::kGiven}};
  for (const auto& [word, start] : words) {
    CAPTURE(word);
    const std::string key = std::string("attention_start=") + word;
    const Study study = io::parse_study(kLearned, "s.toml", {"solve." + key, "sample." + key});
    for (const Study& s : {study, io::parse_study(io::write_study(study), "again")}) {
      CHECK(s.solve.attention_start == start);
      CHECK(s.sample.attention_start == start);
    }
  }
  CHECK(fault({"solve.attention_start=\"hot\""})
            .ends_with("solve.attention_start = \"hot\": must be one of \"none\", \"prior\", "
                       "\"given\""));
}
