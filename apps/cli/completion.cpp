#include "completion.hpp"

#include "headway/error.hpp"
#include "help_page.hpp"
#include "terminal.hpp"
#include "verbs.hpp"

namespace headway::cli {

namespace {

int print_completion(const Options& options) {
  if (options.topic != "bash" && options.topic != "zsh") {
    throw Error(ErrorKind::kUsage, options.topic + ": must be bash or zsh");
  }
  write_output(options.topic == "zsh" ? zsh_completion() : bash_completion());
  return kExitOk;
}

}  // namespace

std::vector<std::string> help_topics(bool dotted) {
  std::vector<std::string> topics = key_topics();
  std::erase_if(topics, [dotted](const std::string& topic) {
    return (topic.find('.') != std::string::npos) != dotted || find_verb(topic) != nullptr;
  });
  return topics;
}

Verb completion_verb() {
  CommandOption shell{"shell", "SHELL", "bash or zsh", &Options::topic, Offers::kWords};
  shell.words = {"bash", "zsh"};
  shell.required = true;
  return {.name = "completion",
          .summary = "print what bash or zsh needs to complete the words of a command",
          .own = {shell},
          .about =
              "Prints a script that completes verbs, options, keys of --set and of help, studies "
              "and file "
              "names. Packages install it; a program that was only built needs one of the "
              "lines below.",
          .examples = {{"eval \"$(headway completion bash)\"", "in ~/.bashrc"},
                       {"headway completion zsh > ~/.zfunc/_headway",
                        "where ~/.zfunc is in fpath, before compinit is called in ~/.zshrc"}},
          .takes = Takes::kNothing,
          .run = &print_completion};
}

}  // namespace headway::cli
