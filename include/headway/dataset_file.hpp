#pragma once

#include <string>
#include <vector>

#include "headway/dataset.hpp"

namespace headway::io {

/// The share of the training examples that this process checks: every parts-th block, from block
/// `part` on. Other processes check the rest.
struct CheckedShare {
  Index part = 0, parts = 1;
  bool operator==(const CheckedShare&) const = default;
};

/// True when the file is HDF5 and its root says schema_name = "headway-dataset", or "headway-gram":
/// Gram matrices in place of training examples (gram_file.hpp). Throws nothing but kInterrupted.
/// Cost: the first call makes one pass over the file, or over the share of it, in a forked copy of
/// the process.
bool is_dataset_file(const std::string& file_path, const CheckedShare& checked = {});

/// Reads and checks a data-set file (schema "headway-dataset" 1.x): inputs [P, S, N_0], labels [P]
/// or [P, C] and the attention in one of four forms, or path features [P, p, N_0]; float32, float64
/// or integers. The group train is needed. Optional are test, and the further sets in the group
/// sets, which are read in order of their names. Optional, too, is a network that was trained with
/// the heads: network/input [N_1, N_0], network/values/layer_<l> [H_l, N_{l+1}, N_l] and
/// network/readout [C, N_a] are the weights V_0, V_l^h and a of eqs. 1 to 3. The root attribute
/// readout ("mean", ...) then says which readout it has.
///
/// Inputs and supplied attention stay in the file: the returned splits hold sources that read
/// blocks of examples on demand (thread-safe; a mutex serialises HDF5), so memory stays at labels,
/// masks, head matrices and path features. Both are nevertheless read once here, in blocks. Checked
/// is that every value is finite, that attention rows sum to one (1e-6, or 1e-4 where stored as
/// float32), that no entry is negative and that masked columns are zero. Rows of masked queries and
/// inputs of masked tokens are ignored and served as zeros.
///
/// `content_hash` is the SHA-256 of the whole file. The file must not change while the data set is
/// in use. Errors: kMissingFile when missing or unreadable; kBadData on the first fault, naming
/// file, data set, index and value; kUnavailable where memory ends. Cost: two passes over the file
/// (hash, checks).
///
/// FeaturesIn::kFile leaves the path features of the training examples in the file too. The
/// content_hash is then that of the check sum at the end of a file that Headway wrote. For any
/// other file it takes a pass.
enum class FeaturesIn { kMemory, kFile };
tasks::Dataset read_dataset(const std::string& file_path, FeaturesIn place = FeaturesIn::kMemory,
                            const CheckedShare& checked = {});

/// The same, but the file may lack the attention: for studies that learn it.
tasks::Dataset read_dataset_to_learn(const std::string& file_path);

/// The same, but the file may hold further sets alone, without labels (then P x 0) and heads. These
/// are the new inputs that `predict` takes. read_dataset refuses them.
tasks::Dataset read_new_inputs(const std::string& file_path);

/// Every fault of a data-set file, one message each, with the name of the HDF5 data set. At most
/// kMaxFaultsPerDataset of a kind are listed for one data set, then a count. Empty when
/// read_dataset, read_dataset_to_learn or read_new_inputs accepts the file. Errors: kMissingFile
/// when missing or unreadable, kBadData when the file is not HDF5 at all.
std::vector<std::string> validate_dataset(const std::string& file_path);

/// Whether a file has inputs and no attention, so that a study must let it be learned.
bool lacks_attention(const std::string& file_path);

/// The training labels (P x C) of a valid file; 0 x 0 where it has none.
MatrixXd training_labels(const std::string& file_path);

/// Arrays in a valid file that no data set has, so that nobody reads them. A name that is close to
/// that of a member is a fault instead. None of a Gram file.
std::vector<std::string> ignored_members(const std::string& file_path);

inline constexpr int kMaxFaultsPerDataset = 5;

}  // namespace headway::io
