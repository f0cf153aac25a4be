#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace headway {

/// Number of edits (insert, delete, replace, swap neighbours) between two words.
int edit_distance(std::string_view a, std::string_view b);

/// The word of `known` nearest to `word`, or "" when none is near: for "did you mean" in messages.
std::string nearest_word(std::string_view word, const std::vector<std::string>& known);

}  // namespace headway
