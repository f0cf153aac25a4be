// What `inspect` says of checkpoints, and what is said of decoders whose fit did not end.
#include "results/progress_text.hpp"

#include "catch.hpp"
#include "headway/latents_results.hpp"
#include "trained_run_builder.hpp"

using namespace headway;  // NOLINT: a test

TEST_CASE("chains tell what they sample and their fewest and most draws") {
  SampleState state;
  state.run.settings = "sampler = nuts\ntarget = widths 10, temperature 0.1\nseed = 1\n";
  state.seconds = 12.5;
  CHECK(progress_text(state) ==
        "  point      widths 10, temperature 0.1\n"
        "  state      0 chains, 0 to 0 draws each after warm-up, 12.5 s so far\n");
  for (const std::size_t draws : {5, 3, 8}) {
    state.run.chains.emplace_back().statistics.resize(draws);
  }
  CHECK(progress_text(state).ends_with(
      "  state      3 chains, 3 to 8 draws each after warm-up, 12.5 s so far\n"));
  state.run.settings = "sampler = nuts\ntarget = last";
  CHECK(progress_text(state).starts_with("  point      last\n"));
  state.run.settings = "sampler = nuts";
  CHECK(progress_text(state).starts_with("  point      (missing)\n"));
}

TEST_CASE("a training run tells its outcome, its last mean loss and its best step") {
  TrainedRun run = testing::built_run();
  run.seed = 7;
  run.summary.steps = 9;
  run.state.step = 8;
  run.state.examples = 512;
  run.state.parameters = testing::built_tensors(0.0F);
  run.state.best_step = -1;
  const std::string text =
      "  run        hyla, seed 7: interrupted after 9 steps, train loss 0.65\n"
      "  state      step 8, 512 examples seen, 151009 parameters in 4 arrays";
  CHECK(progress_text(run) == text + "\n");
  run.state.best_step = 0;
  run.state.best_loss = 0.12345678;
  CHECK(progress_text(run) == text + "; best at step 0, loss 0.123457\n");
}

TEST_CASE("every decoder whose fit did not converge is named with its layer") {
  const auto layer = [](Index number, bool rule, bool answer) {
    LatentLayer found;
    found.layer = number;
    found.decoders.resize(2);
    found.decoders[0].name = "rule";
    found.decoders[1].name = "answer";
    found.decoders[0].decoding.converged = rule;
    found.decoders[1].decoding.converged = answer;
    return found;
  };
  LatentRun run;
  run.layers = {layer(1, true, true), layer(2, true, false)};
  run.all_layers = layer(0, true, true);
  CHECK(latent_faults(run) ==
        std::vector<std::string>{"a fit of the decoder of \"answer\" in layer 2 did not converge"});
  run.all_layers = layer(0, false, true);
  CHECK(latent_faults(run).size() == 2);
  run.layers.clear();
  CHECK(latent_faults(run) ==
        std::vector<std::string>{
            "a fit of the decoder of \"rule\" in all layers together did not converge"});
}
