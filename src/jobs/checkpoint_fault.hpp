#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>

#include "headway/core/detail_observer.hpp"
#include "headway/error.hpp"

namespace headway::jobs {

/// Why a checkpoint could not be written; "" while all could. Such a run stops as after Ctrl-C:
/// what is finished is printed, and written if there is room. Thread-safe.
class CheckpointFault {
 public:
  [[nodiscard]] bool happened() const { return happened_; }
  [[nodiscard]] std::string text() const {
    const std::lock_guard<std::mutex> lock(guard_);
    return text_;
  }
  void tell(std::string text) {
    const std::lock_guard<std::mutex> lock(guard_);
    if (text_.empty()) text_ = std::move(text);
    happened_ = true;
  }

 private:
  mutable std::mutex guard_;
  std::string text_;
  std::atomic<bool> happened_{false};
};

/// `save`, whose Error{kCannotWrite} goes to `fault`. An empty function stays empty.
template <class... Arguments>
std::function<void(Arguments...)> watched(std::function<void(Arguments...)> save,
                                          std::shared_ptr<CheckpointFault> fault) {
  if (!save) return save;
  return [save = std::move(save), fault = std::move(fault)](Arguments... arguments) {
    try {
      save(std::forward<Arguments>(arguments)...);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kCannotWrite) throw;
      fault->tell(std::string(error.what()) +
                  "; the run stops here, and the same command goes on from its last checkpoint");
    }
  };
}

/// Passes everything on, and asks to stop after a fault.
class FaultObserver final : public DetailObserver {
 public:
  /// Both must outlive it.
  FaultObserver(Observer& inner, const CheckpointFault& fault) : inner_(inner), fault_(fault) {}
  void progress(std::string_view stage, double done, double total) override {
    inner_.progress(stage, done, total);
  }
  void whole(std::string_view stage, double done, double total, double earlier) override {
    inner_.whole(stage, done, total, earlier);
  }
  void warning(std::string_view text) override { inner_.warning(text); }
  void note(std::string_view text) override { inner_.note(text); }
  void detail(std::string_view what, std::string_view more) override {
    tell_detail(inner_, what, more);
  }
  void message(std::string_view text) override { tell_message(inner_, text); }
  [[nodiscard]] bool interrupted() const override {
    return inner_.interrupted() || fault_.happened();
  }

 private:
  Observer& inner_;
  const CheckpointFault& fault_;
};

}  // namespace headway::jobs
