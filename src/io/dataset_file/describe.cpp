#include "io/hdf5/describe.hpp"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "io/dataset_file/layout.hpp"

namespace headway::io {
namespace {

const char* form_text(AttentionForm form) {
  switch (form) {
    case AttentionForm::kWeights:
      return "head matrices W (attention/weights)";
    case AttentionForm::kQueryKey:
      return "query and key matrices (attention/query, attention/key)";
    case AttentionForm::kSupplied:
      return "attention matrices of every example (train/attention)";
    default:
      return "path features (train/path_features)";
  }
}

const char* readout_text(Readout readout) {
  switch (readout) {
    case Readout::kFirstToken:
      return "first_token";
    case Readout::kMean:
      return "mean";
    default:
      return "last_token";
  }
}

std::string split_text(const SplitLayout& split) {
  std::string text = fmt::format("{} examples, {} outputs", split.examples, split.outputs);
  if (split.tokens > 0) text += fmt::format(", {} tokens", split.tokens);
  if (!split.mask.empty()) text += ", masked";
  if (!split.ids.empty()) text += ", with ids";
  return text;
}

}  // namespace

std::string describe_dataset(const Hdf5InputFile& file) {
  FaultList faults;
  const DatasetLayout layout = check_layout(file, faults);
  std::string out = fmt::format("  train      {}\n  test       {}\n", split_text(layout.train),
                                layout.test ? split_text(*layout.test) : "none");
  for (const SplitLayout& set : layout.sets) {
    out += fmt::format("  set        {}: {}\n", set_name(set), split_text(set));
  }
  out += fmt::format("  features   {}\n  attention  {}\n  heads      [{}]\n", layout.features,
                     form_text(layout.form), fmt::join(layout.heads, ", "));
  for (std::size_t l = 0; l < layout.names.size(); ++l) {
    if (layout.names[l].empty()) continue;
    out += fmt::format("  layer {}    {}\n", l + 1,
                       fmt::join(file.read_strings(layout.names[l]), ", "));
  }
  if (layout.network) {
    out += "  network    the values, input and readout trained with these heads\n";
  }
  if (layout.readout) out += fmt::format("  readout    {}\n", readout_text(*layout.readout));
  if (!layout.note.empty()) out += fmt::format("  note       {}\n", layout.note);
  for (const std::string& fault : faults.messages()) out += fmt::format("  fault      {}\n", fault);
  out += fmt::format(
      "\nTo check all of it:  headway validate {0}\n"
      "To solve it:         headway solve {0} --set model.widths=[10,100]\n",
      file.file_path());
  return out;
}

}  // namespace headway::io
