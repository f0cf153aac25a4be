#pragma once

// What the numerics module calls of BLAS, for a build without a BLAS: blas_on_eigen.cpp has it.

enum CBLAS_ORDER { CblasColMajor = 102 };
enum CBLAS_TRANSPOSE { CblasNoTrans = 111, CblasTrans = 112 };
enum CBLAS_UPLO { CblasLower = 122 };
enum CBLAS_DIAG { CblasNonUnit = 131 };
enum CBLAS_SIDE { CblasLeft = 141, CblasRight = 142 };

extern "C" {
void cblas_dgemm(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                 double alpha, const double* a, int lda, const double* b, int ldb, double beta,
                 double* c, int ldc);
void cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int m, int n, int k,
                 float alpha, const float* a, int lda, const float* b, int ldb, float beta,
                 float* c, int ldc);
void cblas_dgemv(CBLAS_ORDER, CBLAS_TRANSPOSE ta, int m, int n, double alpha, const double* a,
                 int lda, const double* x, int incx, double beta, double* y, int incy);
void cblas_dsyrk(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE ta, int n, int k, double alpha,
                 const double* a, int lda, double beta, double* c, int ldc);
void cblas_ssyrk(CBLAS_ORDER, CBLAS_UPLO, CBLAS_TRANSPOSE ta, int n, int k, float alpha,
                 const float* a, int lda, float beta, float* c, int ldc);
void cblas_dtrmm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO, CBLAS_TRANSPOSE ta, CBLAS_DIAG, int m,
                 int n, double alpha, const double* a, int lda, double* b, int ldb);
void cblas_dtrsm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO, CBLAS_TRANSPOSE ta, CBLAS_DIAG, int m,
                 int n, double alpha, const double* a, int lda, double* b, int ldb);
void cblas_strsm(CBLAS_ORDER, CBLAS_SIDE side, CBLAS_UPLO, CBLAS_TRANSPOSE ta, CBLAS_DIAG, int m,
                 int n, float alpha, const float* a, int lda, float* b, int ldb);
}
