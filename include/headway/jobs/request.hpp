#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "computation.hpp"
#include "headway/tasks/example_arrays.hpp"

namespace headway {
class Ranks;
}

namespace headway::cli {

/// The command line, parsed. options_of() says which of them a verb takes.
struct Options {
  std::string input;                     ///< study, data set or result
  std::vector<std::string> more_inputs;  ///< of verbs that take several files
  std::vector<std::string> overlays;     ///< --set section.key=value, in order
  std::string output;                    ///< -o; empty: no file
  std::optional<std::uint64_t> seed;
  std::optional<int> threads;
  std::optional<int> jobs;  ///< train --jobs: runs at once
  std::string weights;      ///< --export: .npz or .safetensors; empty: none
  std::string layers;       ///< extract --layers, "1,2"; empty: not given
  std::string form;         ///< extract --form; empty: not given
  std::string theory;       ///< prune --theory, files joined by commas; empty: not given
  std::string task;  ///< --task: a study whose [task] a trained network is put on; empty: its own
  bool calibrate = false;  ///< --calibrate
  std::string point;       ///< --point, "best" or "10,0.3"; empty: all points
  std::string shard;       ///< --shard, "i/n"; empty: the whole study
  std::string topic;   ///< of help: a verb, or a key of study files; of completion: a shell; empty:
                       ///< not given
  std::string folder;  ///< help --write; empty: not given
  bool manual = false;      ///< help --man
  bool names_only = false;  ///< studies --names
  bool json = false;
  bool dry_run = false;
  bool force = false;
  bool quiet = false;
  bool verbose = false;
  Ranks* ranks = nullptr;            ///< where this process is one of several; not owned
  bool everywhere = false;           ///< each of them wants the result, as in Python
  std::vector<std::string> command;  ///< the arguments as given, for provenance
  // What Python gives in memory:
  std::optional<std::string> study_text;          ///< in place of the file `input`, then its name
  std::shared_ptr<const tasks::Dataset> dataset;  ///< in place of the file of task.kind "dataset"
  std::shared_ptr<const tasks::Dataset> new_inputs;  ///< of predict, in place of its data-set file
  std::optional<std::string> new_text;               ///< of predict, in place of its text file
  std::shared_ptr<const Reusable> reusable;          ///< of an earlier computation; null: none
  /// Of task.kind "arrays", in place of its file.
  std::shared_ptr<const tasks::ExampleArrays> examples;

  /// --set, --seed, --threads and the verbs' own options, as --set would give them.
  [[nodiscard]] std::vector<std::string> study_overlays() const;
};

}  // namespace headway::cli
