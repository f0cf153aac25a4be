// Checkpoints on disk: every number comes back, nothing damaged or foreign is taken.
#include "headway/checkpoints.hpp"

#include <sys/stat.h>

#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <thread>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/io/checkpoint_file.hpp"
#include "headway/provenance.hpp"
#include "io/hdf5/output.hpp"
#include "record_bytes.hpp"
#include "scratch_directory.hpp"

using namespace headway;
using headway::SampleState;
using headway::Study;
using jobs::SampleCheckpoints;
namespace fs = std::filesystem;

namespace {

// Every field different from its default and from its neighbours.
sampling::ChainState full_chain() {
  sampling::ChainState s;
  s.chain = 3;
  s.started = true;
  s.iteration = 1234567890123;
  Rng rng(0xfedcba9876543210, StreamPurpose::kTests);
  rng.normal();
  rng.next_u32();
  s.rng = rng.state();
  s.position = Eigen::Vector2d(0.1, -0.0);
  s.gradient = Eigen::Vector2d(-1e-308, 1e300);
  s.log_density = -std::numeric_limits<double>::infinity();
  s.step_size = 0.3;
  s.dual_averaging = {1.5, -2.5, 3.5, 77};
  s.inverse_metric = Eigen::Matrix2d{{1.0, 0.25}, {0.75, 2.0}};
  s.window.count = 9;
  s.window.mean = Eigen::Vector2d(4.0, 5.0);
  s.window.squares = Eigen::Matrix2d{{6.0, 7.0}, {8.0, 9.0}};
  s.pending = {0.5, 0.6, 0.7, 0.8, 9, 10, true, false};
  s.evaluations = 4242;
  s.warmup_divergences = 17;
  s.energies = {23, 0.125, -6.5, 8.5, 9.5};
  s.statistics = {{-1.0, std::nan(""), 0.25, 0.5, 3, 7, false, true},
                  {-2.0, 3.0, 0.5, 0.5, 2, 3, true, false}};
  s.draws = {1.0, 2.0, 3.0, std::numeric_limits<double>::denorm_min()};
  return s;
}

SampleState full_state() {
  SampleState state;
  state.run.settings = "sampler = nuts\ndimension = 2\n";
  state.run.chains = {full_chain(), sampling::ChainState{}};
  headway::ChainRecord record;
  record.draws = 2;
  record.entries = {1.0, 0.5, -0.0};
  record.positions = {7.0, 8.0};
  record.accuracies = {std::nan("")};
  const MatrixXd mean{{1.0, 2.0}, {3.0, 4.0}, {5.0, 6.0}};
  record.predictors = {1, mean, 2.0 * mean};
  record.variance_sum = 3.0 * mean;
  state.records = {record, headway::ChainRecord{}};
  state.seconds = 12.5;
  return state;
}

Study two_points() {
  Study study;
  study.task.set_kind(headway::TaskKind::kDataset);
  study.model.widths = {{5}};
  study.model.temperatures = {0.1, 0.2};
  return study;
}

template <typename Action>
std::string refusal(const Action& action, ErrorKind kind) {
  try {
    action();
  } catch (const Error& error) {
    CHECK(error.kind() == kind);
    CHECK(std::string(error.what()).find("--force") != std::string::npos);
    return error.what();
  }
  return "(accepted)";
}

bool says(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string read_file(const std::string& file_path) {
  std::ifstream file(file_path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& file_path, const std::string& bytes) {
  std::ofstream(file_path, std::ios::binary) << bytes;
}

}  // namespace

TEST_CASE("the state of a sweep point comes back bit for bit") {
  const testing::ScratchDirectory folder;
  const SampleCheckpoints first(folder.file("r.h5"), two_points(), "data", false);
  CHECK_FALSE(first.hooks().load(1));
  first.hooks().save(1, SampleState{});
  first.hooks().save(1, full_state());
  CHECK_FALSE(first.hooks().load(0));
  const SampleCheckpoints again(folder.file("r.h5"), two_points(), "data", false);
  CHECK(again.resumable() == 1);
  CHECK(again.finished() == 0);
  const std::optional<SampleState> back = again.hooks().load(1);
  REQUIRE(back);
  CHECK(testing::bytes_of(*back) == testing::bytes_of(full_state()));
  CHECK(std::signbit(back->run.chains[0].position[1]));
  CHECK(back->run.chains[0].rng == full_chain().rng);
  CHECK(back->run.chains[0].draw_matrix()(0, 1) == 3.0);
  again.remove();
  CHECK_FALSE(fs::exists(again.folder()));
}

TEST_CASE("the state of a long solution comes back bit for bit") {
  theory::SaddlePointState state;
  state.order_parameters.layers = {MatrixXd{{1.0, 0.25}, {0.25, 2.0}}, MatrixXd{{3.0}}};
  state.order_parameters.readout = MatrixXd{{0.1}};
  state.summary.message = "interrupted";
  state.summary.optimizer = "newton_cg";
  state.summary.iterations = 2;
  state.summary.evaluations = 4;
  state.summary.products = 55;
  state.summary.record(-1.5, 0.25, 0.0);
  state.summary.record(-1.75, 1e-300, 0.125);
  state.pairs = {{{MatrixXd{{1.0, 2.0}, {2.0, -0.0}}, MatrixXd{{5.0}}, MatrixXd{{6.0}}},
                  {MatrixXd{{7.0, 8.0}, {8.0, 9.0}}, MatrixXd{{1.5}}, MatrixXd{{2.5}}},
                  0.3}};
  const testing::ScratchDirectory folder;
  const jobs::SolveCheckpoints first(folder.file("r.h5"), two_points(), "data", false);
  CHECK_FALSE(first.hooks().load(1));
  first.hooks().save(1, theory::SaddlePointState{});
  first.hooks().save(1, state);
  const jobs::SolveCheckpoints again(folder.file("r.h5"), two_points(), "data", false);
  CHECK(again.resumable() == 1);
  const std::optional<theory::SaddlePointState> back = again.hooks().load(1);
  REQUIRE(back);
  CHECK(testing::bytes_of(*back) == testing::bytes_of(state));
  CHECK_FALSE(again.hooks().load(0));
  Study silent = two_points();
  silent.solve.checkpoint_seconds = 0.0;
  const jobs::SolveCheckpoints quiet(folder.file("r.h5"), silent, "data", false);
  CHECK_FALSE(quiet.hooks().save);
  CHECK(quiet.hooks().load(1));
}

TEST_CASE("chains that run apart have checkpoints of their own, by point and chain") {
  const testing::ScratchDirectory folder;
  Study study = two_points();
  study.sample.chains = 3;
  const SampleCheckpoints first(folder.file("r.h5"), study, "data", false);
  SampleState other = full_state();
  other.seconds = 99.0;
  first.hooks().save_chains(0, 2, other);
  first.hooks().save_chains(1, 0, full_state());
  const SampleCheckpoints again(folder.file("r.h5"), study, "data", false);
  CHECK(again.resumable() == 2);
  for (std::size_t point = 0; point < 2; ++point) {
    CHECK_FALSE(again.hooks().load(point));
    for (std::size_t chain = 0; chain < 3; ++chain) {
      CAPTURE(point, chain);
      const std::optional<SampleState> found = again.hooks().load_chains(point, chain);
      const bool saved = point == 0 ? chain == 2 : chain == 0;
      REQUIRE(found.has_value() == saved);
      if (saved) {
        CHECK(testing::bytes_of(*found) == testing::bytes_of(point == 0 ? other : full_state()));
      }
    }
  }
}

TEST_CASE("sampling without checkpoint_seconds saves nothing, but goes on") {
  const testing::ScratchDirectory folder;
  SampleCheckpoints(folder.file("r.h5"), two_points(), "data", false).hooks().save(0, full_state());
  Study silent = two_points();
  silent.sample.checkpoint_seconds = 0.0;
  const headway::SampleHooks hooks =
      SampleCheckpoints(folder.file("r.h5"), silent, "data", false).hooks();
  CHECK_FALSE(hooks.save);
  CHECK(hooks.load(0));
}

TEST_CASE("a checkpoint of another study, data or verb is refused by name, or deleted by force") {
  const testing::ScratchDirectory folder;
  const std::string result = folder.file("r.h5");
  SampleCheckpoints(result, two_points(), "data", false).hooks().save(0, full_state());
  const auto refused = [&](const Study& study, const std::string& data) {
    return refusal([&] { SampleCheckpoints(result, study, data, false); }, ErrorKind::kBadStudy);
  };
  Study other = two_points();
  other.seed = 2;
  const std::string file_path = result + ".checkpoint/point_0.h5";
  CHECK(refused(other, "data") ==
        file_path +
            ": the checkpoint belongs to another run (seed = 1, here 2): repeat the command that "
            "made it, choose another -o, or start afresh with --force");
  other.sample.draws = 7;
  CHECK(says(refused(other, "data"), "seed = 1, here 2; sample.draws = 1000, here 7"));
  CHECK(says(refused(two_points(), "other"), "the data"));
  headway::TrainRun run;
  run.study.task.set_kind(headway::TaskKind::kSraven);
  const auto as_training = [&] { jobs::TrainCheckpoints(result, {run}, {"data"}, false); };
  CHECK(says(refusal(as_training, ErrorKind::kBadStudy),
             "it is of headway sample, this is headway train"));
  write_file(result + ".checkpoint/mine.txt", "");
  const SampleCheckpoints forced(result, other, "data", true);
  CHECK(forced.resumable() == 0);
  CHECK_FALSE(forced.hooks().load(0));
  CHECK(fs::exists(forced.folder() + "/mine.txt"));
}

TEST_CASE("a checkpoint that another version of the program wrote is refused by name") {
  const testing::ScratchDirectory folder;
  const std::string result = folder.file("r.h5");
  const SampleCheckpoints first(result, two_points(), "data", false);
  first.hooks().save(0, full_state());
  const std::string file_path = first.folder() + "/point_0.h5";
  io::CheckpointHeader header = io::read_checkpoint_header(file_path);
  header.version = "0.0.1";
  io::write_checkpoint(file_path, header, full_state());
  CHECK(says(refusal([&] { SampleCheckpoints(result, two_points(), "data", false); },
                     ErrorKind::kBadStudy),
             "version 0.0.1 wrote it, this is " + headway::build_info().version));
  CHECK_FALSE(first.hooks().load(0));  // nor is it read by who found another there before
}

TEST_CASE("a point of this study under the name of another is left alone") {
  const testing::ScratchDirectory folder;
  const SampleCheckpoints first(folder.file("r.h5"), two_points(), "data", false);
  first.hooks().save(0, full_state());
  fs::rename(first.folder() + "/point_0.h5", first.folder() + "/point_7.h5");
  CHECK(SampleCheckpoints(folder.file("r.h5"), two_points(), "data", false).resumable() == 0);
}

TEST_CASE("truncated, lengthened and damaged checkpoints are refused") {
  const testing::ScratchDirectory folder;
  const std::string result = folder.file("r.h5");
  const SampleCheckpoints first(result, two_points(), "data", false);
  first.hooks().save(0, full_state());
  const std::string file_path = first.folder() + "/point_0.h5";
  const std::string good = read_file(file_path);
  const auto is_refused = [&](const std::string& bytes) {
    write_file(file_path, bytes);
    const auto open = [&] { SampleCheckpoints(result, two_points(), "data", false); };
    return refusal(open, ErrorKind::kBadData) ==
           file_path +
               ": the checkpoint is truncated or damaged (its bytes have changed since it was "
               "written): delete it, or start afresh with --force";
  };
  for (const std::size_t length :
       {std::size_t{0}, std::size_t{10}, good.size() / 2, good.size() - 64, good.size() - 1}) {
    REQUIRE(is_refused(good.substr(0, length)));
  }
  REQUIRE(is_refused(good + "x"));
  REQUIRE(is_refused(std::string(1000, 'x')));
  for (std::size_t i = 0; i < good.size(); i += 1 + good.size() / 40) {
    std::string bad = good;
    bad[i] = static_cast<char>(bad[i] ^ 1);
    REQUIRE(is_refused(bad));
  }
  write_file(file_path, good);
  CHECK(SampleCheckpoints(result, two_points(), "data", false).resumable() == 1);
}

TEST_CASE("a checkpoint that another process removes while it is read counts as absent") {
  const testing::ScratchDirectory folder;
  const SampleCheckpoints ours(folder.file("r.h5"), two_points(), "data", false);
  ours.hooks().save(1, full_state());
  const std::string file = (*fs::directory_iterator(ours.folder())).path().string();
  const std::string kept = folder.file("kept");
  fs::rename(file, kept);
  std::atomic<bool> stop = false;
  std::thread other([&] {  // links and removals are atomic, as those of another process
    while (!stop) {
      fs::create_hard_link(kept, file);
      fs::remove(file);
    }
  });
  int found = 0, absent = 0;
  std::string fault;
  const auto both_seen = [&] { return found > 0 && absent > 0; };  // a loaded machine needs longer
  for (int i = 0; (i < 300 || (!both_seen() && i < 30'000)) && fault.empty(); ++i) {
    try {
      ++(ours.hooks().load(1) ? found : absent);
      SampleCheckpoints(folder.file("r.h5"), two_points(), "data", false);
    } catch (const Error& error) {
      fault = error.what();
    }
  }
  stop = true;
  other.join();
  CHECK(fault == "");
  CHECK(found > 0);
  CHECK(absent > 0);
}

TEST_CASE("checkpoints know how long all calls took up to the last of them") {
  const testing::ScratchDirectory directory;
  const std::string result = directory.file("result.h5");
  const SampleCheckpoints first(result, two_points(), "data", false);
  CHECK(first.earlier_seconds() == 0.0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  first.hooks().save(0, full_state());
  const SampleCheckpoints second(result, two_points(), "data", false);
  CHECK(second.earlier_seconds() >= 0.02);
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  second.hooks().save(1, full_state());
  const SampleCheckpoints third(result, two_points(), "data", false);
  CHECK(third.earlier_seconds() >= second.earlier_seconds() + 0.03);
  CHECK(SampleCheckpoints(result, two_points(), "data", true).earlier_seconds() == 0.0);
}

TEST_CASE("what cannot be the folder of checkpoints is refused before anything is computed") {
  const testing::ScratchDirectory folder;
  const auto why = [&](const std::string& name) -> std::string {
    try {
      SampleCheckpoints(folder.file(name), two_points(), "data", false);
    } catch (const Error& error) {
      return error.kind() == ErrorKind::kCannotWrite ? error.what() : "another kind";
    }
    return "";
  };
  CHECK(why("free.h5").empty());
  fs::create_symlink(folder.file("nothing"), folder.file("link.h5.checkpoint"));
  CHECK(says(why("link.h5"), "exists and is not a folder"));
  fs::create_directory(folder.file("real"));
  fs::create_symlink(folder.file("real"), folder.file("good.h5.checkpoint"));
  CHECK(why("good.h5").empty());
  write_file(folder.file("file.h5.checkpoint"), "words");
  CHECK(says(why("file.h5"), "exists and is not a folder"));
  CHECK(says(why(std::string(250, 'x') + ".h5"), "File name too long"));
}

TEST_CASE("a pipe or a device in place of a checkpoint is refused, and not read") {
  const testing::ScratchDirectory folder;
  const std::string result = folder.file("r.h5");
  const SampleCheckpoints first(result, two_points(), "data", false);
  first.hooks().save(0, full_state());
  const std::string file_path = first.folder() + "/point_0.h5";
  const auto open = [&] { SampleCheckpoints(result, two_points(), "data", false); };
  fs::remove(file_path);
  REQUIRE(::mkfifo(file_path.c_str(), 0600) == 0);
  CHECK(says(refusal(open, ErrorKind::kBadData), "point_0.h5: the checkpoint is truncated or"));
  fs::remove(file_path);
  fs::create_symlink("/dev/zero", file_path);
  CHECK(says(refusal(open, ErrorKind::kBadData), "it is no regular file"));
}

TEST_CASE("checkpoints of other formats are refused as those of another version") {
  const testing::ScratchDirectory folder;
  const std::string result = folder.file("r.h5");
  fs::create_directory(result + ".checkpoint");
  const auto refused = [&] {
    const auto open = [&] { SampleCheckpoints(result, two_points(), "data", false); };
    return refusal(open, ErrorKind::kBadStudy);
  };
  write_file(result + ".checkpoint/point_0", "headway-sample-checkpoint 1\n and the rest");
  CHECK(says(refused(), "earlier version"));
  fs::remove(result + ".checkpoint/point_0");
  {  // as the first version wrote those of train
    const io::Hdf5Lock lock;
    io::Hdf5OutputFile out;
    out.set("/", "schema_name", std::string("headway-checkpoint"));
    out.set("/", "schema_version", std::vector<std::int64_t>{1, 0});
    out.write_to(result + ".checkpoint/run_0123456789abcdef.h5", true);
  }
  CHECK(says(refused(), "earlier version"));
}
