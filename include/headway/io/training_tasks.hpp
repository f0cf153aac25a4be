#pragma once

#include <string>
#include <vector>

#include "headway/train_task.hpp"

namespace headway::io {

/// Reads a UTF-8 text file of at most 4 GiB. Errors: kMissingFile when missing or unreadable, and
/// those of tasks::TextCorpus.
tasks::TextCorpus read_text_corpus(const std::string& file_path,
                                   const tasks::TextShares& shares = {});

/// The bytes of a UTF-8 text file of at most 4 GiB. Errors: kMissingFile when missing or
/// unreadable; kBadData where it is no UTF-8.
std::string read_text(const std::string& file_path);

/// The root attribute schema_name of the files of headway.write_examples. Files of arrays need
/// none.
inline constexpr const char* kExamplesSchema = "headway-examples";

/// Whether a file has this schema, or none and train/tokens or train/vectors. Throws nothing but
/// kInterrupted.
bool is_examples_file(const std::string& file_path);

/// The arrays of an HDF5 file, which stay there: train/, test/ and sets/<name>/ with tokens or
/// vectors, targets, and perhaps loss_mask. Every array is read once from end to end in another
/// process, where a damaged file can do no harm. Errors: kMissingFile; kBadData for a damaged file,
/// another kind of file, groups or arrays that are missing or of another type; each names the file
/// and the array. Shapes and values are those of tasks::check_arrays().
std::shared_ptr<const tasks::ExampleArrays> read_example_arrays(const std::string& file_path);

/// The inputs of such a file for `predict`; its targets are not used, and need not be there. Token
/// ids have one number a token. Errors as above; kBadData for inputs that are no tokens [n, length]
/// and no vectors [n, length, width].
tasks::Dataset read_new_examples(const std::string& file_path);

/// The first fault of such a file, as `train` says it, if there is one. Else `warnings` are what
/// `train` would warn of. Error{kMissingFile}.
std::vector<std::string> validate_examples(const std::string& file_path,
                                           std::vector<std::string>* warnings);

/// The readers of read_text_corpus(), read_omniglot(), read_idx() and read_example_arrays(), for
/// headway::make_task_maker().
TaskFiles task_files();

}  // namespace headway::io
