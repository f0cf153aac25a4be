// Studies that do not fit their data or their task, and the whole sentence that says so.
#include <string>
#include <string_view>
#include <vector>

#include "catch.hpp"
#include "headway/core/option_error.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"
#include "headway/solve.hpp"
#include "headway/theory/gram.hpp"
#include "headway/train.hpp"
#include "headway/train_task.hpp"
#include "headway/verbs/networks/trained.hpp"
#include "random_examples.hpp"
#include "small_studies.hpp"
#include "verbs/theory/problem.hpp"

using namespace headway;
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

tasks::Dataset two_layers() {
  Rng rng(5, StreamPurpose::kTests);
  tasks::Dataset dataset = random_dataset({2, 3}, {8, 4, 3}, rng);
  dataset.name = "data.h5";
  return dataset;
}

template <class Work>
std::string fault(const Work& work) {
  try {
    work();
  } catch (const std::exception& error) {
    return error.what();
  }
  return "none";
}

/// The sentence; its key is that of the sentence.
template <class Work>
std::string option_fault(const Work& work) {
  try {
    work();
  } catch (const OptionError& error) {
    const std::string text = error.what();
    REQUIRE(error.fields().size() == 1);
    CHECK(error.fields()[0] == text.substr(0, text.find_first_of(": ")));
    return text;
  }
  return "none";
}

std::string misfit(const Study& study, const tasks::Dataset& dataset = two_layers()) {
  return option_fault([&] { check_study_against_dataset(study, dataset); });
}

}  // namespace

TEST_CASE("a study that does not fit its data says which key, which numbers and what is allowed") {
  CHECK(misfit({}) == "none");
  Study study;
  study.model.heads = {3, 2};
  CHECK(misfit(study) ==
        "model.heads = [3, 2]: the data (data.h5) have heads [2, 3]; leave model.heads out");
  study.model.heads = {2, 3};
  CHECK(misfit(study) == "none");
  study.model.widths = {{5}, {10, 20}};
  CHECK(
      misfit(study) ==
      "model.widths: the entry [10, 20] has 2 numbers; with 2 layers it must have one number or 3 "
      "(N_1, N_2, N_a)");
  study.model.widths = {{5}, {10, 20, 30}};
  CHECK(misfit(study) == "none");
  study.model.variances = {1.0, 2.0, 3.0};
  CHECK(misfit(study) ==
        "model.variances has 3 numbers; with 2 layers it must have one number or 4 (s_0^2, s_1^2, "
        "s_2^2, s_a^2)");
  study.model.variances = {1.0, 2.0, 3.0, 4.0};
  CHECK(misfit(study) == "none");
  study.model.temperatures = {0.1, -0.5};
  CHECK(misfit(study) == "model.temperature = -0.5: must be a finite number >= 0");
  study.model.temperatures = {1e300};
  CHECK(misfit(study) == "model.temperature = 1e+300: must be a finite number >= 0");
  study.model.temperatures = {0.0};
  CHECK(misfit(study) == "none");
  study.model.temperatures = {};
  CHECK(misfit(study) == "model.temperature: is empty; allowed: a temperature, or a list of them");
  study.model.widths = {};
  CHECK(misfit(study) == "model.widths: is empty; allowed: a width, or a list of them");
}

TEST_CASE("a wrong number of variances names those of any depth") {
  Study study;
  study.model.variances = {1.0, 2.0};
  const auto wanted = [&](std::size_t layers) {
    tasks::Dataset dataset;
    dataset.heads.assign(layers, 1);
    return fault([&] { headway::architecture_of(study, dataset, {5}); });
  };
  const std::string has = "model.variances has 2 numbers; with ";
  CHECK(wanted(1) == has + "1 layer it must have one number or 3 (s_0^2, s_1^2, s_a^2)");
  CHECK(wanted(3) == has + "3 layers it must have one number or 5 (s_0^2, ..., s_3^2, s_a^2)");
}

TEST_CASE("a kernel of the Gaussian process that is singular is refused with its sizes") {
  Rng rng(15, StreamPurpose::kTests);
  tasks::Dataset dataset;
  dataset.name = "data.h5";
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = {2, 3};
  dataset.layers.resize(2);
  dataset.features = 1;
  dataset.train.path_features = random_matrix(8, 6, rng);  // 8 examples of 6 features
  dataset.train.labels = random_matrix(8, 1, rng);
  Study study;
  study.model.widths = {{50}};
  study.model.temperatures = {0.0};
  study.solve.kernels = theory::KernelForm::kStored;
  Observer quiet;
  CHECK(fault([&] { solve(study, dataset, quiet); }) ==
        "model.temperature = 0: K + T I of the Gaussian process is not positive definite (8 "
        "examples, 6 features over all paths): must be larger");
}

TEST_CASE("numbers whose products overflow are refused by their example") {
  Study study;
  study.model.widths = {{50}};
  study.model.temperatures = {0.1};
  Observer quiet;
  const std::string allowed =
      "; allowed: up to 1e+60 in size, since products of larger ones overflow";
  tasks::Dataset labels = two_layers();
  labels.train.labels(3, 0) = -2e60;
  CHECK(fault([&] { make_problem(study, labels, quiet); }) ==
        "data.h5: a label of example 3 is -2e+60" + allowed);
  labels.train.labels(3, 0) = -1e60;
  CHECK(fault([&] { make_problem(study, labels, quiet); }) == "none");
}

TEST_CASE("sets that name two classes by other numbers than train are refused") {
  tasks::Dataset dataset = two_layers();
  const auto labelled = [&dataset](double low, double test_low) {
    for (Index i = 0; i < dataset.train_examples(); ++i) {
      dataset.train.labels(i, 0) = i % 2 == 0 ? 1.0 : low;
    }
    dataset.test = dataset.train;
    dataset.test->labels =
        (dataset.train.labels.array() == 1.0)
            .select(1.0, MatrixXd::Constant(dataset.train_examples(), 1, test_low));
    return fault([&] { check_study_against_dataset({}, dataset); });
  };
  CHECK(labelled(0.0, -1.0) ==
        "data.h5: test/labels: names two classes by -1 and +1; allowed: 0 and 1, as in "
        "train/labels");
  CHECK(labelled(-1.0, 0.0) ==
        "data.h5: test/labels: names two classes by 0 and 1; allowed: -1 and +1, as in "
        "train/labels");
  dataset.sets = {{"later", *dataset.test}};
  dataset.test.reset();
  CHECK(fault([&] { check_study_against_dataset({}, dataset); }) ==
        "data.h5: sets/later/labels: names two classes by 0 and 1; allowed: -1 and +1, as in "
        "train/labels");
  dataset.sets.clear();
  CHECK(labelled(0.0, 0.0) == "none");
  CHECK(labelled(-1.0, -1.0) == "none");
  CHECK(labelled(0.0, 1.0) == "none");  // a test set may lack a class
}

TEST_CASE("labels that no path tells of are a warning") {
  class Warnings final : public Observer {
   public:
    void warning(std::string_view text) override { all.emplace_back(text); }
    std::vector<std::string> all;
  };
  tasks::Dataset dataset;
  dataset.name = "data.h5";
  dataset.form = AttentionForm::kPathFeatures;
  dataset.heads = {2};
  dataset.layers.resize(1);
  dataset.features = 1;
  dataset.train.path_features = MatrixXd::Ones(4, 2);
  dataset.train.labels = MatrixXd{{1.0}, {-1.0}, {1.0}, {-1.0}};
  Study study;
  study.model.widths = {{50}};
  study.model.temperatures = {0.1};
  Warnings told;
  CHECK_FALSE(make_problem(study, dataset, told).evaluation.told);
  CHECK(told.all == std::vector<std::string>{
                        "no path carries information about the training labels, so every "
                        "prediction is 0: labels or features may be all 0, or equal examples may "
                        "have opposite labels"});
  const auto sums = [&] {
    tasks::Dataset summed = dataset;
    summed.gram = theory::gram_matrices(dataset.train.path_features, dataset.train.labels);
    summed.train.path_features.resize(0, 2);
    summed.train.labels.resize(0, 1);
    return summed;
  };
  CHECK_FALSE(make_problem(study, sums(), told).evaluation.told);
  CHECK(told.all.size() == 2);
  dataset.train.labels(0, 0) = 2.0;
  Warnings silent;
  CHECK(make_problem(study, dataset, silent).evaluation.told);
  CHECK(make_problem(study, sums(), silent).evaluation.told);
  CHECK(silent.all.empty());
}

TEST_CASE("verbs that need path features refuse attention that is learned") {
  Study study;
  study.model.attention_prior.emplace();
  Observer quiet;
  CHECK(option_fault([&] { make_problem(study, two_layers(), quiet); }) ==
        "model.attention_prior: attention is learned by solve and sample alone, since other verbs "
        "need path features that are given; must be absent here");
}

TEST_CASE("one width and one variance stand for all, others are taken as they are") {
  Study study;
  study.model.widths = {{7}, {1, 2, 3}};
  study.model.temperatures = {0.5, 0.25};
  study.model.variances = {1.5};
  const tasks::Dataset dataset = two_layers();
  const model::Architecture same = architecture_of(study, dataset, {7});
  CHECK(same.widths == std::vector<Index>{7, 7, 7});
  CHECK(same.variances == std::vector<double>{1.5, 1.5, 1.5, 1.5});
  CHECK(same.heads == std::vector<int>{2, 3});
  const std::vector<SweepPoint> points = sweep_points(study, dataset);
  REQUIRE(points.size() == 4);
  CHECK(points[1].widths == std::vector<Index>{7, 7, 7});
  CHECK(points[1].temperature == 0.25);
  CHECK(points[2].widths == std::vector<Index>{1, 2, 3});
  CHECK(points[2].temperature == 0.5);
}

TEST_CASE("path features and networks have the readout that they were made with") {
  Study study;
  study.model.readout = Readout::kMean;
  tasks::Dataset features = two_layers();
  features.form = AttentionForm::kPathFeatures;
  features.train.examples.reset();
  features.train.path_features = MatrixXd::Ones(8, 6 * 3);
  features.readout.reset();
  CHECK(misfit(study, features) ==
        "model.readout: data.h5 holds path features that were taken with an unknown readout; leave "
        "model.readout out");
  features.readout = Readout::kLastToken;
  CHECK(misfit(study, features) ==
        "model.readout: data.h5 holds path features that were taken with another readout; leave "
        "model.readout out");
  features.readout = Readout::kMean;
  CHECK(misfit(study, features) == "none");
  tasks::Dataset network = two_layers();
  network.network.emplace();
  network.readout = Readout::kLastToken;
  CHECK(misfit(study, network) ==
        "model.readout: data.h5 holds a network that was trained with another readout; leave "
        "model.readout out");
  network.readout = Readout::kMean;
  CHECK(misfit(study, network) == "none");
}

TEST_CASE("a run that cannot be trained as its study says is refused before it begins") {
  const auto refused = [](const Study& study) {
    return fault([&] { check_train_run(study, *make_generated_task(study).task); });
  };
  Study study = small_study();
  CHECK(refused(study) == "none");
  study.train.run.best_split = "train";
  CHECK(refused(study) ==
        "train.best_split = \"train\": must be a split that is evaluated, not trained on");
  study.train.run.best_split = "held_out";
  CHECK(refused(study) == "none");
  study.train.run.best_split = "nowhere";
  CHECK(refused(study).starts_with("train.best_split = \"nowhere\": "));
  const auto task = make_generated_task(small_study());
  Study text = small_study();
  text.task.set_kind(TaskKind::kText);
  CHECK(fault([&] { check_train_run(text, *task.task); }) ==
        "train.causal = false: must be true for task.kind = \"text\", where every token predicts "
        "the next");
}

TEST_CASE("what a network was trained with is not changed afterwards, and it says what may be") {
  const std::vector<std::string> allowed = {"threads", "latents."};
  CHECK_NOTHROW(check_change_of_trained("threads=2", "threads", allowed));
  CHECK_NOTHROW(check_change_of_trained("latents.folds=2", "latents.folds", allowed));
  CHECK(fault([&] { check_change_of_trained("train.heads=2", "train.heads", allowed); }) ==
        "--set train.heads=2: must be threads, a key of [latents]: the other keys are fixed by the "
        "training of the network");
}

TEST_CASE("the hash of weights tells names and values apart, in their order") {
  const training::NamedTensor a{"a", {2}, {1.0F, 2.0F}}, b{"b", {2}, {1.0F, 2.0F}};
  const training::NamedTensor c{"a", {2}, {1.0F, 3.0F}};
  CHECK(weights_hash({a}) == weights_hash({a}));
  CHECK(weights_hash({a}) != weights_hash({b}));
  CHECK(weights_hash({a}) != weights_hash({c}));
  CHECK(weights_hash({a, b}) != weights_hash({b, a}));
  CHECK(weights_hash({}) == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}
