// Every form of a data-set file, read back number by number.
#include <thread>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/result_file.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using tasks::Dataset;

namespace {

Dataset round_trip(const ScratchDirectory& scratch, const BuiltDataset& built) {
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path, built);
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  return io::read_dataset(path);
}

std::vector<double> read_inputs(const ExampleSource& source, Index begin, Index count) {
  std::vector<double> out(static_cast<std::size_t>(count * source.tokens() * source.features()));
  source.read_inputs(begin, count, out.data());
  return out;
}

void check_common(const Dataset& data, const BuiltDataset& built) {
  CHECK(data.form == built.form);
  CHECK(data.heads == built.heads);
  CHECK(data.features == built.features);
  CHECK(data.outputs() == built.outputs);
  CHECK(data.note == "made for a test");
  CHECK(data.content_hash.size() == 64);
  REQUIRE(data.layers.size() == 2);
  CHECK(data.layers[1].names == std::vector<std::string>{"head 1", "head 2", "head 3"});
  REQUIRE(data.train.size() == built.train);
  REQUIRE(data.test);
  REQUIRE(data.test->size() == built.test);
  CHECK(data.train.labels(3, 1) == built_value(10, 3 * 2 + 1));
  CHECK(data.test->labels(4, 0) == built_value(20, 4 * 2));
  REQUIRE(data.train.ids.size() == static_cast<std::size_t>(built.train));
  CHECK(data.train.ids[6] == "train \xC3\xA9 6");
}

}  // namespace

TEST_CASE("Head matrices are read as [query feature, key feature]") {
  const ScratchDirectory scratch;
  const BuiltDataset built;
  const Dataset data = round_trip(scratch, built);
  check_common(data, built);
  REQUIRE(data.layers[1].weights.size() == 3);
  CHECK(data.layers[1].weights[2](1, 2) == built_value(41, 2 * 9 + 1 * 3 + 2));
  CHECK(data.layers[1].weights[2](2, 1) == built_value(41, 2 * 9 + 2 * 3 + 1));
  CHECK(data.layers[0].query.empty());
  const ExampleSource& train = *data.train.examples;
  CHECK(train.tokens() == 4);
  CHECK_FALSE(train.has_mask());
  CHECK(read_inputs(train, 2, 3) == [] {
    const std::vector<double> all = built_values(12, 7 * 12);
    return std::vector<double>(all.begin() + 24, all.begin() + 60);
  }());
  std::vector<double> none(12);
  CHECK_THROWS_AS(train.read_inputs(5, 3, none.data()), Error);
  CHECK_THROWS_AS(train.read_attention(1, 0, 1, none.data()), Error);
}

TEST_CASE("Query and key matrices are read as G x N_0") {
  const ScratchDirectory scratch;
  BuiltDataset built;
  built.form = AttentionForm::kQueryKey;
  const Dataset data = round_trip(scratch, built);
  check_common(data, built);
  REQUIRE(data.layers[0].query.size() == 2);
  REQUIRE(data.layers[0].query[1].rows() == 6);
  REQUIRE(data.layers[0].query[1].cols() == 3);
  CHECK(data.layers[0].query[1](4, 2) == built_value(40, 18 + 4 * 3 + 2));
  CHECK(data.layers[1].key[2](5, 0) == built_value(46, 36 + 5 * 3));
  CHECK(data.layers[1].weights.empty());
}

TEST_CASE("Supplied attention is served by layer, and padding as zeros") {
  const ScratchDirectory scratch;
  BuiltDataset built;
  built.form = AttentionForm::kSupplied;
  built.mask = true;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path, built);
  {  // What stands at padding does not matter, not even nan.
    Surgery surgery(path);
    surgery.set("train/inputs", (1 * 4 + 3) * 3 + 1, NAN);
    surgery.set("train/attention/layer_2", ((1 * 3 + 2) * 4 + 3) * 4 + 1, -7.0);
  }
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  const Dataset data = io::read_dataset(path);
  check_common(data, built);
  const ExampleSource& train = *data.train.examples;
  REQUIRE(train.has_mask());
  std::vector<std::uint8_t> mask(8);
  train.read_mask(0, 2, mask.data());
  CHECK(mask == std::vector<std::uint8_t>{1, 1, 1, 1, 1, 1, 1, 0});
  const std::vector<double> inputs = read_inputs(train, 1, 1);
  CHECK(inputs[2 * 3 + 1] == built_value(12, 12 + 2 * 3 + 1));
  CHECK(inputs[3 * 3 + 1] == 0.0);
  std::vector<double> attention(2 * 3 * 16);
  train.read_attention(2, 1, 2, attention.data());
  const std::vector<double> expected = built_attention(built, 14, 7, 3);
  CHECK(attention[(2 * 4 + 1) * 4 + 2] == expected[((1 * 3 + 2) * 4 + 1) * 4 + 2]);
  CHECK(attention[(2 * 4 + 3) * 4 + 1] == 0.0);
  CHECK(attention[48 + 5] == expected[2 * 48 + 5]);
}

TEST_CASE("Path features carry their heads and their readout") {
  const ScratchDirectory scratch;
  BuiltDataset built;
  built.form = AttentionForm::kPathFeatures;
  const Dataset data = round_trip(scratch, built);
  check_common(data, built);
  CHECK(data.readout == Readout::kMean);
  CHECK(data.train.examples == nullptr);
  REQUIRE(data.train.path_features.cols() == 18);
  CHECK(data.train.path_features(5, 4 * 3 + 2) == built_value(11, 5 * 18 + 14));
}

TEST_CASE("Other number types and storage are read as doubles") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  BuiltDataset built;
  built.outputs = 1;
  built.form = AttentionForm::kSupplied;
  write_dataset_file(path, built);
  {
    Surgery surgery(path);
    const io::Handle chunked(H5Pcreate(H5P_DATASET_CREATE), H5Pclose);
    const std::vector<hsize_t> chunk = {2, 3, 2, 4};
    H5Pset_chunk(chunked.get(), 4, chunk.data());
    H5Pset_deflate(chunked.get(), 4);
    surgery.replace("train/attention/layer_2", H5T_IEEE_F32BE, {7, 3, 4, 4},
                    built_attention(built, 14, 7, 3), chunked.get());
    surgery.replace("train/labels", H5T_STD_I8LE, {7}, {1, -1, 1, 1, -1, -1, 1});
    surgery.replace("train/inputs", H5T_IEEE_F32LE, {7, 4, 3}, built_values(12, 84));
    const io::Handle boolean(H5Tenum_create(H5T_NATIVE_INT8), H5Tclose);  // as numpy writes them
    const signed char no = 0, yes = 1;
    H5Tenum_insert(boolean.get(), "FALSE", &no);
    H5Tenum_insert(boolean.get(), "TRUE", &yes);
    const io::Handle mask = surgery.replace("train/mask", boolean.get(), {7, 4});
    const std::vector<signed char> ones(28, 1);
    H5Dwrite(mask.get(), boolean.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, ones.data());
  }
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  const Dataset data = io::read_dataset(path);
  CHECK(data.train.labels(4, 0) == -1.0);
  CHECK(data.train.examples->has_mask());
  CHECK(read_inputs(*data.train.examples, 3, 1)[5] ==
        static_cast<double>(static_cast<float>(built_value(12, 36 + 5))));
  std::vector<double> attention(48);
  data.train.examples->read_attention(2, 6, 1, attention.data());
  const std::vector<double> expected = built_attention(built, 14, 7, 3);
  CHECK(attention[17] == static_cast<double>(static_cast<float>(expected[6 * 48 + 17])));
}

TEST_CASE("Blocks may be read from several threads") {
  const ScratchDirectory scratch;
  const Dataset data = round_trip(scratch, {});
  const std::vector<double> all = read_inputs(*data.train.examples, 0, 7);
  std::vector<int> differences(4, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (Index i = 0; i < 200; ++i) {
        const Index example = (i + static_cast<Index>(t)) % 7;
        const std::vector<double> one = read_inputs(*data.train.examples, example, 1);
        if (!std::equal(one.begin(), one.end(), all.begin() + example * 12)) ++differences[t];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(differences == std::vector<int>(4, 0));
}

TEST_CASE("Further sets are read like the test set, by name") {
  const ScratchDirectory scratch;
  for (const AttentionForm form : {AttentionForm::kWeights, AttentionForm::kQueryKey,
                                   AttentionForm::kSupplied, AttentionForm::kPathFeatures}) {
    const bool paths = form == AttentionForm::kPathFeatures;
    const BuiltDataset built = {
        .form = form, .mask = !paths, .sets = {"validation", "mnist", "a-2_b"}};
    const Dataset data = round_trip(scratch, built);
    check_common(data, built);
    REQUIRE(data.sets.size() == 3);
    CHECK(data.evaluated_examples() == 5 + 3 + 4 + 5);
    CHECK(data.sets[0].name == "a-2_b");
    CHECK(data.sets[1].name == "mnist");
    CHECK(data.sets[2].name == "validation");
    const tasks::Split& mnist = data.sets[1].split;  // written as number 1
    REQUIRE(mnist.size() == 4);
    CHECK(mnist.labels(3, 1) == built_value(60, 3 * 2 + 1));
    CHECK(mnist.ids.at(2) == "sets/mnist \xC3\xA9 2");
    if (paths) {
      CHECK(mnist.path_features(3, 17) == built_value(61, 3 * 18 + 17));
      continue;
    }
    CHECK(read_inputs(*mnist.examples, 2, 1).at(5) == built_value(62, 2 * 12 + 5));
    std::vector<std::uint8_t> mask(4);
    mnist.examples->read_mask(1, 1, mask.data());
    CHECK(mask == std::vector<std::uint8_t>{1, 1, 1, 0});
    if (form != AttentionForm::kSupplied) continue;
    std::vector<double> attention(48);
    mnist.examples->read_attention(2, 3, 1, attention.data());
    const std::vector<double> all = built_attention(built, 64, 4, 3);
    CHECK(attention == std::vector<double>(all.begin() + 3 * 48, all.end()));
  }
}

TEST_CASE("Every form may say which readout a study gets that says none") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path);
  CHECK_FALSE(io::read_dataset(path).readout);
  const auto says = [&](const std::string& readout) {
    Surgery(path).set_attribute("/", "readout", readout);
  };
  says("first_token");
  CHECK(io::read_dataset(path).readout == Readout::kFirstToken);
  CHECK_THAT(io::describe_hdf5_file(path),
             Catch::Matchers::ContainsSubstring("readout    first_token"));
  says("CLS");
  CHECK_THAT(io::validate_dataset(path).at(0),
             Catch::Matchers::ContainsSubstring("root attribute readout = \"CLS\"; allowed: "));
}

TEST_CASE("A data set may have further sets and no test set") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path, {.sets = {"validation"}});
  Surgery(path).remove("test");
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  const Dataset data = io::read_dataset(path);
  CHECK_FALSE(data.test);
  REQUIRE(data.sets.size() == 1);
  CHECK(data.evaluated_examples() == 3);
}

TEST_CASE("The content hash follows the content") {
  const ScratchDirectory scratch;
  const std::string first = round_trip(scratch, {}).content_hash;
  CHECK(round_trip(scratch, {}).content_hash == first);
  {
    Surgery surgery(scratch.file("data.h5"));
    surgery.set("test/labels", 3, 0.25);
  }
  CHECK(io::read_dataset(scratch.file("data.h5")).content_hash != first);
  const std::string with_set = round_trip(scratch, {.sets = {"validation"}}).content_hash;
  CHECK(with_set != first);
  Surgery(scratch.file("data.h5")).set("sets/validation/labels", 3, 0.25);
  CHECK(io::read_dataset(scratch.file("data.h5")).content_hash != with_set);
}

TEST_CASE("The trained network of a data set is read as matrices, with its readout") {
  const ScratchDirectory scratch;
  for (const AttentionForm form :
       {AttentionForm::kQueryKey, AttentionForm::kSupplied, AttentionForm::kPathFeatures}) {
    const BuiltDataset built = {.form = form, .network = true};
    const Dataset data = round_trip(scratch, built);
    check_common(data, built);
    REQUIRE(data.network);
    CHECK(data.readout == Readout::kMean);
    CHECK(data.network->input.rows() == 4);
    CHECK(data.network->input(2, 1) == built_value(60, 2 * 3 + 1));
    REQUIRE(data.network->values.size() == 2);
    REQUIRE(data.network->values[1].size() == 3);
    const MatrixXd& value = data.network->values[1][2];  // head 3 of layer 2, 6 x 5
    CHECK(value.rows() == 6);
    CHECK(value(4, 3) == built_value(62, 2 * 30 + 4 * 5 + 3));
    CHECK(data.network->readout(1, 5) == built_value(70, 6 + 5));
  }
  CHECK_FALSE(round_trip(scratch, {}).network);
}

TEST_CASE("Data sets are told from other files") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("data.h5");
  write_dataset_file(path);
  CHECK(io::is_hdf5(path));
  CHECK(io::is_dataset_file(path));
  CHECK_FALSE(io::is_result_file(path));
  write_bytes(scratch.file("text"), {'a', '=', '1'});
  CHECK_FALSE(io::is_hdf5(scratch.file("text")));
  CHECK_FALSE(io::is_dataset_file(scratch.file("text")));
  CHECK_FALSE(io::is_dataset_file(scratch.file("missing")));
}

namespace {

Dataset extracted(AttentionForm form, std::shared_ptr<const ExampleSource> examples) {
  Dataset data;
  data.form = form;
  data.heads = {2, 3};
  data.features = 2;
  data.layers = {{{}, {}, {}, {"a", "b"}}, {{}, {}, {}, {"c", "d", "e"}}};
  data.note = "made for a test";
  data.train.labels = MatrixXd::Constant(4, 1, 0.25);
  data.train.labels(3, 0) = -1.5;
  data.train.examples = std::move(examples);
  if (form == AttentionForm::kPathFeatures) {
    data.train.path_features.resize(4, 12);
    for (Index i = 0; i < 48; ++i)
      data.train.path_features.data()[i] = 0.5 * static_cast<double>(i);
  }
  data.sets = {{"validation", data.train}};
  return data;
}

Dataset write_and_read(const Dataset& data, const ScratchDirectory& scratch) {
  const std::string path = scratch.file("extracted.h5");
  headway::ExtractResult result;
  result.dataset = data;
  io::write_extracted(path, result, {{"weights_sha256", "abc"}}, true);
  CHECK(io::validate_dataset(path) == std::vector<std::string>{});
  return io::read_dataset(path);
}

}  // namespace

TEST_CASE("Extracted path features are read back") {
  const ScratchDirectory scratch;
  const Dataset wanted = extracted(AttentionForm::kPathFeatures, nullptr);
  const Dataset data = write_and_read(wanted, scratch);
  CHECK(data.form == AttentionForm::kPathFeatures);
  CHECK(data.heads == wanted.heads);
  CHECK(data.layers[1].names == wanted.layers[1].names);
  CHECK(data.train.path_features == wanted.train.path_features);
  CHECK(data.sets.at(0).split.path_features == wanted.train.path_features);
  CHECK(data.train.labels == wanted.train.labels);
}

TEST_CASE("Extracted attention is read back") {
  const ScratchDirectory scratch;
  Tensor inputs({4, 3, 2});
  std::vector<Tensor> attention = {Tensor({4, 2, 3, 3}), Tensor({4, 3, 3, 3})};
  for (std::size_t i = 0; i < inputs.values.size(); ++i) inputs.values[i] = 0.25 * double(i);
  for (Tensor& layer : attention) {
    for (std::size_t i = 0; i < layer.values.size(); i += 3) {  // rows that differ, sum 1
      const double first = static_cast<double>(i % 16) / 32.0;
      layer.values[i] = first;
      layer.values[i + 1] = 0.25;
      layer.values[i + 2] = 0.75 - first;
    }
  }
  const std::vector<double> second = attention[1].values;
  const Dataset wanted = extracted(
      AttentionForm::kSupplied,
      std::make_shared<tasks::MemoryExamples>(inputs, std::vector<std::uint8_t>{}, attention));
  const Dataset data = write_and_read(wanted, scratch);
  CHECK(data.form == AttentionForm::kSupplied);
  CHECK(read_inputs(*data.train.examples, 0, 4) == inputs.values);
  std::vector<double> read(4 * 27);
  data.sets.at(0).split.examples->read_attention(2, 0, 4, read.data());
  CHECK(read == second);
}
