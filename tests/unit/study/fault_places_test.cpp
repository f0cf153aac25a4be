// Where a fault is that only the whole study tells: at the key, or where the key would be.
#include <string>
#include <vector>

#include "catch.hpp"
#include "headway/error.hpp"
#include "headway/study_file.hpp"

using headway::Error;
using headway::ErrorKind;

namespace {

/// What stands before the first ": " of the message, and what follows, which is checked.
std::string place(const std::string& text, const std::string& message,
                  const std::vector<std::string>& overlays = {}) {
  try {
    headway::io::parse_study(text, "s.toml", overlays);
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::kBadStudy);
    const std::string all = error.what();
    const std::size_t end = all.find(": ");
    INFO(all);
    CHECK(all.substr(end + 2).starts_with(message));
    return all.substr(0, end);
  }
  return "accepted";
}

}  // namespace

TEST_CASE("a key that is missing is missing from its table, at the line of that table") {
  const std::string no_file = "task.file is missing";
  CHECK(place("[task]\nkind = \"dataset\"\n", no_file) == "s.toml:1");
  CHECK(place("name = \"x\"\n\n[model]\nwidths = 7\n\n[task]\nkind = \"dataset\"\n", no_file) ==
        "s.toml:6");
  CHECK(place("\n\ntask = {kind = \"text\"}\n", no_file) == "s.toml:3");
  CHECK(place("\n\n\ntask.kind = \"dataset\"\n", no_file) == "s.toml:4");
  CHECK(place("\n[task]\ntokens = 12\n", "task.layers is missing") == "s.toml:2");
}

TEST_CASE("what is missing from a table that is missing, too, has the place of the file") {
  for (const std::string text : {"name = \"x\"\n", "\n\n[model]\nwidths = 7\n", ""}) {
    INFO(text);
    CHECK(place(text, "task.layers is missing") == "s.toml:1");
  }
}

TEST_CASE("what is missing from a table that was set by hand has the place of that argument") {
  const std::string set = "task.kind=\"dataset\"";
  CHECK(place("name = \"x\"\n", "task.file is missing", {set}) == "--set " + set);
  CHECK(place("name = \"x\"\n[task]\n", "task.file is missing", {set}) == "s.toml:2");
}

TEST_CASE("of keys that contradict each other the first that the study gives has the place") {
  const std::string task = "[task]\nkind = \"sraven\"\n[train]\n\n";
  const std::string both = "train.warmup_steps = 30: must be below half of train.steps = 50";
  CHECK(place(task + "steps = 50\nwarmup_steps = 30\n", both) == "s.toml:6");
  CHECK(place(task + "warmup_steps = 30\nsteps = 50\n", both) == "s.toml:5");
  CHECK(place(task + "\n\nsteps = 3\n", "train.warmup_steps = ") == "s.toml:7");
  CHECK(place(task + "heads = 7\n", "train.query_dim = ") == "s.toml:5");
  const std::string by_hand = "train.steps=3";
  CHECK(place(task, "train.warmup_steps = ", {by_hand}) == "--set " + by_hand);
}

TEST_CASE("a key that is missing beside others has the place of the table that wants it") {
  const std::string text =
      "[task]\nkind = \"copy\"\n[model]\ntemperature = 0.1\n\n[model.attention_prior]\nheads = "
      "[1]\nform = \"queries_keys\"\n";
  CHECK(place(text, "model.attention_prior.dims is missing") == "s.toml:6");
}

TEST_CASE("a fault in a list has the line of its entry") {
  const std::string layer = "[[task.layers]]\nheads = [\n {kind = \"uniform\", name = \"a\"},\n";
  const std::string other = "\n {kind = \"random\", name = \"a\"}]\n";
  CHECK(place("[task]\ntokens = 3\n" + layer + other, "task.layers[1].heads[2].name = \"a\"") ==
        "s.toml:7");
  CHECK(place("[task]\ntokens = 3\n" + layer + "]\n" + layer + other,
              "task.layers[2].heads[2].name = \"a\"") == "s.toml:11");
}
