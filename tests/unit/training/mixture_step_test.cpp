// The launches that a mixture of experts has in the hand-written step: what each reads and writes,
// where it lies in the arrays of a stack of runs, and where the gradients of experts are summed.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "catch.hpp"
#include "engine_answers.hpp"
#include "training/step/fused_step.hpp"
#include "training_tasks.hpp"

using namespace headway::training;  // NOLINT: a test
using namespace headway::testing;   // NOLINT
using namespace detail;             // NOLINT
using headway::Index;

namespace {

constexpr Index kExamples = 33, kTokens = 4, kRuns = 3;
constexpr Index kRows = kExamples * kTokens;  // so many that gradients have two copies
constexpr Index kExperts = 3, kHidden = 10, kDim = 12;
constexpr Index kAll = kExperts * kHidden;

/// Plans a step, and knows its arrays.
class KnownDevice final : public PlannedDevice {
 public:
  struct Array {
    std::string name;
    Index count = 0;
    std::size_t size = 0;
    std::vector<std::int64_t> table;  ///< its numbers, of a table of them
  };

  /// "name", or "name + 12": the array with this number, and which of its numbers that is.
  [[nodiscard]] std::string name_of(const void* data) const {
    const auto at = reinterpret_cast<std::uintptr_t>(data);  // NOLINT: nobody follows it
    auto found = arrays.upper_bound(at);
    REQUIRE(found != arrays.begin());
    --found;
    const auto bytes = static_cast<Index>(at - found->first);
    const Index number = bytes / static_cast<Index>(found->second.size);
    REQUIRE(number < found->second.count);
    return found->second.name + (number == 0 ? "" : " + " + std::to_string(number));
  }
  [[nodiscard]] const Array& array_of(const void* data) const {
    const auto at = reinterpret_cast<std::uintptr_t>(data);  // NOLINT: nobody follows it
    return arrays.at(at);
  }

  std::map<std::uintptr_t, Array> arrays;

 protected:
  void* allocate(const char* name, Index count, std::size_t size, const void* numbers) override {
    void* data = PlannedDevice::allocate(name, count, size, numbers);
    Array& array = arrays[reinterpret_cast<std::uintptr_t>(data)];  // NOLINT
    array = {name, count, size, {}};
    if (numbers != nullptr && size == sizeof(std::int64_t)) {
      array.table.resize(static_cast<std::size_t>(count));
      std::memcpy(array.table.data(), numbers, array.table.size() * size);
    }
    return data;
  }
};

/// A step of one block whose second half is a mixture; parameters have names, too.
struct Planned {
  explicit Planned(Precision precision = Precision::kFloat32, Index runs = kRuns,
                   double load_balancing = 0.1) {
    TransformerOptions model = small_model();
    model.feed_forward = FeedForward::kMixture;
    model.experts = kExperts;
    model.load_balancing = load_balancing;
    model.layers = 1;
    REQUIRE(model.mlp_dim == kHidden);
    REQUIRE(model.model_dim == kDim);
    setup = engine_setup(model, PatternTask(kTokens, kTokens), false);
    setup.precision = precision;
    values.resize(static_cast<std::size_t>(runs * step_parameters(setup.shapes)));
    StepArrays a;
    a.values = values.data();
    const std::vector<Index> offsets = step_offsets(setup.shapes);
    for (std::size_t i = 0; i < offsets.size(); ++i) {
      offset_of[setup.shapes[i].name] = offsets[i];
      const auto at = reinterpret_cast<std::uintptr_t>(values.data() + offsets[i]);  // NOLINT
      device.arrays[at] = {setup.shapes[i].name, setup.shapes[i].count(), sizeof(float), {}};
    }
    step.emplace(setup, StepBatchShape{kExamples, false, false, runs}, a, AdamWStep{}, &device);
  }

  template <typename Operation>
  const Operation& launch(const std::string& name) const {
    const auto found = std::find_if(step->launches().begin(), step->launches().end(),
                                    [&name](const auto& one) { return one.name == name; });
    INFO(name);
    REQUIRE(found != step->launches().end());
    return std::get<Operation>(found->operation);
  }

  /// "name, step": an array of runs.
  template <typename Numbers>
  [[nodiscard]] std::string text(const Numbers& x) const {
    if (x == nullptr) return "-";
    if constexpr (requires { x.is_bf16(); }) {
      return device.name_of(x.data()) + ", " + std::to_string(x.step());
    } else {
      return device.name_of(x.data) + ", " + std::to_string(x.step);
    }
  }

  EngineSetup setup;
  std::vector<float> values;
  std::map<std::string, Index> offset_of;
  KnownDevice device;
  std::optional<FusedStep> step;
};

struct WantedMatrix {
  std::string array;
  Index step = 0, row = 0;
  bool transposed = false;
};

struct WantedProduct {
  Index rows = 0, columns = 0, inner = 0;
  WantedMatrix left, right, out;
  std::string added = "-", bias = "-", kept = "-";
};

void check_product(const Planned& planned, const std::string& name, const WantedProduct& wanted) {
  INFO(name);
  const auto& p = planned.launch<StepProduct>(name);
  const auto matrix = [&](const auto& found, bool transposed, const WantedMatrix& m) {
    CHECK(planned.text(found.data) == m.array + ", " + std::to_string(m.step));
    CHECK(found.row == m.row);
    CHECK(found.batch == 0);
    CHECK(transposed == m.transposed);
  };
  CHECK(p.rows == wanted.rows);
  CHECK(p.columns == wanted.columns);
  CHECK(p.inner == wanted.inner);
  CHECK(p.batch == 1);
  CHECK(p.runs == kRuns);
  matrix(p.left, p.left_transposed, wanted.left);
  matrix(p.right, p.right_transposed, wanted.right);
  matrix(p.out, false, wanted.out);
  CHECK(planned.text(p.added.data) == wanted.added);
  if (wanted.added != "-") {
    CHECK(p.added.row == wanted.columns);
    CHECK(p.added.batch == 0);
  }
  CHECK(planned.text(p.bias) == wanted.bias);
  CHECK(planned.text(p.kept) == wanted.kept);
}

std::string with(const std::string& array, Index step) {
  return array + ", " + std::to_string(step);
}

}  // namespace

TEST_CASE("The products of a mixture read and write the arrays of each run at their places") {
  const Planned planned;
  const Index parameters = step_parameters(planned.setup.shapes);
  const std::string l = "layers.1.", z = l + "feed_forward_norm";
  const std::string stream = l + "stream";
  const std::string between = with(l + "stream between", kRows * kDim);  // after attention
  check_product(planned, l + "router",
                {kRows,
                 kExperts,
                 kDim,
                 {z, kRows * kDim, kDim},
                 {l + "router.weight", parameters, kDim, true},
                 {l + "router", kRows * kExperts, kExperts}});
  check_product(planned, l + "up",
                {kRows,
                 kAll,
                 kDim,
                 {z, kRows * kDim, kDim},
                 {l + "up.weight", parameters, kDim, true},
                 {l + "active before gates", kRows * kAll, kAll},
                 "-",
                 with(l + "up.bias", parameters),
                 with(l + "hidden", kRows * kAll)});
  CHECK(planned.launch<StepProduct>(l + "up").end == ProductEnd::kGelu);
  check_product(planned, l + "biases of experts",
                {kRows,
                 kDim,
                 kExperts,
                 {l + "gates", kRows * kExperts, kExperts},
                 {l + "down.bias", parameters, kDim},
                 {stream, kRows * kDim, kDim},
                 between});
  // W_2 of all experts beside each other; the output is added to what the biases gave.
  check_product(planned, l + "down",
                {kRows,
                 kDim,
                 kAll,
                 {l + "active", kRows * kAll, kAll},
                 {l + "weights of experts", kDim * kAll, kAll, true},
                 {stream, kRows * kDim, kDim},
                 with(stream, kRows * kDim)});
  check_product(planned, l + "gradient before down",
                {kRows,
                 kAll,
                 kDim,
                 {planned.device.name_of(
                      planned.launch<StepProduct>(l + "gradient before down").left.data.data()),
                  kRows * kDim, kDim},
                 {l + "weights of experts", kDim * kAll, kAll},
                 {l + "gradient of hidden", kRows * kAll, kAll}});
}

TEST_CASE("What a mixture does beside its products works on the same arrays") {
  const Planned planned;
  const std::string l = "layers.1.";
  const Index gates = kRows * kExperts;
  const auto& g = planned.launch<StepGates>(l + "gates");
  CHECK(g.rows == kRows);
  CHECK(g.experts == kExperts);
  CHECK(planned.text(g.logits) == with(l + "router", gates));
  CHECK(planned.text(g.gates) == with(l + "gates", gates));
  CHECK(planned.text(g.chosen) == with(l + "choices", gates));
  CHECK(planned.text(g.likely) == with(l + "likely experts", gates));
  const auto& shares = planned.launch<StepExpertShares>(l + "shares of experts");
  CHECK(shares.rows == kRows);
  CHECK(shares.experts == kExperts);
  CHECK(shares.active == g.active);
  CHECK(planned.text(shares.chosen) == with(l + "choices", gates));
  CHECK(planned.text(shares.shares) == with(l + "shares of experts", kExperts));
  const auto& scaled = planned.launch<StepScaledExperts>(l + "gated experts");
  CHECK(scaled.rows == kRows);
  CHECK(scaled.experts == kExperts);
  CHECK(scaled.hidden == kHidden);
  CHECK(planned.text(scaled.gates) == with(l + "gates", gates));
  CHECK(planned.text(scaled.active) == with(l + "active before gates", kRows * kAll));
  CHECK(planned.text(scaled.scaled) == with(l + "active", kRows * kAll));
  const auto& d = planned.launch<StepScaledExpertsGradient>(l + "gradient of gated experts");
  CHECK(d.rows == kRows);
  CHECK(d.experts == kExperts);
  CHECK(d.hidden == kHidden);
  CHECK(planned.text(d.gates) == with(l + "gates", gates));
  CHECK(planned.text(d.before) == with(l + "hidden", kRows * kAll));
  CHECK(planned.text(d.d_hidden) == with(l + "gradient of hidden", kRows * kAll));
  CHECK(planned.text(d.d_gates) == with(l + "gradient of gates", gates));
  const auto& router = planned.launch<StepGatesGradient>(l + "gradient of router");
  CHECK(router.rows == kRows);
  CHECK(router.experts == kExperts);
  CHECK(router.balance == 0.1);
  CHECK(planned.text(router.gates) == with(l + "gates", gates));
  CHECK(planned.text(router.d_gates) == with(l + "gradient of gates", gates));
  CHECK(planned.text(router.likely) == with(l + "likely experts", gates));
  CHECK(planned.text(router.shares) == with(l + "shares of experts", kExperts));
  CHECK(planned.text(router.d_logits) == with(l + "gradient of router", gates));
  const auto& swap = planned.launch<StepSwap>("weights of experts");
  CHECK(swap.first == kExperts);
  CHECK(swap.second == kDim);
  CHECK(swap.inner == kHidden);
  REQUIRE(swap.parts.size() == 1);
  CHECK(planned.text(swap.parts[0].from) ==
        with(l + "down.weight", step_parameters(planned.setup.shapes)));
  CHECK(planned.text(swap.parts[0].to) == with(l + "weights of experts", kDim * kAll));
}

TEST_CASE("Without a balance of experts nobody counts their choices") {
  const Planned planned(Precision::kFloat32, kRuns, 0.0);
  const auto& g = planned.launch<StepGates>("layers.1.gates");
  CHECK(g.chosen == nullptr);
  CHECK(g.likely == nullptr);
  for (const StepLaunch& launch : planned.step->launches()) {
    CHECK_FALSE(std::holds_alternative<StepExpertShares>(launch.operation));
  }
}

TEST_CASE("The gradient of each expert's output is summed where its product writes it") {
  for (const Index runs : {Index{1}, kRuns}) {
    for (const auto precision : {Precision::kFloat32, Precision::kBfloat16}) {
      INFO("runs " << runs << ", " << headway::word_of(precision));
      const Planned planned(precision, runs);
      const std::string weight = "layers.1.down.weight";
      const auto& product = planned.launch<StepProduct>("gradient of " + weight);
      CHECK(product.batch == 2);  // copies, each of half of the rows
      CHECK(product.inner == kRows / 2);
      CHECK(product.rows == kDim);
      CHECK(product.columns == kAll);
      CHECK(product.out.row == kAll);
      CHECK(product.out.batch == kDim * kAll);
      CHECK(product.out.data.step() == 2 * kDim * kAll);
      CHECK(product.left.batch == kRows / 2 * kDim);
      CHECK(product.right.batch == kRows / 2 * kAll);
      const auto& sums = planned.launch<StepSums>("gradients");
      const auto first = static_cast<const float*>(product.out.data.data()) - sums.copies;
      CHECK(first + runs * 2 * kDim * kAll <= sums.copies_size);
      // Of expert e and output d: M numbers, in the product at [d, e], in the parameters at [e, d].
      const std::vector<std::int64_t>& table = planned.device.array_of(sums.table).table;
      REQUIRE(static_cast<Index>(table.size()) == sums.blocks * StepSums::kColumns);
      const Index begin = planned.offset_of.at(weight);
      std::map<Index, std::vector<std::int64_t>> rows;  // by the first parameter
      for (auto row = table.begin(); row != table.end(); row += StepSums::kColumns) {
        rows[row[3]] = {row, row + StepSums::kColumns};
      }
      for (Index e = 0; e < kExperts; ++e) {
        for (Index d = 0; d < kDim; ++d) {
          INFO("expert " << e << ", output " << d);
          const auto found = rows.find(begin + (e * kDim + d) * kHidden);
          REQUIRE(found != rows.end());
          const std::vector<std::int64_t>& row = found->second;
          CHECK(row[0] == first + d * kAll + e * kHidden);
          CHECK(row[1] == 2);
          CHECK(row[2] == kDim * kAll);
          CHECK(row[4] == kHidden);
          CHECK(row[5] == 1);  // weights decay
        }
      }
    }
  }
}
