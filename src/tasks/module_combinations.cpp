#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>
#include <utility>

#include "headway/core/option_error.hpp"
#include "headway/core/rng.hpp"
#include "headway/tasks/modules.hpp"

namespace headway::tasks {
namespace {

using Combination = std::vector<Index>;

constexpr int kMostTries = 100'000;

/// All combinations of K of M modules, in lexicographic order.
std::vector<Combination> all_combinations(Index modules, Index active) {
  std::vector<Combination> all;
  Combination now(static_cast<std::size_t>(active));
  std::iota(now.begin(), now.end(), Index{0});
  for (;;) {
    all.push_back(now);
    Index at = active - 1;
    while (at >= 0 && now[static_cast<std::size_t>(at)] == modules - active + at) --at;
    if (at < 0) return all;
    const Index next = now[static_cast<std::size_t>(at)] + 1;
    std::iota(now.begin() + at, now.end(), next);
  }
}

/// The first `count` numbers become a random subset.
void draw_first(std::vector<std::size_t>& order, std::size_t count, Rng& rng) {
  for (std::size_t i = 0; i < count; ++i) {
    std::swap(order[i], order[i + rng.uniform_index(order.size() - i)]);
  }
}

/// Groups of modules that combinations join; a module in none of them has no group.
class Groups {
 public:
  explicit Groups(Index modules) : parents_(static_cast<std::size_t>(modules)), covered_(modules) {
    std::iota(parents_.begin(), parents_.end(), Index{0});
  }

  void join(const Combination& combination) {
    for (const Index module : combination) {
      covered_[static_cast<std::size_t>(module)] = true;
      parents_[static_cast<std::size_t>(root(module))] = root(combination.front());
    }
  }
  [[nodiscard]] bool all_covered() const {
    return std::find(covered_.begin(), covered_.end(), false) == covered_.end();
  }
  [[nodiscard]] bool one() const {
    for (std::size_t m = 1; m < parents_.size(); ++m) {
      if (root(static_cast<Index>(m)) != root(0)) return false;
    }
    return true;
  }

 private:
  [[nodiscard]] Index root(Index module) const {
    while (parents_[static_cast<std::size_t>(module)] != module) {
      module = parents_[static_cast<std::size_t>(module)];
    }
    return module;
  }

  std::vector<Index> parents_;
  std::vector<bool> covered_;
};

/// Whether a combination has modules on one side alone.
bool within(const Combination& combination, const std::vector<bool>& side) {
  return std::all_of(combination.begin(), combination.end(), [&](Index module) {
    return side[static_cast<std::size_t>(module)] ==
           side[static_cast<std::size_t>(combination.front())];
  });
}

/// Two groups of modules, each of at least K, of random sizes and members.
std::vector<bool> draw_sides(const ModulesOptions& options, Rng& rng) {
  std::vector<std::size_t> order(static_cast<std::size_t>(options.modules));
  std::iota(order.begin(), order.end(), std::size_t{0});
  draw_first(order, order.size(), rng);
  const auto sizes = static_cast<std::uint64_t>(options.modules - 2 * options.active + 1);
  const auto first = static_cast<std::size_t>(options.active) + rng.uniform_index(sizes);
  std::vector<bool> side(order.size(), false);
  for (std::size_t i = 0; i < first; ++i) side[order[i]] = true;
  return side;
}

/// One try: which of `all` are seen, or nothing where they do not have what is wanted.
std::optional<std::vector<std::size_t>> try_seen(const ModulesOptions& options,
                                                 const std::vector<Combination>& all, Rng& rng) {
  const bool connected = options.support == ModuleSupport::kConnected;
  std::vector<std::size_t> candidates;
  const std::vector<bool> side =
      connected ? std::vector<bool>(static_cast<std::size_t>(options.modules), false)
                : draw_sides(options, rng);
  for (std::size_t c = 0; c < all.size(); ++c) {
    if (within(all[c], side)) candidates.push_back(c);
  }
  const auto count = static_cast<std::size_t>(options.seen);
  if (candidates.size() < count) return std::nullopt;
  draw_first(candidates, count, rng);
  candidates.resize(count);
  Groups groups(options.modules);
  for (const std::size_t c : candidates) groups.join(all[c]);
  if (!groups.all_covered() || (connected && !groups.one())) return std::nullopt;
  std::sort(candidates.begin(), candidates.end());
  return candidates;
}

}  // namespace

ModuleCombinations draw_module_combinations(const ModulesOptions& options, std::uint64_t seed) {
  options.validate();
  const std::vector<Combination> all = all_combinations(options.modules, options.active);
  Rng rng(seed, StreamPurpose::kSplits, 0);
  for (int i = 0; i < kMostTries; ++i) {
    const auto seen = try_seen(options, all, rng);
    if (!seen) continue;
    ModuleCombinations found;
    for (std::size_t c = 0; c < all.size(); ++c) {
      const bool is_seen = std::binary_search(seen->begin(), seen->end(), c);
      (is_seen ? found.seen : found.held_out).push_back(all[c]);
    }
    return found;
  }
  throw OptionError(
      fmt::format("task.seen = {}: must be a number of combinations that can have every module and "
                  "the support \"{}\"; none of {} random sets had",
                  options.seen, word_of(options.support), kMostTries),
      {"task.seen", "task.support"});
}

}  // namespace headway::tasks
