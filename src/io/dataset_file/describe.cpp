#include "io/hdf5/describe.hpp"

#include "headway/studies/study.hpp"
#include "io/dataset_file/layout.hpp"

namespace headway::io {
namespace {

std::string split_text(const DatasetLayout& layout, const std::string& split) {
  const auto has = [&](const char* name) { return layout.find(split + name) != nullptr; };
  std::string text = fmt::format("{} examples, {} outputs", layout.extent(extent_key("P", split)),
                                 layout.extent("C"));
  if (has("/inputs")) text += fmt::format(", {} tokens", layout.extent("S"));
  if (has("/mask")) text += ", masked";
  if (has("/ids")) text += ", with ids";
  return text;
}

}  // namespace

std::string describe_dataset(const Hdf5InputFile& file) {
  FaultList faults;
  const DatasetLayout layout = check_layout(file, faults);
  const DatasetRules& rules = dataset_rules();
  std::string sets;
  std::string test = "none";
  for (const std::string& split : layout.splits) {
    if (split == "test") test = split_text(layout, split);
    if (set_name(split).empty()) continue;
    sets += fmt::format("  set        {}: {}\n", set_name(split), split_text(layout, split));
  }
  std::string out = fmt::format(
      "  train      {}\n  test       {}\n{}  features   {}\n  attention  {}\n  heads      [{}]\n",
      split_text(layout, "train"), test, sets, layout.extent("N_0"),
      rules.forms[static_cast<std::size_t>(layout.form)].means, fmt::join(layout.heads, ", "));
  for (std::size_t l = 1; l <= layout.heads.size(); ++l) {
    const std::string names = fmt::format("names/layer_{}", l);
    if (layout.find(names) == nullptr) continue;
    out += fmt::format("  layer {}    {}\n", l, join(file.read_strings(names)));
  }
  if (layout.network) {
    out += "  network    the values, input and readout trained with these heads\n";
  }
  if (layout.readout) out += fmt::format("  readout    {}\n", word_of(*layout.readout));
  if (!layout.note.empty()) out += fmt::format("  note       {}\n", layout.note);
  for (const std::string& fault : faults.messages()) out += fmt::format("  fault      {}\n", fault);
  out += fmt::format(
      "\nTo check all of it:  headway validate {0}\n"
      "To solve it:         headway solve {0} --set model.widths=[10,100]\n",
      file.file_path());
  return out;
}

}  // namespace headway::io
