#include "headway/studies/extract.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "headway/core/error.hpp"
#include "headway/io/hdf5_file.hpp"
#include "headway/io/provenance.hpp"
#include "headway/io/study_file.hpp"
#include "headway/io/trained_network.hpp"
#include "headway/io/training_tasks.hpp"
#include "headway/studies/sweep.hpp"
#include "run.hpp"
#include "table.hpp"

namespace headway::cli {

namespace {

using Json = nlohmann::ordered_json;

std::string heads_line(const io::TrainedNetwork& network, const studies::ExtractResult& result) {
  return fmt::format("{}: {} weights after {} steps, heads [{}], {} paths, {} features",
                     network.study_name, word_of(network.study.extract.weights), network.step,
                     numbers_text(result.dataset.heads), result.order_parameter.rows(),
                     result.dataset.features);
}

std::string extract_text(const io::TrainedNetwork& network, const studies::ExtractResult& result) {
  Table table({"split<", "examples", "accuracy", "squared error"});
  for (const studies::ExtractedSplit& split : result.splits) {
    table.add({split.name, std::to_string(split.paths.labels.size()),
               cell(split.accuracy, "{:.4f}"), cell(split.mean_squared_error, "{:.4f}")});
  }
  const double scale =
      result.order_parameter.trace() / static_cast<double>(result.order_parameter.rows());
  return fmt::format(
      "{}\n\nthe trained network itself\n{}U_1 of its weights, diagonal over its "
      "mean {:.4g}: {}\n",
      heads_line(network, result), table.text(), scale,
      diagonal_text(result.order_parameter / scale, 16));
}

std::string extract_json(const io::TrainedNetwork& network, const studies::ExtractResult& result,
                         const std::string& output) {
  Json out;
  out["study"] = network.study_name;
  out["run"] = network.study.extract.run;
  out["label"] = network.label;
  out["weights"] = word_of(network.study.extract.weights);
  out["step"] = network.step;
  out["weights_sha256"] = network.weights_sha256;
  out["heads"] = result.dataset.heads;
  out["features"] = result.dataset.features;
  out["splits"] = Json::array();
  for (const studies::ExtractedSplit& split : result.splits) {
    out["splits"].push_back({{"name", split.name},
                             {"examples", split.paths.labels.size()},
                             {"accuracy", split.accuracy},
                             {"mean_squared_error", split.mean_squared_error}});
  }
  out["U_1"] = Json::array();
  for (Index i = 0; i < result.order_parameter.rows(); ++i) {
    const VectorXd row = result.order_parameter.row(i);
    out["U_1"].push_back(std::vector<double>(row.begin(), row.end()));
  }
  out["output"] = output.empty() ? Json(nullptr) : Json(output);
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

/// The images must be those that the network was trained on: others would put characters that it
/// has seen into the test set. Other sets out of distribution are a matter of taste, so those of
/// the training run are compared, and may be gone by now where others were asked for.
void check_images(const Options& options, const io::TrainedNetwork& network,
                  std::vector<std::string> overlays, Observer& observer) {
  const auto other_sets = std::erase_if(overlays, [](const std::string& overlay) {
    return io::overlay_key(overlay) == "task.out_of_distribution";
  });
  const studies::TaskMaker make_task = io::training_task_maker();
  std::vector<std::string> hashes;
  try {
    for (studies::TrainRun& run :
         studies::train_runs(io::read_study(options.input, overlays).study)) {
      hashes.push_back(make_task(run.study).content_hash);
    }
  } catch (const Error& error) {
    if (other_sets == 0 || error.kind() != ErrorKind::kMissingFile) throw;
    observer.note(fmt::format("whether these are the images of the training run is not checked: {}",
                              error.what()));
    return;
  }
  if (studies::combined_data_hash(hashes) == network.data_hash) return;
  throw Error(ErrorKind::kBadData,
              fmt::format("{}: task.files are not the images that this network was trained on: "
                          "must be the same, or characters that it has seen would be tested",
                          options.input));
}

void refuse_inputs_as_output(const Options& options, const studies::Study& study) {
  std::error_code ignored;
  if (std::filesystem::equivalent(options.input, options.output, ignored)) {
    throw Error(ErrorKind::kCannotWrite,
                fmt::format("{}: is the input; give another output", options.output));
  }
  refuse_input_as_output(options, {study, io::StudyOrigin::kResultFile});
}

std::string plan_text(const Options& options, const io::TrainedNetwork& network) {
  const studies::ExtractOptions& wanted = network.study.extract;
  return fmt::format(
      "{}: run {} ({}), {} weights after {} steps\n{} train, {} test, {} validation "
      "examples, {} of each set out of distribution\noutput {}\n",
      network.study_name, wanted.run, network.label, word_of(wanted.weights), network.step,
      wanted.train_examples, wanted.test_examples, wanted.validation_examples,
      wanted.out_of_distribution_examples, options.output.empty() ? "none" : options.output);
}

/// studies::extract(), whose errors then name the file.
studies::ExtractResult extract_named(const Options& options, const io::TrainedNetwork& network,
                                     const training::OneShotExamples& examples,
                                     Observer& observer) {
  try {
    return studies::extract(network.study, network.parameters, examples, observer);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    throw Error(error.kind(), fmt::format("{}: {}", options.input, error.what()));
  }
}

std::vector<std::pair<std::string, std::string>> provenance(const Options& options,
                                                            const io::TrainedNetwork& network) {
  const io::BuildInfo build = io::build_info();
  return {{"study", network.study_name},
          {"study_toml", io::write_study(network.study)},
          {"weights", std::string(word_of(network.study.extract.weights))},
          {"weights_sha256", network.weights_sha256},
          {"trained_label", network.label},
          {"trained_data_hash", network.data_hash},
          {"command", io::shell_command(options.command)},
          {"headway_version", build.version},
          {"git_commit", build.git_commit},
          {"written", io::utc_now()}};
}

}  // namespace

int run_extract(const Options& options) {
  TerminalObserver observer(options.quiet, options.verbose);
  const std::vector<std::string> overlays = overlays_of(options);
  const io::TrainedNetwork network = io::read_trained_network(options.input, overlays);
  note_environment(network.study, observer);
  if (!options.output.empty()) {
    refuse_inputs_as_output(options, network.study);
    io::check_output_path(options.output, options.force);
  }
  check_images(options, network, overlays, observer);
  const training::OneShotExamples examples = io::read_one_shot_examples(network.study);
  if (options.dry_run) {
    write_output(plan_text(options, network));
    return kExitOk;
  }
  studies::ExtractResult result = extract_named(options, network, examples, observer);
  result.dataset.note =
      fmt::format("heads of a trained linear-value network ({}, {} weights after {} steps); {}",
                  network.study_name, word_of(network.study.extract.weights), network.step,
                  result.dataset.note);
  if (!options.output.empty()) {
    io::write_extracted(options.output, result, provenance(options, network), options.force);
  }
  write_output(options.json ? extract_json(network, result, options.output)
                            : extract_text(network, result));
  if (!options.quiet && !options.output.empty()) {
    write_message(fmt::format("headway: data set in {0}; headway solve {0} puts the theory on it",
                              options.output));
  }
  return kExitOk;
}

}  // namespace headway::cli
