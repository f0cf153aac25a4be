#include "headway/core/tree_sum.hpp"

#include <array>

#include "core/fail.hpp"

namespace headway {
namespace {

std::size_t begin_of(const TreeSum::Node& node) {
  return node.index << static_cast<unsigned>(node.level);
}
std::size_t end_of(const TreeSum::Node& node) {
  return (node.index + 1) << static_cast<unsigned>(node.level);
}
bool are_siblings(const TreeSum::Node& left, const TreeSum::Node& right) {
  return left.level == right.level && left.index % 2 == 0 && right.index == left.index + 1;
}

void add(std::vector<double>& sum, const std::vector<double>& more) {
  if (sum.size() != more.size()) {
    fail(ErrorKind::kInternal, "sums of {} and {} numbers", sum.size(), more.size());
  }
  for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += more[i];
}

void send_tree(Ranks& ranks, int to, const TreeSum& tree) {
  const auto count = static_cast<double>(tree.nodes().size());
  ranks.send_numbers(to, std::array{count});
  for (const TreeSum::Node& node : tree.nodes()) {
    ranks.send_numbers(to,
                       std::array{static_cast<double>(node.level), static_cast<double>(node.index),
                                  static_cast<double>(node.sum.size())});
    ranks.send_numbers(to, node.sum);
  }
}

void receive_tree(Ranks& ranks, int from, TreeSum& tree) {
  std::array<double, 1> count{};
  ranks.receive_numbers(from, count);
  for (double n = 0; n < count[0]; ++n) {
    std::array<double, 3> head{};
    ranks.receive_numbers(from, head);
    TreeSum::Node node{static_cast<int>(head[0]), static_cast<std::size_t>(head[1]),
                       std::vector<double>(static_cast<std::size_t>(head[2]))};
    ranks.receive_numbers(from, node.sum);
    tree.push(std::move(node));
  }
}

}  // namespace

void TreeSum::push(Node node) {
  if (!nodes_.empty() && end_of(nodes_.back()) != begin_of(node)) {
    fail(ErrorKind::kInternal, "leaf {} of a sum comes after leaf {}", begin_of(node),
         end_of(nodes_.back()) - 1);
  }
  while (!nodes_.empty() && are_siblings(nodes_.back(), node)) {
    add(nodes_.back().sum, node.sum);
    node = {node.level + 1, node.index / 2, std::move(nodes_.back().sum)};
    nodes_.pop_back();
  }
  nodes_.push_back(std::move(node));
}

std::vector<double> TreeSum::total() && {
  if (nodes_.empty() || begin_of(nodes_.front()) != 0) {
    fail(ErrorKind::kInternal, "a sum without its first leaf");
  }
  std::vector<double> sum = std::move(nodes_.back().sum);
  for (nodes_.pop_back(); !nodes_.empty(); nodes_.pop_back()) {
    add(nodes_.back().sum, sum);
    sum = std::move(nodes_.back().sum);
  }
  return sum;
}

std::pair<std::size_t, std::size_t> leaves_of_part(std::size_t leaves, std::size_t part,
                                                   std::size_t parts) {
  return {leaves * part / parts, leaves * (part + 1) / parts};
}

std::vector<double> total_on_first(Ranks& ranks, TreeSum mine) {
  for (int step = 1; step < ranks.size(); step *= 2) {
    if (ranks.rank() % (2 * step) != 0) {
      send_tree(ranks, ranks.rank() - step, mine);
      return {};
    }
    if (ranks.rank() + step < ranks.size()) receive_tree(ranks, ranks.rank() + step, mine);
  }
  return std::move(mine).total();
}

std::vector<double> total_over_ranks(Ranks& ranks, TreeSum mine) {
  std::vector<double> total = total_on_first(ranks, std::move(mine));
  std::array<double, 1> size{static_cast<double>(total.size())};
  broadcast(ranks, size);
  total.resize(static_cast<std::size_t>(size[0]));
  broadcast(ranks, total);
  return total;
}

void broadcast(Ranks& ranks, std::span<double> numbers) {
  // Rank r hears from r without its lowest bit, and tells r + 2^k for every k below that bit.
  int lowest = 1;
  while (lowest < ranks.size() && ranks.rank() % (2 * lowest) == 0) lowest *= 2;
  if (!ranks.is_first()) ranks.receive_numbers(ranks.rank() - lowest, numbers);
  for (int step = lowest / 2; step > 0; step /= 2) {
    if (ranks.rank() + step < ranks.size()) ranks.send_numbers(ranks.rank() + step, numbers);
  }
}

}  // namespace headway
