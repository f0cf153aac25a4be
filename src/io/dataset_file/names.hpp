#pragma once

#include <string>
#include <vector>

#include "io/dataset_file/faults.hpp"
#include "io/hdf5/input.hpp"

namespace headway::io {

/// Adds a fault for each member of the root, the splits' groups, attention and network that is not
/// part of the schema but whose name is nearly a name of the schema ("Test", "train/input"): such a
/// data set would be ignored in silence. Other extra members ("expected", "exact_posterior") are
/// welcome.
void check_member_names(const Hdf5InputFile& file, const std::vector<std::string>& splits,
                        FaultList& faults);

/// Why a text cannot be shown in tables and figures ("" when it can): not UTF-8, or control
/// characters (line breaks and tabs allowed where `lines`).
std::string text_fault(const std::string& text, bool lines);

/// `text` with everything but printable ASCII replaced, and cut after 64 characters: for messages.
std::string printable(const std::string& text);

}  // namespace headway::io
