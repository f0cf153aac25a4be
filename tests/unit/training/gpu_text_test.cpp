// What a result says of the GPU that its networks were on.
#include "catch.hpp"
#include "headway/training/backend.hpp"

using namespace headway::training;  // NOLINT(google-build-using-namespace)

TEST_CASE("the text of a GPU has its name, versions, kernels and precision") {
  const std::string backend =
      "LibTorch 2.5.1 with CUDA, devices: 1, attention by fused kernels, matrix products by oneDNN";
  CHECK(gpu_text({"NVIDIA H100 80GB HBM3", 12040}, backend, "bf16") ==
        "NVIDIA H100 80GB HBM3, driver of CUDA 12.4; " + backend + "; precision bf16");
  CHECK(gpu_text({}, "LibTorch 2.5.1", "fp32") ==
        "a GPU of unknown name; LibTorch 2.5.1; precision fp32");
}

TEST_CASE("a GPU that training can use has a name and a driver; without one there is none") {
  const Gpu gpu = first_gpu();
  CHECK(gpu.name.empty() != cuda_available());
  CHECK((gpu.cuda == 0) != cuda_available());
}
