// What most tests read, compiled once (tests/CMakeLists.txt).
#pragma once
#include "catch.hpp"
#include "precompiled.hpp"  // of src
