#include <map>
#include <string>
#include <tuple>

#include "headway/core/sha256.hpp"
#include "headway/core/utf8.hpp"
#include "headway/study/train_run.hpp"
#include "headway/train_task.hpp"
#include "tasks/bpe_library.hpp"

namespace headway {
namespace {

/// What a tokenizer is learned from: file, bytes of its training part, vocabulary.
using TokenizerKey = std::tuple<std::string, std::size_t, Index>;

/// The texts of a grid. What one run has read and learned, the next ones use again.
class TextTasks {
 public:
  TrainTask make(const Study& study, const TaskFiles& files) {
    const auto& task = study.task.as<TextTaskOptions>();
    read(task.file, task.text.shares(), files);
    tokenize(task);
    training::TextOptions options = task.text;
    options.seed = task_seed(study);
    TrainTask out;
    out.task = training::make_text_task(tokens_, options);
    out.decode = [tokenizer = tokenizer_](std::span<const std::int32_t> ids) {
      return with_replacements(tokenizer->decode(ids));
    };
    out.tokenizer = model_;
    out.content_hash = model_.empty() ? hash_ : sha256_hex(hash_ + "\n" + model_);
    return out;
  }

 private:
  void read(const std::string& file_path, const tasks::TextShares& shares, const TaskFiles& files) {
    if (corpus_ && corpus_->name() == file_path && shares_ == shares) return;
    tokens_.reset();
    corpus_.emplace(files.text(file_path, shares));
    hash_ = sha256_hex(corpus_->text());
    shares_ = shares;
  }

  /// The one place that knows the levels of text; their words are in the study's schema.
  void tokenize(const TextTaskOptions& task) {
    const bool bytes = task.level == TextLevel::kBytes;
    const TokenizerKey key(task.file, corpus_->train().size(), bytes ? 0 : task.vocabulary);
    if (tokens_ && key == key_) return;
    if (bytes) {
      tokenizer_ = std::make_shared<tasks::ByteTokenizer>();
      model_.clear();
    } else {
      const auto bpe = learned(key);
      tokenizer_ = bpe;
      model_ = bpe->serialize();
    }
    tokens_ = std::make_shared<const tasks::TokenizedText>(tasks::tokenize(*corpus_, *tokenizer_));
    key_ = key;
  }

  /// From the training part alone.
  std::shared_ptr<const tasks::BpeTokenizer> learned(const TokenizerKey& key) {
    std::shared_ptr<const tasks::BpeTokenizer>& known = learned_[key];
    if (!known) {
      tasks::detail::require_encodable(corpus_->text(), corpus_->name());  // held-out part and all
      known = tasks::train_bpe_tokenizer(corpus_->train(), corpus_->name(), {std::get<2>(key)});
    }
    return known;
  }

  std::optional<tasks::TextCorpus> corpus_;
  std::string hash_;
  tasks::TextShares shares_;
  std::map<TokenizerKey, std::shared_ptr<const tasks::BpeTokenizer>> learned_;
  TokenizerKey key_;  // of what follows
  std::shared_ptr<const tasks::Tokenizer> tokenizer_;
  std::string model_;
  std::shared_ptr<const tasks::TokenizedText> tokens_;
};

/// Hash of the images, and of everything else that the examples depend on.
std::string content_hash(const training::OneShotExamples& examples) {
  Sha256 hash;
  hash.update(examples.images->content_hash());
  for (const training::OutOfDistributionImages& other : examples.out_of_distribution) {
    hash.update(other.name + " " + other.examples->content_hash());
  }
  return hash.hex_digest();
}

TrainTask one_shot_task(const Study& study, const TaskFiles& files) {
  training::OneShotExamples examples = one_shot_examples(study, files);
  TrainTask out;
  out.content_hash = content_hash(examples);
  out.task = training::make_one_shot_task(std::move(examples));
  return out;
}

/// The arrays of a grid. What one run has read and checked, the next ones use again.
class ArrayTasks {
 public:
  TrainTask make(const Study& study, const TaskFiles& files) {
    const auto& task = study.task.as<ArraysTaskOptions>();
    training::ArrayOptions options = task.arrays;
    options.seed = task_seed(study);
    const Key key(task.file, options.counts);
    if (checked_.arrays == nullptr || key != key_) {
      checked_ = {};  // before others are read
      checked_ = training::checked_arrays(files.arrays(task.file), options);
      key_ = key;
    }
    TrainTask out;
    out.task = training::make_array_task(checked_, options);
    out.content_hash = checked_.arrays->content_hash;
    out.warnings = checked_.facts.warnings;
    return out;
  }

 private:
  using Key = std::pair<std::string, tasks::ArrayCounts>;

  training::CheckedArrays checked_;
  Key key_;  // of what was checked
};

/// `files` that reads the last drawings once.
TaskFiles keeping_drawings(TaskFiles files) {
  struct Kept {
    std::vector<std::string> paths;
    std::shared_ptr<const tasks::ImageSet> images;
  };
  files.drawings = [kept = std::make_shared<Kept>(), read = files.drawings](const auto& paths) {
    if (kept->images == nullptr || kept->paths != paths) *kept = {paths, read(paths)};
    return kept->images;
  };
  return files;
}

}  // namespace

training::OneShotExamples one_shot_examples(const Study& study, const TaskFiles& files) {
  const OmniglotOptions& task = study.task.as<OmniglotOptions>();
  tasks::OneShotImagesOptions options = task.images;
  options.seed = task_seed(study);
  using Generator = tasks::OneShotImagesGenerator;
  training::OneShotExamples out;
  out.images = std::make_shared<Generator>(files.drawings(task.files), options);
  for (const OutOfDistributionSet& set : task.out_of_distribution) {
    out.out_of_distribution.push_back(
        {set.name, std::make_shared<Generator>(
                       Generator::out_of_distribution(files.other_images(set), options))});
  }
  return out;
}

TaskMaker make_task_maker(const TaskFiles& files) {
  return [files = keeping_drawings(files), texts = std::make_shared<TextTasks>(),
          arrays = std::make_shared<ArrayTasks>()](const Study& study) {
    switch (study.task.kind()) {  // those that read files
      case TaskKind::kText:
        return texts->make(study, files);
      case TaskKind::kArrays:
        return arrays->make(study, files);
      case TaskKind::kOmniglot:
        return one_shot_task(study, files);
      default:
        return make_generated_task(study);
    }
  };
}

}  // namespace headway
