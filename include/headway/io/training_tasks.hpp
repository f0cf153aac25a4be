#pragma once

#include "headway/studies/training.hpp"

namespace headway::io {

/// Makes the tasks of training studies: those that are generated, and texts, which are read from
/// their files. For the other runs of a grid the last text is kept with its tokens, and every
/// tokenizer that was learned. Errors: kMissingFile, kBadData for a text that is not UTF-8,
/// kBadStudy for a text that is too short or another kind of task, those of train_bpe_tokenizer().
studies::TaskMaker training_task_maker();

}  // namespace headway::io
