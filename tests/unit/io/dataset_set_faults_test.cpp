// Faults in the further sets of a data set and in the trained network that it may hold.
#include <string>
#include <vector>

#include "catch.hpp"
#include "dataset_breaks.hpp"
#include "headway/dataset_file.hpp"
#include "headway/io/hdf5_file.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

const BuiltDataset kWeights = {.form = AttentionForm::kWeights};
const BuiltDataset kSets = {
    .form = AttentionForm::kSupplied, .mask = true, .sets = {"mnist", "validation"}};
const BuiltDataset kPathSets = {.form = AttentionForm::kPathFeatures, .sets = {"validation"}};
const BuiltDataset kNetwork = {.form = AttentionForm::kQueryKey, .network = true};

}  // namespace

TEST_CASE("Further sets are checked as the test set is") {
  check_all({
      {"no labels",
       kSets,
       [](Surgery& s) { s.remove("sets/mnist/labels"); },
       {"sets/mnist/labels: is missing"}},
      {"no attention",
       kSets,
       [](Surgery& s) { s.remove("sets/validation/attention"); },
       {"sets/validation/attention: is missing"}},
      {"other heads",
       kSets,
       [](Surgery& s) {
         s.replace("sets/mnist/attention/layer_2", H5T_IEEE_F64LE, {3, 2, 4, 4});
       },
       {"sets/mnist/attention/layer_2: shape [3, 2, 4, 4]",
        "H_2 = 3 as in train/attention/layer_2"}},
      {"other outputs",
       kSets,
       [](Surgery& s) { s.replace("sets/mnist/labels", H5T_IEEE_F64LE, {3}); },
       {"sets/mnist/labels: shape [3]", "[3, 2]", "C = 2 as in train/labels"}},
      {"other features",
       kSets,
       [](Surgery& s) {
         s.replace("sets/mnist/inputs", H5T_IEEE_F64LE, {3, 4, 5});
       },
       {"sets/mnist/inputs: shape [3, 4, 5]", "N_0 = 3 as in train/inputs"}},
      {"label not finite",
       kSets,
       [](Surgery& s) { s.set("sets/validation/labels", 7, kNan); },
       {"sets/validation/labels[3, 1]: nan"}},
      {"rows that do not sum to one",
       kSets,
       [](Surgery& s) { s.set("sets/validation/attention/layer_1", 5, 2.0); },
       {"sets/validation/attention/layer_1[0, 0, 1]: the row sums to"}},
      {"attention on padding",
       kSets,
       [](Surgery& s) { s.set("sets/mnist/attention/layer_1", 1 * 32 + 3, 0.5); },
       {"sets/mnist/attention/layer_1[1, 0, 0, 3]: 0.5 on a masked key"}},
      {"mask",
       kSets,
       [](Surgery& s) { s.set("sets/mnist/mask", 2, 2.0); },
       {"sets/mnist/mask[0, 2]: 2; allowed: 0 or 1"}},
      {"misspelt inputs",
       kSets,
       [](Surgery& s) { s.move("sets/mnist/inputs", "sets/mnist/input"); },
       {"sets/mnist/input: unknown name; did you mean sets/mnist/inputs?"}},
      {"misspelt sets",
       kSets,
       [](Surgery& s) { s.move("sets", "set"); },
       {"set: unknown name; did you mean sets?"}},
      {"a name that no table could show",
       kSets,
       [](Surgery& s) { s.move("sets/mnist", "sets/m n\nist"); },
       {"sets/m n?ist: is not a valid set name; allowed: a letter"}},
      {"a name that is taken",
       kSets,
       [](Surgery& s) { s.move("sets/mnist", "sets/test"); },
       {"sets/test: is taken"}},
      {"no group of sets",
       kSets,
       [](Surgery& s) { s.replace("sets", H5T_IEEE_F64LE, {3}); },
       {"sets: is not a group"}},
      {"a set that is no group",
       kSets,
       [](Surgery& s) { s.replace("sets/mnist", H5T_IEEE_F64LE, {3}); },
       {"sets/mnist: is not a group"}},
      {"a set elsewhere",
       kSets,
       [](Surgery& s) { external_link(s, "sets/mnist"); },
       {"sets/mnist: is a link to another file; allowed: a group with labels"}},
      {"path features of other heads",
       kPathSets,
       [](Surgery& s) {
         s.set_attribute("sets/validation/path_features", "heads", std::vector<double>{3, 2});
       },
       {"sets/validation/path_features: attribute heads = [3, 2]", "[2, 3]"}},
      {"a second form in a set",
       kWeights,
       [](Surgery& s) {
         s.move("test", "sets");  // as the name of a group: sets/inputs is then no group
       },
       {"sets/inputs: is not a group"}},
  });
}

TEST_CASE("Faults of the trained network are named") {
  check_all({
      {"input of other features",
       kNetwork,
       [](Surgery& s) {
         s.replace("network/input", H5T_IEEE_F64LE, {4, 2});
       },
       {"network/input: shape [4, 2]", "[N_1, N_0]", "[any, 3]"}},
      {"heads too few",
       kNetwork,
       [](Surgery& s) {
         s.replace("network/values/layer_2", H5T_IEEE_F64LE, {2, 6, 5});
       },
       {"network/values/layer_2: shape [2, 6, 5]", "[3, any, 5]"}},
      {"widths that do not follow each other",
       kNetwork,
       [](Surgery& s) {
         s.replace("network/values/layer_2", H5T_IEEE_F64LE, {3, 6, 4});
       },
       {"network/values/layer_2: shape [3, 6, 4]", "[3, any, 5]"}},
      {"a layer too many",
       kNetwork,
       [](Surgery& s) {
         s.replace("network/values/layer_3", H5T_IEEE_F64LE, {3, 6, 6});
       },
       {"network/values/layer_3: no such layer", "layer_1 to layer_2"}},
      {"a layer missing",
       kNetwork,
       [](Surgery& s) { s.remove("network/values/layer_1"); },
       {"network/values/layer_1: is missing"}},
      {"no values at all",
       kNetwork,
       [](Surgery& s) { s.remove("network/values"); },
       {"network/values: is missing"}},
      {"readout of other outputs",
       kNetwork,
       [](Surgery& s) {
         s.replace("network/readout", H5T_IEEE_F64LE, {1, 6});
       },
       {"network/readout: shape [1, 6]", "[2, 6]"}},
      {"infinite value",
       kNetwork,
       [](Surgery& s) { s.set("network/values/layer_1", 23, INFINITY); },
       {"network/values/layer_1[1, 0, 3]: inf; allowed: finite numbers"}},
      {"which readout is not said",
       kNetwork,
       [](Surgery& s) { s.remove_attribute("/", "readout"); },
       {"root attribute readout is missing beside network", "\"mean\""}},
      {"a name that is nearly one",
       kNetwork,
       [](Surgery& s) { s.move("network/input", "network/inputs"); },
       {"network/inputs: unknown name; did you mean network/input?"}},
      {"a number in place of the group",
       kWeights,
       [](Surgery& s) { s.replace("network", H5T_IEEE_F64LE, {1}); },
       {"network: is not a group"}},
  });
}

TEST_CASE("Further sets alone are new inputs, which need no labels and no head matrices") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("new.h5");
  BuiltDataset built = kWeights;
  built.sets = {"later"};
  write_dataset_file(path, built);
  {
    Surgery surgery(path);
    for (const char* name : {"train", "test", "sets/later/labels", "attention", "names"}) {
      surgery.remove(name);
    }
  }
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  const tasks::Dataset inputs = io::read_new_inputs(path);
  CHECK(inputs.heads.empty());
  CHECK(inputs.train.size() == 0);
  REQUIRE(inputs.sets.size() == 1);
  CHECK(inputs.sets[0].name == "later");
  CHECK(inputs.sets[0].split.size() == inputs.sets[0].split.examples->size());
  CHECK(inputs.sets[0].split.labels.cols() == 0);
  CHECK_THROWS_WITH(io::read_dataset(path),
                    path +
                        ": train: is missing; allowed: training examples with labels. Its further "
                        "sets are new inputs, which headway predict takes");
  CHECK_THAT(io::describe_hdf5_file(path),
             Catch::Matchers::ContainsSubstring(
                 "\nTo check all of it:  headway validate " + path +
                 "\nTo predict on it:    headway predict RESULT.h5 " + path + "\n"));
}
