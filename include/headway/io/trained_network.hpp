#pragma once

#include <string>
#include <vector>

#include "headway/extract_results.hpp"
#include "headway/observer.hpp"
#include "headway/results/trained_network.hpp"
#include "headway/study.hpp"

namespace headway::io {

/// The study of a train result. `overlays` are as for read_study, and may only set keys in
/// `allowed` (a name that ends in a dot: all of that section), since what the networks were trained
/// with cannot change. Errors: kMissingFile; kBadData when the file is no train result; kBadStudy
/// for an overlay of another key.
Study read_trained_study(const std::string& file_path, const std::vector<std::string>& overlays,
                         const std::vector<std::string>& allowed);

/// The last or the best weights of every run of a train result that was trained to its end, in the
/// order of the runs. Warns of runs that are left out. `study` is that of read_trained_study().
/// Error{kBadData} when the file holds no weights, no such run, or is damaged.
std::vector<TrainedNetwork> read_trained_networks(const std::string& file_path, const Study& study,
                                                  KeptWeights weights, Observer& observer);

/// Run study.extract.run of a train result for `headway extract`, its last or best weights.
/// Overlays may change [extract], threads, name, and where the files of the task lie. Errors as
/// above; kBadStudy for a run that is not there, and as headway::check_extractable().
TrainedNetwork read_trained_network(const std::string& file_path,
                                    const std::vector<std::string>& overlays = {});

/// Writes a data-set file (schema "headway-dataset" 1.0) with its sets, in single precision: path
/// features, or inputs in blocks with the examples' attention, or with heads as query and key
/// matrices (or weights); names, readout and note. The other weights of a linear-value network are
/// its group network, which headway prune prunes. `provenance`: attributes of the root, name and
/// text. Error{kCannotWrite}.
void write_extracted(const std::string& file_path, const ExtractResult& result,
                     const std::vector<std::pair<std::string, std::string>>& provenance,
                     bool force);

}  // namespace headway::io
