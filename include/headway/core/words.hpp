#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace headway {

/// An enumerator and the word that stands for it in studies, files and messages.
template <class E>
struct Word {
  std::string_view text;
  E value;
};

/// The words of an enumeration. `Words<E> words_of(E)` is declared beside it, and found by lookup
/// in the namespace of E. It returns the one list of enumerators, whatever the argument.
template <class E>
using Words = std::span<const Word<E>>;

namespace detail {

/// Error{kBadStudy}: "<field> = "<text>": must be one of ..." with the nearest of `known`.
[[noreturn]] void refuse_word(std::string_view field, std::string_view text,
                              const std::vector<std::string>& known);
/// Error{kInternal}: a number that is none of the enumerators.
[[noreturn]] void refuse_enumerator();

}  // namespace detail

/// The word of an enumerator. Error{kInternal} for a number that is none.
template <class E>
std::string_view word_of(E value) {
  for (const Word<E>& word : words_of(E{})) {
    if (word.value == value) return word.text;
  }
  detail::refuse_enumerator();
}

/// All words of an enumeration, in their order.
template <class E>
std::vector<std::string> all_words() {
  std::vector<std::string> out;
  for (const Word<E>& word : words_of(E{})) out.emplace_back(word.text);
  return out;
}

/// Sets `value` to the enumerator of `text`; false when there is none.
template <class E>
bool read_word(std::string_view text, E& value) {
  for (const Word<E>& word : words_of(E{})) {
    if (word.text != text) continue;
    value = word.value;
    return true;
  }
  return false;
}

/// The enumerator of a word. Error{kBadStudy} naming `field`, the words there are and the nearest.
template <class E>
E parse_word(std::string_view field, std::string_view text) {
  E value{};
  if (read_word(text, value)) return value;
  detail::refuse_word(field, text, all_words<E>());
}

}  // namespace headway
