// LibTorch, for the few sources that see it (a header of it costs half a minute to compile). Only
// what is used: tensors, and functions with gradients of their own.
#pragma once

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/autograd/grad_mode.h>
#include <torch/csrc/autograd/variable.h>
