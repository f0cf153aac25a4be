// The C interface of MPI alone: it is the same in every version of OpenMPI.
#define OMPI_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <span>
#include <string>
#include <thread>

#include "core/fail.hpp"
#include "core/mpi_library.hpp"
#include "headway/core/block_cyclic.hpp"
#ifdef HEADWAY_SCALAPACK
#include "core/mpi/scalapack.hpp"
#endif

namespace headway::detail {
namespace {

constexpr std::chrono::milliseconds kNap{1};
constexpr int kSizeTag = 1;
constexpr int kBytesTag = 2;
constexpr int kNumbersTag = 3;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30U;  // MPI counts in int
constexpr std::size_t kMostNumbers = kMostBytes / sizeof(double);

void require(int result, const char* what) {
  if (result != MPI_SUCCESS) fail(ErrorKind::kUnavailable, "MPI: {} failed ({})", what, result);
}

/// If mpirun started all ranks on this machine, OpenMPI need not look for networks: ranks share
/// memory, and loading libpsm2 alone takes 0.2 s to measure its clock. Choices of the user stay.
void choose_transport() {
  // NOLINTBEGIN(concurrency-mt-unsafe): before any thread
  const char* all = std::getenv("OMPI_COMM_WORLD_SIZE");
  const char* here = std::getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
  if (all == nullptr || here == nullptr || std::strcmp(all, here) != 0) return;
  setenv("OMPI_MCA_pml", "ob1", 0);
  // NOLINTEND(concurrency-mt-unsafe)
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    int initialized = 0;
    require(MPI_Initialized(&initialized), "MPI_Initialized");
    ours_ = initialized == 0;  // in Python, mpi4py may have done it
    int provided = 0;
    if (ours_) {
      choose_transport();
      require(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided), "MPI_Init");
    } else {
      require(MPI_Query_thread(&provided), "MPI_Query_thread");
    }
    if (provided < MPI_THREAD_FUNNELED) {
      fail(ErrorKind::kUnavailable, "MPI: this MPI library does not support threads");
    }
    // Messages of others in this process stay apart.
    require(MPI_Comm_dup(MPI_COMM_WORLD, &world_), "MPI_Comm_dup");
    MPI_Comm_rank(world_, &rank_);
    MPI_Comm_size(world_, &size_);
    MPI_Comm machine = MPI_COMM_NULL;
    MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &machine);
    MPI_Comm_size(machine, &on_this_machine_);
    MPI_Comm_free(&machine);
  }
  /// The others wait here, asleep, while the first rank still writes. MPI_Finalize would not sleep,
  /// and could take the core from the first.
  ~MpiRanks() override {
    int finalized = 0;
    if (MPI_Finalized(&finalized) != MPI_SUCCESS || finalized != 0) return;
    MPI_Request all_here = MPI_REQUEST_NULL;
    int done = MPI_Ibarrier(world_, &all_here) == MPI_SUCCESS ? 0 : 1;
    for (; done == 0; std::this_thread::sleep_for(kNap)) {
      if (MPI_Test(&all_here, &done, MPI_STATUS_IGNORE) != MPI_SUCCESS) done = 1;
    }
    MPI_Comm_free(&world_);
    if (ours_) MPI_Finalize();
  }
  MpiRanks(const MpiRanks&) = delete;
  MpiRanks& operator=(const MpiRanks&) = delete;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] int on_this_machine() const override { return on_this_machine_; }

  void send(int to, std::string_view bytes) override {
    const std::uint64_t size = bytes.size();
    require(MPI_Send(&size, 1, MPI_UINT64_T, to, kSizeTag, world_), "MPI_Send");
    for (std::uint64_t at = 0; at < size; at += kMostBytes) {
      const auto count = static_cast<int>(std::min(kMostBytes, size - at));
      require(MPI_Send(bytes.data() + at, count, MPI_BYTE, to, kBytesTag, world_), "MPI_Send");
    }
  }

  std::optional<RankMessage> receive() override {
    int there = 0;
    MPI_Status status;
    require(MPI_Iprobe(MPI_ANY_SOURCE, kSizeTag, world_, &there, &status), "MPI_Iprobe");
    if (there == 0) return std::nullopt;
    RankMessage message{status.MPI_SOURCE, {}};
    std::uint64_t size = 0;
    require(MPI_Recv(&size, 1, MPI_UINT64_T, message.from, kSizeTag, world_, &status), "MPI_Recv");
    message.bytes.resize(size);
    for (std::uint64_t at = 0; at < size; at += kMostBytes) {
      const auto count = static_cast<int>(std::min(kMostBytes, size - at));
      require(MPI_Recv(message.bytes.data() + at, count, MPI_BYTE, message.from, kBytesTag, world_,
                       &status),
              "MPI_Recv");
    }
    return message;
  }

  void send_numbers(int to, std::span<const double> numbers) override {
    while (!numbers.empty()) {
      const std::span<const double> next = numbers.first(std::min(kMostNumbers, numbers.size()));
      require(
          MPI_Send(next.data(), static_cast<int>(next.size()), MPI_DOUBLE, to, kNumbersTag, world_),
          "MPI_Send");
      numbers = numbers.subspan(next.size());
    }
  }
  void receive_numbers(int from, std::span<double> numbers) override {
    while (!numbers.empty()) {
      const std::span<double> next = numbers.first(std::min(kMostNumbers, numbers.size()));
      require(MPI_Recv(next.data(), static_cast<int>(next.size()), MPI_DOUBLE, from, kNumbersTag,
                       world_, MPI_STATUS_IGNORE),
              "MPI_Recv");
      numbers = numbers.subspan(next.size());
    }
  }

#ifdef HEADWAY_SCALAPACK
  std::unique_ptr<SharedCholesky> shared_cholesky(const SharedSquare& place) override {
    return make_scalapack_cholesky(place);
  }
#endif

  void abort(int exit_code) override { MPI_Abort(MPI_COMM_WORLD, exit_code); }

 private:
  bool ours_ = true;  ///< MPI, to be ended with this object
  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1, on_this_machine_ = 1;
};

std::unique_ptr<Ranks> join() { return std::make_unique<MpiRanks>(); }

}  // namespace
}  // namespace headway::detail

extern "C" __attribute__((visibility("default"))) const headway::detail::MpiLibrary*
headway_mpi_library(int interface) {
  using namespace headway::detail;  // NOLINT: the entry is outside of every namespace
  static const MpiLibrary library{&join};
  return interface == kMpiInterface ? &library : nullptr;
}
