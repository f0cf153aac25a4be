#pragma once

#include <string>
#include <vector>

#include "headway/study.hpp"

namespace headway {

/// SHA-256 (hex) of the resolved study without what cannot change a result: the number of threads
/// and where the data-set file lies (its contents have a hash of their own).
std::string study_hash(const Study& study);

/// study_hash of the parts that the saddle points depend on: the same for studies that differ in
/// their name or in [align], [prune] and [sample] only, which may therefore share a solve result.
std::string solve_hash(const Study& study);

/// Whether both have the same solution at every sweep point that they share. They may differ in
/// model.widths, in model.temperature and in what solve_hash leaves out. If ranks solved `a`
/// together (KernelForm::kDistributed), the form of `b`'s kernels may differ, too.
bool solves_alike(const Study& a, const Study& b);

/// study_hash of the parts that the draws of `sample` depend on. How often checkpoints are taken is
/// left out.
std::string sample_hash(const Study& study);

/// study_hash of what one training run depends on. How often checkpoints are taken is left out.
std::string train_hash(const Study& study);

/// "train.layers = 2, here 4" for every key that two studies written as text (study_text()) differ
/// in and that can change a number.
std::vector<std::string> study_differences(const std::string& theirs, const std::string& ours);

}  // namespace headway
