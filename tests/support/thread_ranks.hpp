// Ranks that are threads of one process, with letter boxes.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "headway/core/ranks.hpp"

namespace headway::testing {

struct RankBox {
  std::mutex guard;
  std::deque<RankMessage> letters;
  std::map<int, std::deque<std::vector<double>>> numbers;  ///< by sender
};

class ThreadRanks : public Ranks {
 public:
  ThreadRanks(std::vector<RankBox>& boxes, int rank) : boxes_(boxes), rank_(rank) {}
  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(boxes_.size()); }
  [[nodiscard]] int on_this_machine() const override { return size(); }
  void send(int to, std::string_view bytes) override {
    RankBox& box = boxes_[static_cast<std::size_t>(to)];
    const std::lock_guard<std::mutex> lock(box.guard);
    box.letters.push_back({rank_, std::string(bytes)});
  }
  std::optional<RankMessage> receive() override {
    RankBox& box = boxes_[static_cast<std::size_t>(rank_)];
    const std::lock_guard<std::mutex> lock(box.guard);
    if (box.letters.empty()) return std::nullopt;
    RankMessage letter = std::move(box.letters.front());
    box.letters.pop_front();
    return letter;
  }
  void send_numbers(int to, std::span<const double> numbers) override {
    RankBox& box = boxes_[static_cast<std::size_t>(to)];
    const std::lock_guard<std::mutex> lock(box.guard);
    box.numbers[rank_].emplace_back(numbers.begin(), numbers.end());
  }
  void receive_numbers(int from, std::span<double> numbers) override {
    RankBox& box = boxes_[static_cast<std::size_t>(rank_)];
    for (;; std::this_thread::yield()) {
      const std::lock_guard<std::mutex> lock(box.guard);
      if (box.numbers[from].empty()) continue;
      const std::vector<double> sent = std::move(box.numbers[from].front());
      box.numbers[from].pop_front();
      if (sent.size() != numbers.size()) std::abort();
      std::copy(sent.begin(), sent.end(), numbers.begin());
      return;
    }
  }
  void abort(int /*exit_code*/) override { std::abort(); }

 private:
  std::vector<RankBox>& boxes_;
  int rank_;
};

/// Runs `body` on every rank; that of the first in this thread, which may throw.
inline void on_ranks(int count, const std::function<void(Ranks&)>& body) {
  std::vector<RankBox> boxes(static_cast<std::size_t>(count));
  std::vector<std::jthread> others;
  for (int rank = 1; rank < count; ++rank) {
    others.emplace_back([&boxes, &body, rank] {
      ThreadRanks ranks(boxes, rank);
      body(ranks);
    });
  }
  ThreadRanks first(boxes, 0);
  body(first);
}

}  // namespace headway::testing
