#include <hdf5.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/checkpoints.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/weights_file.hpp"
#include "headway/network_prune_results.hpp"
#include "headway/provenance.hpp"
#include "headway/result_file.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/sweep.hpp"
#include "headway/study_file.hpp"
#include "result_builder.hpp"
#include "scratch_directory.hpp"
#include "trained_run_builder.hpp"

using namespace headway;
namespace fs = std::filesystem;
using headway::TrainedRun;
using headway::TrainRun;
using jobs::TrainCheckpoints;
using testing::built_run;

namespace {

std::string bytes_of(const std::string& file_path) {
  std::ifstream in(file_path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

std::vector<TrainRun> runs_of(const std::vector<std::string>& overlays = {}) {
  return headway::train_runs(io::parse_study(
      "[task]\nkind = \"fuzzy_logic\"\n[sweep]\nseed = [1, 2]\n", "s.toml", overlays));
}

ErrorKind kind_of(const std::function<void()>& work, const std::string& word) {
  try {
    work();
  } catch (const Error& error) {
    CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring(word));
    return error.kind();
  }
  FAIL("no error");
  return ErrorKind::kInternal;
}

void check_same(const TrainedRun& a, const TrainedRun& b) {
  CHECK(a.settings == b.settings);
  CHECK(a.label == b.label);
  CHECK(a.variant == b.variant);
  CHECK(a.seed == b.seed);
  CHECK(a.cost.parameters == b.cost.parameters);
  CHECK(a.cost.flops_per_step == b.cost.flops_per_step);
  CHECK(a.cost.attention_flops_per_step == b.cost.attention_flops_per_step);
  CHECK(a.cost.device == b.cost.device);
  CHECK(a.training_seconds == b.training_seconds);
  CHECK(a.sample == b.sample);
  REQUIRE(a.records.size() == b.records.size());
  for (std::size_t i = 0; i < a.records.size(); ++i) {
    CHECK(a.records[i].step == b.records[i].step);
    CHECK(a.records[i].split == b.records[i].split);
    CHECK(a.records[i].loss == b.records[i].loss);
    CHECK(a.records[i].metrics == b.records[i].metrics);
    CHECK(a.records[i].learning_rate == b.records[i].learning_rate);
    CHECK(a.records[i].gradient_norm == b.records[i].gradient_norm);
    CHECK(a.records[i].steps_per_second == b.records[i].steps_per_second);
  }
  CHECK(a.summary.outcome == b.summary.outcome);
  CHECK(a.summary.message == b.summary.message);
  CHECK(a.summary.steps == b.summary.steps);
  CHECK(a.summary.last_train_loss == b.summary.last_train_loss);
  CHECK(a.summary.best_step == b.summary.best_step);
  CHECK(a.summary.best_loss == b.summary.best_loss);
  CHECK(a.summary.best_split == b.summary.best_split);
  REQUIRE(a.summary.evaluations.size() == b.summary.evaluations.size());
  for (std::size_t i = 0; i < a.summary.evaluations.size(); ++i) {
    CHECK(a.summary.evaluations[i].first == b.summary.evaluations[i].first);
    CHECK(a.summary.evaluations[i].second.loss == b.summary.evaluations[i].second.loss);
    CHECK(a.summary.evaluations[i].second.examples == b.summary.evaluations[i].second.examples);
    CHECK(a.summary.evaluations[i].second.metrics == b.summary.evaluations[i].second.metrics);
  }
  const training::TrainState &s = a.state, &t = b.state;
  CHECK(s.step == t.step);
  CHECK(s.examples == t.examples);
  CHECK(s.seed == t.seed);
  CHECK(s.parameters == t.parameters);
  CHECK(s.first_moments == t.first_moments);
  CHECK(s.second_moments == t.second_moments);
  CHECK(s.best_step == t.best_step);
  CHECK(s.best_loss == t.best_loss);
  CHECK(s.best_parameters == t.best_parameters);
  CHECK(s.loss_since_record == t.loss_since_record);
  CHECK(s.steps_since_record == t.steps_since_record);
}

}  // namespace

TEST_CASE("a checkpoint gives back every number") {
  const testing::ScratchDirectory folder;
  const TrainCheckpoints checkpoints(folder.file("out.h5"), runs_of(), {"a", "b"}, false);
  const headway::TrainHooks hooks = checkpoints.hooks();
  CHECK_FALSE(hooks.load(1));
  hooks.save(1, built_run());
  CHECK_FALSE(hooks.load(0));
  const auto back = hooks.load(1);
  REQUIRE(back);
  check_same(*back, built_run());

  TrainedRun fresh = built_run();  // before any evaluation, and without settings
  fresh.settings.clear();
  fresh.records.clear();
  fresh.state.best_step = -1;
  fresh.state.best_parameters.clear();
  fresh.summary = {};
  hooks.save(1, fresh);
  check_same(*hooks.load(1), fresh);
  checkpoints.remove();
  CHECK_FALSE(fs::exists(checkpoints.folder()));
}

TEST_CASE("checkpoints are counted, and those of other runs refused by name") {
  const testing::ScratchDirectory folder;
  const std::string out = folder.file("out.h5");
  const TrainCheckpoints first(out, runs_of(), {"a", "b"}, false);
  first.hooks().save(0, built_run());
  TrainedRun done = built_run();
  done.summary.outcome = training::TrainOutcome::kFinished;
  first.hooks().save(1, done);
  const TrainCheckpoints second(out, runs_of(), {"a", "b"}, false);
  CHECK(second.resumable() == 1);
  CHECK(second.finished() == 1);
  CHECK(TrainCheckpoints(out, runs_of({"sweep.seed=[1,2,3]"}), {"a", "b", "c"}, false).finished() ==
        1);
  const auto open = [&](const std::vector<std::string>& overlays,
                        const std::vector<std::string>& hashes) {
    return [=] { TrainCheckpoints(out, runs_of(overlays), hashes, false); };
  };
  CHECK(kind_of(open({"train.layers=3"}, {"a", "b"}), "train.layers = 2, here 3") ==
        ErrorKind::kBadStudy);
  CHECK(kind_of(open({"train.layers=3", "train.heads=4"}, {"a", "b"}),
                "train.layers = 2, here 3; train.heads = 8, here 4") == ErrorKind::kBadStudy);
  CHECK(kind_of(open({}, {"x", "y"}), "the data") == ErrorKind::kBadStudy);
  const TrainCheckpoints forced(out, runs_of({"train.layers=3"}), {"a", "b"}, true);
  CHECK(forced.resumable() + forced.finished() == 0);
  CHECK_FALSE(forced.hooks().load(0));
  CHECK_FALSE(fs::exists(forced.folder()));
}

TEST_CASE("runs on other data, or with swept threads, have checkpoints of their own") {
  const testing::ScratchDirectory folder;
  const std::string out = folder.file("out.h5");
  const std::string study = "[task]\nkind = \"text\"\n[train]\ncausal = true\n[sweep]\n";
  const auto texts = [&](const std::string& sweep) {
    return headway::train_runs(io::parse_study(study + sweep, "s.toml"));
  };
  const std::vector<TrainRun> two = texts("\"task.file\" = [\"a.txt\", \"b.txt\"]\n");
  const TrainCheckpoints checkpoints(out, two, {"a", "b"}, false);
  checkpoints.hooks().save(0, built_run());
  CHECK_FALSE(checkpoints.hooks().load(1));
  checkpoints.hooks().save(1, built_run());
  const TrainCheckpoints again(out, two, {"a", "b"}, false);
  CHECK(again.resumable() == 2);
  CHECK(again.hooks().load(1));
  CHECK(kind_of(
            [&] {
              TrainCheckpoints(out, two, {"a", "c"}, false);
            },
            "the data") == ErrorKind::kBadStudy);
  // A file under the name of another run is no checkpoint of that.
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(again.folder())) names.push_back(entry.path());
  REQUIRE(names.size() == 2);
  fs::copy_file(names[0], names[1], fs::copy_options::overwrite_existing);
  const TrainCheckpoints copied(out, two, {"a", "b"}, false);
  CHECK(copied.resumable() == 1);
  CHECK(copied.hooks().load(0).has_value() != copied.hooks().load(1).has_value());
  again.remove();

  const std::vector<TrainRun> threads = texts("threads = [1, 2]\n\"task.file\" = [\"a.txt\"]\n");
  const TrainCheckpoints timed(out, threads, {"a", "a"}, false);
  timed.hooks().save(0, built_run());
  CHECK_FALSE(timed.hooks().load(1));
  CHECK(TrainCheckpoints(out, threads, {"a", "a"}, false).resumable() == 1);
}

TEST_CASE("results of training hold their runs and their table") {
  const testing::ScratchDirectory folder;
  const std::string out = folder.file("out.h5");
  headway::TrainResult result;
  result.planned = 3;
  result.runs = {built_run()};
  const headway::Study study = runs_of()[0].study;
  headway::ResultProvenance provenance =
      headway::make_provenance(study, "data", {"headway", "train"});
  provenance.partial = true;
  io::write_result(out, study, result, provenance, false);
  CHECK(io::is_result_file(out));
  CHECK(io::read_result_provenance(out).partial);
  CHECK(kind_of([&] { io::write_result(out, study, result, provenance, false); }, "--force") ==
        ErrorKind::kCannotWrite);
  CHECK(kind_of([&] { io::read_solve_result(out); }, "is \"train\"") == ErrorKind::kBadData);
  const std::string text = io::describe_hdf5_file(out);
  for (const char* word : {"runs       1 of 3", "18446744073709551615  interrupted",
                           "headway train", "interrupted: only a part"}) {
    CHECK_THAT(text, Catch::Matchers::ContainsSubstring(word));
  }
  CHECK(io::read_study(out).study.task.kind() == headway::TaskKind::kFuzzyLogic);
}

TEST_CASE("a record that lacks a metric of its split is a bug, and no file is written") {
  const testing::ScratchDirectory folder;
  headway::TrainResult result;
  result.planned = 1;
  result.runs = {built_run()};
  result.runs[0].records.push_back({9, "held_out", 0.75, {{"r2_pooled", 0.375}}, 0.0, 0.0, 105.5});
  const headway::Study study = runs_of()[0].study;
  const std::string out = folder.file("out.h5");
  CHECK(kind_of(
            [&] {
              io::write_result(out, study, result, make_provenance(study, "data", {"a"}), false);
            },
            "column r2 has 1 of 2 entries") == ErrorKind::kInternal);
  CHECK_FALSE(fs::exists(out));
}

TEST_CASE("a record of training is a line of JSON") {
  const TrainedRun run = built_run();
  CHECK(io::train_record_json(1, run, run.records[1]) ==
        R"({"run":2,"variant":"hyla + mixture","seed":18446744073709551615,"step":5,)"
        R"("split":"held_out","loss":0.8,"r2":0.25,"r2_pooled":0.35,"steps_per_second":101.5})");
  CHECK(io::train_record_json(0, run, run.records[3]) ==
        R"({"run":1,"variant":"hyla + mixture","seed":18446744073709551615,"step":9,)"
        R"("split":"train","loss":0.65,"learning_rate":0.0009,"gradient_norm":2.25,)"
        R"("steps_per_second":103.5})");
  headway::TrainResult result;
  result.runs = {run};
  const std::string summary = io::result_json(runs_of()[0].study, result);
  CHECK(summary.find('\n') == std::string::npos);
  CHECK_THAT(summary,
             Catch::Matchers::ContainsSubstring(R"("settings":{"train.attention":"hyla")"));
}

TEST_CASE("weights are written as NumPy arrays and as safetensors") {
  const testing::ScratchDirectory folder;
  const auto tensors = testing::built_tensors(1.0F);
  const std::string npz = folder.file("w.npz"), st = folder.file("w.safetensors");
  io::write_weights(npz, tensors, {}, false);
  io::write_weights(st, tensors, {{"study", "a \"b\""}}, false);
  const std::string zip = bytes_of(npz);
  CHECK(zip.substr(0, 4) == "PK\x03\x04");
  CHECK_THAT(zip, Catch::Matchers::ContainsSubstring("layers.1.query.weight.npy"));
  CHECK_THAT(zip, Catch::Matchers::ContainsSubstring(
                      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1, 3, ), }"));
  const std::string data = bytes_of(st);
  CHECK(data.size() % 4 == 0);
  CHECK_THAT(data, Catch::Matchers::ContainsSubstring(
                       R"("layers.10.bias":{"dtype":"F32","shape":[4],"data_offsets":[48,64]})"));
  io::write_weights(folder.file("again.npz"), tensors, {}, false);
  CHECK(bytes_of(folder.file("again.npz")) == zip);
  CHECK(kind_of([&] { io::write_weights(npz, tensors, {}, false); }, "--force") ==
        ErrorKind::kCannotWrite);
  CHECK(kind_of([&] { io::check_weights_path("w.pt"); }, ".npz") == ErrorKind::kUsage);
}

TEST_CASE("trained networks of a result are read run by run") {
  const testing::ScratchDirectory folder;
  const std::string out = folder.file("out.h5");
  const headway::Study study =
      io::parse_study("[task]\nkind = \"fuzzy_logic\"\n[sweep]\nseed = [1, 2, 3]\n", "s.toml");
  const std::vector<TrainRun> runs = headway::train_runs(study);
  headway::TrainResult result;
  result.runs = {built_run(), built_run()};  // of seed 3, and of seed 1, which was interrupted
  result.runs[0].settings = runs[2].settings;
  result.runs[0].summary.outcome = training::TrainOutcome::kFinished;
  result.runs[1].settings = runs[0].settings;
  io::write_result(out, study, result, headway::make_provenance(study, "data", {}), false);

  const headway::Study read = io::read_trained_study(out, {"threads=1"}, {"threads"});
  Observer observer;
  const auto networks = io::read_trained_networks(out, read, headway::KeptWeights::kBest, observer);
  REQUIRE(networks.size() == 1);
  CHECK(networks[0].run == 3);
  CHECK(networks[0].study.seed == 3);
  CHECK(networks[0].step == 5);
  CHECK(networks[0].data_hash == "data");
  REQUIRE(networks[0].parameters.size() == 4);
  for (const training::NamedTensor& tensor : testing::built_tensors(300.0F)) {
    const auto& all = networks[0].parameters;
    CHECK(std::find(all.begin(), all.end(), tensor) != all.end());
  }
  const auto last = io::read_trained_networks(out, read, headway::KeptWeights::kLast, observer);
  CHECK(last[0].step == 9);
  CHECK(last[0].weights_sha256 != networks[0].weights_sha256);

  CHECK(kind_of(
            [&] {
              io::read_trained_study(out, {"train.heads=2"}, {"threads", "latents."});
            },
            "must be threads, a key of [latents]") == ErrorKind::kBadStudy);
  headway::Study without = study;
  without.train.keep_weights = false;
  const std::string bare = folder.file("bare.h5");
  io::write_result(bare, without, result, headway::make_provenance(without, "data", {}), false);
  CHECK(
      kind_of(
          [&] { io::read_trained_networks(bare, without, headway::KeptWeights::kLast, observer); },
          "train.keep_weights = false") == ErrorKind::kBadData);
  result.runs = {built_run()};
  io::write_result(bare, study, result, headway::make_provenance(study, "data", {}), true);
  CHECK(kind_of(
            [&] { io::read_trained_networks(bare, study, headway::KeptWeights::kLast, observer); },
            "holds no run that was trained to its end") == ErrorKind::kBadData);
}

TEST_CASE("what is no result of training is refused by what it is") {
  const testing::ScratchDirectory folder;
  const std::string file = folder.file("other.h5");
  const auto fault = [&] {
    try {
      io::read_trained_study(file, {}, {});
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadData);
      return std::string(error.what());
    }
    return std::string("none");
  };
  const std::string allowed = "; allowed: a result of headway train";
  std::ofstream(file) << "text";
  CHECK(fault() == file + ": is not an HDF5 file" + allowed);
  io::write_result(file, headway::Study{}, testing::built_result(1), testing::built_provenance(),
                   true);
  CHECK(fault() == file + ": is a result of headway solve" + allowed);
  headway::NetworkPruneResult pruned;
  pruned.planned = 1;
  io::write_result(file, headway::Study{}, pruned, testing::built_provenance(), true);
  CHECK(fault() == file + ": is a result of headway prune-network" + allowed);
  testing::write_dataset_file(file);
  CHECK(fault() == file + ": is a headway-dataset file" + allowed);
  testing::Surgery(file).remove_attribute("/", "schema_name");
  CHECK(fault() == file + ": is not a file of Headway" + allowed);
}

TEST_CASE("inspect lists how well scores rank the heads, by group") {
  const testing::ScratchDirectory folder;
  headway::NetworkPruneResult pruned;
  pruned.planned = 1;
  headway::PruneGroup& group = pruned.groups.emplace_back();
  group.label = "hyla";
  group.scores = {{"sensitivity", "r2", {}, {3, 0.5, 0.125}},
                  {"score", "r2", {}, {1, 0.25, std::nan("")}}};
  const std::string file = folder.file("pruned.h5");
  io::write_result(file, headway::Study{}, pruned, testing::built_provenance(), true);
  CHECK_THAT(
      io::describe_hdf5_file(file),
      Catch::Matchers::ContainsSubstring(
          "  name  label\n     0   hyla\n\n"
          "                  name  error_rise_spearman  error_rise_spearman_standard_error\n"
          "        0/scores/score                 0.25                                   -\n"
          "  0/scores/sensitivity                  0.5                               0.125\n\n"
          "To remake it, run the command above; the file that it names holds the networks\n"));
}

TEST_CASE("a train result that is read is the one that was written") {
  const testing::ScratchDirectory folder;
  const std::string out = folder.file("out.h5");
  const headway::Study study = io::parse_study(
      "threads = 3\n[task]\nkind = \"fuzzy_logic\"\n[sweep]\nseed = [1, 2, 3]\n", "s.toml");
  headway::TrainResult result;
  result.planned = 3;
  result.runs = {built_run(), built_run()};
  result.runs[1].label = "second";
  headway::ResultProvenance provenance = headway::make_provenance(study, "data", {});
  provenance.partial = true;
  provenance.threads = 3;
  provenance.seconds = 2.5;
  io::write_result(out, study, result, provenance, false);
  const headway::TrainResult read = io::read_train_result(out);
  CHECK(read.planned == 3);
  CHECK(read.interrupted);
  CHECK(read.threads == 3);
  CHECK(read.seconds == 2.5);
  REQUIRE(read.runs.size() == 2);
  for (std::size_t i = 0; i < 2; ++i) {
    const TrainedRun &a = read.runs[i], &b = result.runs[i];
    CHECK(a.label == b.label);
    CHECK(a.settings == b.settings);
    CHECK(a.summary.best_loss == b.summary.best_loss);
    REQUIRE(a.records.size() == b.records.size());
    for (std::size_t r = 0; r < b.records.size(); ++r) {
      const auto same = [&](const training::TrainRecord& record) {
        return record.step == b.records[r].step && record.split == b.records[r].split &&
               record.loss == b.records[r].loss && record.metrics == b.records[r].metrics;
      };
      CHECK(std::any_of(a.records.begin(), a.records.end(), same));
    }
    REQUIRE(a.summary.evaluations.size() == b.summary.evaluations.size());
    for (std::size_t e = 0; e < b.summary.evaluations.size(); ++e) {
      CHECK(a.summary.evaluations[e].second.loss == b.summary.evaluations[e].second.loss);
    }
    const auto has_all = [](const auto& found, const auto& wanted) {
      CHECK(found.size() == wanted.size());
      for (const training::NamedTensor& tensor : wanted) {
        CHECK(std::find(found.begin(), found.end(), tensor) != found.end());
      }
    };
    has_all(a.state.parameters, b.state.parameters);
    has_all(a.state.best_parameters, b.state.best_parameters);
  }
}

TEST_CASE("a network to extract is read by the number of its run") {
  const testing::ScratchDirectory folder;
  const std::string out = folder.file("out.h5");
  const headway::Study study =
      io::parse_study("[task]\nkind = \"fuzzy_logic\"\n[sweep]\nseed = [1, 2, 3]\n", "s.toml");
  const std::vector<TrainRun> runs = headway::train_runs(study);
  headway::TrainResult result;
  result.runs = {built_run(), built_run()};
  result.runs[0].settings = runs[0].settings;
  result.runs[1].settings = runs[1].settings;
  io::write_result(out, study, result, headway::make_provenance(study, "data", {}), false);
  const auto network = io::read_trained_network(out, {"extract.run=2"});
  CHECK(network.run == 2);
  CHECK(network.study.seed == 2);
  CHECK(network.data_hash == "data");
  CHECK(network.parameters.size() == built_run().state.parameters.size());
  CHECK(io::read_trained_network(out, {"extract.run=1"}).study.seed == 1);
  CHECK(kind_of([&] { io::read_trained_network(out, {"extract.run=3"}); },
                "this run had not begun when the result was written") == ErrorKind::kBadData);
  CHECK(kind_of([&] { io::read_trained_network(out, {"extract.run=4"}); },
                "extract.run = 4: must be from 1 to 3, the number of runs in " + out) ==
        ErrorKind::kBadStudy);
}
