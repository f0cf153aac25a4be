// Modules: which combinations are seen, and that teachers are the networks of eq. 79.
#include "headway/tasks/modules.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/model/value_kernel.hpp"

using headway::Error;
using headway::Index;
using headway::MatrixXd;
using headway::VectorXd;
using namespace headway::tasks;

namespace {

/// Which modules are reached from module 0 over these combinations.
std::set<Index> reached(const std::vector<std::vector<Index>>& combinations) {
  std::set<Index> found = {0};
  for (std::size_t before = 0; before != found.size();) {
    before = found.size();
    for (const auto& one : combinations) {
      if (std::any_of(one.begin(), one.end(), [&](Index m) { return found.count(m) > 0; })) {
        found.insert(one.begin(), one.end());
      }
    }
  }
  return found;
}

std::set<Index> covered(const std::vector<std::vector<Index>>& combinations) {
  std::set<Index> found;
  for (const auto& one : combinations) found.insert(one.begin(), one.end());
  return found;
}

VectorXd row_of_inputs(const headway::ExampleSource& source, Index i) {
  VectorXd out(source.features());
  source.read_inputs(i, 1, out.data());
  return out;
}

VectorXd code_of(const headway::ExampleSource& source, Index i, Index modules) {
  VectorXd out(modules);
  source.read_attention(1, i, 1, out.data());
  return out;
}

}  // namespace

TEST_CASE("Seen combinations have every module and the wanted support") {
  ModulesOptions options;
  options.modules = 6;
  for (const Index active : {2, 3}) {
    for (const auto support : {ModuleSupport::kConnected, ModuleSupport::kDisconnected}) {
      options.active = active;
      options.support = support;
      const bool connected = support == ModuleSupport::kConnected;
      const Index least = active == 2 ? (connected ? 5 : 3) : (connected ? 3 : 2);
      const Index most = active == 2 ? (connected ? 15 : 7) : (connected ? 20 : 2);
      for (const Index seen : {least, most}) {
        options.seen = seen;
        for (const std::uint64_t seed : {1, 2, 3}) {
          const ModuleCombinations found = draw_module_combinations(options, seed);
          CHECK(static_cast<Index>(found.seen.size()) == seen);
          CHECK(found.seen.size() + found.held_out.size() == (active == 2 ? 15U : 20U));
          CHECK(covered(found.seen).size() == 6);
          CHECK((reached(found.seen).size() == 6) == connected);
          std::set<std::vector<Index>> all(found.seen.begin(), found.seen.end());
          all.insert(found.held_out.begin(), found.held_out.end());
          CHECK(all.size() == found.seen.size() + found.held_out.size());
        }
      }
    }
  }
}

TEST_CASE("A number of combinations that cannot have the support is refused") {
  const auto refused = [](const std::function<void(ModulesOptions&)>& change,
                          const std::string& words) {
    ModulesOptions options;
    change(options);
    try {
      static_cast<void>(make_modules(options, 1));
      FAIL("not refused: " << words);
    } catch (const Error& error) {
      CHECK(error.kind() == headway::ErrorKind::kBadStudy);
      CHECK_THAT(error.what(), Catch::Matchers::ContainsSubstring(words));
    }
  };
  refused([](ModulesOptions& o) { o.seen = 3; }, "task.seen = 3: must be at least 4");
  refused([](ModulesOptions& o) { o.seen = 2; }, "task.seen = 2: must be at least 3");
  refused([](ModulesOptions& o) { o.seen = 11; }, "task.seen = 11: must be at most 10");
  refused([](ModulesOptions& o) { o.active = 6; }, "task.active = 6: must be at most");
  refused([](ModulesOptions& o) { o.train_examples = 7; }, "task.train_examples = 7: must be at");
  refused(
      [](ModulesOptions& o) {
        o.active = 3;
        o.support = ModuleSupport::kDisconnected;
      },
      "task.support");
  refused(
      [](ModulesOptions& o) {
        o.modules = 40;
        o.active = 20;
      },
      "combinations; must be at most 100000");
}

TEST_CASE("Sets of modules have the combinations that they should, and labels of the teacher") {
  ModulesOptions options;
  options.noise = 0.0;
  for (const ModuleTeacher form :
       {ModuleTeacher::kLinear, ModuleTeacher::kHyla, ModuleTeacher::kPerHead,
        ModuleTeacher::kBeforeAttention, ModuleTeacher::kAfterAttention}) {
    options.teacher = form;
    const Dataset data = make_modules(options, 5);
    check_dataset(data);
    const ModuleCombinations combinations = draw_module_combinations(options, 5);
    const ModuleTeacherNetwork teacher(options, 5);
    CHECK(std::abs(data.train.labels.squaredNorm() / 120.0 - 1.0) < 1e-12);
    REQUIRE(data.sets.size() == 1);
    CHECK(data.sets[0].name == "held_out");
    double scale = 0.0;
    const auto check = [&](const Split& split, const std::vector<std::vector<Index>>& allowed) {
      for (Index i = 0; i < 50; ++i) {
        const VectorXd code = code_of(*split.examples, i, 5);
        const auto& on = allowed[static_cast<std::size_t>(i) % allowed.size()];
        for (Index m = 0; m < 5; ++m) {
          CHECK(code(m) == (std::find(on.begin(), on.end(), m) != on.end() ? 1.0 : 0.0));
        }
        const double output = teacher.output(code, row_of_inputs(*split.examples, i));
        if (scale == 0.0) scale = split.labels(i, 0) / output;
        CHECK(std::abs(split.labels(i, 0) - scale * output) < 1e-12);
      }
    };
    check(data.train, combinations.seen);
    check(*data.test, combinations.seen);
    check(data.sets[0].split, combinations.held_out);
  }
  options.seen = 10;
  CHECK(make_modules(options, 5).sets.empty());
}

TEST_CASE("The covariance of drawn teachers is the kernel of their value network") {
  using headway::model::ValueForm;
  ModulesOptions options;
  options.features = 3;
  options.modules = 3;
  options.seen = 3;
  options.train_examples = 4;
  const Dataset data = make_modules(options, 2);
  const auto& examples = *data.train.examples;
  const std::pair<ModuleTeacher, ValueForm> forms[] = {
      {ModuleTeacher::kHyla, ValueForm::kHyla},
      {ModuleTeacher::kPerHead, ValueForm::kPerHead},
      {ModuleTeacher::kBeforeAttention, ValueForm::kBeforeAttention},
      {ModuleTeacher::kAfterAttention, ValueForm::kAfterAttention},
      {ModuleTeacher::kLinear, ValueForm::kBeforeAttention}};
  for (const auto& [form, same] : forms) {
    options.teacher = form;
    options.teacher_width = 2'000;  // so that the outputs are normal
    const bool linear = form == ModuleTeacher::kLinear;
    headway::Observer observer;
    const auto sites =
        headway::model::value_sites({same, linear ? headway::numerics::Nonlinearity::kIdentity
                                                  : headway::numerics::Nonlinearity::kRelu},
                                    examples, data.heads, {}, {}, observer);
    const Index d = sites.directions.cols(), readouts = sites.readouts();
    const headway::model::WhitenedSites white(sites, MatrixXd::Identity(d, d));
    const MatrixXd blocks = headway::model::value_kernel(white, 1);
    MatrixXd kernel = MatrixXd::Zero(4, 4);
    for (Index r = 0; r < readouts; ++r) kernel += blocks.block(4 * r, 4 * r, 4, 4);
    constexpr int kDraws = 300;
    MatrixXd covariance = MatrixXd::Zero(4, 4);
    for (int draw = 0; draw < kDraws; ++draw) {
      const ModuleTeacherNetwork teacher(options, 100 + static_cast<std::uint64_t>(draw));
      VectorXd f(4);
      for (Index i = 0; i < 4; ++i) {
        f(i) = teacher.output(code_of(examples, i, 3), row_of_inputs(examples, i));
      }
      covariance += f * f.transpose() / kDraws;
    }
    for (Index i = 0; i < 4; ++i) {
      for (Index j = 0; j < 4; ++j) {
        const double variance = kernel(i, i) * kernel(j, j) + kernel(i, j) * kernel(i, j);
        CHECK(std::abs(covariance(i, j) - kernel(i, j)) < 5.5 * std::sqrt(variance / kDraws));
      }
    }
  }
}
