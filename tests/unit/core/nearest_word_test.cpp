// What a message suggests for a word that is nearly right.
#include "headway/core/nearest_word.hpp"

#include <string>
#include <vector>

#include "catch.hpp"

using namespace headway;

TEST_CASE("the distance of two words is their number of edits") {
  CHECK(edit_distance("", "") == 0);
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "") == 3);
  CHECK(edit_distance("widths", "widths") == 0);
  CHECK(edit_distance("width", "widths") == 1);    // insert
  CHECK(edit_distance("wwidths", "widths") == 1);  // delete
  CHECK(edit_distance("wydths", "widths") == 1);   // replace
  CHECK(edit_distance("iwdths", "widths") == 1);   // swap at the begin
  CHECK(edit_distance("widtsh", "widths") == 1);   // and at the end
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(edit_distance("abcd", "badc") == 2);
  CHECK(edit_distance("ca", "abc") == 3);  // no edit inside of what was swapped
  CHECK(edit_distance("aaaa", "bb") == 4);
}

TEST_CASE("the nearest word is suggested if it is near, and the first of two that are as near") {
  const std::vector<std::string> known = {"temperature", "widths", "heads", "seed", "form"};
  CHECK(nearest_word("width", known) == "widths");
  CHECK(nearest_word("haeds", known) == "heads");
  CHECK(nearest_word("heads", known) == "heads");
  CHECK(nearest_word("sede", known) == "seed");
  CHECK(nearest_word("", known).empty());
  CHECK(nearest_word("xyz", known).empty());
  CHECK(nearest_word("heads", {}).empty());
  CHECK(nearest_word("ab", {"xb", "ax"}) == "xb");
  // At most half of the longer word may differ, or one letter.
  CHECK(nearest_word("abxx", {"abcd"}) == "abcd");
  CHECK(nearest_word("axxx", {"abcd"}).empty());
  CHECK(nearest_word("x", {"a"}) == "a");
  CHECK(nearest_word("xx", {"ab"}).empty());
  // The begin of a key, or more than a key, is a slip, however long the rest is.
  CHECK(nearest_word("temp", known) == "temperature");
  CHECK(nearest_word("formatting_of_output", known) == "form");
  CHECK(nearest_word("te", known).empty());
  CHECK(nearest_word("for", {"forms", "form"}) == "form");  // the one with fewer edits
  CHECK(nearest_word("wid", {"ward", "widths"}) == "widths");
  CHECK(nearest_word("wid", {"widths", "win"}) == "win");  // as near, with fewer edits
  CHECK(nearest_word(std::string(64, 'a'), {std::string(63, 'a')}) == std::string(63, 'a'));
  CHECK(nearest_word(std::string(65, 'a'), {std::string(64, 'a')}).empty());
}
