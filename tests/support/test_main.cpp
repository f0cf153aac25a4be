// The main function of every test program. Tests compute with the kernels that users get.
#if __has_include(<catch2/catch_session.hpp>)
#include <catch2/catch_session.hpp>
#else
#define CATCH_CONFIG_RUNNER
#include <catch2/catch.hpp>
#endif

#include "headway/numerics/blas.hpp"

int main(int argc, char** argv) {
  headway::numerics::prepare_blas();
  return Catch::Session().run(argc, argv);
}
