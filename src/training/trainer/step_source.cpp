#include "training/trainer/step_source.hpp"

#include "headway/core/jobs.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

namespace headway::training::detail {

StepSource::StepSource(const TransformerOptions& model, const TrainOptions& options,
                       const TrainingTask& task)
    : task_(&task),
      batch_(options.batch),
      pieces_(options.accumulation * options.micro_batches),
      layers_(model.all_layers()),
      tokens_(task.format().tokens),
      last_piece_(pieces_),
      micro_pieces_(options.accumulation),
      seed_(options.seed),
      dropout_(model.attention_dropout) {}

void StepSource::take_share(std::pair<Index, Index> share) {
  first_piece_ = share.first * micro_pieces_;
  last_piece_ = share.second * micro_pieces_;
}

void StepSource::make(Index step, StepData* out) const {
  draw_dropout(step, &out->dropout);
  const Index count = batch_ / pieces_;
  out->pieces.resize(static_cast<std::size_t>(last_piece_ - first_piece_));
  for (Index piece = first_piece_; piece < last_piece_; ++piece) {
    task_->batch("train", step * batch_ + piece * count, count,
                 out->pieces[static_cast<std::size_t>(piece - first_piece_)]);
  }
}

// One mask of pairs for each layer, shared by examples and heads, and by the pieces of a batch:
// from the stream (seed, kDropout, step * layers + layer), the encoder's layers first.
void StepSource::draw_dropout(Index step, std::vector<float>* out) const {
  out->clear();
  if (dropout_ == 0.0) return;
  const auto kept = static_cast<float>(1.0 / (1.0 - dropout_));
  for (Index layer = 0; layer < layers_; ++layer) {
    Rng rng(seed_, StreamPurpose::kDropout, static_cast<std::uint64_t>(step * layers_ + layer));
    for (Index i = 0; i < tokens_ * tokens_; ++i) {
      out->push_back(rng.uniform() < dropout_ ? 0.0F : kept);
    }
  }
}

StepsAhead::StepsAhead(const StepSource& source, Index first, Index last) {
  thread_ = start_quiet_thread([this, &source, first, last] { make_all(source, first, last); });
}

StepsAhead::~StepsAhead() {
  {
    const std::lock_guard lock(guard_);
    stop_ = true;
  }
  changed_.notify_all();
}

void StepsAhead::make_all(const StepSource& source, Index first, Index last) {
  try {
    for (Index step = first; step < last; ++step) {
      {
        std::unique_lock lock(guard_);
        // The one in use, or about to be asked for, is taken_ - 1: it must not be written to.
        const auto most = static_cast<Index>(data_.size()) - 1;
        changed_.wait(lock, [&] { return stop_ || made_ - taken_ < most; });
        if (stop_) return;
      }
      source.make(step, &data_[static_cast<std::size_t>(step - first) % data_.size()]);
      {
        const std::lock_guard lock(guard_);
        ++made_;
      }
      changed_.notify_all();
    }
  } catch (...) {
    {
      const std::lock_guard lock(guard_);
      error_ = std::current_exception();
    }
    changed_.notify_all();
  }
}

const StepData& StepsAhead::next() {
  std::unique_lock lock(guard_);
  changed_.wait(lock, [&] { return made_ > taken_ || error_; });
  if (made_ <= taken_) std::rethrow_exception(error_);
  const StepData& data = data_[static_cast<std::size_t>(taken_) % data_.size()];
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  return data;
}

}  // namespace headway::training::detail
