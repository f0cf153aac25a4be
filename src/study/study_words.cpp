// The words of a study's own sections: how files and messages spell its enumerations.
#include "headway/study.hpp"

namespace headway {

Words<AttentionKind> words_of(AttentionKind) {
  static constexpr Word<AttentionKind> kWords[] = {{"softmax", AttentionKind::kSoftmax},
                                                   {"hardmax", AttentionKind::kHardmax}};
  return kWords;
}

Words<Readout> words_of(Readout) {
  static constexpr Word<Readout> kWords[] = {{"last_token", Readout::kLastToken},
                                             {"first_token", Readout::kFirstToken},
                                             {"mean", Readout::kMean}};
  return kWords;
}

Words<TextLevel> words_of(TextLevel) {
  static constexpr Word<TextLevel> kWords[] = {{"bytes", TextLevel::kBytes},
                                               {"bpe", TextLevel::kBpe}};
  return kWords;
}

Words<Start> words_of(Start) {
  static constexpr Word<Start> kWords[] = {{"gaussian_process", Start::kGaussianProcess},
                                           {"random", Start::kRandom}};
  return kWords;
}

Words<AttentionStart> words_of(AttentionStart) {
  static constexpr Word<AttentionStart> kWords[] = {{"none", AttentionStart::kNone},
                                                    {"prior", AttentionStart::kPrior},
                                                    {"given", AttentionStart::kGiven}};
  return kWords;
}

Words<When> words_of(When) {
  static constexpr Word<When> kWords[] = {
      {"auto", When::kAuto}, {"on", When::kOn}, {"off", When::kOff}};
  return kWords;
}

Words<Sampler> words_of(Sampler) {
  static constexpr Word<Sampler> kWords[] = {
      {"auto", Sampler::kAuto},           {"exact", Sampler::kExact},
      {"collapsed", Sampler::kCollapsed}, {"gibbs", Sampler::kGibbs},
      {"nuts", Sampler::kNuts},           {"hmc", Sampler::kHmc},
      {"mala", Sampler::kMala},           {"langevin", Sampler::kLangevin}};
  return kWords;
}

bool draws_weights(Sampler sampler) {
  return sampler != Sampler::kAuto && sampler != Sampler::kExact && sampler != Sampler::kCollapsed;
}

Words<SampleMetric> words_of(SampleMetric) {
  static constexpr Word<SampleMetric> kWords[] = {{"auto", SampleMetric::kAuto},
                                                  {"unit", SampleMetric::kUnit},
                                                  {"diagonal", SampleMetric::kDiagonal},
                                                  {"dense", SampleMetric::kDense},
                                                  {"information", SampleMetric::kInformation}};
  return kWords;
}

Words<KeptWeights> words_of(KeptWeights) {
  static constexpr Word<KeptWeights> kWords[] = {{"best", KeptWeights::kBest},
                                                 {"last", KeptWeights::kLast}};
  return kWords;
}

Words<ExtractForm> words_of(ExtractForm) {
  static constexpr Word<ExtractForm> kWords[] = {{"contributions", ExtractForm::kContributions},
                                                 {"attention", ExtractForm::kAttention},
                                                 {"value_network", ExtractForm::kValueNetwork}};
  return kWords;
}

Words<ReadoutAfterRemoval> words_of(ReadoutAfterRemoval) {
  static constexpr Word<ReadoutAfterRemoval> kWords[] = {
      {"fixed", ReadoutAfterRemoval::kFixed}, {"refitted", ReadoutAfterRemoval::kRefitted}};
  return kWords;
}

Words<RemovedAs> words_of(RemovedAs) {
  static constexpr Word<RemovedAs> kWords[] = {{"zero", RemovedAs::kZero},
                                               {"mean", RemovedAs::kMean}};
  return kWords;
}

Words<LatentFeature> words_of(LatentFeature) {
  static constexpr Word<LatentFeature> kWords[] = {{"random", LatentFeature::kRandom},
                                                   {"last", LatentFeature::kLast}};
  return kWords;
}

}  // namespace headway
