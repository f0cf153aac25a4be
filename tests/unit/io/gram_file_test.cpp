#include "headway/io/gram_file.hpp"

#include <cmath>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/gram.hpp"
#include "headway/io/hdf5_file.hpp"
#include "record_bytes.hpp"
#include "scratch_directory.hpp"

using namespace headway;
using Catch::Matchers::ContainsSubstring;

namespace {

headway::GramResult gram_of(const std::string& file_path, io::FeaturesIn place) {
  headway::Study study;
  study.task.set_kind(headway::TaskKind::kDataset);
  study.threads = 1;
  Observer observer;
  return headway::gram(study, {io::read_dataset(file_path, place)}, observer);
}

std::string fault_of(const std::string& file_path) {
  try {
    io::read_gram(file_path);
  } catch (const Error& e) {
    CHECK(e.kind() == ErrorKind::kBadData);
    return e.what();
  }
  return "(accepted)";
}

}  // namespace

TEST_CASE("Gram matrices of every form of data set come back from their file as data") {
  const testing::ScratchDirectory folder;
  for (const AttentionForm form : {AttentionForm::kWeights, AttentionForm::kQueryKey,
                                   AttentionForm::kSupplied, AttentionForm::kPathFeatures}) {
    testing::BuiltDataset built;
    built.form = form;
    built.mask = form != AttentionForm::kPathFeatures;
    built.sets = {"validation"};
    const std::string data = folder.file("d.h5");
    testing::write_dataset_file(data, built);
    const headway::GramResult result = gram_of(data, io::FeaturesIn::kFile);
    const headway::GramResult in_memory = gram_of(data, io::FeaturesIn::kMemory);
    CHECK(result.data.gram == in_memory.data.gram);
    CHECK(result.data.examples == built.train);
    CHECK(result.head_names == std::vector<std::vector<std::string>>{
                                   {"head 1", "head 2"}, {"head 1", "head 2", "head 3"}});
    const std::string file = folder.file("g.h5");
    io::write_gram(file, result, {}, true);
    CHECK(io::is_dataset_file(file));
    CHECK(io::validate_dataset(file).empty());
    const headway::GramResult back = io::read_gram(file);
    CHECK(testing::bytes_of(back) == testing::bytes_of(result));
    const tasks::Dataset dataset = io::read_dataset(file);
    REQUIRE(dataset.gram);
    CHECK(dataset.heads == std::vector<int>{2, 3});
    CHECK(dataset.layers.at(1).names == std::vector<std::string>{"head 1", "head 2", "head 3"});
    CHECK(dataset.features == built.features);
    CHECK(dataset.outputs() == built.outputs);
    REQUIRE(dataset.test);
    CHECK(dataset.test->size() == built.test);
    CHECK(dataset.sets.at(0).name == "validation");
    CHECK(dataset.content_hash.size() == 64);
    CHECK_THAT(io::describe_hdf5_file(file), ContainsSubstring("7, summed"));
  }
}

TEST_CASE("Gram files with sums that no data can have are refused, with file and fault") {
  const testing::ScratchDirectory folder;
  const std::string data = folder.file("d.h5");
  testing::BuiltDataset built;
  built.form = AttentionForm::kPathFeatures;
  testing::write_dataset_file(data, built);
  const headway::GramResult good = gram_of(data, io::FeaturesIn::kMemory);
  const std::string file = folder.file("g.h5");
  const auto fault = [&](auto change) {
    headway::GramResult bad = good;
    change(bad);
    io::write_gram(file, bad, {}, true);
    return fault_of(file);
  };
  CHECK_THAT(fault([](auto& g) { g.data.gram(2, 2) *= -1.0; }),
             ContainsSubstring(file) && ContainsSubstring("not positive semidefinite"));
  CHECK_THAT(fault([](auto& g) { g.heads = {5}; }), ContainsSubstring("a multiple of 5 paths"));
  CHECK_THAT(
      fault([](auto& g) { g.sets.at(0).labels = MatrixXd::Zero(2, 2); }),
      Catch::Matchers::EndsWith(
          "sets/test: path_features of 5 x 18 and labels of 2 x 2; allowed: as many examples, "
          "18 numbers and 2 outputs as in gram"));
  CHECK_THAT(fault([](auto& g) { g.sets.at(0).path_features(1, 2) = std::nan(""); }),
             Catch::Matchers::EndsWith(
                 "sets/test: holds numbers that are not finite; allowed: finite numbers"));
  CHECK_THAT(fault([](auto& g) { g.data.projection *= 10.0; }), ContainsSubstring("other data"));
  io::write_gram(file, good, {}, true);
  CHECK_THROWS_AS(io::write_gram(file, good, {}, false), Error);
}
