#pragma once

#include <string>
#include <vector>

#include "headway/studies/extract.hpp"
#include "headway/studies/study.hpp"

namespace headway::io {

/// A run of a train result, with the weights that `headway extract` takes from it.
struct TrainedNetwork {
  studies::Study study;        ///< of the run alone, changed by the overlays
  std::string study_name;      ///< of the result
  std::string label;           ///< of the run
  Index step = 0;              ///< updates that the weights have seen
  std::string weights_sha256;  ///< of the parameters
  std::vector<training::NamedTensor> parameters;
  std::string data_hash;  ///< of the run's data where all runs share it; else ""
};

/// Reads run study.extract.run of a train result, its last or best weights. `overlays` as for
/// read_study; they may change [extract], threads, and where the files of the task lie, nothing
/// that the run was trained with. Errors: kMissingFile; kBadData when the file is no train result,
/// holds no weights or is damaged; kBadStudy for an overlay of another key, a run that is not
/// there, and as studies::check_extractable().
TrainedNetwork read_trained_network(const std::string& file_path,
                                    const std::vector<std::string>& overlays = {});

/// Writes a data-set file (schema "headway-dataset" 1.0) with its sets, in single
/// precision: inputs in blocks, heads as query and key matrices (or weights), names, readout and
/// note.
/// The other weights of the network are its group network, which headway prune prunes.
/// `provenance`: attributes of the root, name and text. Errors:
/// kCannotWrite.
void write_extracted(const std::string& file_path, const studies::ExtractResult& result,
                     const std::vector<std::pair<std::string, std::string>>& provenance,
                     bool force);

}  // namespace headway::io
