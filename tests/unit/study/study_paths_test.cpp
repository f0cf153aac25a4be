// Paths of studies, and of the data sets that they name.
#include <string>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/study_file.hpp"

using headway::Error;
using headway::ErrorKind;
using headway::io::parse_study;

TEST_CASE("the path of a data set is taken from the study's directory") {
  const std::string text = "[task]\nkind = \"dataset\"\nfile = \"sub/../x.h5\"\n";
  CHECK(parse_study(text, "s.toml", {}, "/data/studies").task.file() == "/data/studies/x.h5");
  CHECK(parse_study(text, "s.toml", {"task.file=/abs/y.h5"}, "/data/studies").task.file() ==
        "/abs/y.h5");
}

TEST_CASE("files that cannot be studies are refused") {
  const auto kind_of = [](const std::string& file_path) {
    try {
      headway::io::read_study(file_path);
    } catch (const Error& error) {
      CHECK(std::string(error.what()).find(file_path) != std::string::npos);
      return error.kind();
    }
    return ErrorKind::kInternal;
  };
  CHECK(kind_of("/nonexistent/study.toml") == ErrorKind::kMissingFile);
  CHECK(kind_of("/") == ErrorKind::kMissingFile);
  CHECK(kind_of("/dev/zero") == ErrorKind::kBadStudy);
  CHECK(kind_of("/dev/null") == ErrorKind::kBadStudy);
}
