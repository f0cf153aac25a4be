// What training says where a limit leaves too little address space.
#include <fmt/format.h>
#include <sys/resource.h>

#include <string>

#include "catch.hpp"
#include "headway/core/memory.hpp"
#include "headway/error.hpp"
#include "headway/training/backend.hpp"
#include "training/model/transformer_engine.hpp"

using headway::training::detail::require_address_space;

namespace {

/// A limit that nothing comes near, so that only what is asked for can be beyond it.
class WideLimit {
 public:
  WideLimit() {
    REQUIRE(getrlimit(RLIMIT_AS, &before_) == 0);
    rlimit wide = before_;
    wide.rlim_cur = kBytes;
    set_ = setrlimit(RLIMIT_AS, &wide) == 0;
  }
  ~WideLimit() { setrlimit(RLIMIT_AS, &before_); }
  WideLimit(const WideLimit&) = delete;
  WideLimit& operator=(const WideLimit&) = delete;
  [[nodiscard]] bool set() const { return set_; }
  static constexpr rlim_t kBytes = rlim_t{1} << 47U;  // all that a process of today may have

 private:
  rlimit before_ = {};
  bool set_ = false;
};

std::string message_of(double bytes, const std::string& who) {
  try {
    require_address_space(bytes, who);
  } catch (const headway::Error& error) {
    CHECK(error.kind() == headway::ErrorKind::kUnavailable);
    return error.what();
  }
  return "no error";
}

}  // namespace

TEST_CASE("Too little address space is an error that tells what is wanted, and what there is") {
  const WideLimit limit;
  if (!limit.set()) return;  // the limit of whoever runs this is lower
  constexpr double kMebibyte = 1048576.0;
  const double there = static_cast<double>(WideLimit::kBytes) / kMebibyte;  // 134,217,728
  const std::string message = message_of(3e15, "7 cats take");
  const std::string begin =
      "training: not enough memory: 7 cats take 2861022949 MiB of address space, but the limit "
      "(ulimit -v) leaves ";
  REQUIRE(message.substr(0, begin.size()) == begin);
  const double left = std::stod(message.substr(begin.size()));
  CHECK(left < there);
  CHECK(left > 0.5 * headway::free_address_space() / kMebibyte);
  CHECK(message.substr(begin.size()) == fmt::format("{:.0f}", left));
  CHECK(message_of(1e6, "7 cats take") == "no error");
  // 128 MiB a thread.
  CHECK_NOTHROW(headway::training::require_training_space(1));
  CHECK_THROWS_WITH(
      headway::training::require_training_space(2'000'000),
      Catch::Matchers::StartsWith("training: not enough memory: 2000000 threads take 256000000 MiB "
                                  "of address space, but the limit (ulimit -v) leaves "));
}

TEST_CASE("Without a limit all address space is there") {
  rlimit limit = {};
  REQUIRE(getrlimit(RLIMIT_AS, &limit) == 0);
  if (limit.rlim_cur != RLIM_INFINITY) return;
  CHECK(message_of(1e300, "anything takes") == "no error");
}
