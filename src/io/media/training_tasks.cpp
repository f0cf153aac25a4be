#include "headway/io/training_tasks.hpp"

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>

#include "headway/core/sha256.hpp"
#include "headway/core/utf8.hpp"
#include "headway/io/image_files.hpp"
#include "headway/io/text_files.hpp"
#include "io/whole_file.hpp"
#include "tasks/bpe_library.hpp"

namespace headway::io {
namespace {

constexpr std::uint64_t kLargestText = std::uint64_t{4} << 30U;

/// What learning starts from: file, how many of its bytes train, vocabulary.
using TokenizerKey = std::tuple<std::string, std::size_t, Index>;

/// The texts of a grid: what one run has read and learned, the next need not.
class TextTasks {
 public:
  studies::TrainTask make(const studies::Study& study) {
    read(study.task.file, study.task.text.shares());
    tokenize(study.task);
    training::TextOptions options = study.task.text;
    options.seed = studies::task_seed(study);
    studies::TrainTask out;
    out.task = training::make_text_task(tokens_, options);
    out.decode = [tokenizer = tokenizer_](std::span<const std::int32_t> ids) {
      return with_replacements(tokenizer->decode(ids));
    };
    out.tokenizer = model_;
    out.content_hash = model_.empty() ? hash_ : sha256_hex(hash_ + "\n" + model_);
    return out;
  }

 private:
  void read(const std::string& file_path, const tasks::TextShares& shares) {
    if (corpus_ && corpus_->name() == file_path && shares_ == shares) return;
    tokens_.reset();
    corpus_.emplace(read_text_corpus(file_path, shares));
    hash_ = sha256_hex(corpus_->text());
    shares_ = shares;
  }

  /// The one place that knows the levels of text; their words are in the study's schema.
  void tokenize(const studies::TaskOptions& task) {
    const bool bytes = task.level == studies::TextLevel::kBytes;
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

/// The images of the last task, kept for the next run of a grid.
struct KeptImages {
  std::vector<std::string> paths;
  std::shared_ptr<const tasks::ImageSet> images;
};

std::shared_ptr<const tasks::ImageSet> read_images(const std::vector<std::string>& paths,
                                                   KeptImages& kept) {
  if (kept.images == nullptr || kept.paths != paths) {
    kept.images = std::make_shared<tasks::ImageSet>(read_omniglot(paths, tasks::kOneShotSide));
    kept.paths = paths;
  }
  return kept.images;
}

training::OneShotExamples one_shot_examples(const studies::Study& study, KeptImages& kept) {
  const studies::OmniglotOptions& task = study.task.omniglot;
  tasks::OneShotImagesOptions options = task.images;
  options.seed = studies::task_seed(study);
  training::OneShotExamples out;
  out.images =
      std::make_shared<tasks::OneShotImagesGenerator>(read_images(task.files, kept), options);
  for (const studies::OutOfDistributionSet& set : task.out_of_distribution) {
    auto images = std::make_shared<tasks::ImageSet>(
        read_idx(set.images, set.labels, {tasks::kOneShotSide, set.invert}));
    out.out_of_distribution.push_back(
        {set.name,
         std::make_shared<tasks::OneShotImagesGenerator>(
             tasks::OneShotImagesGenerator::out_of_distribution(std::move(images), options))});
  }
  return out;
}

/// Of the images, and of everything else that the examples depend on.
std::string content_hash(const training::OneShotExamples& examples) {
  Sha256 hash;
  hash.update(examples.images->content_hash());
  for (const training::OutOfDistributionImages& other : examples.out_of_distribution) {
    hash.update(other.name + " " + other.examples->content_hash());
  }
  return hash.hex_digest();
}

studies::TrainTask one_shot_task(const studies::Study& study, KeptImages& kept) {
  training::OneShotExamples examples = one_shot_examples(study, kept);
  studies::TrainTask out;
  out.content_hash = content_hash(examples);
  out.task = training::make_one_shot_task(std::move(examples));
  return out;
}

}  // namespace

tasks::TextCorpus read_text_corpus(const std::string& file_path, const tasks::TextShares& shares) {
  return {file_path, read_whole_file(file_path, kLargestText), shares};
}

training::OneShotExamples read_one_shot_examples(const studies::Study& study) {
  KeptImages none;
  return one_shot_examples(study, none);
}

studies::TaskMaker training_task_maker() {
  auto texts = std::make_shared<TextTasks>();
  auto images = std::make_shared<KeptImages>();
  return [texts, images](const studies::Study& study) {
    switch (study.task.kind) {  // those that read files
      case studies::TaskKind::kText:
        return texts->make(study);
      case studies::TaskKind::kOmniglot:
        return one_shot_task(study, *images);
      default:
        return studies::make_generated_task(study);
    }
  };
}

}  // namespace headway::io
