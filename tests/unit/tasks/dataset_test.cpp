#include "headway/dataset.hpp"

#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"

using headway::Index;
using headway::Tensor;
using headway::tasks::MemoryExamples;

namespace {

Tensor counting(std::vector<Index> shape) {
  Tensor t(std::move(shape));
  std::iota(t.values.begin(), t.values.end(), 0.0);
  return t;
}

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
  std::vector<std::uint8_t> mask(6);
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
  CHECK_THROWS_AS(plain.read_mask(0, 1, &mask), headway::Error);
  CHECK_THROWS_AS(plain.read_attention(1, 0, 1, &attention), headway::Error);

  const MemoryExamples memory(counting({2, 1, 1}));
  CHECK_FALSE(memory.has_mask());
  CHECK_THROWS_AS(memory.read_mask(0, 1, &mask), headway::Error);
  CHECK_THROWS_AS(memory.read_attention(1, 0, 1, &attention), headway::Error);
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
  CHECK(refusal(counting({2, 3})) == "inputs: has 2 dimensions and 6 values" + inputs);
  Tensor few = counting({2, 3, 2});
  few.values.pop_back();
  CHECK(refusal(few) == "inputs: has 3 dimensions and 11 values" + inputs);
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
