# cmake -DSOURCE=... -DBUILD=... -DTORCH=... -DPYTHON=... -DLAUNCHER=... -P train_on_installed_torch.cmake
function(must_run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(failed)
    message(FATAL_ERROR "${ARGN}\nended with ${failed}:\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

must_run(${CMAKE_COMMAND} -S ${SOURCE} -B ${BUILD} -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DHEADWAY_BUILD_TESTS=OFF
         -DHEADWAY_BUILD_BENCHMARKS=OFF -DHEADWAY_CUDA=OFF -DHEADWAY_TRAINING=ON -DHEADWAY_TORCH=${TORCH}
         -DHEADWAY_PYTHON=${PYTHON} -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
must_run(${CMAKE_COMMAND} --build ${BUILD} --target headway_cli)
file(STRINGS ${TORCH}/version.py version REGEX "^__version__")
string(REGEX MATCH "[0-9]+\\.[0-9]+\\.[0-9]+" version "${version}")

# HYLA, softmax and linear attention, fused and by LibTorch's own operations: ten steps each.
foreach(eager false true)
  must_run(${BUILD}/bin/headway train ${SOURCE}/data/studies/fuzzy-logic-small.toml -v --json
           --set train.steps=10 --set train.warmup_steps=1 --set train.eval_every=10 --set train.checkpoint_every=10
           --set train.eval_examples=32 --set train.eager=${eager})
  if(NOT output MATCHES "LibTorch ${version} ")
    message(FATAL_ERROR "not a word of LibTorch ${version}:\n${output}")
  endif()
  if(NOT output MATCHES "\"step\": ?10[,}]")
    message(FATAL_ERROR "no step was made:\n${output}")
  endif()
endforeach()
message("${output}")
