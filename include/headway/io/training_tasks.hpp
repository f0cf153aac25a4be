#pragma once

#include "headway/studies/training.hpp"

namespace headway::io {

/// Makes the tasks of training studies: those that are generated; texts and images, which are read
/// from their files. For the other runs of a grid the last images are kept, the last text with its
/// tokens, and every tokenizer that was learned. Errors: kMissingFile, kBadData for a text that is
/// not UTF-8 or damaged images, kBadStudy for a text that is too short, too few characters for the
/// shares of the splits, or another kind of task, those of train_bpe_tokenizer().
studies::TaskMaker training_task_maker();

/// The generators of a study with task.kind = "omniglot". Errors as above.
training::OneShotExamples read_one_shot_examples(const studies::Study& study);

}  // namespace headway::io
