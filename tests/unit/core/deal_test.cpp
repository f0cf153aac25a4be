// Work that ranks share: every unit is computed once, whatever fails.
#include "headway/core/deal.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <functional>
#include <future>
#include <map>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "thread_ranks.hpp"

using namespace headway;
using testing::on_ranks;

namespace {

std::string result_of(std::size_t unit) {
  return std::string(unit * 1000, 'x') + '\0' + std::to_string(unit);
}

/// What became of units 0 ... 19, of which the multiples of 5 need no computing.
struct Office {
  std::map<std::size_t, UnitOutcome> taken;
  std::atomic<int> computed{0};
  std::atomic<bool> interrupted{false};
  int stops = 0;
  std::function<void(std::size_t)> meanwhile = [](std::size_t) {};
  std::function<void(std::size_t)> on_taking = [](std::size_t) {};

  DealtWork work() {
    return {20,
            [this](std::size_t unit, const std::function<bool()>& stop) {
              ++computed;
              meanwhile(unit);
              return UnitOutcome{result_of(unit), {"of " + std::to_string(unit)}, !stop()};
            },
            [](std::size_t unit) { return unit % 5 == 0; },
            [this](std::size_t unit, const UnitOutcome& outcome) {
              on_taking(unit);
              if (outcome.complete) taken[unit] = outcome;
            },
            [this] { return interrupted.load(); },
            [this] { ++stops; }};
  }
};

}  // namespace

TEST_CASE("Ranks compute every unit once, and the first has their results") {
  for (const int count : {1, 2, 3, 7, 30}) {
    Office office;
    on_ranks(count, [&](Ranks& ranks) { deal_units(ranks, office.work()); });
    CHECK(office.computed == 16);
    CHECK(office.stops == 0);
    REQUIRE(office.taken.size() == 16);
    for (const auto& [unit, outcome] : office.taken) {
      CHECK(unit % 5 != 0);
      CHECK(outcome.bytes == result_of(unit));
      CHECK(outcome.warnings == std::vector<std::string>{"of " + std::to_string(unit)});
    }
  }
}

TEST_CASE("A unit waits for those that it builds on, and a rank for such a unit") {
  for (const int count : {1, 2, 3, 7}) {
    Office office;
    const auto body = [&](Ranks& ranks) {
      DealtWork work = office.work();
      // 1 to 4 come before 6, 6 to 9 before 11, ...: every group waits for the one before it.
      work.ready = [&](std::size_t unit) {
        for (std::size_t earlier = 0; earlier < unit / 5 * 5; ++earlier) {
          if (earlier % 5 != 0 && office.taken.count(earlier) == 0) return false;
        }
        return true;
      };
      deal_units(ranks, work);
    };
    std::atomic<std::size_t> latest{0};
    office.meanwhile = [&](std::size_t unit) {
      if (unit / 5 < latest / 5) throw Error(ErrorKind::kInternal, "it should have waited");
      latest = std::max<std::size_t>(latest, unit);
    };
    on_ranks(count, body);
    CHECK(office.computed == 16);
    CHECK(office.taken.size() == 16);
  }
}

TEST_CASE("An error on any rank ends the work of all and is thrown on the first") {
  for (const int count : {1, 2, 7}) {
    Office office;
    office.meanwhile = [](std::size_t unit) {
      if (unit == 7) throw Error(ErrorKind::kBadData, "unit 7 is broken");
    };
    try {
      on_ranks(count, [&](Ranks& ranks) { deal_units(ranks, office.work()); });
      FAIL("no error");
    } catch (const Error& e) {
      CHECK(e.kind() == ErrorKind::kBadData);
      CHECK(std::string(e.what()).ends_with("unit 7 is broken"));
    }
    CHECK(office.taken.count(7) == 0);
  }
}

TEST_CASE("A result that cannot be kept ends the work of all") {
  Office office;
  office.on_taking = [](std::size_t unit) {
    if (unit == 3) throw Error(ErrorKind::kCannotWrite, "no space left");
  };
  CHECK_THROWS_WITH(on_ranks(3, [&](Ranks& ranks) { deal_units(ranks, office.work()); }),
                    "no space left");
}

TEST_CASE("An exception of the standard library on the first rank ends the work of all, too") {
  Office office;
  SECTION("while it takes a result") {
    office.on_taking = [](std::size_t unit) {
      if (unit == 3) throw std::bad_alloc();
    };
    CHECK_THROWS_WITH(on_ranks(3, [&](Ranks& ranks) { deal_units(ranks, office.work()); }),
                      "not enough memory");
  }
  SECTION("while it puts away what there is") {
    office.on_taking = [&](std::size_t) { office.interrupted = true; };
    CHECK_THROWS_WITH(on_ranks(3,
                               [&](Ranks& ranks) {
                                 DealtWork work = office.work();
                                 work.stopping = [] { throw std::runtime_error("no room"); };
                                 deal_units(ranks, work);
                               }),
                      "no room");
  }
}

TEST_CASE("After an interruption what was finished is there, and nothing begins any more") {
  for (const int count : {1, 3}) {
    Office office;
    office.on_taking = [&](std::size_t) {
      if (office.taken.size() == 3) office.interrupted = true;
    };
    on_ranks(count, [&](Ranks& ranks) { deal_units(ranks, office.work()); });
    // The fourth was being taken, and each rank may have ended another before it was told.
    CHECK(office.taken.size() >= 4);
    CHECK(office.taken.size() <= 4 + static_cast<std::size_t>(count));
    CHECK(office.computed < 16);
    CHECK(office.stops == 1);
  }
}

TEST_CASE("A rank that was told to quit is sent nothing more, whatever happens to the others") {
  constexpr std::chrono::seconds kPatience(30);
  for (const bool fails : {false, true}) {
    CAPTURE(fails);
    std::promise<void> second_left, first_left, stopped;
    std::atomic<bool> interrupted{false};
    bool came = false;
    bool waited = true;
    std::string error = "none";
    int taken = 0;
    const auto compute = [&](std::size_t unit, const std::function<bool()>& /*stop*/) {
      if (unit == 1) return UnitOutcome{result_of(unit), {}, true};
      // The first rank has this one. It ends after the other rank was told to quit.
      waited = second_left.get_future().wait_for(kPatience) == std::future_status::ready;
      if (fails) throw Error(ErrorKind::kBadData, "unit 0 is broken");
      interrupted = true;
      stopped.get_future().wait_for(kPatience);
      return UnitOutcome{"", {}, false};
    };
    const DealtWork work = {2,
                            compute,
                            [](std::size_t) { return false; },
                            [&](std::size_t, const UnitOutcome& o) { taken += o.complete ? 1 : 0; },
                            [&] { return interrupted.load(); },
                            [&] { stopped.set_value(); }};
    on_ranks(2, [&](Ranks& ranks) {
      if (ranks.is_first()) {
        try {
          deal_units(ranks, work);
        } catch (const Error& e) {
          error = e.what();
        }
        first_left.set_value();
      } else {
        deal_units(ranks, work);
        second_left.set_value();
        first_left.get_future().wait_for(kPatience);
        came = ranks.receive().has_value();
      }
    });
    CHECK(waited);
    CHECK_FALSE(came);
    CHECK(taken == 1);
    CHECK(error == (fails ? "unit 0 is broken" : "none"));
  }
}

TEST_CASE("A fault of one rank in a step that all take is thrown once, on the first") {
  for (const int faulty : {-1, 0, 2}) {
    std::atomic<int> going_on{0};
    const auto body = [&](Ranks& ranks) {
      const bool fine = agree(ranks, [&] {
        if (ranks.rank() == faulty) throw Error(ErrorKind::kMissingFile, "x.h5: is missing");
      });
      if (fine) ++going_on;
    };
    if (faulty < 0) {
      on_ranks(4, body);
      CHECK(going_on == 4);
    } else {
      CHECK_THROWS_WITH(on_ranks(4, body),
                        (faulty == 0 ? std::string() : "rank 2: ") + "x.h5: is missing");
      CHECK(going_on == 0);
    }
  }
}

TEST_CASE("Every rank takes a step once, and all have what the first gave") {
  for (const std::size_t count : {1U, 2U, 5U}) {
    std::vector<int> steps(count, 0);
    std::vector<std::string> heard(count);
    on_ranks(static_cast<int>(count), [&](Ranks& ranks) {
      const auto rank = static_cast<std::size_t>(ranks.rank());
      heard[rank] = from_first(ranks, [&] {
        ++steps[rank];
        return result_of(rank + 2);
      });
    });
    CHECK(steps == std::vector<int>(count, 1));
    CHECK(heard == std::vector<std::string>(count, result_of(2)));
  }
}

TEST_CASE("What a step of the first throws reaches all ranks, as an error with its kind") {
  using Throws = std::function<std::string()>;
  struct Fault {
    Throws step;
    ErrorKind kind;
    std::string words;
  };
  const std::vector<Fault> faults = {
      {[]() -> std::string { throw Error(ErrorKind::kBadData, "row 3"); }, ErrorKind::kBadData,
       "row 3"},
      {[]() -> std::string { throw std::bad_alloc(); }, ErrorKind::kUnavailable,
       "not enough memory"},
      {[]() -> std::string { throw std::runtime_error("of a library"); }, ErrorKind::kInternal,
       "of a library"}};
  for (const Fault& fault : faults) {
    CAPTURE(fault.words);
    std::vector<std::string> heard(4);
    std::vector<ErrorKind> kinds(4, ErrorKind::kUsage);
    on_ranks(4, [&](Ranks& ranks) {
      const auto rank = static_cast<std::size_t>(ranks.rank());
      try {
        from_first(ranks, [&] { return ranks.is_first() ? fault.step() : std::string(); });
      } catch (const Error& error) {
        heard[rank] = error.what();
        kinds[rank] = error.kind();
      } catch (const std::exception&) {
        heard[rank] = "as it was";
      }
    });
    const bool error = fault.kind == ErrorKind::kBadData;
    CHECK(heard == std::vector<std::string>{error ? fault.words : "as it was", fault.words,
                                            fault.words, fault.words});
    for (std::size_t rank = error ? 0 : 1; rank < 4; ++rank) CHECK(kinds[rank] == fault.kind);
  }
}
