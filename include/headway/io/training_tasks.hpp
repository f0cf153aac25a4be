#pragma once

#include <string>

#include "headway/train_task.hpp"

namespace headway::io {

/// Reads a UTF-8 text file of at most 4 GiB. Errors: kMissingFile when missing or unreadable, and
/// those of tasks::TextCorpus.
tasks::TextCorpus read_text_corpus(const std::string& file_path,
                                   const tasks::TextShares& shares = {});

/// The bytes of a UTF-8 text file of at most 4 GiB. Errors: kMissingFile when missing or
/// unreadable; kBadData where it is no UTF-8.
std::string read_text(const std::string& file_path);

/// The readers of read_text_corpus(), read_omniglot() and read_idx(), for
/// headway::make_task_maker().
TaskFiles task_files();

}  // namespace headway::io
