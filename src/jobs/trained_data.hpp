#pragma once

#include <string>
#include <vector>

#include "headway/jobs/job.hpp"
#include "headway/observer.hpp"
#include "headway/train_task.hpp"

namespace headway::jobs {

/// io::task_files(), or the arrays that Python has given. Error{kMissingFile} for a result of
/// arrays that nobody has put into a file.
TaskFiles task_files(const Request& request);

/// The same of the theory, before it reads the file of a data set.
void refuse_arrays_in_memory(const std::string& input, const std::string& file_path);

/// Whether both studies make or read the same examples.
bool same_data(const Study& a, const Study& b);

/// Refuses (Error{kBadData}) files other than those that the networks of the input were trained on:
/// they would put what a network has seen into its held-out sets. `overlays`: say where the files
/// are now. Sets out of distribution may differ, so the check is made with those of the training
/// run; where their files are gone, it is left out with a note. Tasks without files make the same
/// data always.
void require_training_data(const Request& request, std::vector<std::string> overlays,
                           const std::string& data_hash, Observer& observer);

/// Warns where a result given as study is computed again from files that have changed since.
/// `data_hash`: of those that are there now.
void warn_of_replaced_data(const Job& job, const std::string& data_hash, Observer& observer);

}  // namespace headway::jobs
