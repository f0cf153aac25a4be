// Studies that let attention be learned: which data they take, where they start, what they report.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/error.hpp"
#include "headway/sample.hpp"
#include "headway/solve.hpp"
#include "random_examples.hpp"
#include "verbs/theory/learned_problem.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using Catch::Matchers::WithinRel;

namespace {

constexpr Index kFeatures = 3;

tasks::Dataset small_dataset(std::vector<int> heads = {2, 1}) {
  Rng rng(17, StreamPurpose::kTests);
  tasks::Dataset data = random_dataset(std::move(heads), {6, 4, kFeatures}, rng);
  data.name = "data.h5";
  data.form = AttentionForm::kWeights;
  data.test = random_split({5, 4, kFeatures}, rng);
  return data;
}

Study small_study() {
  Study study;
  study.task.set_kind(TaskKind::kDataset);
  study.model.widths = {{10}};
  study.model.temperatures = {0.3};
  study.model.attention_prior.emplace();
  study.solve.attention_starts = 4;
  study.solve.corrections = When::kOff;
  study.threads = 1;
  return study;
}

std::string fault(const Study& study, tasks::Dataset data) {
  try {
    learn_attention(study, data);
  } catch (const Error& error) {
    return error.what();
  }
  return "none";
}

/// The keys of a study that a refusal is about; the first that the study sets has its place.
std::vector<std::string> keys_of_fault(const Study& study, tasks::Dataset data) {
  try {
    learn_attention(study, data);
  } catch (const OptionError& error) {
    return error.fields();
  }
  return {};
}

/// Solved or sampled as the program does it.
template <class Verb>
auto run(const Verb& verb, const Study& study, tasks::Dataset data = small_dataset()) {
  learn_attention(study, data);
  Observer quiet;
  return verb(study, data, quiet);
}

const auto solved = [](const Study& study, const tasks::Dataset& data, Observer& observer) {
  return solve(study, data, observer);
};
const auto sampled = [](const Study& study, const tasks::Dataset& data, Observer& observer) {
  return sample(study, data, observer);
};

}  // namespace

TEST_CASE("the data get the heads of the prior, and keep given ones only if they are the same") {
  Study study = small_study();
  tasks::Dataset same = small_dataset();
  same.network.emplace();  // trained with the attention that is given
  learn_attention(study, same);
  CHECK(same.heads == std::vector<int>{2, 1});
  CHECK(same.layers.at(0).weights.size() == 2);
  CHECK_FALSE(same.network);
  for (const std::vector<int>& heads :
       std::vector<std::vector<int>>{{1}, {3}, {1, 1}, {2, 2}, {2, 1, 1}}) {
    study.model.attention_prior->heads = heads;
    tasks::Dataset data = small_dataset();
    learn_attention(study, data);
    CHECK(data.heads == heads);
    REQUIRE(data.layers.size() == heads.size());
    for (const LayerHeads& layer : data.layers) CHECK(layer.weights.empty());
  }
  study.model.attention_prior.reset();
  tasks::Dataset given = small_dataset();
  given.network.emplace();
  learn_attention(study, given);
  CHECK(given.network);
}

TEST_CASE("data that do not give what a prior needs are refused in whole sentences") {
  const Study study = small_study();
  CHECK(fault(study, small_dataset()) == "none");
  tasks::Dataset bare = small_dataset();
  bare.heads.clear();
  bare.layers.clear();
  CHECK(
      fault(study, bare) ==
      "model.attention_prior.heads is missing, and data.h5 names no heads; must be one number H_l "
      ">= 1 for each layer");
  tasks::Dataset features = small_dataset();
  features.train.examples.reset();
  const std::string allowed =
      ", which no attention can be learned on; allowed with model.attention_prior: inputs [P, S, "
      "N_0]";
  CHECK(fault(study, features) == "data.h5: holds path features" + allowed);
  Study frozen = study;
  frozen.model.attention_prior->frozen = {{1, 2}};
  CHECK(fault(frozen, small_dataset()) == "none");
  frozen.model.attention_prior->heads = {2, 2};
  CHECK(fault(frozen, small_dataset()) ==
        "model.attention_prior.frozen: data.h5 must give the attention of [2, 2] heads, and gives "
        "that of [2, 1]");
  CHECK(fault(frozen, bare) ==
        "model.attention_prior.frozen: data.h5 must give the attention of [2, 2] heads, and gives "
        "none");
  Study started = study;
  started.sample.attention_start = AttentionStart::kGiven;
  CHECK(fault(started, small_dataset()) == "none");
  tasks::Dataset supplied = small_dataset();
  supplied.form = AttentionForm::kSupplied;
  CHECK(fault(started, supplied) ==
        "sample.attention_start = \"given\": data.h5 must give the attention of [2, 1] heads by "
        "matrices that act on the inputs, and gives it example by example");
  started.solve.attention_start = AttentionStart::kGiven;
  CHECK(fault(started, supplied).starts_with("solve.attention_start = \"given\": "));
  Study prior = study;
  prior.model.attention_prior->frozen = {{3, 1}};
  CHECK(fault(prior, small_dataset()).find("model.attention_prior") == 0);
  using Keys = std::vector<std::string>;
  CHECK(keys_of_fault(study, bare) == Keys{"model.attention_prior.heads", "model.attention_prior"});
  CHECK(keys_of_fault(frozen, bare) ==
        Keys{"model.attention_prior.frozen", "model.attention_prior"});
  CHECK(keys_of_fault(started, supplied) == Keys{"solve.attention_start", "model.attention_prior"});
  CHECK(keys_of_fault(prior, small_dataset()) == Keys{"model.attention_prior"});
}

TEST_CASE("the first start is near no attention, a draw from the prior, or what the data give") {
  Study study = small_study();
  study.solve.attention_start = AttentionStart::kGiven;
  tasks::Dataset data = small_dataset();
  learn_attention(study, data);
  Observer quiet;
  const headway::LearnedProblem learned = make_learned_problem(study, data, quiet);
  REQUIRE(learned.given.size() == learned.train->dimension());
  CHECK(learned.given.size() == 3 * kFeatures * kFeatures);
  const VectorXd drawn = VectorXd::LinSpaced(learned.given.size(), 1.0, 2.0);
  const auto start = [&](AttentionStart from) {
    VectorXd z = drawn;
    start_attention(from, learned, z);
    return z;
  };
  CHECK(start(AttentionStart::kNone) == VectorXd(0.05 * drawn));
  CHECK(start(AttentionStart::kPrior) == drawn);
  CHECK(start(AttentionStart::kGiven) == learned.given);
  CHECK(learned.given == learned.train->coordinates().of_heads(data.layers));
}

TEST_CASE("a point of learned attention is that of its lowest minimum") {
  Study study = small_study();
  study.model.temperatures = {0.3, 0.6};
  const SolveResult result = run(solved, study);
  REQUIRE(result.points.size() == 2);
  CHECK_FALSE(result.interrupted);
  CHECK(result.threads == 1);
  CHECK(result.gaussian_process.empty());
  CHECK(result.heads == std::vector<int>{2, 1});
  for (std::size_t i = 0; i < 2; ++i) {
    const SolvePoint& point = result.points[i];
    CHECK(point.temperature == study.model.temperatures[i]);
    CHECK(point.predictor.mean.rows() == 5);
    REQUIRE_FALSE(point.minima.empty());
    int starts = 0;
    for (const AttentionMinimum& minimum : point.minima) {
      CHECK(minimum.action >= point.minima.front().action);
      starts += minimum.starts;
    }
    CHECK(starts == study.solve.attention_starts);
    CHECK(point.action == point.minima.front().action);
    for (std::size_t l = 0; l < 2; ++l) {
      CHECK((point.order_parameters.layers[l] - point.minima.front().order_parameters.layers[l])
                .norm() < 1e-5);
    }
  }
}

TEST_CASE("a study of learned attention that is stopped keeps its finished points") {
  class StopsAfterOne final : public Observer {
   public:
    void whole(std::string_view stage, double done, double total, double /*earlier*/) override {
      CHECK(stage == "solve");
      CHECK(total == 2.0);
      stopped_ = done >= 1.0;
    }
    [[nodiscard]] bool interrupted() const override { return stopped_; }

   private:
    bool stopped_ = false;
  };
  Study study = small_study();
  study.model.temperatures = {0.3, 0.6};
  tasks::Dataset data = small_dataset();
  learn_attention(study, data);
  StopsAfterOne stops;
  const SolveResult result = solve(study, data, stops);
  CHECK(result.points.size() == 1);
  CHECK(result.interrupted);
}

TEST_CASE("samples of learned attention have numbers of every draw, and evidence by replicas") {
  Study study = small_study();
  study.solve.attention_starts = 1;
  study.sample.chains = 2;
  study.sample.draws = 9;
  study.sample.warmup = 10;
  study.sample.keep_weights = true;
  study.model.attention_prior->variance = 4.0;
  for (const int replicas : {1, 3}) {
    study.sample.replicas = replicas;
    const SampleResult result = run(sampled, study);
    REQUIRE(result.points.size() == 1);
    const SamplePoint& point = result.points.front();
    CHECK(point.chains == 2);
    CHECK(point.draws == 9);
    REQUIRE(point.attention);
    const SampledAttention& attention = *point.attention;
    for (const Tensor* numbers :
         {&attention.entropy, &attention.largest, &attention.log_likelihood}) {
      REQUIRE(numbers->shape == std::vector<Index>{2, 9});
    }
    double sum = 0.0;
    for (const double largest : attention.largest.values) {
      CHECK(largest > 0.25 - 1e-12);  // of four keys
      CHECK(largest <= 1.0);
      sum += largest / 18.0;
    }
    CHECK_THAT(attention.largest_mean, WithinRel(sum, 1e-12));
    REQUIRE(attention.weights.shape == std::vector<Index>{2, 9, 27});
    CHECK(attention.weight_names.size() == 27);
    double squares = 0.0;
    for (const double w : attention.weights.values) squares += w * w / (18.0 * 27.0);
    CHECK(squares > 1.0);  // of a prior variance of 4
    CHECK(squares < 12.0);
    if (replicas == 1) {
      CHECK(point.evidence_reason == "sample.replicas = 1: the evidence needs replicas");
      CHECK(std::isnan(point.log_evidence));
      CHECK(std::isnan(attention.exchange_rate));
    } else {
      CHECK(point.evidence_reason.empty());
      CHECK(std::isfinite(point.log_evidence));
      CHECK(attention.exchange_rate > 0.0);
      CHECK(attention.exchange_rate <= 1.0);
    }
  }
}
