# cmake -DCOMMAND=... -DSOURCE=... -DOBJECT=... -DREPORT=... -P compile_cuda.cmake: compiles SOURCE, and writes what
# the compiler says (registers, shared memory, spills of every kernel) to REPORT.
execute_process(COMMAND ${COMMAND} -MD -MF ${OBJECT}.d -c ${SOURCE} -o ${OBJECT}
                RESULT_VARIABLE failed OUTPUT_FILE ${REPORT} ERROR_FILE ${REPORT})
if(failed)
  file(READ ${REPORT} words)
  message(FATAL_ERROR "nvcc failed:\n${words}")
endif()
