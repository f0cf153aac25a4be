// The extension module headway._native: the jobs of the verbs on studies and arrays in memory.
// It is called by the package alone, which has checked the arguments; what users see is
// apps/python/headway/.
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>
#include <unistd.h>

#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "arrays.hpp"
#include "headway/core/ranks.hpp"
#include "headway/core/text.hpp"
#include "headway/dataset_file.hpp"
#include "headway/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/jobs/job.hpp"
#include "headway/jobs/shipped_studies.hpp"
#include "headway/numerics/blas.hpp"
#include "headway/path_kernels.hpp"
#include "headway/results/field_tables.hpp"
#include "headway/study/sections.hpp"
#include "headway/study_file.hpp"
#include "headway/verbs/theory/action.hpp"
#include "tree.hpp"
#include "watcher.hpp"

extern "C" {
int openblas_get_num_threads(void);
void openblas_set_num_threads(int);
}

namespace headway::python {
namespace {

using jobs::Job;

/// Computations thread by themselves, with BLAS on one thread a call. numpy may use the same BLAS,
/// and gets it back as it was when the last computation ends: the number is one for the process,
/// and a product on more threads has other last bits.
class BlasOnOneThread {
 public:
  BlasOnOneThread() {
    const std::lock_guard<std::mutex> lock(guard_);
    if (running_++ == 0) before_ = openblas_get_num_threads();
    try {
      numerics::prepare_blas();
    } catch (...) {
      leave();
      throw;
    }
  }
  ~BlasOnOneThread() {
    const std::lock_guard<std::mutex> lock(guard_);
    leave();
  }
  BlasOnOneThread(const BlasOnOneThread&) = delete;
  BlasOnOneThread& operator=(const BlasOnOneThread&) = delete;

 private:
  static void leave() {
    if (--running_ == 0) openblas_set_num_threads(before_);
  }
  static inline std::mutex guard_;
  static inline int running_ = 0;  ///< computations
  static inline int before_ = 1;   ///< threads before the first of them
};

/// This process among those that mpirun started: joined at the first computation, and left when
/// Python ends (leave_ranks()), since MPI starts once in a process.
struct OwnRanks {
  pid_t process = 0;  ///< that joined; a fork of it is alone
  std::unique_ptr<Ranks> ranks;
};

OwnRanks& own_ranks() {
  static auto* own = new OwnRanks;  // NOLINT(cppcoreguidelines-owning-memory): outlives all statics
  return *own;
}

/// Null where this process is alone. With Python's lock held.
Ranks* join_own_ranks() {
  OwnRanks& own = own_ranks();
  if (own.process == 0) {
    own.ranks = join_ranks();
    own.process = getpid();
  }
  return own.process == getpid() ? own.ranks.get() : nullptr;
}

/// Waits for the other ranks; or ends them all, where this one failed and they might wait for it.
void leave_ranks(bool failed) {
  OwnRanks& own = own_ranks();
  if (own.process != getpid() || own.ranks == nullptr) return;
  std::unique_ptr<Ranks> ranks = std::move(own.ranks);
  if (failed) ranks->abort(1);
  const py::gil_scoped_release unlocked;
  ranks.reset();
}

/// What headway/api/compute.py says of a computation.
struct Call {
  jobs::Request request;
  py::object progress, warning, note;
  bool main_thread = false;
};

template <class T>
T argument_or(const py::dict& arguments, const char* name, T otherwise) {
  if (!arguments.contains(name) || arguments[name].is_none()) return otherwise;
  return arguments[name].cast<T>();
}

Call call_of(const py::dict& arguments) {
  Call call;
  jobs::Request& request = call.request;
  request.input = arguments["input"].cast<std::string>();
  request.study_text = argument_or(arguments, "text", std::optional<std::string>{});
  request.overlays = argument_or(arguments, "overlays", std::vector<std::string>{});
  request.dataset = argument_or(arguments, "dataset", std::shared_ptr<tasks::Dataset>{});
  request.examples = argument_or(arguments, "examples", std::shared_ptr<tasks::ExampleArrays>{});
  request.new_inputs = argument_or(arguments, "new_inputs", std::shared_ptr<tasks::Dataset>{});
  request.new_text = argument_or(arguments, "new_text", std::optional<std::string>{});
  request.more_inputs = argument_or(arguments, "more_inputs", std::vector<std::string>{});
  const auto earlier = argument_or(arguments, "earlier", std::shared_ptr<Job>{});
  if (earlier) request.reusable = earlier->reusable();
  request.output = argument_or(arguments, "output", std::string{});
  request.force = argument_or(arguments, "force", false);
  request.dry_run = argument_or(arguments, "dry_run", false);
  request.json = request.dry_run;
  request.jobs = argument_or(arguments, "jobs", std::optional<int>{});
  request.point = argument_or(arguments, "point", std::string{});
  request.shard = argument_or(arguments, "shard", std::string{});
  request.task = argument_or(arguments, "task", std::string{});
  request.command = argument_or(arguments, "command", std::vector<std::string>{});
  call.main_thread = argument_or(arguments, "main_thread", false);
  call.progress = argument_or(arguments, "progress", py::object(py::none()));
  call.warning = argument_or(arguments, "warning", py::object(py::none()));
  call.note = argument_or(arguments, "note", py::object(py::none()));
  if (!request.study_text) request.input = jobs::find_input(request.input);
  return call;
}

/// Runs `work(request, observer)` without Python's lock.
template <class Work>
auto run_unlocked(Call& call, const Work& work) {
  Watcher watcher(call.progress, call.warning, call.note);
  const StopOnInterrupt stopping(call.main_thread, call.request.ranks != nullptr);
  const BlasOnOneThread blas;
  auto guarded = [&] {
    const py::gil_scoped_release unlocked;
    return work(call.request, watcher);
  };
  try {
    auto result = guarded();
    watcher.raise_failure();
    return result;
  } catch (const Error&) {
    watcher.raise_failure();  // which is why the computation gave up
    throw;
  }
}

/// Several ranks share what they can, unless each was given a part of its own. All else every rank
/// computes for itself, and the first writes files.
void place_on_ranks(const std::string& verb, Call& call) {
  jobs::Request& request = call.request;
  if (!request.shard.empty()) return;
  Ranks* ranks = join_own_ranks();
  if (ranks == nullptr) return;
  if (jobs::ranks_share(verb)) {
    if (!call.main_thread) {
      throw Error(ErrorKind::kUsage, "on several ranks (mpirun) " + verb +
                                         " can be called from the main thread alone");
    }
    request.ranks = ranks;
    request.everywhere = true;
  } else if (!ranks->is_first()) {
    request.output.clear();
    call.progress = call.warning = call.note = py::none();
  }
}

std::shared_ptr<Job> compute(const std::string& verb, const py::dict& arguments) {
  Call call = call_of(arguments);
  place_on_ranks(verb, call);
  return run_unlocked(call, [&verb](const jobs::Request& request, Observer& observer) {
    std::shared_ptr<Job> job = jobs::make_job(verb, request);
    job->carry_out(observer);
    if (request.dry_run || request.ranks != nullptr) return job;  // ranks have written the files
    try {
      job->write_files();
    } catch (const Error& error) {  // the exception of Python holds the result
      if (error.kind() != ErrorKind::kCannotWrite) throw;
      job->unwritten = error.what();
      return job;
    }
    if (!job->outcome().interrupted) job->remove_checkpoints();
    return job;
  });
}

std::shared_ptr<theory::Action> action_of(const py::dict& arguments) {
  Call call = call_of(arguments);
  return run_unlocked(call, [](const jobs::Request& request, Observer& observer) {
    const headway::Study study = jobs::study_of(request).study;
    return std::make_shared<theory::Action>(
        headway::make_action(study, jobs::theory_data(request, study), observer));
  });
}

/// S at the matrices U_1, ..., U_L, U_a, with dS/dU of each.
py::tuple evaluate(const theory::Action& action, const py::list& matrices) {
  theory::OrderParameters u;
  for (const py::handle matrix : matrices) u.layers.push_back(matrix_of(matrix));
  if (!u.layers.empty()) {
    u.readout = std::move(u.layers.back());
    u.layers.pop_back();
  }
  theory::check_order_parameters(u, action.architecture());
  theory::Action::Evaluation evaluation;
  {
    const BlasOnOneThread blas;
    const py::gil_scoped_release unlocked;
    evaluation = action.evaluate(u);
  }
  py::list gradient;
  for (const MatrixXd& part : evaluation.gradient) gradient.append(array_of(part));
  return py::make_tuple(evaluation.value, std::move(gradient));
}

/// K(U) between path features [P, p, N_0] and [P', p, N_0], given as [P, p N_0] (eq. 14).
py::array kernel(const py::handle& features, const py::handle& other, const py::handle& u,
                 Index paths, double variance) {
  const MatrixXd weights = matrix_of(u);
  const RowMatrixXd left = matrix_of(features), right = matrix_of(other);
  MatrixXd out;
  {
    const BlasOnOneThread blas;
    const py::gil_scoped_release unlocked;
    out = theory::cross_kernel(theory::PathKernels::scale_features(left, paths, variance),
                               theory::PathKernels::scale_features(right, paths, variance), weights,
                               weights.rows() / paths);
  }
  return array_of(out);
}

/// Every key of a study by its section: what --help says of it, the range, and the default as a
/// study spells it ("" where the key is left out). headway/base/signatures.py makes arguments of
/// it.
py::dict options_of_sections() {
  const headway::Study study;
  py::dict sections;
  for (const headway::Section& section : headway::study_sections()) {
    const py::str name(section.name);
    if (!sections.contains(name)) sections[name] = py::dict();
    for (const auto& option : section.table.options) {
      py::dict about;
      about["meaning"] = option.help;
      about["allowed"] = option.allowed;
      about["default"] = option.write(study);
      sections[name][py::str(option.name)] = about;
    }
  }
  return sections;
}

/// headway/results/records.py makes docstrings of it.
py::dict fields_of_records() {
  py::dict records;
  for (const headway::FieldTable& table : headway::field_tables()) {
    py::dict names;
    for (const headway::ListedField& field : table.fields) {
      if (field.name.empty()) continue;
      py::dict about;
      about["kind"] = field.kind;
      about["meaning"] = field.meaning;
      about["axes"] = field.axes;
      names[py::str(field.name)] = about;
    }
    records[py::str(table.key)] = names;
  }
  return records;
}

std::string resolved_study(const py::dict& arguments) {
  return io::write_study(jobs::study_of(call_of(arguments).request).study);
}

// pybind11 fixes the type. NOLINTNEXTLINE(performance-unnecessary-value-param)
void translate_error(std::exception_ptr pointer) {
  try {
    if (pointer) std::rethrow_exception(pointer);
  } catch (const Error& error) {
    const py::object made =
        py::module_::import("headway.errors").attr("of_program")(error.exit_code(), error.what());
    PyErr_SetObject(py::type::of(made).ptr(), made.ptr());
  }
}

void define_computation(py::module_& module) {
  using headway::ResultProvenance;
  const auto with_hash = [](const Job& job, const std::string& data_hash) {
    ResultProvenance provenance = job.provenance;
    if (!data_hash.empty()) provenance.data_hash = data_hash;
    return provenance;
  };
  py::class_<Job, std::shared_ptr<Job>>(module, "Computation",
                                        "What a verb computed, and can still write.")
      .def_property_readonly("plan", &Job::planned)
      .def_property_readonly("kind", &Job::kind)
      .def_property_readonly("faults", [](const Job& job) { return job.outcome().faults; })
      .def_property_readonly("unwritten", [](const Job& job) { return job.unwritten; })
      .def_property_readonly("interrupted",
                             [](const Job& job) { return job.outcome().interrupted; })
      .def_property_readonly("lends", [](Job& job) { return job.reusable() != nullptr; })
      .def_property_readonly("study", [](const Job& job) { return job.provenance.study_toml; })
      .def(
          "tree",
          [](const Job& job) {
            Tree tree;
            job.show(job.provenance, tree);
            return tree.root();
          },
          "What the result file would hold: (attributes, members) of its root.")
      .def("save", [with_hash](const Job& job, const std::string& file_path, bool force,
                               const std::string& data_hash) {
        job.save(with_hash(job, data_hash), file_path, force);
      });
}

}  // namespace
}  // namespace headway::python

PYBIND11_MODULE(_native, module) {
  namespace py = pybind11;
  using namespace headway::python;
  module.doc() = "The computations of headway; called by the package, not by users.";
  py::register_exception_translator(&translate_error);
  define_computation(module);
  py::class_<headway::tasks::Dataset, std::shared_ptr<headway::tasks::Dataset>>(
      module, "Dataset", "Arrays that headway/api/arrays.py has checked, as a data set.")
      .def(py::init(&make_dataset))
      .def_readwrite("content_hash", &headway::tasks::Dataset::content_hash);
  py::class_<headway::tasks::ExampleArrays, std::shared_ptr<headway::tasks::ExampleArrays>>(
      module, "Examples", "Arrays of examples to train on, which headway/api/examples.py has made.")
      .def(py::init(&make_examples));
  py::class_<headway::theory::Action, std::shared_ptr<headway::theory::Action>>(
      module, "Action", "The action S(U) of a study at its first point.")
      .def(py::init(&action_of))
      .def("evaluate", &evaluate, "S and dS/dU at the matrices U_1, ..., U_L, U_a.");
  module.def("compute", &compute, "Runs a verb on what headway/api/compute.py asks for.");
  module.def(
      "rank",
      [] {
        const headway::Ranks* ranks = join_own_ranks();
        return ranks == nullptr ? py::make_tuple(0, 1)
                                : py::make_tuple(ranks->rank(), ranks->size());
      },
      "The number of this process among those that mpirun started, and how many there are.");
  module.def("leave_ranks", &leave_ranks, "Called once, when Python ends.");
  module.def("kernel", &kernel, "K(U) between two sets of path features, each [P, p N_0].");
  module.def("resolved_study", &resolved_study, "A study with all of its keys, as TOML.");
  module.def("fields", &fields_of_records, "What every field of a result file means, by record.");
  module.def("options", &options_of_sections,
             "Meaning, range and default of every key of a study, by section.");
  module.def("check_arrays", &headway::python::checked_arrays,
             "What arrays are as a data set, and all that is wrong with them.");
  module.def("check_file", &headway::io::validate_dataset, py::call_guard<py::gil_scoped_release>(),
             "Every fault of a data-set file.");
  module.def("text_fault", &headway::text_fault,
             "Why a text cannot be shown in tables and figures; \"\" if it can.");
  module.def("try_file", &headway::io::try_hdf5_file, py::call_guard<py::gil_scoped_release>(),
             "Reads an HDF5 file in another process, where a damaged one can do no harm.");
  module.attr("version") = headway::build_info().version;
}
