#include "headway/dataset.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"

using headway::Index;
using headway::Tensor;
using headway::tasks::MemoryExamples;
using headway::tasks::SourcedExamples;

namespace {

Tensor counting(std::vector<Index> shape) {
  Tensor t(std::move(shape));
  std::iota(t.values.begin(), t.values.end(), 0.0);
  return t;
}

/// An array that is read in blocks, from memory.
class CountingSource final : public headway::tasks::ArraySource {
 public:
  explicit CountingSource(std::vector<Index> shape) : array_(counting(std::move(shape))) {}
  [[nodiscard]] const std::vector<Index>& shape() const override { return array_.shape; }
  void read(Index begin, Index count, double* out) const override {
    const auto stride = static_cast<Index>(array_.values.size()) / array_.shape[0];
    std::copy_n(array_.values.data() + begin * stride, count * stride, out);
  }

 private:
  Tensor array_;
};

}  // namespace

TEST_CASE("Examples in memory are read in any block") {
  const MemoryExamples examples(counting({4, 3, 2}), {1, 0, 1, 1, 1, 0, 1, 1, 1, 0, 1, 1},
                                {counting({4, 2, 3, 3}), counting({4, 1, 3, 3})});
  CHECK(examples.size() == 4);
  CHECK(examples.tokens() == 3);
  CHECK(examples.features() == 2);
  CHECK(examples.has_mask());
  CHECK(examples.thread_safe());
  std::vector<double> inputs(12);
  examples.read_inputs(1, 2, inputs.data());
  CHECK(inputs.front() == 6.0);
  CHECK(inputs.back() == 17.0);
  CHECK_THROWS_AS(examples.read_inputs(3, 2, inputs.data()), headway::Error);
  CHECK_THROWS_AS(examples.read_inputs(-1, 1, inputs.data()), headway::Error);
  std::vector<std::uint8_t> mask(6);
  CHECK_THROWS_AS(examples.read_mask(4, 1, mask.data()), headway::Error);
  examples.read_mask(2, 2, mask.data());
  CHECK(mask == std::vector<std::uint8_t>{1, 1, 1, 0, 1, 1});
  std::vector<double> first(18);
  examples.read_attention(1, 3, 1, first.data());
  CHECK(first.front() == 54.0);
  std::vector<double> second(18);
  examples.read_attention(2, 2, 2, second.data());
  CHECK(second.front() == 18.0);
  CHECK(second.back() == 35.0);
}

TEST_CASE("Asking for a mask or attention that is not there is an error") {
  class Plain final : public headway::ExampleSource {
   public:
    [[nodiscard]] Index size() const override { return 1; }
    [[nodiscard]] Index tokens() const override { return 1; }
    [[nodiscard]] Index features() const override { return 1; }
    void read_inputs(Index, Index, double* out) const override { *out = 0.0; }
  };
  const Plain plain;
  std::uint8_t mask = 0;
  double attention = 0.0;
  CHECK_FALSE(plain.has_mask());
  CHECK_FALSE(plain.thread_safe());
  const std::string no_mask = "read_mask: these examples have no mask";
  const std::string no_attention = "read_attention: these examples have no supplied attention";
  CHECK_THROWS_WITH(plain.read_mask(0, 1, &mask), no_mask);
  CHECK_THROWS_WITH(plain.read_attention(1, 0, 1, &attention), no_attention);

  const MemoryExamples memory(counting({2, 1, 1}));
  CHECK_FALSE(memory.has_mask());
  CHECK_THROWS_WITH(memory.read_mask(0, 1, &mask), no_mask);
  CHECK_THROWS_WITH(memory.read_attention(1, 0, 1, &attention), no_attention);
}

TEST_CASE(
    "Examples read on demand have zeros where a token is hidden, and refuse what is not there") {
  const auto inputs = std::make_shared<CountingSource>(std::vector<Index>{3, 2, 2});
  const auto one_head = std::make_shared<CountingSource>(std::vector<Index>{3, 1, 2, 2});
  const auto two_heads = std::make_shared<CountingSource>(std::vector<Index>{3, 2, 2, 2});
  const SourcedExamples masked(inputs, {1, 1, 1, 0, 0, 1}, {one_head, two_heads});
  std::vector<double> read(8);
  masked.read_inputs(1, 2, read.data());
  CHECK(read == std::vector<double>{4, 5, 0, 0, 0, 0, 10, 11});
  masked.read_attention(1, 1, 2, read.data());
  CHECK(read == std::vector<double>{4, 5, 0, 0, 0, 0, 10, 11});
  masked.read_attention(2, 2, 1, read.data());
  CHECK(read == std::vector<double>{0, 0, 18, 19, 0, 0, 22, 23});
  std::vector<std::uint8_t> mask(4);
  masked.read_mask(1, 2, mask.data());
  CHECK(mask == std::vector<std::uint8_t>{1, 0, 0, 1});
  for (const int layer : {-1, 0, 3}) {
    CHECK_THROWS_WITH(masked.read_attention(layer, 0, 1, read.data()),
                      "read_attention: these examples have no supplied attention");
  }
  CHECK_THROWS_WITH(masked.read_inputs(2, 2, read.data()), "examples 2 + 2 of 3 asked for");
  CHECK_THROWS_WITH(masked.read_inputs(-1, 1, read.data()), "examples -1 + 1 of 3 asked for");
  CHECK_THROWS_WITH(masked.read_mask(1, -1, mask.data()), "examples 1 + -1 of 3 asked for");
  CHECK_THROWS_WITH(masked.read_attention(2, 3, 1, read.data()), "examples 3 + 1 of 3 asked for");

  const SourcedExamples plain(inputs, {}, {});
  plain.read_inputs(2, 1, read.data());
  CHECK(read[2] == 10.0);
  CHECK_THROWS_WITH(plain.read_mask(0, 1, mask.data()), "read_mask: these examples have no mask");
  CHECK_THROWS_WITH(plain.read_attention(1, 0, 1, read.data()),
                    "read_attention: these examples have no supplied attention");
}

TEST_CASE("Arrays that do not fit each other are errors") {
  const auto refusal = [](Tensor inputs, std::vector<std::uint8_t> mask = {},
                          std::vector<Tensor> attention = {}) -> std::string {
    try {
      MemoryExamples(std::move(inputs), std::move(mask), std::move(attention));
    } catch (const headway::Error& error) {
      CHECK(error.kind() == headway::ErrorKind::kBadData);
      return error.what();
    }
    return "none";
  };
  const std::string inputs = ": must be [P, S, N_0] with as many values";
  CHECK(refusal(counting({2, 3})) == "inputs: is [2, 3] of 6 values" + inputs);
  Tensor few = counting({2, 3, 2});
  few.values.pop_back();
  CHECK(refusal(few) == "inputs: is [2, 3, 2] of 11 values" + inputs);
  const std::string mask = ": must be empty or [P, S] = [2, 3]";
  CHECK(refusal(counting({2, 3, 2}), {1, 1, 1}) == "mask: has 3 values" + mask);
  CHECK(refusal(counting({2, 3, 2}), std::vector<std::uint8_t>(7, 1)) ==
        "mask: has 7 values" + mask);
  CHECK(refusal(counting({2, 3, 2}), std::vector<std::uint8_t>(6, 1)) == "none");
  const std::string attention = ": must be [P, H, S, S] = [2, H, 3, 3] with as many values";
  const Tensor good = counting({2, 4, 3, 3});
  CHECK(refusal(counting({2, 3, 2}), {}, {good, good}) == "none");
  for (const std::vector<Index>& shape : std::vector<std::vector<Index>>{
           {2, 1, 3, 2}, {1, 1, 3, 3}, {2, 1, 2, 3}, {2, 3, 3}, {3, 1, 3, 3}}) {
    std::string text;
    for (const Index n : shape) text += (text.empty() ? "" : ", ") + std::to_string(n);
    CHECK(refusal(counting({2, 3, 2}), {}, {counting(shape)}) ==
          "attention of layer 1: is [" + text + "]" + attention);
    CHECK(refusal(counting({2, 3, 2}), {}, {good, counting(shape)}) ==
          "attention of layer 2: is [" + text + "]" + attention);
  }
  Tensor short_one = good;
  short_one.values.pop_back();
  CHECK(refusal(counting({2, 3, 2}), {}, {short_one}) ==
        "attention of layer 1: is [2, 4, 3, 3]" + attention);
}

TEST_CASE("The name of a set is a short word, and none of the splits outside sets") {
  using headway::tasks::set_name_fault;
  const std::string none =
      "not a valid set name; allowed: a letter, then letters, digits, - and _, "
      "at most 40";
  for (const std::string name : {"a", "Z", "trains", "test-2", "a_B-9", "tests"}) {
    CHECK(set_name_fault(name).empty());
  }
  CHECK(set_name_fault(std::string(40, 'x')).empty());
  for (const std::string name :
       {"", "1a", "-a", "_a", "a b", "a/b", "a.b", "a\n", "\u00e9", "a{", "a[", "a@", "a`"}) {
    CAPTURE(name);
    CHECK(set_name_fault(name) == none);
  }
  CHECK(set_name_fault(std::string(41, 'x')) == none);
  for (const std::string name : {"train", "test"}) {
    CHECK(set_name_fault(name) == "taken by a split outside sets; allowed: any other name");
  }
}
