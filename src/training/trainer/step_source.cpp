#include "training/trainer/step_source.hpp"

#include <cmath>
#include <cstdint>

#include "headway/core/jobs.hpp"
#include "headway/core/rng.hpp"
#include "headway/error.hpp"

namespace headway::training::detail {
namespace {

// Rng::uniform() < p says the same of the 64 bits w that it is made of: w < this. Exactly, as
// uniform() is (n + 1/2) 2^-52 without rounding, n being the upper 52 bits; 0 <= p < 1.
std::uint64_t words_below(double p) {
  const double scaled = std::ldexp(p, 52);
  const double whole = std::floor(scaled);
  const auto count = static_cast<std::uint64_t>(whole) + (scaled - whole > 0.5 ? 1U : 0U);
  return count << 12U;
}

}  // namespace

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
  const std::uint64_t below = words_below(dropout_);
  out->reserve(static_cast<std::size_t>(layers_ * tokens_ * tokens_));
  for (Index layer = 0; layer < layers_; ++layer) {
    Rng rng(seed_, StreamPurpose::kDropout, static_cast<std::uint64_t>(step * layers_ + layer));
    for (Index i = 0; i < tokens_ * tokens_; ++i) {
      out->push_back(rng.next_u64() < below ? 0.0F : kept);
    }
  }
}

StepsAhead::StepsAhead(const StepSource& source, Index first, Index last, int threads)
    : data_(static_cast<std::size_t>(threads) + 2), made_(data_.size()) {
  threads_.reserve(static_cast<std::size_t>(threads));
  for (int t = 0; t < threads; ++t) {
    try {
      threads_.push_back(
          start_quiet_thread([this, &source, first, last] { make_some(source, first, last); }));
    } catch (const Error&) {
      if (threads_.empty()) throw;
      return;  // those that there are serve
    }
  }
}

StepsAhead::~StepsAhead() {
  {
    const std::lock_guard lock(guard_);
    stop_ = true;
  }
  changed_.notify_all();
}

void StepsAhead::make_some(const StepSource& source, Index first, Index last) {
  std::unique_lock lock(guard_);
  for (;;) {
    // The one in use, or about to be asked for, is taken_ - 1: it must not be written to.
    const auto most = static_cast<Index>(data_.size()) - 1;
    changed_.wait(lock, [&] { return stop_ || begun_ - taken_ < most; });
    if (stop_ || error_ || first + begun_ >= last) return;
    const Index update = begun_++;
    lock.unlock();
    std::exception_ptr error;
    try {
      source.make(first + update, &place_of(update));
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (!error) {
      made_[static_cast<std::size_t>(update) % made_.size()] = update + 1;
    } else if (!error_ || update < failed_) {
      error_ = error;
      failed_ = update;
    }
    changed_.notify_all();
  }
}

const StepData& StepsAhead::next() {
  std::unique_lock lock(guard_);
  const auto is_made = [this] {
    return made_[static_cast<std::size_t>(taken_) % made_.size()] == taken_ + 1;
  };
  changed_.wait(lock, [&] { return is_made() || (error_ && failed_ <= taken_); });
  if (!is_made()) std::rethrow_exception(error_);
  const StepData& data = place_of(taken_);
  ++taken_;
  lock.unlock();
  changed_.notify_all();
  return data;
}

}  // namespace headway::training::detail
