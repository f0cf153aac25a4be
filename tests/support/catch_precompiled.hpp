// Headers that most tests include, precompiled (tests/CMakeLists.txt).
#pragma once
#include "catch.hpp"
#include "precompiled.hpp"  // of src
