#pragma once

#include <atomic>
#include <string_view>

#include "headway/observer.hpp"

/// Private to the verbs of the theory: what the solution of one point tells.
namespace headway {

/// An observer that remembers whether it told a computation to stop.
class StopWitness final : public Observer {
 public:
  explicit StopWitness(Observer& whole) : whole_(whole) {}
  void progress(std::string_view stage, double done, double total) override {
    whole_.progress(stage, done, total);
  }
  void warning(std::string_view text) override { whole_.warning(text); }
  void note(std::string_view text) override { whole_.note(text); }
  [[nodiscard]] bool interrupted() const override {
    if (!told_ && whole_.interrupted()) told_ = true;
    return told_;
  }
  [[nodiscard]] bool told() const { return told_; }

 private:
  Observer& whole_;
  mutable std::atomic<bool> told_ = false;
};

}  // namespace headway
