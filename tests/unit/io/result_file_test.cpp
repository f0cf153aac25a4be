#include "headway/result_file.hpp"

#include <sys/resource.h>

#include <csignal>
#include <cstdlib>
#include <functional>

#include "catch.hpp"
#include "dataset_builder.hpp"
#include "headway/core/output_path.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/study_file.hpp"
#include "io/hdf5/input.hpp"
#include "record_bytes.hpp"
#include "result_builder.hpp"
#include "without_rights.hpp"

using namespace headway;           // NOLINT(google-build-using-namespace)
using namespace headway::testing;  // NOLINT(google-build-using-namespace)
using headway::SolveResult;

namespace {

headway::Study named_study() {
  headway::Study study;
  study.name = "a-study";
  return study;
}

void write(const std::string& path, const SolveResult& result, bool force = false) {
  io::write_result(path, named_study(), result, built_provenance(), force);
}

/// The bytes of every field by its name, as the lists of fields give them.
template <class T>
void check_same(const T& a, const T& b) {
  const FieldBytes one(a), other(b);
  REQUIRE(one.found.size() == other.found.size());
  for (std::size_t i = 0; i < one.found.size(); ++i) {
    CAPTURE(one.found[i].first);
    CHECK(one.found[i] == other.found[i]);
  }
}

void check_same(const SolveResult& a, const SolveResult& b) {
  check_same<SolveResult>(a, b);
  CHECK(a.seconds == b.seconds);
  CHECK(a.threads == b.threads);
  REQUIRE(a.points.size() == b.points.size());
  for (std::size_t i = 0; i < a.points.size(); ++i) check_same(a.points[i], b.points[i]);
  REQUIRE(a.gaussian_process.size() == b.gaussian_process.size());
  for (std::size_t i = 0; i < a.gaussian_process.size(); ++i) {
    check_same(a.gaussian_process[i], b.gaussian_process[i]);
  }
}

std::string thrown_message(int code, const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& e) {
    CHECK(e.exit_code() == code);
    return e.what();
  }
  FAIL("nothing was thrown");
  return {};
}

headway::PrunePoint built_prune_point() {
  headway::PrunePoint point;
  point.accuracy = 0.875;
  for (int h = 0; h < 5; ++h) {
    point.heads.push_back({.layer = h < 2 ? 1 : 2,
                           .head = h < 2 ? h + 1 : h - 1,
                           .name = "head",
                           .score = 0.1 * h,
                           .score_weighted = 0.2 * h,
                           .accuracy_without = 0.3 * h,
                           .mean_squared_error_without = 0.4 * h,
                           .set = ""});
  }
  point.by_score = {{4, 0}, {0.5, 0.25, 0.125}};
  point.random = {{{1, 2}, {0.9, 0.8, 0.7}}, {{3}, {0.6, 0.5}}};
  point.random_mean = {0.75, 0.65, 0.7};
  point.random_sd = {0.1, 0.2, 0.3};
  return point;
}

}  // namespace

TEST_CASE("A solve result is read back number by number") {
  const ScratchDirectory scratch;
  for (const Index outputs : {1, 2}) {
    for (const Index test : {4, 0}) {
      CAPTURE(outputs, test);
      const std::string path = scratch.file("result.h5");
      SolveResult result = built_result(outputs, test);
      if (test > 0) add_sets(result);
      write(path, result, true);
      headway::ResultProvenance from;
      const SolveResult again = io::read_solve_result(path, &from);
      check_same(again, result);
      CHECK(again.interrupted);
      const headway::ResultProvenance wrote = built_provenance();
      CHECK(from.study_toml == wrote.study_toml);
      CHECK(from.seed == wrote.seed);
      CHECK(from.command == wrote.command);
      CHECK(from.started == wrote.started);
      CHECK(from.data_hash == wrote.data_hash);
      CHECK(from.partial);
      CHECK(io::read_result_provenance(path).study_hash == wrote.study_hash);
      const std::string bytes = io::result_bytes(named_study(), result, wrote);
      check_same(io::read_solve_result(scratch.file("nowhere.h5"), nullptr, bytes), result);
    }
  }
  CHECK(scratch.entries() == 1);
  CHECK(io::is_result_file(scratch.file("result.h5")));
}

TEST_CASE("No field that is read back has the value that a record begins with") {
  SolveResult result = built_result(2);
  add_sets(result);
  result.joined_heads = true;  // a file of it has other shapes
  const auto all_set = [](const auto& records) {
    const FieldBytes fresh(std::decay_t<decltype(records.front())>{});
    for (const auto& [name, bytes] : fresh.found) {
      CAPTURE(name);
      bool set = false;
      for (const auto& record : records) {
        for (const auto& field : FieldBytes(record).found) {
          set |= field.first == name && field.second != bytes;
        }
      }
      CHECK(set);
    }
  };
  all_set(std::vector<SolveResult>{result});
  all_set(result.points);
  all_set(result.gaussian_process);
}

TEST_CASE("A result says which GPU its networks were on, and one without says nothing") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  headway::ResultProvenance provenance = built_provenance();
  for (const std::string gpu : {"", "NVIDIA H100, driver of CUDA 12.4; LibTorch 2.5.1; bf16"}) {
    provenance.gpu = gpu;
    io::write_result(path, named_study(), built_result(1), provenance, true);
    CHECK(io::read_result_provenance(path).gpu == gpu);
    const std::string text = io::describe_hdf5_file(path);
    CHECK((text.find("  GPU        ") != std::string::npos) == !gpu.empty());
    CHECK(text.find(gpu) != std::string::npos);
  }
}

TEST_CASE("The layout is the one that the plots read") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  write(path, built_result(1));
  const io::Hdf5Lock lock;
  const io::Hdf5InputFile file(path);
  CHECK(file.text_attribute("/", "schema_name") == "headway-result");
  CHECK(file.number_attribute("/", "schema_version") == std::vector<double>{1, 0});
  CHECK(file.text_attribute("/", "study") == "a-study");
  CHECK(file.read_strings("paths").at(5) == "(2,3)");
  CHECK(file.info("points/0/U_a").shape.empty());
  CHECK(file.info("points/0/predictor/mean").shape == std::vector<Index>{4});
  CHECK(file.info("path_kernels").shape == std::vector<Index>{6, 5, 5});
  CHECK(file.text_attribute("points/0/history", "columns") ==
        "iteration,action,gradient_norm,step_norm");
  const auto limit = file.number_attribute("points/1", "gp_accuracy");
  CHECK(limit == std::vector<double>{built_result(1).gaussian_process[1].predictor.accuracy});
  CHECK(file.kind("points/1/corrected/U_a") == io::NodeKind::kAbsent);
  // by evidence and by test, of the theory (whose second point did not converge) and of the limit
  CHECK(file.members("chosen") == std::vector<std::string>{"0", "1", "2", "3"});
  CHECK(file.text_attribute("chosen/0", "by") == "evidence");
  CHECK(file.number_attribute("chosen/0", "widths") == std::vector<double>{11, 12, 13});
  CHECK(file.number_attribute("chosen/1", "point") == std::vector<double>{0});
  CHECK(file.text_attribute("chosen/2", "model") == "gaussian_process");
  CHECK(file.number_attribute("chosen/2", "temperature") == std::vector<double>{0.1});
  CHECK(file.read_array("points/0/gaussian_process/mean").values.at(2) ==
        built_result(1).gaussian_process[0].predictor.mean(2, 0));
}

TEST_CASE("Alignment and pruning stand beside the solve result they used") {
  const ScratchDirectory scratch;
  Numbers numbers;
  headway::AlignResult align;
  align.solve = built_result(1);
  align.points.resize(1);
  align.points[0].widths = align.solve.points[0].widths;
  align.points[0].temperature = align.solve.points[0].temperature;
  align.points[0].overlaps = numbers.vector(5);
  align.points[0].gaussian_process_overlaps = numbers.vector(5);
  align.points[0].cumulative = numbers.vector(5);
  align.points[0].gaussian_process_cumulative = numbers.vector(5);
  align.points[0].eigenvalues = numbers.vector(5);
  align.points[0].gaussian_process_eigenvalues = numbers.vector(5);
  io::write_result(scratch.file("align.h5"), named_study(), align, built_provenance(), false);
  check_same(io::read_solve_result(scratch.file("align.h5")), align.solve);

  headway::PruneResult prune;
  prune.solve = built_result(1);
  prune.points = {built_prune_point()};
  prune.points[0].widths = prune.solve.points[0].widths;
  prune.points[0].temperature = prune.solve.points[0].temperature;
  io::write_result(scratch.file("prune.h5"), named_study(), prune, built_provenance(), false);
  check_same(io::read_solve_result(scratch.file("prune.h5")), prune.solve);

  const io::Hdf5Lock lock;
  const io::Hdf5InputFile a(scratch.file("align.h5")), p(scratch.file("prune.h5"));
  CHECK(a.read_array("points/0/alignment/gaussian_process_cumulative").values.at(3) == 19.5);
  CHECK(a.kind("points/1/alignment") == io::NodeKind::kAbsent);
  CHECK(p.read_array("points/0/pruning/score_weighted").values.at(3) == 0.2 * 3);
  CHECK(p.read_array("points/0/pruning/layer").values == std::vector<double>{1, 1, 2, 2, 2});
  CHECK(p.read_array("points/0/pruning/cumulative/score_order").values ==
        std::vector<double>{4, 0});
  const Tensor random = p.read_array("points/0/pruning/cumulative/random");
  CHECK(random.shape == std::vector<Index>{2, 3});
  CHECK(random.values.at(4) == 0.5);
  CHECK(std::isnan(random.values.at(5)));
  CHECK(p.read_array("points/0/pruning/cumulative/random_order").values ==
        std::vector<double>{1, 2, 3, -1});
  CHECK(p.kind("points/0/pruning/cumulative/greedy") == io::NodeKind::kAbsent);
}

TEST_CASE("A result file is written again to the same bytes") {
  const ScratchDirectory scratch;
  write(scratch.file("a.h5"), built_result(2));
  write(scratch.file("b.h5"), built_result(2));
  CHECK(read_bytes(scratch.file("a.h5")) == read_bytes(scratch.file("b.h5")));
}

TEST_CASE("Outputs that cannot be written are refused early and leave nothing behind") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  write(path, built_result(1));
  const std::vector<char> before = read_bytes(path);
  const std::string message = thrown_message(73, [&] { write(path, built_result(2)); });
  CHECK_THAT(message, Catch::Matchers::ContainsSubstring("exists already") &&
                          Catch::Matchers::StartsWith(path));
  CHECK(read_bytes(path) == before);
  write(path, built_result(2), true);
  CHECK(read_bytes(path) != before);
  thrown_message(73, [&] { check_output_path(path, false); });
  thrown_message(73, [&] { check_output_path(scratch.file("no/such/place.h5"), false); });
  thrown_message(73, [&] { check_output_path(path + "/below-a-file.h5", false); });
  thrown_message(73, [&] { check_output_path(scratch.file(""), true); });
  thrown_message(73, [&] { check_output_path("", true); });
  check_output_path(path, true);
  check_output_path(scratch.file("new.h5"), false);
  const auto code = [&](int rights) {
    std::filesystem::permissions(scratch.file(""), std::filesystem::perms(rights));
    return without_rights([&] {
      try {
        check_output_path(scratch.file("new.h5"), false);
      } catch (const Error& e) {
        return e.exit_code();
      }
      return 0;
    });
  };
  CHECK(code(0777) == 0);
  CHECK(code(0555) == 73);
  CHECK(scratch.entries() == 1);
}

TEST_CASE("A full disk ends in an Error, and neither the old file nor the directory suffers") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  write_bytes(path, {'o', 'l', 'd'});
  // The limit on file sizes stands in for the full disk: write() fails half way.
  struct rlimit old {};
  REQUIRE(getrlimit(RLIMIT_FSIZE, &old) == 0);
  struct rlimit small = old;
  small.rlim_cur = 3000;
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  REQUIRE(setrlimit(RLIMIT_FSIZE, &small) == 0);
  const std::string message = [&] {
    try {
      write(path, built_result(1), true);
    } catch (const Error& e) {
      return std::to_string(e.exit_code()) + e.what();
    }
    return std::string("nothing was thrown");
  }();
  setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, handler);
  CHECK_THAT(message, Catch::Matchers::StartsWith("73" + path));
  CHECK(read_bytes(path) == std::vector<char>{'o', 'l', 'd'});
  CHECK(scratch.entries() == 1);
}

TEST_CASE("Results that are foreign, newer or damaged are refused with the place named") {
  const ScratchDirectory scratch;
  const std::string path = scratch.file("result.h5");
  const auto refused = [&](const std::string& part, const std::function<void(Surgery&)>& apply) {
    write(path, built_result(1), true);
    {
      Surgery surgery(path);
      apply(surgery);
    }
    const std::string message = thrown_message(65, [&] { io::read_solve_result(path); });
    CHECK_THAT(message,
               Catch::Matchers::StartsWith(path) && Catch::Matchers::ContainsSubstring(part));
  };
  refused("the file is newer", [](Surgery& s) {
    s.set_attribute("/", "schema_version", std::vector<double>{2, 0});
  });
  refused("schema_name", [](Surgery& s) { s.remove_attribute("/", "schema_name"); });
  refused("is \"other\"", [](Surgery& s) { s.set_attribute("/", "kind", std::string("other")); });
  refused("study_toml: is missing", [](Surgery& s) { s.remove_attribute("/", "study_toml"); });
  refused("points/1/order_parameters/layer_2",
          [](Surgery& s) { s.remove("points/1/order_parameters/layer_2"); });
  refused("points/0: is missing", [](Surgery& s) { s.remove("points/0"); });
  refused("points/0/order_parameters/layer_1: has shape [5, 6]", [](Surgery& s) {
    s.replace("points/0/order_parameters/layer_1", H5T_IEEE_F64LE, {5, 6});
  });
  refused("points/1/order_parameters/layer_1: holds numbers that are not finite",
          [](Surgery& s) { s.set("points/1/order_parameters/layer_1", 7, NAN); });
  refused("attribute widths", [](Surgery& s) {
    s.set_attribute("points/0", "widths", std::vector<double>{10, 10});
  });
  refused("allowed: positive integers", [](Surgery& s) {
    s.set_attribute("/", "heads", std::vector<double>{2, -3});
  });
  refused("test_examples",
          [](Surgery& s) { s.set_attribute("/", "test_examples", std::vector<double>{-4}); });
  refused("sets: \"a/b\" is not a valid set name", [](Surgery& s) {
    const io::Handle type(H5Tcopy(H5T_C_S1), H5Tclose);
    H5Tset_size(type.get(), 3);
    const io::Handle names = s.replace("sets", type.get(), {1});
    H5Dwrite(names.get(), type.get(), H5S_ALL, H5S_ALL, H5P_DEFAULT, "a/b");
  });
  refused("history", [](Surgery& s) { s.replace("points/0/history", H5T_IEEE_F64LE, {3, 5}); });
}

TEST_CASE("inspect describes results, data sets and other HDF5 files") {
  using Catch::Matchers::ContainsSubstring;
  const ScratchDirectory scratch;
  const std::string result = scratch.file("result.h5"), data = scratch.file("data.h5");
  write(result, built_result(1));
  const std::string text = io::describe_hdf5_file(result);
  CHECK_THAT(
      text, ContainsSubstring("a-study (solve), interrupted") && ContainsSubstring("heads [2, 3]"));
  CHECK_THAT(text, ContainsSubstring("headway solve " + result) &&
                       ContainsSubstring("converged?\n") && ContainsSubstring("  no\n"));
  CHECK_THAT(text, ContainsSubstring("18446744073709551614") &&
                       ContainsSubstring("layer_2  [3, 3] float64"));
  CHECK_THAT(text, !ContainsSubstring("sets"));
  CHECK_THAT(text, ContainsSubstring("[11, 12, 13]"));  // widths that differ
  SolveResult more = built_result(1);
  add_sets(more);
  write(result, more, true);
  CHECK_THAT(io::describe_hdf5_file(result), ContainsSubstring("sets       validation, mnist"));
  write_dataset_file(data, {.sets = {"validation"}});
  CHECK_THAT(io::describe_hdf5_file(data),
             ContainsSubstring("set        validation: 3 examples, 2 outputs, 4 tokens"));
  CHECK_THAT(
      io::describe_hdf5_file(data),
      ContainsSubstring("  train      7 examples, 2 outputs, 4 tokens, with ids\n"
                        "  test       5 examples, 2 outputs, 4 tokens, with ids\n"
                        "  set        validation: 3 examples, 2 outputs, 4 tokens, with ids\n"
                        "  features   3\n") &&
          ContainsSubstring("  heads      [2, 3]\n"
                            "  layer 1    head 1, head 2\n"
                            "  layer 2    head 1, head 2, head 3\n"
                            "  note       made for a test\n"
                            "\n"
                            "To check all of it:  headway validate " +
                            data +
                            "\n"
                            "To solve it:         headway solve " +
                            data + " --set model.widths=[10,100]\n"));
  CHECK_THAT(io::describe_hdf5_file(result),
             ContainsSubstring("To remake it (the file holds its study with all defaults):\n"
                               "  headway solve " +
                               result + " -o NEW.h5\n"));
  {
    Surgery surgery(data);
    surgery.remove("train/inputs");
    surgery.set_attribute("/", "schema_name", std::string("other"));
  }
  CHECK_THAT(io::describe_hdf5_file(data),
             ContainsSubstring("not a file of Headway") && ContainsSubstring("labels"));
}

TEST_CASE("An HDF5 file that is neither data set nor result is no study") {
  const ScratchDirectory scratch;
  const std::string data = scratch.file("data.h5");
  write_dataset_file(data, {});
  Surgery(data).set_attribute("/", "schema_name", std::string("other"));
  CHECK(thrown_message(65, [&] { io::read_study(data, {}); }) ==
        data +
            ": is an HDF5 file, but root attribute schema_name is neither \"headway-dataset\" nor "
            "\"headway-result\": must be a study, a data set or a result");
  const std::string odd = scratch.file("\xFF.h5");
  write_dataset_file(odd, {});
  CHECK(thrown_message(78, [&] { io::read_study(odd, {}); }) ==
        odd +
            ": the path of a data set must be UTF-8, which this one is not; rename the file or its "
            "folder");
}

TEST_CASE("Writes a result for tests/python/result_file_test.py", "[.write]") {
  const char* path = std::getenv("HEADWAY_RESULT_TO_WRITE");
  REQUIRE(path != nullptr);
  SolveResult result = built_result(2);
  add_sets(result);
  write(path, result);
}
