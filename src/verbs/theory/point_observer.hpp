#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <string>
#include <string_view>

#include "headway/core/detail_observer.hpp"
#include "headway/observer.hpp"

namespace headway {

/// Where the points of a sweep stand that are sampled one after another.
struct SweepShare {
  double before = 0.0, points = 1.0;  ///< points that are done, and all
  double earlier = 0.0;               ///< transitions that earlier calls made
};

/// Names the sweep point in the progress; transitions count for the whole sweep. Warnings reach the
/// user once, with the point's others.
class PointObserver final : public DetailObserver {
 public:
  PointObserver(Observer& observer, std::size_t point, std::size_t points,
                const SweepShare* share = nullptr)
      : observer_(observer),
        share_(share),
        label_(fmt::format(", point {} of {}", point + 1, points)) {}
  void progress(std::string_view stage, double done, double total) override {
    if (share_ != nullptr && share_->points > 1.0 && stage == "sampling") {
      observer_.whole(stage, share_->before * total + done, share_->points * total,
                      share_->earlier);
    } else {
      observer_.progress(fmt::format("{}{}", stage, label_), done, total);
    }
  }
  void detail(std::string_view what, std::string_view more) override {
    tell_detail(observer_, what, more);
  }
  void note(std::string_view text) override { observer_.note(text); }
  [[nodiscard]] bool interrupted() const override { return observer_.interrupted(); }

 private:
  Observer& observer_;
  const SweepShare* share_;
  std::string label_;
};

}  // namespace headway
