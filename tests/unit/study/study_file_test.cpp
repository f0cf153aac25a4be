#include "headway/study_file.hpp"

#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/study/sections.hpp"
#include "headway/study/study_hash.hpp"

using headway::AttentionKind;
using headway::Error;
using headway::ErrorKind;
using headway::Readout;
using headway::solve_hash;
using headway::Study;
using headway::study_hash;
using headway::io::parse_study;
using headway::io::write_study;
using headway::tasks::HeadKind;

namespace {

const std::string kSmall = R"(name = "small"
[task]
kind = "hidden_markov_chain"
tokens = 10
features = 20
[[task.layers]]
heads = [{kind = "same_token"}, {kind = "random", perturbation = 0.5, name = "noise"}]
[[task.layers]]
heads = [{kind = "uniform", beta = 0}]
[model]
widths = [10, [20, 30, 40]]
temperature = [0.01, 1]
)";

Study small(const std::vector<std::string>& overlays = {}) {
  return parse_study(kSmall, "small.toml", overlays);
}

/// The message of the Error that parsing `text` throws; fails when there is none.
std::string fault(const std::string& text, const std::vector<std::string>& overlays = {},
                  ErrorKind kind = ErrorKind::kBadStudy) {
  try {
    parse_study(text, "s.toml", overlays);
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    return error.what();
  }
  FAIL("accepted: " << text);
  return "";
}

/// A study in which every member differs from its default.
Study everything_changed() {
  Study s = small();
  s.name = "quoted \"name\" with \\ and \xC3\xA9";
  s.seed = 9223372036854775807ULL;
  s.threads = 3;
  s.task.seed = 0;
  s.task.as<headway::tasks::HiddenMarkovChainOptions>().train_examples = 7;
  s.task.as<headway::tasks::HiddenMarkovChainOptions>().test_examples = 0;
  s.task.as<headway::tasks::HiddenMarkovChainOptions>().stay_probability = {1.0, 0.0};
  s.task.as<headway::tasks::HiddenMarkovChainOptions>().noise = {0.1, 1.0 / 3.0, 1e-300};
  s.task.as<headway::tasks::HiddenMarkovChainOptions>().layers[0][0].kind =
      HeadKind::kDifferentToken;
  s.task.as<headway::tasks::HiddenMarkovChainOptions>().layers[0][0].shift = 2;
  s.model.widths = {{5}, {1, 1000000000, 3}};
  s.model.heads = {2, 1};
  s.model.variances = {0.1, 0.2, 0.3, 1e9};
  s.model.temperatures = {0.0, 5e-324, 0.1};
  s.model.readout = Readout::kMean;
  s.model.attention = AttentionKind::kHardmax;
  using namespace headway;  // words of options
  namespace theory = headway::theory;
  s.solve.saddle_point = {theory::Optimizer::kCeres, theory::Elimination::kClosedForm, 1e-7, 3};
  s.solve.kernels = theory::KernelForm::kStreamed;
  s.solve.start = Start::kRandom;
  s.solve.extra_starts = 4;
  s.solve.warm_start = false;
  s.solve.hessian = When::kOn;
  s.solve.corrections = When::kOff;
  s.solve.memory_limit_gib = 0.25;
  s.solve.checkpoint_seconds = 7.5;
  s.align.components = 5;
  s.prune = {0, false, false, false, false, 3, 5, {}};
  s.rank = {headway::ReadoutAfterRemoval::kRefitted, headway::RemovedAs::kZero, 3, 0.25, 50};
  s.sample = {Sampler::kGibbs,
              3,
              7,
              11,
              2,
              SampleMetric::kDense,
              0.75,
              5,
              0,
              AttentionStart::kGiven,
              6,
              4,
              false,
              true,
              0.5};
  return s;
}

void check_same_task(const Study& a, const Study& b) {
  CHECK(a.task.kind() == b.task.kind());
  CHECK(a.task.seed == b.task.seed);
  const auto& x = a.task.as<headway::tasks::HiddenMarkovChainOptions>();
  const auto& y = b.task.as<headway::tasks::HiddenMarkovChainOptions>();
  CHECK(x.train_examples == y.train_examples);
  CHECK(x.test_examples == y.test_examples);
  CHECK(x.tokens == y.tokens);
  CHECK(x.features == y.features);
  CHECK(x.stay_probability == y.stay_probability);
  CHECK(x.noise == y.noise);
  REQUIRE(x.layers.size() == y.layers.size());
  for (std::size_t l = 0; l < x.layers.size(); ++l) {
    REQUIRE(x.layers[l].size() == y.layers[l].size());
    for (std::size_t h = 0; h < x.layers[l].size(); ++h) {
      CHECK(x.layers[l][h].kind == y.layers[l][h].kind);
      CHECK(x.layers[l][h].shift == y.layers[l][h].shift);
      CHECK(x.layers[l][h].beta == y.layers[l][h].beta);
      CHECK(x.layers[l][h].perturbation == y.layers[l][h].perturbation);
      CHECK(x.layers[l][h].name == y.layers[l][h].name);
    }
  }
}

void check_same_sampling(const headway::SampleOptions& a, const headway::SampleOptions& b) {
  CHECK(a.sampler == b.sampler);
  CHECK(a.chains == b.chains);
  CHECK(a.draws == b.draws);
  CHECK(a.warmup == b.warmup);
  CHECK(a.thin == b.thin);
  CHECK(a.metric == b.metric);
  CHECK(a.target_accept == b.target_accept);
  CHECK(a.max_tree_depth == b.max_tree_depth);
  CHECK(a.replicas == b.replicas);
  CHECK(a.predictor_draws == b.predictor_draws);
  CHECK(a.evidence == b.evidence);
  CHECK(a.keep_weights == b.keep_weights);
  CHECK(a.checkpoint_seconds == b.checkpoint_seconds);
}

void check_same(const Study& a, const Study& b) {
  CHECK(a.schema == b.schema);
  CHECK(a.name == b.name);
  CHECK(a.seed == b.seed);
  CHECK(a.threads == b.threads);
  check_same_task(a, b);
  CHECK(a.model.widths == b.model.widths);
  CHECK(a.model.heads == b.model.heads);
  CHECK(a.model.variances == b.model.variances);
  CHECK(a.model.temperatures == b.model.temperatures);
  CHECK(a.model.readout == b.model.readout);
  CHECK(a.model.attention == b.model.attention);
  CHECK(a.solve.saddle_point.gradient_tolerance == b.solve.saddle_point.gradient_tolerance);
  CHECK(a.solve.saddle_point.max_iterations == b.solve.saddle_point.max_iterations);
  CHECK(a.solve.saddle_point.optimizer == b.solve.saddle_point.optimizer);
  CHECK(a.solve.saddle_point.elimination == b.solve.saddle_point.elimination);
  CHECK(a.solve.kernels == b.solve.kernels);
  CHECK(a.solve.start == b.solve.start);
  CHECK(a.solve.extra_starts == b.solve.extra_starts);
  CHECK(a.solve.warm_start == b.solve.warm_start);
  CHECK(a.solve.hessian == b.solve.hessian);
  CHECK(a.solve.corrections == b.solve.corrections);
  CHECK(a.solve.memory_limit_gib == b.solve.memory_limit_gib);
  CHECK(a.solve.checkpoint_seconds == b.solve.checkpoint_seconds);
  CHECK(a.align.components == b.align.components);
  CHECK(a.prune.random_orders == b.prune.random_orders);
  CHECK(a.prune.greedy == b.prune.greedy);
  CHECK(a.prune.cumulative == b.prune.cumulative);
  CHECK(a.prune.rescale == b.prune.rescale);
  CHECK(a.prune.normalise_sensitivity == b.prune.normalise_sensitivity);
  CHECK(a.prune.resamples == b.prune.resamples);
  CHECK(a.prune.permutations == b.prune.permutations);
  CHECK(a.rank.readout == b.rank.readout);
  CHECK(a.rank.removed_as == b.rank.removed_as);
  CHECK(a.rank.cheapest == b.rank.cheapest);
  CHECK(a.rank.penalty == b.rank.penalty);
  CHECK(a.rank.examples == b.rank.examples);
  check_same_sampling(a.sample, b.sample);
}

}  // namespace

TEST_CASE("a study is read, and what it leaves out keeps its default") {
  const Study s = small();
  CHECK(s.schema == 1);
  CHECK(s.name == "small");
  CHECK(s.seed == Study{}.seed);
  const auto& layers = s.task.as<headway::tasks::HiddenMarkovChainOptions>().layers;
  REQUIRE(layers.size() == 2);
  REQUIRE(layers[0].size() == 2);
  CHECK(layers[0][0].kind == HeadKind::kSameToken);
  CHECK(layers[0][0].shift == -1);
  CHECK(layers[0][1].kind == HeadKind::kRandom);
  CHECK(layers[0][1].perturbation == 0.5);
  CHECK(layers[0][1].name == "noise");
  CHECK(layers[1][0].beta == 0.0);
  CHECK(s.model.widths == std::vector<std::vector<headway::Index>>{{10}, {20, 30, 40}});
  CHECK(s.model.temperatures == std::vector<double>{0.01, 1.0});
  CHECK(s.model.variances == std::vector<double>{1.0});
  CHECK_FALSE(s.model.readout.has_value());
  CHECK(s.solve.saddle_point.max_iterations ==
        headway::theory::SaddlePointOptions{}.max_iterations);
}

TEST_CASE("a written study reads back to the same study, bit for bit") {
  for (const Study& s : {small(), everything_changed()}) {
    check_same(parse_study(write_study(s), "written.toml"), s);
  }
  Study dataset;
  dataset.task.set_kind(headway::TaskKind::kDataset);
  dataset.task.as<headway::DatasetOptions>().file = "/somewhere/\"odd\" name.h5";
  const Study back = parse_study(write_study(dataset), "written.toml");
  CHECK(back.task.kind() == headway::TaskKind::kDataset);
  CHECK(back.task.file() == dataset.task.file());
}

TEST_CASE("every member of the study differs from its default in the round-trip test") {
  // Otherwise a key that is not written, or not read, would pass it.
  const std::string changed = write_study(everything_changed());
  const std::string plain = write_study(Study{});
  for (std::size_t at = 0; at < plain.size();) {
    const std::size_t end = plain.find('\n', at);
    const std::string line = plain.substr(at, end - at);
    at = end + 1;
    // schema has one value; kind and the lengths below are fixed by the small study.
    if (line.find(" = ") == std::string::npos || line.starts_with("schema")) continue;
    if (line.starts_with("kind")) continue;
    INFO(line);
    CHECK(changed.find("\n" + line + "\n") == std::string::npos);
  }
}

TEST_CASE("overlays take a TOML value, else a string, and act like an edited line") {
  CHECK(small({"model.widths=7"}).model.widths == std::vector<std::vector<headway::Index>>{{7}});
  CHECK(small({"model.widths=[10,100]"}).model.widths.size() == 2);
  CHECK(small({"model.widths=[[1,2,3]]"}).model.widths[0].size() == 3);
  CHECK(small({"name=four"}).name == "four");
  CHECK(small({"name=\"10\""}).name == "10");
  CHECK(small({"name=a=b"}).name == "a=b");
  CHECK(small({"name = spaced "}).name == " spaced ");
  CHECK(small({"model.attention=hardmax"}).model.attention == AttentionKind::kHardmax);
  CHECK(small({"model . temperature=1"}).model.temperatures == std::vector<double>{1.0});
  CHECK(small({"seed=3", "seed=4"}).seed == 4);
  CHECK(small({"solve={max_iterations=3}"}).solve.saddle_point.max_iterations == 3);
  CHECK(small({R"(task.layers=[{heads=[{kind="uniform"}]},{heads=[{kind="random"}]}])"})
            .task.as<headway::tasks::HiddenMarkovChainOptions>()
            .layers[0]
            .size() == 1);
  // A value that would smuggle in a second line is a string, not two keys.
  CHECK_THROWS_AS(small({"seed=1\nthreads=2"}), Error);
  for (const char* bad : {"", "=", "seed", "=3", "model.=3", "a b=3", "[model]=3", "a..b=1"}) {
    INFO(bad);
    CHECK(fault(kSmall, {bad}, ErrorKind::kUsage).find("section.key=value") != std::string::npos);
  }
}

TEST_CASE("messages name the file, the line, the key, the value and what is allowed") {
  CHECK(fault("name = \"x\"\n[model]\n\ntemperature = -1\n") ==
        "s.toml:4: model.temperature = -1: must be a number >= 0 and <= 1e9");
  CHECK(fault("[model]\nwidths = [\n 10,\n 0,\n]\n") ==
        "s.toml:4: model.widths[2] = 0: must be an integer from 1 to 1e9");
  CHECK(fault(kSmall, {"model.heads=[0, 1]"}).find("[1] = 0: must be an integer from 1 to 1000") !=
        std::string::npos);
  CHECK(fault(kSmall, {"model.variances=[1,0,1,1]"}) ==
        "--set model.variances=[1,0,1,1]: model.variances[2] = 0: must be a number > 0 and <= "
        "1e9");
  CHECK(fault("[model]\nwidhts = 3\n") ==
        "s.toml:2: model.widhts: unknown key, did you mean \"widths\"?; model has: widths, heads, "
        "variances, temperature, readout, attention, attention_prior, value_network");
  CHECK(fault("[[task.layers]]\nheads = [{kind = \"random\"},\n {kind = \"uniform\", betta = 1}]\n")
            .starts_with("s.toml:3: task.layers[1].heads[2].betta: unknown key, did you mean "
                         "\"beta\"?"));
  const std::string roots =
      "a study has: schema, name, seed, threads, [task], [model], [solve], [align], [prune], "
      "[sample], [train], [extract], [evaluate], [latents], [rank], [sweep]";
  CHECK(fault("name = \"a\"\nzzzzzz = 3\n") == "s.toml:2: zzzzzz: unknown key; " + roots);
  CHECK(fault("[swep]\nseed = [1]\n") ==
        "s.toml:1: swep: unknown key, did you mean \"sweep\"?; " + roots);
  CHECK(fault("widths = 3\n") ==
        "s.toml:1: widths: unknown key, did you mean \"model.widths\"?; " + roots);
  CHECK(fault(kSmall, {"model.heads=[]"}) ==
        "--set model.heads=[]: model.heads = []: must be a list [H_1, ..., H_L] of integers >= 1");
  CHECK(fault("name = \"a\nb\"").starts_with("s.toml:1: not valid TOML: "));
  CHECK(fault("a = 1\na = 2\n").starts_with("s.toml:2: not valid TOML: "));
}

TEST_CASE("every bad value is refused with the key's full name") {
  struct Case {
    const char* overlay;
    const char* names;
  };
  const std::vector<Case> cases = {
      {"schema=2", "schema = 2: must be 1"},
      {"schema=0", "schema"},
      {"schema=\"1\"", "schema"},
      {"name=\"\"", "name"},
      {"name=3", "name = 3"},
      {"name=\"two\\nlines\"", "name"},
      {"seed=-1", "seed"},
      {"seed=1.5", "seed"},
      {"seed=99999999999999999999", "seed"},
      {"threads=-1", "threads"},
      {"task.kind=omniglott", "task.kind"},
      {"task.kind=3", "task.kind"},
      {"task.file=x.h5", "belongs to kind = \"dataset\""},
      {"task.train_examples=0", "task.train_examples"},
      {"task.train_examples=-100", "task.train_examples"},
      {"task.train_examples=1000000000000", "task.train_examples"},
      {"task.test_examples=1.5", "task.test_examples"},
      {"task.tokens=0", "task.tokens"},
      {"task.features=21", "even"},
      {"task.features=0", "task.features"},
      {"task.stay_probability=0.7", "task.stay_probability"},
      {"task.stay_probability=[0.7]", "task.stay_probability"},
      {"task.stay_probability=[0.7,1.1]", "task.stay_probability[2]"},
      {"task.noise=[1,1]", "task.noise"},
      {"task.noise=[1,1,-5]", "task.noise[3]"},
      {"task.noise=[1,nan,1]", "task.noise[2]"},
      {"task.layers=[]", "task.layers"},
      {"task.layers=3", "task.layers"},
      {"task.layers=[{}]", "task.layers[1]"},
      {"task.layers=[{heads=[]}]", "task.layers[1].heads"},
      {"task.layers=[{heads=[{}]}]", "kind is missing"},
      {"task.layers=[{heads=[{kind=\"same\"}]}]", "did you mean \"same_token\"?"},
      {"task.layers=[{heads=[{kind=\"uniform\",beta=inf}]}]", "beta"},
      {"task.layers=[{heads=[{kind=\"uniform\",beta=-1}]}]", "beta"},
      {"task.layers=[{heads=[{kind=\"uniform\",shift=11}]}]", "from -10 to 10"},
      {"task.layers=[{heads=[{kind=\"uniform\",name=\"a\"},{kind=\"random\",name=\"a\"}]}]",
       "task.layers[1].heads[2].name"},
      {"model.widths=0", "model.widths"},
      {"model.widths=-10", "model.widths"},
      {"model.widths=10.5", "model.widths"},
      {"model.widths=1000000001", "model.widths"},
      {"model.widths=[]", "model.widths"},
      {"model.widths=[[]]", "model.widths[1]"},
      {"model.widths=[[1,2]]", "3 of them"},
      {"model.widths=[[1,2,3,4]]", "3 of them"},
      {"model.widths=[[1,2,-3]]", "model.widths[1][3]"},
      {"model.widths=[\"10\"]", "model.widths[1]"},
      {"model.widths=ten", "model.widths"},
      {"model.widths=inf", "model.widths"},
      {"model.widths={}", "model.widths"},
      {"model.heads=[2,2]", "absent, or [2, 1]"},
      {"model.heads=[]", "model.heads"},
      {"model.variances=0", "model.variances"},
      {"model.variances=[1,1]", "4 of them"},
      {"model.variances=[]", "model.variances"},
      {"model.variances=nan", "model.variances"},
      {"model.temperature=-0.01", "model.temperature"},
      {"model.temperature=inf", "model.temperature"},
      {"model.temperature=[]", "model.temperature"},
      {"model.temperature=[1,[2]]", "model.temperature[2]"},
      {"model.temperature=2024-01-01", "model.temperature = 2024-01-01"},
      {"model.readout=last", "did you mean \"last_token\"?"},
      {"model.attention=max", "model.attention"},
      {"model=3", "a table [model]"},
      {"solve=[1]", "a table [solve]"},
      {"solve.gradient_tolerance=0", "solve.gradient_tolerance"},
      {"solve.max_iterations=0", "solve.max_iterations"},
      {"solve.optimizer=lbfgs", "solve.optimizer"},
      {"solve.warm_start=1", "solve.warm_start"},
      {"solve.warm_start=yes", "true or false"},
      {"solve.memory_limit_gib=-1", "solve.memory_limit_gib"},
      {"align.components=-1", "align.components"},
      {"prune.random_orders=-1", "prune.random_orders"},
      {"prune.gready=true", "did you mean \"greedy\"?"},
      {"widths=3", "did you mean \"model.widths\"?"},
      {"modell.widths=3", "did you mean \"model\"?"},
      {"zzzzzz=3", "zzzzzz: unknown key; a study has:"},
  };
  for (const Case& c : cases) {
    INFO(c.overlay);
    const std::string message = fault(kSmall, {c.overlay});
    INFO(message);
    CHECK(message.find(c.names) != std::string::npos);
    CHECK(message.starts_with("--set "));
    CHECK(message.find('\n') == std::string::npos);
  }
}

TEST_CASE("what a task needs must be there") {
  CHECK(fault("name = \"x\"\n").find("task.layers is missing") != std::string::npos);
  CHECK(fault("[task]\nkind = \"dataset\"\n").find("task.file is missing") != std::string::npos);
  CHECK(fault("[task]\nkind = \"dataset\"\nfile = \"x\"\ntokens = 3\n")
            .find("belongs to kind = \"hidden_markov_chain\"") != std::string::npos);
}

TEST_CASE("a key of another kind of task, and too many points, are refused in whole sentences") {
  CHECK(fault("[task]\nkind = \"dataset\"\nfile = \"x\"\ntokens = 3\n") ==
        "s.toml:4: task.tokens: belongs to kind = \"hidden_markov_chain\", but this study has kind "
        "= \"dataset\", whose keys are: kind, seed, file");
  std::string many = "[task]\nkind = \"dataset\"\nfile = \"x\"\n[model]\ntemperature = [";
  for (int i = 1; i <= 400; ++i) many += (i > 1 ? ", " : "") + std::to_string(i);
  many += "]\nwidths = [";
  for (int i = 1; i <= 250; ++i) many += (i > 1 ? ", " : "") + std::to_string(i);
  CHECK(parse_study(many + "]\n", "s.toml").model.widths.size() == 250);  // 100,000 points
  CHECK(fault(many + ", 251]\n") ==
        "s.toml:6: model.widths, model.temperature: 100400 sweep points (widths times "
        "temperatures): must be at most 100000");
}

TEST_CASE("a network of too many paths is refused with their number") {
  const std::string message =
      fault("[task]\nkind = \"dataset\"\nfile = \"x.h5\"\n", {"model.heads=[1000, 1000]"});
  CHECK(message.find("model.heads: H_1 ... H_L = 1e+06 paths: must be at most 1e+05") !=
        std::string::npos);
}

TEST_CASE("keys of very many parts and deep nesting are syntax errors, not a crash") {
  std::string key = "a";
  for (int i = 0; i < 200000; ++i) key += ".a";
  CHECK(fault(key + " = 1").find("a key of more than") != std::string::npos);
  CHECK(fault("[" + key + "]").find("a key of more than") != std::string::npos);
  CHECK(fault("x = {" + key + " = 1}").find("a key of more than") != std::string::npos);
  CHECK(fault("x = " + std::string(200000, '[')).find("not valid TOML") != std::string::npos);
  // At the limit, with the line of the key. A string over two lines ends in its line.
  const auto key_of = [](int parts) {
    std::string out = "a";
    for (int i = 1; i < parts; ++i) out += ".a";
    return out;
  };
  const std::string many = ": not valid TOML: a key of more than 32 parts";
  CHECK(fault("[model]\nwidths = 3\n" + key_of(33) + " = 1\n") == "s.toml:3" + many);
  CHECK(
      fault("[model]\n" + key_of(32) + " = 1\n") ==
      "s.toml:2: model.a: unknown key; model has: widths, heads, variances, temperature, readout, "
      "attention, attention_prior, value_network");
  CHECK(fault("# one\n\nx = \"\"\"two\nthree\\\nfour\"\"\"\n" + key_of(33) + " = 1\n") ==
        "s.toml:6" + many);
  CHECK(fault("x = \"one\ny = \"" + key_of(40) + "\"\n").starts_with("s.toml:1: not valid TOML: "));
  for (const char* header : {"[{a]", "[ =]", "[[.a]]", "[#", "[\xC3\xA9]", " \t[,]"}) {
    INFO(header);
    CHECK(fault("a = [\n [1, 2],\n]\n" + std::string(header) + "\n")
              .starts_with("s.toml:4: not valid TOML: "));
  }
  // Letters that toml++'s table of blanks does not know (under the sanitizers this would show).
  for (const char* text : {"\xC3\xA9 = 1", "x = \xEF\xBB\xB0", "x = 2.'c'0.\"a\xEF\xBB\xB0",
                           "x = 1\xC3\xA9", "x = \"\"\"\\\xC3\xA9\"\"\"", "[\xC3\xA9]"}) {
    INFO(text);
    CHECK(fault(text).find("not valid TOML") != std::string::npos);
  }
  CHECK(parse_study("\xEF\xBB\xBF# \xC3\xA9\n" + kSmall, "s", {"name=\"\xC3\xA9\""}).name ==
        "\xC3\xA9");
  // Dots in strings, comments and numbers are no key parts.
  const std::string dots(100, '.');
  const std::string numbers =
      "[0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,"
      "0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1,0.1]";
  CHECK(parse_study(kSmall + "# " + dots + "\n", "s", {"name=\"" + dots + "\""}).name == dots);
  CHECK(small({"name='it''s" + dots + "'"}).name == "'it''s" + dots + "'");
  CHECK(small({"model.temperature=" + numbers}).model.temperatures.size() == 34);
}

TEST_CASE("hashes follow what a study computes") {
  const Study s = small();
  CHECK(study_hash(s).size() == 64);
  CHECK(study_hash(small({"threads=4"})) == study_hash(s));
  CHECK(study_hash(small({"seed=2"})) != study_hash(s));
  CHECK(study_hash(small({"align.components=2"})) != study_hash(s));
  CHECK(solve_hash(small({"align.components=2", "prune.greedy=false", "name=other"})) ==
        solve_hash(s));
  CHECK(solve_hash(small({"solve.max_iterations=3"})) != solve_hash(s));
  CHECK(solve_hash(small({"model.widths=[10]"})) != solve_hash(s));
  CHECK(solve_hash(small({"seed=2"})) != solve_hash(s));
}

TEST_CASE("an Error names the keys at fault, and what only the whole study tells has a place") {
  try {
    parse_study(kSmall + "heads = [2, 2]\n", "s.toml");
    FAIL("accepted");
  } catch (const headway::OptionError& error) {
    CHECK(error.fields() == std::vector<std::string>{"model.heads"});
    CHECK(std::string(error.what()) ==
          "s.toml:13: model.heads = [2, 2]: must be absent, or [2, 1] as in task.layers");
  }
  CHECK(fault("[task]\ntokens = 3\n[[task.layers]]\nheads = [\n {kind = \"uniform\"},\n {kind = "
              "\"uniform\", shift = 4},\n]\n")
            .starts_with("s.toml:6: task.layers[1].heads[2].shift = 4: must be from -3 to 3"));
}

TEST_CASE("every shipped study parses and gives itself back") {
  for (const std::string name :
       {"hmm-four-paths", "hmm-two-paths-hard", "hmm-good-path-only", "hmm-good-and-denoising"}) {
    const std::string file_path = HEADWAY_SOURCE_DIR "/data/studies/" + name + ".toml";
    const auto loaded = headway::io::read_study(file_path);
    CHECK(loaded.study.name == name);
    CHECK(loaded.origin == headway::io::StudyOrigin::kStudyFile);
    check_same(parse_study(write_study(loaded.study), name), loaded.study);
  }
}
