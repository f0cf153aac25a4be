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
  const std::vector<Fault> faults = {
      {"model.heads is empty", [](auto* a) { a->heads.clear(); }},
      {"model.heads[1] = 0", [](auto* a) { a->heads[1] = 0; }},
      {"model.heads[0] = -3", [](auto* a) { a->heads[0] = -3; }},
      {"more than 1048576 attention paths",
       [](auto* a) {
         a->heads = {2000000000, 2000000000, 2000000000};
       }},
      {"model.widths has 2 numbers", [](auto* a) { a->widths.pop_back(); }},
      {"N_2 = 0", [](auto* a) { a->widths[1] = 0; }},
      {"N_a = -1", [](auto* a) { a->widths[2] = -1; }},
      {"model.variances has 5 numbers", [](auto* a) { a->variances.push_back(1.0); }},
      {"s_0^2 = 0", [](auto* a) { a->variances[0] = 0.0; }},
      {"s_2^2 = nan", [](auto* a) { a->variances[2] = std::numeric_limits<double>::quiet_NaN(); }},
      {"s_a^2 = inf", [](auto* a) { a->variances[3] = std::numeric_limits<double>::infinity(); }},
      {"outputs = 0", [](auto* a) { a->outputs = 0; }},
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
      CHECK(std::string(error.what()).find(fault.part) != std::string::npos);
    }
  }
}
