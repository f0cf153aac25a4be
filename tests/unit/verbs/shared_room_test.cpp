#include "verbs/networks/shared_room.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "catch.hpp"

namespace {

using headway::SharedRoom;

constexpr std::chrono::milliseconds kShort{20};
constexpr std::chrono::seconds kLong{30};

struct Met {
  int most = 0;      // that were in the room at once
  double sum = 0.0;  // the largest one of their shares
  std::vector<std::size_t> order;
};

/// Work of these shares, a thread each. Each one stays until `together` have met, and then a little
/// longer, so that one more would be seen.
Met work_of(const std::vector<double>& shares, int together) {
  SharedRoom room;
  std::mutex guard;
  std::condition_variable changed;
  Met met;
  int inside = 0;
  double sum = 0.0;
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    threads.emplace_back([&, i] {
      const double share = shares[i];
      const SharedRoom::Stay stay(room, i, share);
      std::unique_lock lock(guard);
      met.order.push_back(i);
      ++inside;
      sum += share;
      met.most = std::max(met.most, inside);
      met.sum = std::max(met.sum, sum);
      changed.notify_all();
      changed.wait_for(lock, kLong, [&] { return met.most >= together; });
      changed.wait_for(lock, kShort, [&] { return met.most > together; });
      --inside;
      sum -= share;
    });
  }
  threads.clear();  // joins them
  return met;
}

}  // namespace

TEST_CASE("work whose shares add up to one is in a room at the same time") {
  CHECK(work_of({1.0 / 3, 1.0 / 3, 1.0 / 3}, 3).most == 3);
  CHECK(work_of({0.5, 0.25, 0.25}, 3).most == 3);
}

TEST_CASE("work waits where the shares would add up to more than one") {
  const Met met = work_of({0.5, 0.5, 0.5, 0.5, 0.5}, 2);
  CHECK(met.most == 2);
  CHECK(met.sum == 1.0);
}

TEST_CASE("work that takes more than a room has is there by itself, and ends") {
  const Met met = work_of({4.0, 7.0, 3.0}, 1);
  CHECK(met.most == 1);
  CHECK(met.sum == 7.0);
}

TEST_CASE("work begins in its order, though later work would fit") {
  const Met met = work_of({0.75, 0.75, 0.75, 0.1}, 1);
  CHECK(met.order[0] == 0);  // 0.1 would fit beside each of the first two
  CHECK(met.order[1] == 1);
  CHECK(met.sum <= 1.0);
}
