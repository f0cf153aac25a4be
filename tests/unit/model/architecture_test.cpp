#include "headway/architecture.hpp"

#include <functional>
#include <limits>
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"

using headway::Error;
using headway::ErrorKind;
using namespace headway::model;

TEST_CASE("Sizes follow from the heads") {
  Architecture a;
  a.heads = {2, 3, 4};
  a.widths = {5, 6, 7, 8};
  a.variances = {0.1, 0.2, 0.3, 0.4, 0.5};
  a.validate();
  CHECK(a.layers() == 3);
  CHECK(a.paths() == 24);
  CHECK(a.paths_above(1) == 24);
  CHECK(a.paths_above(2) == 12);
  CHECK(a.paths_above(3) == 4);
  CHECK(a.paths_above(4) == 1);
  CHECK(a.width(1) == 5.0);
  CHECK(a.width(4) == 8.0);
  CHECK(a.variance(0) == 0.1);
  CHECK(a.variance(4) == 0.5);
  CHECK(a.largest_width() == 8.0);
}

TEST_CASE("uniform_architecture repeats one width and one variance") {
  const Architecture a = uniform_architecture({2, 2}, 30, 0.7, 3);
  a.validate();
  CHECK(a.widths == std::vector<headway::Index>{30, 30, 30});
  CHECK(a.variances == std::vector<double>{0.7, 0.7, 0.7, 0.7});
  CHECK(a.outputs == 3);
}

TEST_CASE("Every inconsistent size is an error that names it") {
  struct Fault {
    std::string part;
    std::function<void(Architecture*)> change;
  };
  const std::string heads = ": must be a whole number of at least 1";
  const std::string widths = ": must be a whole number from 1 to ";
  const std::string variance = ": must be a finite number above 0";
  const std::vector<Fault> faults = {
      {"model.heads is empty: must have one entry H_l >= 1 for each layer",
       [](auto* a) { a->heads.clear(); }},
      {"model.heads[1] = 0" + heads, [](auto* a) { a->heads[1] = 0; }},
      {"model.heads[0] = -3" + heads, [](auto* a) { a->heads[0] = -3; }},
      {"model.heads = [2000000000, 2000000000, 2000000000]: gives more than 1048576 attention "
       "paths",
       [](auto* a) {
         a->heads = {2000000000, 2000000000, 2000000000};
       }},
      {"model.heads = [1024, 1025]: gives more than 1048576 attention paths",
       [](auto* a) {
         a->heads = {1024, 1025};
       }},
      {"model.widths has 2 numbers for a point: must have 1 (all widths equal) or 3 = L + 1 (N_1, "
       "..., N_L, N_a)",
       [](auto* a) { a->widths.pop_back(); }},
      {"model.widths: N_2 = 0" + widths, [](auto* a) { a->widths[1] = 0; }},
      {"model.widths: N_1 = -5" + widths, [](auto* a) { a->widths[0] = -5; }},
      {"model.widths: N_a = -1" + widths, [](auto* a) { a->widths[2] = -1; }},
      {"model.variances has 5 numbers: must have 1 (all equal) or 4 = L + 2 (s_0^2, s_1^2, ..., "
       "s_L^2, s_a^2)",
       [](auto* a) { a->variances.push_back(1.0); }},
      {"model.variances = [0.8, 1e-150, 0.8, 0.8]: the product of s_a^2 down to s_1^2, which U_1 "
       "is at "
       "infinite width, is 6.4e-151; must be from 1e-100 to 1e+100",
       [](auto* a) {
         a->variances = {0.8, 1e-150, 0.8, 0.8};
       }},
      {"model.variances: s_0^2 = 0" + variance, [](auto* a) { a->variances[0] = 0.0; }},
      {"model.variances: s_2^2 = nan" + variance,
       [](auto* a) { a->variances[2] = std::numeric_limits<double>::quiet_NaN(); }},
      {"model.variances: s_a^2 = inf" + variance,
       [](auto* a) { a->variances[3] = std::numeric_limits<double>::infinity(); }},
      {"outputs = 0: must be at least 1", [](auto* a) { a->outputs = 0; }},
  };
  for (const Fault& fault : faults) {
    Architecture a = uniform_architecture({2, 2}, 10);
    fault.change(&a);
    CAPTURE(fault.part);
    try {
      a.validate();
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.kind() == ErrorKind::kBadStudy);
      const std::string words = error.what();
      const bool of_width = fault.part.ends_with(widths);  // the largest width follows
      CHECK((of_width ? words.substr(0, fault.part.size()) : words) == fault.part);
    }
  }
}

TEST_CASE("The largest sizes are accepted, and the next ones are not") {
  Architecture a = uniform_architecture({1024, 1024}, 1);
  CHECK_NOTHROW(a.validate());
  CHECK(a.paths() == 1048576);
  std::string words;
  a.widths[1] = std::numeric_limits<headway::Index>::max();
  try {
    a.validate();
  } catch (const Error& error) {
    words = error.what();
  }
  const auto largest = static_cast<headway::Index>(std::stoll(words.substr(words.rfind(' ') + 1)));
  a.widths[1] = largest;
  CHECK_NOTHROW(a.validate());
  a.widths[1] = largest + 1;
  CHECK_THROWS_AS(a.validate(), Error);
}
