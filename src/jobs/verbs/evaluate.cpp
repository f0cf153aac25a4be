#include "headway/evaluate.hpp"

#include <fmt/format.h>

#include "headway/core/text.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/jobs/shipped_studies.hpp"
#include "headway/study/sections.hpp"
#include "jobs/job_for.hpp"
#include "jobs/json_text.hpp"
#include "jobs/outcomes.hpp"
#include "jobs/trained_data.hpp"
#include "jobs/verbs.hpp"

namespace headway::jobs {
namespace {

bool is_task_key(const std::string& overlay) {
  return io::overlay_key(overlay).starts_with("task.");
}

class EvaluateJob final : public JobFor<EvaluateResult> {
 public:
  using JobFor::JobFor;

 private:
  /// --set task.key=value changes the data that the networks are put on. Other keys change how they
  /// are evaluated.
  void load() override {
    std::vector<std::string> overlays = request.study_overlays(), task;
    for (const std::string& overlay : overlays) {
      if (is_task_key(overlay)) task.push_back(overlay);
      const std::string key = io::overlay_key(overlay);
      other_files_ = other_files_ || key == "task.file" || key == "task.files";
    }
    std::erase_if(overlays, is_task_key);
    // Not of origin kResultFile, so that nothing is written over the networks.
    study = io::read_trained_study(
        request.input, overlays,
        {"task.", "evaluate.", "threads", "name", "train.device", "train.eval_batch"});
    other_files_ = other_files_ || !request.task.empty();
    if (!request.task.empty()) change_.study = io::read_study(find_input(request.task)).study;
    change_.keys = io::task_overlays(task);
  }
  std::string read_data(Observer& observer) override {
    make_task_ = headway::make_task_maker(task_files(request));
    networks_ = io::read_trained_networks(request.input, study, study.evaluate.weights, observer);
    if (!other_files_) {
      require_training_data(request, {}, networks_.front().data_hash, observer);
    }
    std::vector<std::string> hashes;
    for (const TrainedNetwork& network : networks_) {
      const TrainTask task = make_task_(headway::changed_study(network, change_));
      headway::require_same_tokens(network, task);
      hashes.push_back(task.content_hash);
    }
    return headway::combined_data_hash(hashes);
  }
  [[nodiscard]] std::string plan() const override {
    std::vector<std::string> tasks;
    for (const TrainedNetwork& network : networks_) {
      tasks.push_back(headway::section_text(headway::changed_study(network, change_), "task"));
    }
    const std::string task = headway::task_of_all(tasks);
    const Index examples =
        study.evaluate.examples > 0 ? study.evaluate.examples : study.train.run.eval_examples;
    if (request.json) {
      return json_text({{"dry_run", true},
                        {"verb", "evaluate"},
                        {"study", study.name},
                        {"networks", networks_.size()},
                        {"examples", examples},
                        {"weights", word_of(study.evaluate.weights)},
                        {"evaluated_on", task}});
    }
    return fmt::format("{}: {}, {} weights, {} of each split of\n{}output {}\n", study.name,
                       count_text(networks_.size(), "network"), word_of(study.evaluate.weights),
                       count_text(examples, "example"), task,
                       request.output.empty() ? "none" : request.output);
  }
  EvaluateResult compute(Observer& observer) override {
    return headway::evaluate(networks_, change_, make_task_, observer);
  }
  [[nodiscard]] Outcome outcome_of(const EvaluateResult& result) const override {
    return networks_outcome(result);
  }

  std::vector<TrainedNetwork> networks_;
  TaskChange change_;
  TaskMaker make_task_;
  bool other_files_ = false;  ///< the change names files itself: other data are meant
};

}  // namespace

std::shared_ptr<Job> evaluate_job(Request request) {
  return std::make_shared<EvaluateJob>(std::move(request));
}

}  // namespace headway::jobs
