#include <algorithm>
#include <array>
#include <functional>
#include <string>
#include <utility>

#include "core/fail.hpp"
#include "headway/core/clock.hpp"
#include "headway/core/deal.hpp"
#include "headway/core/tree_sum.hpp"
#include "headway/schedule.hpp"

namespace headway {
namespace {

constexpr std::size_t kMostInMemory = std::size_t{64} << 20U;  // bytes of a unit

/// The observer of a unit. It keeps warnings, which the first rank tells for all, and shows no
/// progress of its own.
class UnitObserver final : public Observer {
 public:
  void warning(std::string_view text) override { warnings_.emplace_back(text); }
  [[nodiscard]] bool interrupted() const override { return stop_ && stop_(); }

  /// Begins to observe a unit.
  void begin(std::function<bool()> stop) { stop_ = std::move(stop); }
  [[nodiscard]] std::vector<std::string> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  std::function<bool()> stop_;
  std::vector<std::string> warnings_;
};

/// What each rank does of share(). For each unit its pieces are dealt, and then the unit itself.
template <class Result>
class Sharing {
 public:
  Sharing(Ranks& ranks, SharedStudy<Result>& study, PartStore<Result>& store, Observer& observer)
      : ranks_(ranks),
        study_(study),
        store_(store),
        observer_(observer),
        units_(study.units()),
        results_(units_) {}

  std::optional<Result> run(int threads) {
    of_unit_.begin([this] { return observer_.interrupted(); });
    if (!agree(ranks_, [&] { study_.make_ready(of_unit_); })) return std::nullopt;
    tell(of_unit_.take_warnings());
    count_pieces(threads);
    deal_units(ranks_, work());
    if (!ranks_.is_first()) return std::nullopt;
    return joined(true);
  }

 private:
  void tell(const std::vector<std::string>& warnings) {
    if (!ranks_.is_first()) return;
    for (const std::string& warning : warnings) observer_.warning(warning);
  }

  void count_pieces(int threads) {
    // All must count alike, and a rank elsewhere may have more threads.
    std::array<double, 1> of_first{static_cast<double>(threads)};
    broadcast(ranks_, of_first);
    pieces_ = study_.pieces(static_cast<int>(of_first[0]));
    piece_done_.resize(units_ * (pieces_ + 1));
  }
  [[nodiscard]] std::size_t unit_of(std::size_t dealt) const { return dealt / (pieces_ + 1); }
  [[nodiscard]] bool is_piece(std::size_t dealt) const { return dealt % (pieces_ + 1) < pieces_; }

  DealtWork work() {
    if (ranks_.is_first()) show_progress();
    return {units_ * (pieces_ + 1),
            [this](std::size_t dealt, const auto& stop) { return compute(dealt, stop); },
            [this](std::size_t dealt) { return piece_done_[dealt] || store_.has(unit_of(dealt)); },
            [this](std::size_t dealt, const UnitOutcome& outcome) { take(dealt, outcome); },
            [this] { return observer_.interrupted(); },
            [this] {
              if (kept() > 0) store_.stopping(joined(false));
            },
            [this](std::size_t dealt) { return is_ready(dealt); }};
  }

  UnitOutcome compute(std::size_t dealt, const std::function<bool()>& stop) {
    of_unit_.begin(stop);
    if (!is_piece(dealt)) return compute_unit(unit_of(dealt));
    const bool complete = study_.piece(unit_of(dealt), {dealt % (pieces_ + 1), pieces_});
    return {{}, of_unit_.take_warnings(), complete};
  }
  UnitOutcome compute_unit(std::size_t unit) {
    const Shard shard{unit, units_};
    Result result = study_.part(shard);
    UnitOutcome outcome{{}, of_unit_.take_warnings(), !result.interrupted};
    if (outcome.complete) {
      outcome.bytes = store_.pack(result, shard);
      if (ranks_.is_first()) results_[unit] = std::move(result);
    }
    return outcome;
  }

  void take(std::size_t dealt, const UnitOutcome& outcome) {
    tell(outcome.warnings);
    if (is_piece(dealt)) {
      piece_done_[dealt] = outcome.complete;
    } else if (outcome.complete) {
      keep(unit_of(dealt), outcome.bytes);
    }
    show_progress();
  }
  /// Keeps a unit in the store; small ones in memory, too. (HDF5 copies the bytes twice to read
  /// them.)
  void keep(std::size_t unit, std::string_view bytes) {
    store_.put(unit, bytes);
    std::optional<Result>& result = results_[unit];
    if (!result && bytes.size() <= kMostInMemory) result = store_.get(unit, bytes);
  }
  /// A unit can be computed when its pieces are there.
  [[nodiscard]] bool is_ready(std::size_t dealt) const {
    if (is_piece(dealt)) return true;
    const auto end = piece_done_.begin() + static_cast<std::ptrdiff_t>(dealt);
    return std::all_of(end - static_cast<std::ptrdiff_t>(pieces_), end, [](bool d) { return d; });
  }

  [[nodiscard]] std::size_t kept() const {
    std::size_t count = 0;
    for (std::size_t unit = 0; unit < units_; ++unit) count += store_.has(unit) ? 1 : 0;
    return count;
  }
  void show_progress() {
    observer_.progress(study_.unit_name(), static_cast<double>(kept()),
                       static_cast<double>(units_));
  }

  /// Joins all units that are kept: those of this call from memory (from which the `last` joining
  /// moves them), the others from the store. Units that are not kept are not touched: a worker may
  /// still write them.
  Result joined(bool last) {
    if (kept() == 0) fail(ErrorKind::kInterrupted, "interrupted before anything was finished");
    Parts<Result> parts(units_);
    for (std::size_t unit = 0; unit < units_; ++unit) {
      if (!store_.has(unit)) continue;
      std::optional<Result>& result = results_[unit];
      if (!result) {
        parts[unit] = store_.get(unit);
      } else if (last) {
        parts[unit] = std::move(result);
      } else {
        parts[unit] = result;
      }
    }
    Result whole = study_.join(std::move(parts));
    whole.seconds = seconds_since(began_);
    return whole;
  }

  Ranks& ranks_;
  SharedStudy<Result>& study_;
  PartStore<Result>& store_;
  Observer& observer_;
  UnitObserver of_unit_;
  Clock::time_point began_ = Clock::now();
  std::size_t units_, pieces_ = 0;
  std::vector<bool> piece_done_;  ///< by what is dealt
  Parts<Result> results_;         ///< on the first rank: units that were computed in this call
};

}  // namespace

template <class Result>
std::optional<Result> share(Ranks& ranks, SharedStudy<Result>& study, PartStore<Result>& store,
                            int threads, Observer& observer) {
  return Sharing<Result>(ranks, study, store, observer).run(threads);
}

template std::optional<SolveResult> share(Ranks&, SharedStudy<SolveResult>&,
                                          PartStore<SolveResult>&, int, Observer&);
template std::optional<SampleResult> share(Ranks&, SharedStudy<SampleResult>&,
                                           PartStore<SampleResult>&, int, Observer&);
template std::optional<TrainResult> share(Ranks&, SharedStudy<TrainResult>&,
                                          PartStore<TrainResult>&, int, Observer&);

}  // namespace headway
