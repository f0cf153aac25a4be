#include "io/hdf5/describe.hpp"

#include "core/fail.hpp"
#include "io/checkpoint/checkpoint_file.hpp"
#include "io/hdf5/record.hpp"
#include "io/result_file/trained_run.hpp"
#include "studies/progress_text.hpp"

namespace headway::io {
std::string describe_checkpoint(const Hdf5InputFile& file) {
  const auto header = read_record<CheckpointHeader>(file, "/");
  std::string out = header.verb == "train"
                        ? studies::progress_text(read_trained_run(file, "run"))
                        : studies::progress_text(read_record<studies::SampleState>(file, "point"));
  const auto text = [&file](const char* name) {
    return shown(file.text_attribute("/", name).value_or("(missing)"));
  };
  out += fmt::format("  made by    Headway {} (commit {}), {}\n", shown(header.version),
                     text("git_commit"), text("written"));
  out += "\nThe command that wrote it goes on from it; delete it to start afresh.\n";
  return out;
}

}  // namespace headway::io
