#pragma once

#include "training/kernels/cuda/attention_large_gradient.hpp"

namespace headway::training::HEADWAY_GPU {

/// over_keys = sum_k b d_b of each query and head, which the gradient of softmax subtracts (block
/// x: example and tile of queries).
template <int dims, typename Phi>
class LargeSumsOverKeys : private LargeGradient<dims, Phi> {
  using Base = LargeGradient<dims, Phi>;
  using Base::block_;
  using Base::first_key_;
  using Base::kFactor;
  using Base::kHeads;
  using Base::kSide;
  using Base::kWarps;
  using Base::queries_;
  using Base::x_;

 public:
  template <typename Memory>
  HEADWAY_DEVICE LargeSumsOverKeys(Block& block, Memory& memory,
                                   const AttentionArguments<Bf16>& arguments,
                                   const GradientArguments<Bf16>& gradients)
      : Base(block, memory, arguments, gradients),
        sum_(memory.template take<float>("sums over keys", kSide * kHeads)) {}

  HEADWAY_DEVICE void run() {
    Base::choose_block();
    const int end = Base::end_of_keys();
    WarpLanes<typename Base::Values, kWarps> none;
    fill(block_, sum_, kSide * kHeads, 0.0F);
    block_.threads_afresh([&](int thread) {
      Base::copy_queries(thread, this->first_query_);
      Base::copy_d_output(thread, this->first_query_);
      wait_for_copies<0>();
    });
    for (int key = 0; key < end; key += kSide) {
      first_key_ = key;
      block_.threads_afresh([&](int thread) { Base::copy_values(thread, first_key_); });
      Base::multiply_scores();
      block_.threads_afresh([&](int thread) {
        Base::weigh(thread);
        wait_for_copies<0>();
      });
      Base::output_gradient();
      Base::template differentiate<false>(none);
      block_.warps_afresh([&](const Warp& warp) { Base::add_outputs(warp); });
      for_each(block_, kSide * kHeads, [&](int i) { add_tile(i / kHeads, i % kHeads); });
    }
    for_each(block_, kSide * kHeads, [&](int i) {
      if (i % kSide >= queries_) return;
      put(Base::gradients_.over_keys, Base::query_at(i / kSide, i % kSide),
          get(sum_, i % kSide * kHeads + i / kSide));
    });
  }

 private:
  HEADWAY_DEVICE void add_tile(int query, int head) {
    float sum = 0.0F;
    for (int key = 0; key < kSide; ++key) {
      const int at = Base::at_pair(query, key);
      const float b = get(Base::score_, at + kFactor) * get(Base::score_, at + head);
      sum = fused(b, get(Base::d_weight_, at + head), sum);
    }
    add(sum_, query * kHeads + head, sum);
  }

  const Shared<float> sum_;  // [query][head]
};

}  // namespace headway::training::HEADWAY_GPU
