#pragma once

#include <string>
#include <vector>

#include "verb.hpp"

namespace headway::cli {

// What is said of a command line that cannot be understood: the fault, what was probably meant, and
// where the answer stands.

/// Nothing, or an option that is none, in the place of the verb.
std::string without_verb(const std::string& first);

/// A word that is no verb.
std::string unknown_verb(const std::string& word);

/// What headway help knows nothing of.
std::string unknown_topic(const std::string& word);

/// A verb without its file: what it needs, with an example.
std::string without_input(const Verb& verb);

/// An option that the verb does not have. `arguments` is the whole command line, which tells the
/// value beside it.
std::string unknown_option(const Verb& verb, const std::string& word,
                           const std::vector<std::string>& arguments);

/// A file that the verb has no place for.
std::string argument_too_many(const Verb& verb, const std::string& word);

/// An option whose value is missing, or that was given more than once.
std::string wrong_count(const CommandOption& option, bool too_many);

}  // namespace headway::cli
