// Reads the study named on the command line with the installed library, and writes it back as text.
#include <cstdio>

#include "headway/error.hpp"
#include "headway/study_file.hpp"

int main(int argc, char** argv) {
  if (argc != 2) return 64;
  try {
    const headway::io::LoadedStudy loaded = headway::io::read_study(argv[1]);
    const std::string text = headway::io::write_study(loaded.study);
    std::printf("%s: %zu sweep points\n", loaded.study.name.c_str(),
                loaded.study.model.widths.size());
    return headway::io::write_study(headway::io::parse_study(text, "text")) == text ? 0 : 1;
  } catch (const headway::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return error.exit_code();
  }
}
