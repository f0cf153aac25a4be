# Every third-party package Headway uses, found once. apps/setup/dependencies.sh installs them;
# src/cmake/headwayConfig.cmake.in finds the same ones again for users of the installed library.
find_package(Eigen3 3.4 REQUIRED NO_MODULE)
find_package(Ceres 2.0 REQUIRED QUIET)  # says much otherwise about packages it does not need
find_package(Boost 1.74 REQUIRED)
find_package(OpenMP REQUIRED COMPONENTS CXX)
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(tomlplusplus REQUIRED)
find_package(nlohmann_json 3.9 REQUIRED)
include(HeadwayFindOpenBlas)
include(HeadwayFindHdf5)
find_package(ZLIB REQUIRED)
find_package(PNG REQUIRED)
include(HeadwayFindLibzip)
include(HeadwayFindSentencePiece)
