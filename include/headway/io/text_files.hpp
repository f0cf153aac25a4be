#pragma once

#include <string>

#include "headway/tasks/text.hpp"

namespace headway::io {

/// Reads a UTF-8 text file of at most 4 GiB. Errors: kMissingFile when missing or unreadable, and
/// those of tasks::TextCorpus.
tasks::TextCorpus read_text_corpus(const std::string& file_path,
                                   const tasks::TextShares& shares = {});

}  // namespace headway::io
