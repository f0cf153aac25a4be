#include <filesystem>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/latents.hpp"
#include "headway/study/study_hash.hpp"
#include "headway/study/sweep.hpp"
#include "headway/study_file.hpp"

using namespace headway;
using headway::Study;
using headway::train_hash;
using headway::train_runs;
using headway::TrainRun;
using io::parse_study;
using io::write_study;

namespace {

const std::string kSmall = R"(name = "small"
[task]
kind = "fuzzy_logic"
sequence_length = 8
[train]
attention = "hyla"
steps = 500
[sweep]
"train.attention" = ["softmax", "hyla"]
seed = [1, 2, 3]
)";

Study small(const std::vector<std::string>& overlays = {}) {
  return parse_study(kSmall, "small.toml", overlays);
}

std::string fault(const std::string& text, const std::vector<std::string>& overlays = {}) {
  try {
    parse_study(text, "s.toml", overlays);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    return error.what();
  }
  FAIL("accepted: " << text);
  return "";
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

}  // namespace

TEST_CASE("keys of training are read") {
  const Study s = parse_study(R"(
[task]
kind = "sraven"
features = 3
values = 5
held_out = 0.5
permuted = false
[train]
attention = "hyla_deep"
nonlinearity = "gelu"
layers = 7
model_dim = 48
heads = 6
query_dim = 12
value_dim = 18
mlp_dim = 99
feed_forward = "mixture"
experts = 5
active_experts = 3
norm = "rms_norm"
positions = "none"
attention_dropout = 0.25
width_multiplier = 2
steps = 1000
batch = 64
accumulation = 4
learning_rate = 2e-3
weight_decay = 0.5
schedule = "constant"
warmup_steps = 30
gradient_clip = 1.5
eval_every = 10
best_split = "test"
device = "cpu"
sample_tokens = 0
)",
                              "s.toml");
  CHECK(s.task.as<tasks::SravenOptions>().features == 3);
  CHECK(s.task.as<tasks::SravenOptions>().values == 5);
  CHECK_FALSE(s.task.as<tasks::SravenOptions>().permuted);
  CHECK(s.train.model.attention == "hyla_deep");
  CHECK(s.train.model.nonlinearity == "gelu");
  CHECK(s.train.model.layers == 7);
  CHECK(s.train.model.heads == 6);
  CHECK(s.train.model.feed_forward == training::FeedForward::kMixture);
  CHECK(s.train.model.norm == training::Norm::kRmsNorm);
  CHECK(s.train.model.positions == training::Positions::kNone);
  CHECK(s.train.model.width_multiplier == 2);
  CHECK(s.train.run.accumulation == 4);
  CHECK(s.train.run.schedule == training::LearningRateSchedule::kConstant);
  CHECK(s.train.run.gradient_clip == 1.5);
  CHECK(s.train.run.best_split == "test");
  CHECK(s.train.run.device == training::Device::kCpu);
  CHECK(s.train.sample_tokens == 0);
  CHECK(write_study(parse_study(write_study(s), "again")) == write_study(s));
}

TEST_CASE("a sweep is all combinations, the last line fastest") {
  const std::vector<TrainRun> runs = train_runs(small());
  REQUIRE(runs.size() == 6);
  for (std::size_t i = 0; i < runs.size(); ++i) {
    CHECK(runs[i].study.train.model.attention == (i < 3 ? "softmax" : "hyla"));
    CHECK(runs[i].study.seed == i % 3 + 1);
    CHECK(runs[i].study.sweep.empty());
    CHECK(runs[i].study.train.run.steps == 500);
    REQUIRE(runs[i].settings.size() == 2);
    CHECK(runs[i].settings[1] == headway::Setting{"seed", std::to_string(i % 3 + 1)});
  }
}

TEST_CASE("a study without a sweep is one run") {
  const std::vector<TrainRun> runs = train_runs(small({"train.attention=linear", "seed=4"}));
  REQUIRE(runs.size() == 1);
  CHECK(runs[0].settings.empty());
  CHECK(runs[0].study.seed == 4);
  CHECK(runs[0].study.train.model.attention == "linear");
}

TEST_CASE("sweeps may come from overlays and set whole tables") {
  const std::vector<std::string> overlays = {
      "sweep.\"train.attention\"=[\"linear\"]",  // in place of the line of the file
      "sweep.train=[{layers = 1, heads = 4}, {layers = 3}]", "sweep.seed=[7]"};
  const std::vector<TrainRun> runs = train_runs(small(overlays));
  REQUIRE(runs.size() == 2);
  CHECK(runs[0].study.train.model.attention == "linear");
  CHECK(runs[0].study.train.model.layers == 1);
  CHECK(runs[0].study.train.model.heads == 4);
  CHECK(runs[1].study.train.model.layers == 3);
  CHECK(runs[1].study.train.model.heads == training::TransformerOptions{}.heads);
  CHECK(runs[1].study.seed == 7);
}

TEST_CASE("a written sweep gives the same runs") {
  const Study study = small({"sweep.task.held_out=[0.3, 0.5]"});
  const Study again = parse_study(write_study(study), "again");
  CHECK(write_study(again) == write_study(study));
  const std::vector<TrainRun> a = train_runs(study), b = train_runs(again);
  REQUIRE(a.size() == 12);
  REQUIRE(b.size() == 12);
  for (std::size_t i = 0; i < a.size(); ++i)
    CHECK(train_hash(a[i].study) == train_hash(b[i].study));
}

TEST_CASE("hashes of runs follow what a run computes") {
  const std::vector<TrainRun> runs = train_runs(small());
  CHECK(train_hash(runs[0].study) != train_hash(runs[1].study));
  // The same run in a grid, alone, under another name, with other checkpoints, on other threads.
  const std::string hash = train_hash(runs[4].study);
  const Study alone = small({"train.attention=hyla", "seed=2", "name=other", "threads=3",
                             "train.checkpoint_every=5", "train.keep_weights=false"});
  CHECK(train_hash(alone) == hash);
  CHECK(train_hash(small({"train.attention=hyla", "seed=2", "train.steps=501"})) != hash);
}

TEST_CASE("a sweep may go over kinds of network") {
  const std::string text = R"(name = "networks"
[task]
kind = "fuzzy_logic"
[train]
layers = 1
keys_start_as_queries = true
[sweep]
"train.network" = ["linear_value"]
)";
  const Study study = parse_study(text, "s.toml");
  for (const Study& s : {study, parse_study(write_study(study), "again")}) {
    const std::vector<TrainRun> runs = train_runs(s);
    REQUIRE(runs.size() == 1);
    CHECK(runs[0].study.train.model.network == training::NetworkKind::kLinearValue);
    CHECK(runs[0].study.train.model.keys_start_as_queries);
  }
  const std::string both = kSmall + "\"train.network\" = [\"transformer\", \"linear_value\"]\n";
  CHECK(has(fault(both), "s.toml:"));  // softmax and hyla are swept as well, of transformers alone
  const Study plain = parse_study(both, "s.toml", {"train.attention=softmax"});
  CHECK(train_runs(plain).size() == 6);
  CHECK(train_runs(parse_study(write_study(plain), "again")).size() == 6);
  CHECK(has(fault(both, {"train.attention=hyla"}),
            "train.attention = \"hyla\": must be absent: it belongs to train.network"));
}

TEST_CASE("bounds of networks stand once, with a place") {
  CHECK(has(fault(kSmall, {"train.layers=1001"}),
            "--set train.layers=1001: train.layers = 1001: must be an integer from 1 to 1000"));
  CHECK(has(fault(kSmall, {"train.experts=4097", "train.feed_forward=mixture"}),
            "must be an integer from 1 to 4096"));
  CHECK(
      has(fault(kSmall, {"train.beta_2=1"}), "--set train.beta_2=1: train.beta_2 = 1: must be a "));
  training::TransformerOptions model;
  model.layers = 1001;
  CHECK_THROWS_WITH(
      model.validate(),
      Catch::Matchers::ContainsSubstring("train.layers = 1001: must be an integer from 1 to 1000"));
}

TEST_CASE("faults of sweeps name their place") {
  CHECK(has(fault(kSmall + "\"train.lairs\" = [3]\n"), "s.toml:11: train.lairs: unknown key"));
  CHECK(has(fault(kSmall + "\"train.heads\" = [2, 3]\n"), "s.toml:11: train.query_dim = 16"));
  CHECK(has(fault(kSmall + "threads = 3\n"), "s.toml:11: sweep.threads = 3: must be a list"));
  CHECK(has(fault(kSmall + "threads = []\n"), "sweep.threads = []"));
  CHECK(has(fault(kSmall + "name = [\"a\"]\n"), "sweep.name"));
  CHECK(has(fault(kSmall + "sweep = [1]\n"),
            "s.toml:11: sweep.sweep = [1]: must be a list of values of another key"));
  std::string many = "threads = [0";
  for (int i = 1; i < 200; ++i) many += ", " + std::to_string(i);
  CHECK(has(fault(kSmall + many + "]\n"), "at most 1000 runs"));
  CHECK(has(fault("sweep = 3\n[task]\nkind = \"sraven\"\n"), "sweep = 3: must be a table"));
}

TEST_CASE("values of an axis differ, and no two axes set the same key") {
  CHECK(has(fault(kSmall + "\"train.layers\" = [2, 1, 2]\n"),
            "s.toml:11: sweep.train.layers = [2, 1, 2]: must be a list of different values; number "
            "1 and number 3 are both 2"));
  CHECK(has(fault(kSmall, {"sweep.seed=[4,4]"}), "--set sweep.seed=[4,4]: sweep.seed = [4, 4]"));
  CHECK(has(fault(kSmall + "\"train.learning_rate\" = [1, 1.0]\n"), "different values"));
  CHECK(has(fault(kSmall + "train = [{heads = 2, layers = 1}, {layers = 1, heads = 2}]\n"),
            "s.toml:11: sweep.train = "));
  CHECK(train_runs(small({"sweep.seed=[9007199254740993, 9007199254740992]"})).size() == 4);
  CHECK(has(fault(kSmall + "train = [{attention = \"hyla\", layers = 3}]\n"),
            "sweep.train.attention = [\"softmax\", \"hyla\"]: must be absent, or {attention = "));
  // An axis from an overlay stands beside one that sets other keys of the same table.
  CHECK(train_runs(small({"sweep.train=[{layers=1},{layers=3}]", "sweep.train.heads=[4,8]"}))
            .size() == 24);
}

TEST_CASE("what is set by hand is not swept") {
  for (const char* seed : {"seed=5", "seed = 5", " \"seed\" =5"}) {
    const std::vector<TrainRun> runs = train_runs(small({seed}));
    REQUIRE(runs.size() == 2);
    CHECK(runs[1].study.seed == 5);
  }
  CHECK(train_runs(small({"train = {attention = \"linear\"}"})).size() == 3);
  CHECK(train_runs(small({"train = {layers = 1}"})).size() == 6);
  const std::string tables = R"([task]
kind = "fuzzy_logic"
[sweep]
"train" = [{layers = 1}, {attention = "softmax", layers = 3}]
)";
  CHECK(
      has(fault(tables, {"train.attention =hyla"}),
          "--set train.attention =hyla: train.attention: sweep.train at s.toml:4 sets this key, "
          "too, in {attention = \"softmax\", layers = 3}: must be set in one place. To change the "
          "sweep, give another one, for example --set 'sweep.train=[{attention = \"hyla\"}]'"));
  CHECK(train_runs(parse_study(tables, "s.toml", {"train.heads=4"})).size() == 2);
  CHECK(train_runs(
            parse_study(tables, "s.toml", {"train.attention=hyla", "sweep.train=[{layers=1}]"}))
            .size() == 1);
  CHECK(io::overlay_key(" task . \"files\" = a=b") == "task.files");
  CHECK_THROWS_AS(io::overlay_key("task.files"), Error);
}

TEST_CASE("keys that count in no run are refused") {
  const std::string plain = "[task]\nkind = \"fuzzy_logic\"\n[train]\nlayers = 1\n";
  for (const char* line : {"experts = 4", "active_experts = 1", "load_balancing = 0.1"}) {
    CHECK(has(fault(plain + line + "\n"), std::string("s.toml:5: train.") + line));
    CHECK_NOTHROW(parse_study(plain + line + "\nfeed_forward = \"mixture\"\n", "s.toml"));
  }
  CHECK(
      has(fault(plain, {"train.experts=4"}),
          "--set train.experts=4: train.experts = 4: must be absent, or 8, its default: it belongs "
          "to train.feed_forward = \"mixture\""));
  CHECK(has(fault(plain + "sample_tokens = 9\n"), "task.kind = \"text\""));
  CHECK(has(fault(plain + "sample_temperature = 0.1\n"), "task.kind = \"text\""));
  CHECK_NOTHROW(parse_study(plain + "sample_tokens = 0\n", "s.toml"));
  const std::string buckets = plain + "position_buckets = 4\n";
  CHECK(parse_study(buckets, "s.toml").train.model.position_buckets == 4);
  CHECK(has(fault(buckets + "positions = \"none\"\n"), "s.toml:5: train.position_buckets = 4"));

  // Where some run has a mixture, they count.
  const std::string some = plain + "experts = 4\n[sweep]\n\"train.feed_forward\" = ";
  const Study mixed = parse_study(some + "[\"gelu\", \"mixture\"]\n", "s.toml");
  CHECK(train_runs(mixed)[1].study.train.model.experts == 4);
  CHECK(write_study(parse_study(write_study(mixed), "again")) == write_study(mixed));
  CHECK(has(fault(some + "[\"gelu\", \"swiglu\"]\n"), "s.toml:5: train.experts = 4"));
  CHECK(has(fault(plain + "[sweep]\n\"train.experts\" = [2, 8]\n"), "s.toml:6: train.experts = 2"));
  CHECK(
      has(fault(plain + "[sweep]\ntrain = [{layers = 1}, {experts = 2}]\n"), "train.experts = 2"));
  const std::string rows = plain +
                           "experts = 4\n[sweep]\ntrain = [{layers = 1}, "
                           "{feed_forward = \"mixture\"}]\n";
  CHECK(train_runs(parse_study(rows, "s.toml"))[1].study.train.model.experts == 4);
  // An overlay that leaves no mixture makes a plain study, as if the key had never been there.
  const Study switched = parse_study(rows, "s.toml", {"sweep.train=[{layers=1}]"});
  CHECK(switched.train.model.experts == training::TransformerOptions{}.experts);
  CHECK(write_study(parse_study(write_study(switched), "again")) == write_study(switched));
  CHECK(has(fault(rows, {"sweep.train=[{layers=1}]", "train.experts=3"}), "train.experts = 3"));
}

TEST_CASE("swept paths are taken from where the study lies") {
  const std::string text = "[task]\nkind = \"text\"\nfile = \"0.txt\"\n[train]\ncausal = true\n";
  const auto paths = [](const Study& study) {
    std::vector<std::string> out;
    for (const TrainRun& run : train_runs(study)) out.push_back(run.study.task.file());
    return out;
  };
  const std::vector<std::string> expected = {"/data/a.txt", "/b.txt"};
  for (const char* sweep :
       {"[sweep]\n\"task.file\" = [\"a.txt\", \"../b.txt\"]\n",
        "[sweep.task]\nfile = [\"a.txt\", \"/b.txt\"]\n",
        "[sweep]\ntask = [{file = \"a.txt\"}, {file = \"/b.txt\", level = \"bytes\"}]\n"}) {
    INFO(sweep);
    const Study study = parse_study(text + sweep, "s.toml", {}, "/data");
    CHECK(paths(study) == expected);
    // What a result stores is read from elsewhere.
    CHECK(paths(parse_study(write_study(study), "again", {}, "/other")) == expected);
    CHECK(headway::study_hash(parse_study(text + sweep, "s.toml", {}, "/other")) ==
          headway::study_hash(study));
  }
  // What is typed is taken from where one stands.
  const std::string here = (std::filesystem::current_path() / "a.txt").string();
  CHECK(paths(parse_study(text, "s.toml", {"sweep.task.file=[\"a.txt\",\"/b.txt\"]"}, "/data")) ==
        std::vector<std::string>{here, "/b.txt"});
  try {
    parse_study(text, "s.toml", {"sweep.task.file=[\"a.txt\",\"./a.txt\"]"}, "/data");
    FAIL("accepted");
  } catch (const Error& error) {
    CHECK(has(error.what(), "number 1 and number 2 are both \"" + here + "\""));
  }

  const Study drawings = parse_study(R"([task]
kind = "omniglot"
[sweep]
"task.files" = ["a.zip", ["b.zip", "c"]]
"task.out_of_distribution" = [[], [{name = "m", images = "i.gz", labels = "/l.gz"}]]
)",
                                     "s.toml", {}, "/data");
  const std::vector<TrainRun> runs = train_runs(drawings);
  REQUIRE(runs.size() == 4);
  CHECK(runs[0].study.task.as<OmniglotOptions>().files == std::vector<std::string>{"/data/a.zip"});
  CHECK(runs[3].study.task.as<OmniglotOptions>().files ==
        std::vector<std::string>{"/data/b.zip", "/data/c"});
  REQUIRE(runs[3].study.task.as<OmniglotOptions>().out_of_distribution.size() == 1);
  CHECK(runs[3].study.task.as<OmniglotOptions>().out_of_distribution[0].images == "/data/i.gz");
  CHECK(runs[3].study.task.as<OmniglotOptions>().out_of_distribution[0].labels == "/l.gz");
}

TEST_CASE("sections of the theory and of training do not mix") {
  CHECK(has(fault("[task]\nkind = \"sraven\"\n[solve]\nmax_iterations = 3\n"),
            "s.toml:3: [solve]: belongs to studies of the theory"));
  CHECK(has(fault("[train]\nlayers = 3\n[task]\nkind = \"dataset\"\nfile = \"a.h5\"\n"),
            "s.toml:1: [train]: belongs to studies of headway train"));
  CHECK(has(fault("[sweep]\nseed = [1]\n[task]\nkind = \"dataset\"\nfile = \"a.h5\"\n"),
            "belongs to studies of headway train"));
}

TEST_CASE("faults of model and task have the place of their key") {
  CHECK(has(fault(kSmall, {"train.heads=3"}), "train.heads = 3"));
  CHECK(has(fault("[task]\nkind = \"fuzzy_logic\"\nheld_out = 1.0\n"), "s.toml:3: task.held_out"));
  CHECK(has(fault("[task]\nkind = \"text\"\n"), "task.file is missing"));
  CHECK(has(fault(kSmall, {"train.positions=rotary", "train.heads=16"}), "rotary"));
}

TEST_CASE("a study of one-shot images has its files, its own network's keys, and further sets") {
  const std::string text = R"(name = "drawings"
[task]
kind = "omniglot"
files = ["a.zip", "/abs/b"]
rotations = true
label_scale = 0.5
[[task.out_of_distribution]]
name = "mnist"
images = "i.gz"
labels = "l.gz"
[train]
network = "linear_value"
heads = 2
query_dim = 12
query_rate = 0.25
)";
  const Study study = parse_study(text, "s.toml", {}, "/data");
  const headway::OmniglotOptions& task = study.task.as<OmniglotOptions>();
  CHECK(task.files == std::vector<std::string>{"/data/a.zip", "/abs/b"});
  CHECK(task.images.rotations);
  CHECK(task.images.label_scale == 0.5);
  REQUIRE(task.out_of_distribution.size() == 1);
  CHECK(task.out_of_distribution[0].name == "mnist");
  CHECK(task.out_of_distribution[0].images == "/data/i.gz");
  CHECK(task.out_of_distribution[0].invert);
  CHECK(study.train.model.network == training::NetworkKind::kLinearValue);
  const std::string written = write_study(study);
  CHECK(write_study(parse_study(written, "again")) == written);
  CHECK_FALSE(has(written, "mlp_dim"));
  CHECK(has(written, "query_rate = 0.25"));
  CHECK_FALSE(has(write_study(small()), "query_rate"));
  // Where the files lie changes no result; what the task is does.
  const Study elsewhere = parse_study(text, "s.toml", {}, "/other");
  CHECK(train_hash(elsewhere) == train_hash(study));
  CHECK(train_hash(parse_study(text, "s.toml", {"extract.run=2"}, "/data")) == train_hash(study));
  CHECK(train_hash(parse_study(text, "s.toml", {"task.rotations=false"}, "/data")) !=
        train_hash(study));
  CHECK(has(fault(text, {"train.mlp_dim=256"}), "train.mlp_dim = 256"));
  CHECK(has(fault(text, {"train.attention=softmax"}), "linear-value network has layers"));
  CHECK(has(fault(kSmall, {"train.query_rate=1.0"}), "linear_value"));
  CHECK(has(fault(text, {"task.files=[]"}), "task.files"));
  CHECK(fault("[task]\nkind = \"omniglot\"\n") ==
        "s.toml:1: task.files is missing: must be the path of an archive or folder of Omniglot, or "
        "a list of them, for kind = \"omniglot\"");
  const std::string set =
      "a table [[task.out_of_distribution]] with name, images and labels (IDX files) and, if "
      "wanted, invert (default true)";
  CHECK(fault(text, {"task.out_of_distribution=3"})
            .ends_with("task.out_of_distribution = 3: must be up to 100 tables, each " + set));
  CHECK(fault(text, {"task.out_of_distribution=[3]"})
            .ends_with("task.out_of_distribution[1] = 3: must be " + set));
  CHECK(has(fault(text, {"task.test=0.95"}), "task."));
  CHECK(has(fault(text, {"train.query_dim=13"}), "train.query_dim = 13"));
  const std::string bad =
      "task.out_of_distribution=[{name=\"validation\",images=\"i\",labels=\"l\"}]";
  CHECK(has(fault(text, {bad}), "not train, test or validation"));
  CHECK(has(fault(text, {"task.out_of_distribution=[{name=\"m\",images=\"i\"}]"}),
            "labels is missing"));
}

TEST_CASE("layers to extract are counted from 1, up to 1000") {
  const std::string text = "[task]\nkind = \"sraven\"\n";
  CHECK(parse_study(text, "s.toml").extract.layers.empty());
  CHECK(parse_study(text, "s.toml", {"extract.layers=[1, 1000]"}).extract.layers ==
        std::vector<Index>{1, 1000});
  for (const char* layer : {"0", "1001"}) {
    const std::string overlay = std::string("extract.layers=[") + layer + "]";
    CHECK(fault(text, {overlay}) == "--set " + overlay + ": extract.layers[1] = " + layer +
                                        ": must be an integer from 1 to 1000");
  }
  CHECK(fault(text, {"extract.layers=[]"}) ==
        "--set extract.layers=[]: extract.layers = []: must be a list of layers, from 1, rising");
}

TEST_CASE("what looks at trained networks is read, written, and no part of their hash") {
  const std::string text =
      "[task]\nkind = \"sraven\"\n[latents]\nlayers = [1, 2]\nfeature = \"last\"\n"
      "[latents.task]\nheld_out = 0.5\n[evaluate]\nexamples = 7\n";
  const Study study = parse_study(text, "s.toml");
  CHECK(study.latents.layers == std::vector<Index>{1, 2});
  CHECK(study.evaluate.examples == 7);
  const Study latents = headway::latents_study(study);
  CHECK(latents.task.as<tasks::SravenOptions>().held_out == 0.5);
  CHECK_FALSE(latents.task.as<tasks::SravenOptions>().permuted);
  CHECK(study.task.as<tasks::SravenOptions>().held_out == 0.25);
  const std::string written = write_study(study);
  CHECK_THAT(written, Catch::Matchers::ContainsSubstring("task = {held_out = 0.5}"));
  CHECK(write_study(parse_study(written, "w.toml")) == written);
  CHECK(train_hash(study) == train_hash(parse_study("[task]\nkind = \"sraven\"\n", "s.toml")));
  CHECK(parse_study(text, "s.toml", {"latents.task.held_out=0.25"})
            .latents.task.get<OptionValue::Table>()
            ->size() == 1);
  for (const auto& [overlay, word] : std::vector<std::pair<std::string, std::string>>{
           {"latents.task.kind=fuzzy_logic", "must be absent, or \"sraven\""},
           {"latents.task.held_ot=0.5", "did you mean \"held_out\""},
           {"latents.task.features=9", "must be"},
           {"latents.folds=1", "must be"},
           {"latents.regularisation=0", "must be"}}) {
    INFO(overlay);
    CHECK_THROWS_WITH(parse_study(text, "s.toml", {overlay}),
                      Catch::Matchers::ContainsSubstring(word));
  }
}
