#pragma once

#include <cublasLt.h>
#include <dlfcn.h>

#include <algorithm>
#include <map>
#include <string>

#include "training/kernels/cuda/launch.hpp"
#include "training/step/step_operations.hpp"

// The products of a step by cuBLASLt, of float32 or TF32 numbers. The library is not linked: it is
// the one that LibTorch has loaded, or one that is found by its name.
namespace headway::training::gpu_kernels {

/// The functions that are used, by their own names.
struct CublasFunctions {
  decltype(&cublasLtCreate) create = nullptr;
  decltype(&cublasLtDestroy) destroy = nullptr;
  decltype(&cublasLtMatmul) matmul = nullptr;
  decltype(&cublasLtMatmulDescCreate) desc_create = nullptr;
  decltype(&cublasLtMatmulDescDestroy) desc_destroy = nullptr;
  decltype(&cublasLtMatmulDescSetAttribute) desc_set = nullptr;
  decltype(&cublasLtMatrixLayoutCreate) layout_create = nullptr;
  decltype(&cublasLtMatrixLayoutDestroy) layout_destroy = nullptr;
  decltype(&cublasLtMatrixLayoutSetAttribute) layout_set = nullptr;
  decltype(&cublasLtMatmulPreferenceCreate) preference_create = nullptr;
  decltype(&cublasLtMatmulPreferenceDestroy) preference_destroy = nullptr;
  decltype(&cublasLtMatmulPreferenceSetAttribute) preference_set = nullptr;
  decltype(&cublasLtMatmulAlgoGetHeuristic) heuristic = nullptr;
};

/// Error{kUnavailable} where there is no such library.
inline const CublasFunctions& cublas_functions() {
  static const CublasFunctions functions = [] {
    void* library = nullptr;
    for (const int mode : {RTLD_LAZY | RTLD_NOLOAD, RTLD_LAZY}) {
      for (const int version : {CUBLAS_VER_MAJOR, 13, 12, 11}) {
        if (library != nullptr) break;
        library = dlopen(("libcublasLt.so." + std::to_string(version)).c_str(), mode);
      }
    }
    if (library == nullptr) throw Error(ErrorKind::kUnavailable, "CUDA: no libcublasLt is found");
    CublasFunctions f;
    const auto find = [library](auto* function, const char* name) {
      *function = reinterpret_cast<std::remove_pointer_t<decltype(function)>>(dlsym(library, name));
      if (*function == nullptr) {
        throw Error(ErrorKind::kUnavailable, std::string("CUDA: libcublasLt lacks ") + name);
      }
    };
    find(&f.create, "cublasLtCreate");
    find(&f.destroy, "cublasLtDestroy");
    find(&f.matmul, "cublasLtMatmul");
    find(&f.desc_create, "cublasLtMatmulDescCreate");
    find(&f.desc_destroy, "cublasLtMatmulDescDestroy");
    find(&f.desc_set, "cublasLtMatmulDescSetAttribute");
    find(&f.layout_create, "cublasLtMatrixLayoutCreate");
    find(&f.layout_destroy, "cublasLtMatrixLayoutDestroy");
    find(&f.layout_set, "cublasLtMatrixLayoutSetAttribute");
    find(&f.preference_create, "cublasLtMatmulPreferenceCreate");
    find(&f.preference_destroy, "cublasLtMatmulPreferenceDestroy");
    find(&f.preference_set, "cublasLtMatmulPreferenceSetAttribute");
    find(&f.heuristic, "cublasLtMatmulAlgoGetHeuristic");
    return f;
  }();
  return functions;
}

inline void check(cublasStatus_t status, const char* what) {
  if (status != CUBLAS_STATUS_SUCCESS) {
    throw Error(ErrorKind::kInternal,
                std::string("cuBLASLt: ") + what + ": status " + std::to_string(status));
  }
}

/// A product as cuBLASLt has it, where matrices are column-major: out^T = right^T left^T.
class CublasPlan {
 public:
  CublasPlan(cublasLtHandle_t handle, const detail::StepProduct& p, bool with_end,
             std::size_t workspace)
      : f_(cublas_functions()), p_(p) {
    const auto compute = p.tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F;
    check(f_.desc_create(&desc_, compute, CUDA_R_32F), "description");
    const auto turned = [](bool yes) { return yes ? CUBLAS_OP_T : CUBLAS_OP_N; };
    set(CUBLASLT_MATMUL_DESC_TRANSA, turned(p.right_transposed));
    set(CUBLASLT_MATMUL_DESC_TRANSB, turned(p.left_transposed));
    set_end(with_end);
    lay(&right_, p.right_transposed ? p.inner : p.columns, p.right_transposed ? p.columns : p.inner,
        p.right.row, p.right.batch);
    lay(&left_, p.left_transposed ? p.rows : p.inner, p.left_transposed ? p.inner : p.rows,
        p.left.row, p.left.batch);
    lay(&out_, p.columns, p.rows, p.out.row, p.out.batch);
    lay(&added_, p.columns, p.rows, adds() ? p.added.row : p.out.row,
        adds() ? p.added.batch : p.out.batch);
    choose(handle, workspace);
  }
  ~CublasPlan() {
    for (cublasLtMatrixLayout_t layout : {right_, left_, out_, added_}) f_.layout_destroy(layout);
    f_.desc_destroy(desc_);
  }
  CublasPlan(const CublasPlan&) = delete;
  CublasPlan& operator=(const CublasPlan&) = delete;

  /// False where cuBLASLt has no such product.
  [[nodiscard]] bool found() const { return found_ > 0; }

  void run(cublasLtHandle_t handle, void* workspace, std::size_t bytes, cudaStream_t stream) const {
    const float one = 1.0F;
    const float beta = adds() ? 1.0F : 0.0F;
    check(f_.matmul(handle, desc_, &one, p_.right.data, right_, p_.left.data, left_, &beta,
                    adds() ? p_.added.data : p_.out.data, added_, p_.out.data, out_, &chosen_.algo,
                    workspace, bytes, stream),
          "product");
  }

 private:
  [[nodiscard]] bool adds() const { return p_.added.data != nullptr; }

  template <typename T>
  void set(cublasLtMatmulDescAttributes_t attribute, const T& value) {
    check(f_.desc_set(desc_, attribute, &value, sizeof value), "attribute");
  }

  void set_end(bool with_end) {
    const auto end = with_end ? p_.end : detail::ProductEnd::kNone;
    cublasLtEpilogue_t epilogue =
        p_.bias != nullptr ? CUBLASLT_EPILOGUE_BIAS : CUBLASLT_EPILOGUE_DEFAULT;
    if (end == detail::ProductEnd::kGelu) {
      epilogue = p_.bias != nullptr ? CUBLASLT_EPILOGUE_GELU_AUX_BIAS : CUBLASLT_EPILOGUE_GELU_AUX;
    } else if (end == detail::ProductEnd::kGeluGradient) {
      epilogue = CUBLASLT_EPILOGUE_DGELU;
    }
    set(CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue);
    if (p_.bias != nullptr) set(CUBLASLT_MATMUL_DESC_BIAS_POINTER, p_.bias);
    if (end == detail::ProductEnd::kNone) return;
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_POINTER, p_.kept);
    set(CUBLASLT_MATMUL_DESC_EPILOGUE_AUX_LD, static_cast<std::int64_t>(p_.columns));
  }

  void lay(cublasLtMatrixLayout_t* layout, Index rows, Index columns, Index step, Index batch) {
    check(f_.layout_create(layout, CUDA_R_32F, static_cast<std::uint64_t>(rows),
                           static_cast<std::uint64_t>(columns), step),
          "layout");
    const auto count = static_cast<std::int32_t>(p_.batch);
    const std::int64_t offset = batch;
    check(f_.layout_set(*layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof count),
          "batch");
    check(
        f_.layout_set(*layout, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, &offset, sizeof offset),
        "batch");
  }

  // Parameters lie end to end, so that some arrays begin at any float.
  static std::uint32_t alignment_of(const void* pointer) {
    const auto address = reinterpret_cast<std::uintptr_t>(pointer);
    std::uint32_t bytes = 4;
    while (bytes < 256 && address % (2 * bytes) == 0) bytes *= 2;
    return bytes;
  }

  void choose(cublasLtHandle_t handle, std::size_t workspace) {
    cublasLtMatmulPreference_t preference = nullptr;
    check(f_.preference_create(&preference), "preference");
    const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t attribute, const auto& value) {
      check(f_.preference_set(preference, attribute, &value, sizeof value), "preference");
    };
    const void* added = adds() ? p_.added.data : p_.out.data;
    prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(p_.right.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(p_.left.data));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(added));
    prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(p_.out.data));
    const cublasStatus_t status =
        f_.heuristic(handle, desc_, right_, left_, added_, out_, preference, 1, &chosen_, &found_);
    f_.preference_destroy(preference);
    if (status == CUBLAS_STATUS_NOT_SUPPORTED) found_ = 0;
    if (status != CUBLAS_STATUS_NOT_SUPPORTED) check(status, "choice of a kernel");
  }

  const CublasFunctions& f_;
  const detail::StepProduct& p_;
  cublasLtMatmulDesc_t desc_ = nullptr;
  cublasLtMatrixLayout_t right_ = nullptr, left_ = nullptr, out_ = nullptr, added_ = nullptr;
  cublasLtMatmulHeuristicResult_t chosen_ = {};
  int found_ = 0;
};

}  // namespace headway::training::gpu_kernels
