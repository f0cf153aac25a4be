// The golden data sets as io::read_dataset sees them; the numbers were read with h5py.
#include "headway/dataset_file.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "catch.hpp"

using Catch::Matchers::WithinRel;
using headway::AttentionForm;
using headway::Index;
using headway::io::read_dataset;
using headway::io::validate_dataset;
using headway::tasks::Dataset;

namespace {

std::string golden(const std::string& name) { return HEADWAY_TEST_DATA "/golden/" + name; }

/// All inputs of a split, read in blocks of three examples.
std::vector<double> all_inputs(const headway::ExampleSource& source) {
  const Index row = source.tokens() * source.features();
  std::vector<double> values(static_cast<std::size_t>(source.size() * row));
  for (Index begin = 0; begin < source.size(); begin += 3) {
    const Index count = std::min<Index>(3, source.size() - begin);
    source.read_inputs(begin, count, values.data() + begin * row);
  }
  return values;
}

double total(const std::vector<double>& values) {
  double sum = 0.0;
  for (const double v : values) sum += v;
  return sum;
}

double input(const headway::ExampleSource& source, Index example, Index token, Index feature) {
  std::vector<double> one(static_cast<std::size_t>(source.tokens() * source.features()));
  source.read_inputs(example, 1, one.data());
  return one.at(static_cast<std::size_t>(token * source.features() + feature));
}

/// Entry [head, query, key] of one example.
double attention(const headway::ExampleSource& source, int layer, int heads, Index example,
                 std::vector<Index> at) {
  const Index s = source.tokens();
  std::vector<double> one(static_cast<std::size_t>(heads * s * s));
  source.read_attention(layer, example, 1, one.data());
  return one.at(static_cast<std::size_t>((at[0] * s + at[1]) * s + at[2]));
}

}  // namespace

TEST_CASE("toy1 is read as one layer of supplied attention") {
  REQUIRE(validate_dataset(golden("toy1.h5")).empty());
  const Dataset data = read_dataset(golden("toy1.h5"));
  CHECK(data.form == AttentionForm::kSupplied);
  CHECK(data.heads == std::vector<int>{3});
  CHECK(data.features == 9);
  CHECK(data.outputs() == 1);
  REQUIRE(data.train.size() == 24);
  REQUIRE(data.test);
  REQUIRE(data.test->size() == 40);
  CHECK(data.train.labels(0, 0) == 1.0);
  CHECK(data.train.labels(1, 0) == -1.0);
  CHECK(data.train.examples->tokens() == 5);
  CHECK_FALSE(data.train.examples->has_mask());
  CHECK(input(*data.train.examples, 3, 2, 1) == -0.7237765601247179);
  CHECK(input(*data.test->examples, 7, 4, 5) == -0.3604457631937419);
  CHECK_THAT(total(all_inputs(*data.test->examples)), WithinRel(0.17704129309900196, 1e-9));
  CHECK(attention(*data.train.examples, 1, 3, 5, {1, 2, 3}) == 0.15576373808041485);
  CHECK(attention(*data.test->examples, 1, 3, 5, {1, 3, 2}) == 0.5691776897859941);
  CHECK(data.content_hash == "0cd135622ce6c1033840634f2d06f38b6c7437619b6db70d2682a25dad54d05d");
}

TEST_CASE("toy3 is read as three layers of supplied attention") {
  const Dataset data = read_dataset(golden("toy3.h5"));
  CHECK(data.heads == std::vector<int>{2, 3, 2});
  CHECK(data.layers.size() == 3);
  CHECK(data.train.size() == 30);
  CHECK(input(*data.train.examples, 3, 2, 1) == -2.47685411921746);
  CHECK(attention(*data.train.examples, 3, 2, 5, {1, 2, 3}) == 0.9199756969099315);
  CHECK(attention(*data.test->examples, 3, 2, 5, {1, 3, 2}) == 0.09219389121204516);
  CHECK_THAT(total(all_inputs(*data.test->examples)), WithinRel(-1.1488999761293321, 1e-9));
}

TEST_CASE("toy3outputs is read with labels of three outputs") {
  const Dataset data = read_dataset(golden("toy3outputs.h5"));
  CHECK(data.outputs() == 3);
  CHECK(data.heads == std::vector<int>{2, 2});
  CHECK(data.train.labels.row(0) == Eigen::RowVector3d(0, 1, 0));
  CHECK(data.train.labels.rowwise().sum().isOnes());
  CHECK(input(*data.test->examples, 7, 4, 5) == 2.561644413322601);
  CHECK(attention(*data.train.examples, 2, 2, 5, {1, 2, 3}) == 0.25980680106245735);
}

TEST_CASE("hmm4_paths is read as path features, row-major in (path, feature)") {
  const Dataset data = read_dataset(golden("hmm4_paths.h5"));
  CHECK(data.form == AttentionForm::kPathFeatures);
  CHECK(data.heads == std::vector<int>{2, 2});
  CHECK(data.features == 231);
  CHECK(data.readout == headway::Readout::kLastToken);
  CHECK(data.train.examples == nullptr);
  REQUIRE(data.train.path_features.rows() == 100);
  REQUIRE(data.train.path_features.cols() == Index{4} * 231);
  CHECK(data.train.path_features(3, 479) == 0.22735557455437938);
  CHECK(data.test->path_features(11, 698) == 0.5945740484528241);
  CHECK_THAT(data.test->path_features.sum(), WithinRel(85256.6174140716, 1e-12));
}
