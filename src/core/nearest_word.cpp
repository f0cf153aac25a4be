#include "headway/core/nearest_word.hpp"

#include <algorithm>

namespace headway {

int edit_distance(std::string_view a, std::string_view b) {
  const std::size_t rows = a.size() + 1;
  const std::size_t columns = b.size() + 1;
  std::vector<int> d(rows * columns);
  const auto at = [&](std::size_t i, std::size_t j) -> int& { return d[i * columns + j]; };
  for (std::size_t i = 0; i < rows; ++i) at(i, 0) = static_cast<int>(i);
  for (std::size_t j = 0; j < columns; ++j) at(0, j) = static_cast<int>(j);
  for (std::size_t i = 1; i < rows; ++i) {
    for (std::size_t j = 1; j < columns; ++j) {
      const int replace = at(i - 1, j - 1) + (a[i - 1] == b[j - 1] ? 0 : 1);
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, replace});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
      }
    }
  }
  return at(rows - 1, columns - 1);
}

std::string nearest_word(std::string_view word, const std::vector<std::string>& known) {
  std::string best;
  int best_distance = 1 << 20;
  int best_edits = 1 << 20;
  for (const std::string& candidate : known) {
    const int longest = static_cast<int>(std::max(word.size(), candidate.size()));
    if (word.size() > 64) break;  // no key is that long
    const int edits = edit_distance(word, candidate);
    int distance = edits;
    // A word that begins as a key does ("temp", "temperatures") is a slip, whatever its length.
    if (std::min(word.size(), candidate.size()) >= 3 &&
        (candidate.starts_with(word) || word.starts_with(candidate))) {
      distance = std::min(distance, 1);
    }
    const bool nearer =
        distance < best_distance || (distance == best_distance && edits < best_edits);
    if (distance <= std::max(1, longest / 2) && nearer) {
      best = candidate;
      best_distance = distance;
      best_edits = edits;
    }
  }
  return best;
}

}  // namespace headway
