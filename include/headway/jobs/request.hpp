#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "headway/dataset.hpp"
#include "headway/study_file.hpp"
#include "headway/tasks/example_arrays.hpp"
#include "headway/train_results.hpp"

namespace headway {
class Ranks;
}

namespace headway::jobs {

class TrainWatch;
struct Reusable;

/// What a job is asked to do, by the command line or by a call in Python. Each verb looks at its
/// own part of it.
struct Request {
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
  bool calibrate = false;            ///< --calibrate
  std::string point;                 ///< --point, "best" or "10,0.3"; empty: all points
  std::string shard;                 ///< --shard, "i/n"; empty: the whole study
  bool json = false;                 ///< a plan is one JSON object
  bool dry_run = false;              ///< only a plan
  bool force = false;                ///< the output may exist
  bool verbose = false;              ///< -v: a note says which LibTorch trains, or why none can
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
  // Who hears of the runs of a training:
  TrainWatch* watch = nullptr;  ///< their progress; not owned
  /// Each record as it is made; of several ranks all of them at the end, run by run.
  std::function<void(std::size_t run, const TrainedRun&, const training::TrainRecord&)> record;

  /// --set, --seed, --threads and the verbs' own options, as --set would give them.
  [[nodiscard]] std::vector<std::string> study_overlays() const;
};

/// The study that is asked for: that of Request::study_text where there is one.
io::LoadedStudy study_of(const Request& request);

/// The examples of a study of the theory: from memory where the request has them, else read from a
/// file or made.
tasks::Dataset theory_data(const Request& request, const Study& study);

}  // namespace headway::jobs
