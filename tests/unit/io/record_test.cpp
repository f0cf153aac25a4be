#include "headway/core/record.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <functional>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/core/sha256.hpp"
#include "headway/error.hpp"
#include "io/hdf5/record.hpp"
#include "io/hdf5/text_digest.hpp"

namespace {

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)

enum class Colour { kRed, kBlue };
Words<Colour> words_of(Colour /*any*/) {
  static constexpr std::array<Word<Colour>, 2> kWords{
      {{"red", Colour::kRed}, {"blue", Colour::kBlue}}};
  return kWords;
}

struct Step {
  int number = 0;
  double norm = 0.0;
  bool operator==(const Step&) const = default;
};
template <class Visitor, RecordOf<Step> Record>
void fields(Visitor& visit, Record& r) {
  visit("number", r.number, "of the step");
  visit("norm", r.norm, "of the step");
}

struct Part {
  std::string name;
  double score = 0.0;
  bool operator==(const Part&) const = default;
};
template <class Visitor, RecordOf<Part> Record>
void fields(Visitor& visit, Record& r) {
  visit("name", r.name, "of the part", {.layout = FieldLayout::kKey});
  visit("score", r.score, "of the part");
}

struct Row {
  std::int64_t count = 0;
  std::uint64_t bits = 0;
  bool lucky = false;
  std::string name;
  Colour colour = Colour::kRed;
  bool operator==(const Row&) const = default;
};
template <class Visitor, RecordOf<Row> Record>
void fields(Visitor& visit, Record& r) {
  visit("count", r.count, "a count");
  visit("bits", r.bits, "all 64 bits");
  visit("lucky", r.lucky, "a flag");
  visit("name", r.name, "a text");
  visit("colour", r.colour, "a word");
}

struct Whole {
  bool defined = true;
  Index size = 0;
  std::uint64_t seed = 0;
  double action = 0.0;
  Colour colour = Colour::kRed;
  std::string note;
  std::vector<Index> widths;
  std::vector<std::string> warnings;
  std::array<std::uint32_t, 4> counter{};
  std::vector<std::uint64_t> words;
  std::vector<float> weights;
  VectorXd position;
  MatrixXd metric, readout, mean;
  std::vector<MatrixXd> layers, kernels;
  Tensor draws, late;
  std::optional<double> maybe;
  Step last;
  std::vector<Step> history, steps;
  std::vector<Part> parts;
  std::vector<Row> rows;
};
template <class Visitor, RecordOf<Whole> Record>
void fields(Visitor& visit, Record& r) {
  visit("defined", r.defined, "whether the rest is there");
  if (!shows(visit, r.defined)) return;
  visit("size", r.size, "a size", {.least = 0});
  visit("seed", r.seed, "of the streams");
  visit("action", r.action, "S / max N", {.old_name = "action_over_max_width"});
  visit("colour", r.colour, "a word");
  visit("note", r.note, "a text", {.optional = true});
  visit("widths", r.widths, "N_l", {.layout = FieldLayout::kAttribute, .least = 1});
  visit("warnings", r.warnings, "a line each", {.layout = FieldLayout::kAttribute});
  visit("counter", r.counter, "of a stream");
  visit("words", r.words, "all 64 bits");
  visit("weights", r.weights, "in single precision");
  visit("position", r.position, "of a chain");
  visit("metric", r.metric, "of a chain");
  visit("U_a", r.readout, "a readout", {.layout = FieldLayout::kReadout});
  visit("predictor/mean", r.mean, "f", {.layout = FieldLayout::kOutputs});
  visit("order_parameters", r.layers, "U_l", {.json = "U", .layout = FieldLayout::kLayers});
  visit("kernels", r.kernels, "C", {.layout = FieldLayout::kStacked});
  visit("draws", r.draws, "of U_a", {.layout = FieldLayout::kReadout});
  visit("late", r.late, "older files lack it", {.optional = true});
  visit("maybe", r.maybe, "there or not");
  visit("last", r.last, "the last step");
  visit("history", r.history, "all steps", {.layout = FieldLayout::kTable});
  visit("steps", r.steps, "all steps");
  visit("parts", r.parts, "by name", {.layout = FieldLayout::kByName});
  visit("rows", r.rows, "by column", {.layout = FieldLayout::kColumns});
  visit("only_json", r.action, "not in the file", {.place = FieldPlace::kJson});
}

Whole built() {
  Whole w;
  w.size = 12;
  w.seed = 0xFFFFFFFFFFFFFFFEULL;
  w.action = 0.1;
  w.colour = Colour::kBlue;
  w.note = "caf\xC3\xA9";
  w.widths = {10, 20};
  w.warnings = {"one", "two words"};
  w.counter = {1, 2, 0xFFFFFFFFU, 4};
  w.words = {0, 0x8000000000000001ULL};
  w.weights = {0.1F, -2.0F};
  w.position = VectorXd{{1.5, std::nan("")}};
  w.metric = MatrixXd{{1.0, 2.0, 3.0}, {4.0, 5.0, 6.0}};
  w.readout = MatrixXd{{7.5}};
  w.mean = MatrixXd{{1.0}, {2.0}, {3.0}};
  w.layers = {MatrixXd{{1.0, 2.0}, {3.0, 4.0}}, MatrixXd{{5.0}}};
  w.kernels = {MatrixXd{{1.0, 2.0, 3.0}}, MatrixXd{{4.0, 5.0, 6.0}}};
  w.draws = Tensor({2, 3, 1, 1});
  w.draws.values[4] = 8.25;
  w.late = Tensor({2, 2});
  w.late.values = {1.0, 2.0, 3.0, 4.0};
  w.maybe = 2.5;
  w.last = {3, 0.25};
  w.history = {{1, 1.0}, {2, 0.5}, {3, 0.25}};
  w.steps = {{1, 1.0}, {2, 0.5}};
  w.parts = {{"z", 1.0}, {"a", 2.0}};
  w.rows = {{-5, 0xFFFFFFFFFFFFFFFFULL, true, "x", Colour::kBlue}, {1LL << 60, 1, false, "y", {}}};
  return w;
}

void write(const std::string& path, const Whole& whole) {
  const io::Hdf5Lock lock;
  io::Hdf5OutputFile out;
  io::write_record("whole", whole, out);
  out.seal();
  out.write_to(path, true);
}

Whole read(const std::string& path) {
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  Whole whole = io::read_record<Whole>(file, "whole", {.outputs = 1, .keys = {"z", "a"}});
  CHECK(io::read_everything(file).empty());
  return whole;
}

std::string refusal(const std::string& path) {
  try {
    read(path);
  } catch (const Error& error) {
    CHECK(error.exit_code() == 65);
    return error.what();
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("A record is read back from its HDF5 group, to the last bit") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("record.h5");
  const Whole wrote = built();
  write(path, wrote);
  const Whole w = read(path);
  CHECK(w.size == 12);
  CHECK(w.seed == wrote.seed);
  CHECK(w.action == 0.1);
  CHECK(w.colour == Colour::kBlue);
  CHECK(w.note == wrote.note);
  CHECK(w.widths == wrote.widths);
  CHECK(w.warnings == wrote.warnings);
  CHECK(w.counter == wrote.counter);
  CHECK(w.words == wrote.words);
  CHECK(w.weights == wrote.weights);
  CHECK(w.position[0] == 1.5);
  CHECK(std::bit_cast<std::uint64_t>(w.position[1]) ==
        std::bit_cast<std::uint64_t>(wrote.position[1]));
  CHECK(w.metric == wrote.metric);
  CHECK(w.readout == wrote.readout);
  CHECK(w.mean == wrote.mean);
  CHECK(w.layers == wrote.layers);
  CHECK(w.kernels == wrote.kernels);
  CHECK(w.draws.shape == wrote.draws.shape);
  CHECK(w.draws.values == wrote.draws.values);
  CHECK(w.late.shape == wrote.late.shape);
  CHECK(w.late.values == wrote.late.values);
  CHECK(w.maybe == wrote.maybe);
  CHECK(w.last == wrote.last);
  CHECK(w.history == wrote.history);
  CHECK(w.steps == wrote.steps);
  CHECK(w.parts == wrote.parts);  // in the order asked for
  CHECK(w.rows == wrote.rows);
}

TEST_CASE("Layouts are those that h5py shows") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("record.h5");
  write(path, built());
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  CHECK(file.info("whole/U_a").shape.empty());
  CHECK(file.info("whole/predictor/mean").shape == std::vector<Index>{3});
  CHECK(file.info("whole/kernels").shape == std::vector<Index>{2, 1, 3});
  CHECK(file.info("whole/draws").shape == std::vector<Index>{2, 3});
  CHECK(file.info("whole/order_parameters/layer_1").shape == std::vector<Index>{2, 2});
  CHECK(file.text_attribute("whole/history", "columns") == "number,norm");
  CHECK(file.number_attribute("whole/parts/z", "score") == std::vector<double>{1.0});
  CHECK(file.read_array("whole/rows/lucky").values == std::vector<double>{1.0, 0.0});
  CHECK(file.text_attribute("whole", "warnings") == "one\ntwo words");
  CHECK(file.members("whole/steps") == std::vector<std::string>{"0", "1"});
  CHECK_FALSE(file.has_attribute("whole", "only_json"));
}

TEST_CASE("Empty and absent members keep what a record has") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("record.h5");
  Whole empty;
  write(path, empty);
  const Whole w = read(path);
  CHECK(w.rows.empty());
  CHECK(w.history.empty());
  CHECK_FALSE(w.maybe.has_value());
  CHECK(w.layers.empty());
  CHECK(w.readout.size() == 0);
  CHECK(w.late.empty());
  {
    const io::Hdf5Lock lock;
    const io::Hdf5InputFile file(path);
    for (const char* left_out :
         {"U_a", "predictor", "order_parameters", "kernels", "late", "parts"}) {
      CAPTURE(left_out);
      CHECK(file.kind(std::string("whole/") + left_out) == io::NodeKind::kAbsent);
    }
    CHECK_FALSE(file.has_attribute("whole", "maybe"));
    CHECK(file.info("whole/words").shape == std::vector<Index>{0});
    CHECK(file.info("whole/draws").shape == std::vector<Index>{0});
    CHECK(file.info("whole/history").shape == std::vector<Index>{0, 2});
    CHECK(file.text_attribute("whole/history", "columns") == "number,norm");
  }
  Whole off = built();
  off.defined = false;
  write(path, off);
  CHECK(read(path).widths.empty());
}

TEST_CASE("A fault in a record names place, field, value and what is allowed") {
  using Catch::Matchers::ContainsSubstring;
  const ScratchDirectory scratch;
  const std::string path = scratch.file("record.h5");
  const auto refused = [&](const std::function<void(Surgery&)>& apply) {
    write(path, built());
    {
      Surgery surgery(path);
      apply(surgery);
    }
    return refusal(path);
  };
  const auto number = [&](const char* name, double value) {
    return refused([&](Surgery& s) { s.set_attribute("whole", name, std::vector<double>{value}); });
  };
  CHECK_THAT(refused([](Surgery& s) { s.remove_attribute("whole", "seed"); }),
             ContainsSubstring("whole, attribute seed: is missing"));
  CHECK_THAT(number("size", -4.0),
             ContainsSubstring("whole, attribute size: is -4; allowed: an integer from 0 to"));
  CHECK_THAT(number("widths", 2.5), ContainsSubstring("holds 2.5; allowed: positive integers"));
  CHECK_THAT(refused([](Surgery& s) {
               s.replace("whole/U_a", H5T_IEEE_F64LE, {2, 2});
             }),
             ContainsSubstring("whole/U_a: has shape [2, 2]; allowed: [1, 1]"));
  CHECK_THAT(refused([](Surgery& s) {
               s.replace("whole/history", H5T_IEEE_F64LE, {3, 5});
             }),
             ContainsSubstring("whole/history: has shape [3, 5]; allowed: [n, 2]"));
  CHECK_THAT(refused([](Surgery& s) { s.replace("whole/counter", H5T_STD_U64LE, {5}); }),
             ContainsSubstring("whole/counter: holds 5 numbers; allowed: 4"));
  CHECK(refused([](Surgery& s) { s.set_attribute("whole", "colour", std::string("green")); }) ==
        "whole, attribute colour: is \"green\"; allowed: red, blue");
  CHECK(refused([](Surgery& s) {
          s.set_attribute("whole/history", "columns", std::string("number,other"));
        }) == "whole/history: has no column norm");
  CHECK(refused([](Surgery& s) {
          s.set_attribute("whole", "action", std::vector<double>{1.0, 2.0});
        }) == "whole, attribute action: allowed: one number");
  CHECK(refused([](Surgery& s) { s.replace("whole/words", H5T_IEEE_F64LE, {2}); }) ==
        "whole/words: type float64; allowed: integers");
  CHECK(refused([](Surgery& s) {
          s.replace("whole/metric", H5T_C_S1, {3});
        }).starts_with("whole/metric: "));
  CHECK_THAT(refused([](Surgery& s) { s.set("whole/history", 0, 1.5); }),
             ContainsSubstring("number") && ContainsSubstring("1.5"));
  CHECK_THAT(refused([](Surgery& s) { s.remove("whole/steps/0"); }),
             ContainsSubstring("whole/steps/0: is missing"));
  CHECK_THAT(refused([](Surgery& s) { s.replace("whole/rows/count", H5T_STD_I64LE, {3}); }),
             ContainsSubstring("whole/rows/bits: has 2 entries; allowed: 3"));
}

TEST_CASE("The digest of texts is SHA-256 of their places and themselves, each with a zero byte") {
  CHECK(io::text_digest({}) == sha256_hex(""));
  const std::string zero(1, '\0');
  CHECK(io::text_digest({{"b", "two words"}, {"a", ""}}) ==
        sha256_hex("a" + zero + zero + "b" + zero + "two words" + zero));
}
