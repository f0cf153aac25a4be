// A valid data-set file, broken in one way at a time: the message names the data set, the place and
// what is allowed.
#include <string>
#include <vector>

#include "catch.hpp"
#include "dataset_breaks.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "io/hdf5/input.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

namespace {

BuiltDataset built(AttentionForm form, bool mask = false) {
  BuiltDataset value;
  value.form = form;
  value.mask = mask;
  return value;
}

const BuiltDataset kWeights = built(AttentionForm::kWeights);
const BuiltDataset kMasked = built(AttentionForm::kWeights, true);
const BuiltDataset kQueryKey = built(AttentionForm::kQueryKey);
const BuiltDataset kSupplied = built(AttentionForm::kSupplied);
const BuiltDataset kSuppliedMasked = built(AttentionForm::kSupplied, true);
const BuiltDataset kPaths = built(AttentionForm::kPathFeatures);

/// A link to nowhere.
void soft_link(Surgery& s, const std::string& path, const std::string& target) {
  s.remove(path);
  H5Lcreate_soft(target.c_str(), s.file(), path.c_str(), H5P_DEFAULT, H5P_DEFAULT);
}

void huge_chunked(Surgery& s, const std::string& path, const std::vector<hsize_t>& shape) {
  const io::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
  const std::vector<hsize_t> chunk(shape.size(), 1);
  H5Pset_chunk(creation.get(), static_cast<int>(shape.size()), chunk.data());
  s.replace(path, H5T_IEEE_F64LE, shape, creation.get());
}

void compound(Surgery& s, const std::string& path) {
  const io::Handle type(H5Tcreate(H5T_COMPOUND, 16), H5Tclose);
  H5Tinsert(type.get(), "r", 0, H5T_IEEE_F64LE);
  H5Tinsert(type.get(), "i", 8, H5T_IEEE_F64LE);
  s.replace(path, type.get(), {7, 2});
}

}  // namespace

TEST_CASE("Faults of the schema and of root attributes are named") {
  check_all({
      {"no schema name",
       kWeights,
       [](Surgery& s) { s.remove_attribute("/", "schema_name"); },
       {"schema_name is missing", "headway-dataset"}},
      {"foreign schema",
       kWeights,
       [](Surgery& s) { s.set_attribute("/", "schema_name", std::string("other")); },
       {"schema_name = \"other\""}},
      {"schema name is a number",
       kWeights,
       [](Surgery& s) { s.set_attribute("/", "schema_name", std::vector<double>{1.0}); },
       {"schema_name", "allowed: one string"}},
      {"no version",
       kWeights,
       [](Surgery& s) { s.remove_attribute("/", "schema_version"); },
       {"schema_version is missing"}},
      {"newer version",
       kWeights,
       [](Surgery& s) {
         s.set_attribute("/", "schema_version", std::vector<double>{2, 0});
       },
       {"root attribute schema_version = [2, 0]: a newer major version; this Headway reads 1.x"}},
      {"version nan",
       kWeights,
       [](Surgery& s) {
         s.set_attribute("/", "schema_version", std::vector<double>{kNan, 0});
       },
       {"schema_version = [nan, 0]"}},
      {"note not UTF-8",
       kWeights,
       [](Surgery& s) { s.set_attribute("/", "note", std::string("\xC3(")); },
       {"note", "not UTF-8"}},
      {"readout unknown",
       kPaths,
       [](Surgery& s) { s.set_attribute("/", "readout", std::string("first")); },
       {"readout = \"first\"", "first_token"}},
  });
}

TEST_CASE("Faults of members are named") {
  check_all({
      {"no labels",
       kWeights,
       [](Surgery& s) { s.remove("train/labels"); },
       {"train/labels: is missing"}},
      {"no train", kWeights, [](Surgery& s) { s.remove("train"); }, {"train: is missing"}},
      {"no inputs",
       kWeights,
       [](Surgery& s) { s.remove("train/inputs"); },
       {"train/inputs: is missing"}},
      {"test without labels",
       kWeights,
       [](Surgery& s) { s.remove("test/labels"); },
       {"test/labels: is missing"}},
      {"no attention and no inputs",
       kWeights,
       [](Surgery& s) {
         s.remove("attention");
         s.remove("train/inputs");
       },
       {"no attention is given", "attention/weights"}},
      {"two forms",
       kWeights,
       [](Surgery& s) {
         s.replace("train/path_features", H5T_IEEE_F64LE, {7, 6, 3});
       },
       {"attention/weights, train/path_features are given", "exactly one"}},
      {"layer 1 missing",
       kWeights,
       [](Surgery& s) { s.remove("attention/weights/layer_1"); },
       {"attention/weights/layer_2: unexpected", "layer_1 is missing"}},
      {"query alone",
       kQueryKey,
       [](Surgery& s) { s.remove("attention/key"); },
       {"attention/key: is missing"}},
      {"key of another depth",
       kQueryKey,
       [](Surgery& s) { s.remove("attention/key/layer_2"); },
       {"attention/key/layer_2: is missing"}},
      {"supplied attention only for train",
       kSupplied,
       [](Surgery& s) { s.remove("test/attention"); },
       {"test/attention: is missing"}},
      {"misspelt test",
       kWeights,
       [](Surgery& s) { s.move("test", "Test"); },
       {"Test: unknown name; did you mean test?"}},
      {"misspelt mask",
       kMasked,
       [](Surgery& s) { s.move("train/mask", "train/masks"); },
       {"train/masks: unknown name; did you mean train/mask?"}},
      {"inputs beside path features",
       kPaths,
       [](Surgery& s) {
         s.replace("train/inputs", H5T_IEEE_F64LE, {7, 4, 3});
       },
       {"train/inputs: not allowed beside path_features"}},
      {"names of a layer that is not there",
       kWeights,
       [](Surgery& s) { s.move("names/layer_2", "names/layer_3"); },
       {"names/layer_3: no such layer"}},
      {"a group instead of labels",
       kWeights,
       [](Surgery& s) {
         s.remove("train/labels");
         const io::Handle group(
             H5Gcreate2(s.file(), "train/labels", H5P_DEFAULT, H5P_DEFAULT, H5P_DEFAULT), H5Gclose);
       },
       {"train/labels: is not a data set"}},
      {"link to another file",
       kWeights,
       [](Surgery& s) { external_link(s, "train/inputs"); },
       {"train/inputs: is a link to another file"}},
      {"link to nowhere",
       kWeights,
       [](Surgery& s) { soft_link(s, "test/labels", "/nothing"); },
       {"test/labels: is a link that leads nowhere"}},
      {"link to itself",
       kWeights,
       [](Surgery& s) { soft_link(s, "train/labels", "/train/labels"); },
       {"train/labels: is a link that leads nowhere"}},
  });
}

TEST_CASE("Faults of shapes are named") {
  check_all({
      {"labels of other length",
       kWeights,
       [](Surgery& s) {
         s.replace("train/inputs", H5T_IEEE_F64LE, {6, 4, 3});
       },
       {"train/labels: shape [7, 2]", "[6, any]", "P = 6 as in train/inputs"}},
      {"labels of other length than path features",
       kPaths,
       [](Surgery& s) {
         s.replace("train/labels", H5T_IEEE_F64LE, {9, 2});
       },
       {"train/labels: shape [9, 2]", "[7, any]", "P = 7 as in train/path_features"}},
      {"inputs of rank 2",
       kWeights,
       [](Surgery& s) {
         s.replace("train/inputs", H5T_IEEE_F64LE, {7, 12});
       },
       {"train/inputs: shape [7, 12]", "[P, S, N_0]"}},
      {"labels a scalar",
       kWeights,
       [](Surgery& s) { s.replace("train/labels", H5T_IEEE_F64LE, {}); },
       {"train/labels: shape a scalar"}},
      {"labels of rank 3",
       kWeights,
       [](Surgery& s) {
         s.replace("train/labels", H5T_IEEE_F64LE, {7, 1, 1});
       },
       {"train/labels: shape [7, 1, 1]"}},
      {"no examples",
       kWeights,
       [](Surgery& s) { s.replace("test/labels", H5T_IEEE_F64LE, {0}); },
       {"test/labels: shape [0]", "none zero"}},
      {"outputs differ",
       kWeights,
       [](Surgery& s) {
         s.replace("test/labels", H5T_IEEE_F64LE, {5, 3});
       },
       {"test/labels: shape [5, 3]", "[5, 2]", "C = 2 as in train/labels"}},
      {"features differ",
       kWeights,
       [](Surgery& s) {
         s.replace("test/inputs", H5T_IEEE_F64LE, {5, 4, 2});
       },
       {"test/inputs: shape [5, 4, 2]", "[any, 4, 3]", "N_0 = 3 as in train/inputs"}},
      {"tokens differ",
       kWeights,
       [](Surgery& s) {
         s.replace("test/inputs", H5T_IEEE_F64LE, {5, 3, 3});
       },
       {"test/inputs: shape [5, 3, 3]", "S = 4 as in train/inputs: pad the shorter ones"}},
      {"weights not square",
       kWeights,
       [](Surgery& s) {
         s.replace("attention/weights/layer_1", H5T_IEEE_F64LE, {2, 4, 3});
       },
       {"attention/weights/layer_1: shape [2, 4, 3]", "[any, 3, 3]", "N_0 = 3 as in"}},
      {"key and query differ",
       kQueryKey,
       [](Surgery& s) {
         s.replace("attention/key/layer_1", H5T_IEEE_F64LE, {2, 5, 3});
       },
       {"attention/key/layer_1: shape [2, 5, 3]", "[2, 6, 3]",
        "G_1 = 6 as in attention/query/layer_1"}},
      {"attention of other tokens",
       kSupplied,
       [](Surgery& s) {
         s.replace("train/attention/layer_1", H5T_IEEE_F64LE, {7, 2, 4, 5});
       },
       {"train/attention/layer_1: shape [7, 2, 4, 5]", "[7, any, 4, 4]"}},
      {"test heads differ",
       kSupplied,
       [](Surgery& s) {
         BuiltDataset other = kSupplied;
         s.replace("test/attention/layer_1", H5T_IEEE_F64LE, {5, 1, 4, 4},
                   built_attention(other, 1, 5, 1));
       },
       {"test/attention/layer_1: shape [5, 1, 4, 4]", "[5, 2, 4, 4]",
        "H_1 = 2 as in train/attention/layer_1"}},
      {"mask of other tokens",
       kMasked,
       [](Surgery& s) {
         s.replace("train/mask", H5T_STD_I8LE, {7, 5});
       },
       {"train/mask: shape [7, 5]", "[7, 4]"}},
      {"ids too few",
       kWeights,
       [](Surgery& s) { s.replace("train/ids", H5T_STD_I64LE, {6}); },
       {"train/ids: shape [6]"}},
      {"names too many",
       kWeights,
       [](Surgery& s) {
         s.move("names/layer_2", "names/layer_1x");
         s.remove("names/layer_1");
         s.move("names/layer_1x", "names/layer_1");
       },
       {"names/layer_1: shape [3]", "[2]"}},
      {"heads do not multiply to p",
       kPaths,
       [](Surgery& s) {
         s.set_attribute("train/path_features", "heads", std::vector<double>{2, 2});
       },
       {"train/path_features: attribute heads = [2, 2]; allowed: positive integers with product p "
        "= 6 (the second extent)"}},
      {"heads not whole",
       kPaths,
       [](Surgery& s) {
         s.set_attribute("test/path_features", "heads", std::vector<double>{2.5, 2.4});
       },
       {"test/path_features: attribute heads = [2.5, 2.4]"}},
      {"heads missing",
       kPaths,
       [](Surgery& s) { s.remove_attribute("train/path_features", "heads"); },
       {"train/path_features: attribute heads is missing"}},
      {"heads of the splits differ",
       kPaths,
       [](Surgery& s) {
         s.set_attribute("test/path_features", "heads", std::vector<double>{3, 2});
       },
       {"test/path_features: attribute heads = [3, 2]; allowed: [2, 3]"}},
  });
}

TEST_CASE("Faults of types and storage are named") {
  check_all({
      {"labels as text",
       kWeights,
       [](Surgery& s) { s.replace("train/labels", H5T_C_S1, {7}); },
       {"train/labels: type string", "float32, float64 or integers"}},
      {"compound labels",
       kWeights,
       [](Surgery& s) { compound(s, "train/labels"); },
       {"train/labels: type compound"}},
      {"names as floats",
       kWeights,
       [](Surgery& s) { s.replace("names/layer_1", H5T_IEEE_F64LE, {2}); },
       {"names/layer_1: type float64; allowed: strings"}},
      {"10^15 claimed, none stored",
       kWeights,
       [](Surgery& s) {
         huge_chunked(s, "train/inputs", {7, 1000000000, 1000000});
       },
       {"train/inputs", "7, 1000000000, 1000000"}},
      {"more than 2^64",
       kWeights,
       [](Surgery& s) {
         huge_chunked(s, "attention/weights/layer_1", {1ULL << 40, 1ULL << 40, 1ULL << 40});
       },
       {"attention/weights/layer_1", "more than 2^46 numbers"}},
      {"claims more than it stores",
       kWeights,
       [](Surgery& s) {
         huge_chunked(s, "train/labels", {7, 100000000});
       },
       {"train/labels: claims 5600000000 bytes", "the file stores only 0"}},
      {"raw data in another file",
       kWeights,
       [](Surgery& s) {
         const io::Handle creation(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
         H5Pset_external(creation.get(), "raw.bin", 0, 7 * 2 * 8);
         s.replace("train/labels", H5T_IEEE_F64LE, {7, 2}, creation.get());
       },
       {"train/labels: keeps its data in other files (virtual or external storage); allowed: data "
        "in this file"}},
  });
}

TEST_CASE("A chunk of gigabytes in a small file is refused; large chunks that are stored are not") {
  io::ArrayInfo info;
  info.kind = io::ElementKind::kFloat64;
  info.element_bytes = 8;
  info.shape = info.chunk = {7, 40'000'000};
  info.stored_bytes = 2'200'000;  // deflate takes a thousandth of zeros
  CHECK_THAT(io::implausible_storage(info, info.stored_bytes + 4000, false),
             Catch::Matchers::ContainsSubstring("has chunks of 2240000000 bytes") &&
                 Catch::Matchers::ContainsSubstring("the file stores only 2200000"));
  info.chunk = {Index{1} << 40, Index{1} << 40};  // more bytes than 64 bits can say
  CHECK(io::implausible_storage(info, info.stored_bytes + 4000, false) ==
        "has chunks of 18446744073709551615 bytes, of which the file stores only 2200000; allowed: "
        "chunks of up to 268435456 bytes, or less compression");
  info.unavailable_filter = "zfp";
  CHECK(io::implausible_storage(info, info.stored_bytes + 4000, false) ==
        "is compressed with the filter zfp, which this HDF5 library lacks; allowed: gzip or no "
        "compression");
  info.unavailable_filter.clear();
  info.chunk = {7, 4'000};  // the same numbers in small chunks
  info.pieces = info.written = 10'000;
  CHECK(io::implausible_storage(info, info.stored_bytes + 4000, false).empty());
  info.chunk = info.shape;
  info.pieces = info.written = 1;
  info.stored_bytes = 2'000'000'000;
  CHECK(io::implausible_storage(info, info.stored_bytes + 4000, false).empty());
}

TEST_CASE("Faults of values are named") {
  check_all({
      {"label nan",
       kWeights,
       [](Surgery& s) { s.set("train/labels", 2 * 3 + 1, kNan); },
       {"train/labels[3, 1]: nan; allowed: finite numbers"}},
      {"input infinite",
       kWeights,
       [](Surgery& s) { s.set("test/inputs", 2 * 12 + 7, INFINITY); },
       {"test/inputs[2, 2, 1]: inf; allowed: finite numbers"}},
      {"weight nan",
       kWeights,
       [](Surgery& s) { s.set("attention/weights/layer_2", 20, kNan); },
       {"attention/weights/layer_2[2, 0, 2]: nan"}},
      {"key nan",
       kQueryKey,
       [](Surgery& s) { s.set("attention/key/layer_1", 0, -INFINITY); },
       {"attention/key/layer_1[0, 0, 0]: -inf"}},
      {"path feature nan",
       kPaths,
       [](Surgery& s) { s.set("test/path_features", 25, kNan); },
       {"test/path_features[1, 2, 1]: nan"}},
      {"row sum",
       kSupplied,
       [](Surgery& s) { s.set("train/attention/layer_2", (((2 * 3 + 1) * 4) + 3) * 4, 2.5); },
       {"train/attention/layer_2[2, 1, 3]: the row sums to", "allowed: 1 within 1e-06"}},
      {"negative attention",
       kSupplied,
       [](Surgery& s) { s.set("test/attention/layer_1", 5, -0.25); },
       {"test/attention/layer_1[0, 0, 1, 1]: -0.25; allowed: attention >= 0"}},
      {"attention nan",
       kSupplied,
       [](Surgery& s) { s.set("test/attention/layer_1", 5, kNan); },
       {"test/attention/layer_1[0, 0, 1, 1]: nan; allowed: finite numbers"}},
      {"masked column",
       kSuppliedMasked,
       [](Surgery& s) { s.set("train/attention/layer_1", (1 * 2 + 1) * 16 + 3, 0.125); },
       {"train/attention/layer_1[1, 1, 0, 3]: 0.125 on a masked key; allowed: 0"}},
      {"mask of two",
       kMasked,
       [](Surgery& s) { s.set("train/mask", 6, 2.0); },
       {"train/mask[1, 2]: 2; allowed: 0 or 1"}},
      {"nothing real",
       kMasked,
       [](Surgery& s) {
         for (std::size_t i = 8; i < 12; ++i) s.set("test/mask", i, 0.0);
       },
       {"test/mask[2]: no token is 1", "at least one real token"}},
  });
}

TEST_CASE("float32 attention may round to 1e-4, float64 to 1e-6") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  for (const bool single : {true, false}) {
    write_dataset_file(path, kSupplied);
    std::vector<double> attention = built_attention(kSupplied, 13, 7, 2);
    for (double& a : attention) a *= 1.0 + 5e-5;
    {
      Surgery surgery(path);
      surgery.replace("train/attention/layer_1", single ? H5T_IEEE_F32LE : H5T_IEEE_F64LE,
                      {7, 2, 4, 4}, attention);
    }
    CHECK(io::validate_dataset(path).empty() == single);
  }
}

TEST_CASE("validate says everything that is wrong, and counts what repeats") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path, kMasked);
  {
    Surgery s(path);
    s.remove("test/labels");
    s.set("attention/weights/layer_1", 4, kNan);
    s.replace("names/layer_2", H5T_IEEE_F64LE, {3});
    for (std::size_t i = 0; i < 9; ++i) s.set("train/labels", i, kNan);
  }
  const std::vector<std::string> faults = io::validate_dataset(path);
  CAPTURE(faults);
  CHECK(one_message_has(faults, {"test/labels: is missing"}));
  CHECK(one_message_has(faults, {"attention/weights/layer_1[0, 1, 1]: nan"}));
  CHECK(one_message_has(faults, {"names/layer_2: type float64"}));
  CHECK(one_message_has(faults, {"train/labels[0, 0]: nan"}));
  CHECK(one_message_has(faults, {"train/labels[2, 0]: nan"}));
  CHECK_FALSE(one_message_has(faults, {"train/labels[2, 1]: nan"}));
  CHECK(one_message_has(faults, {"train/labels: 4 more faults"}));
}

TEST_CASE("Extra members that are no misspelling are welcome") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path, kWeights);
  {
    Surgery s(path);
    s.set_attribute("/", "made_by", std::string("somebody"));
    s.set_attribute("train/inputs", "unit", std::string("none"));
    s.replace("expected", H5T_IEEE_F64LE, {3});
    s.replace("train/weights_of_examples", H5T_IEEE_F64LE, {3});
    s.move("train/labels", "train/first_labels");
    H5Lcreate_soft("/train/first_labels", s.file(), "train/labels", H5P_DEFAULT, H5P_DEFAULT);
  }
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  CHECK(io::read_dataset(path).train.labels(3, 1) == built_value(10, 7));
}
