# Defines headway::sentencepiece where SentencePiece is installed. Used by Headway's own build and, installed beside
# headwayConfig.cmake, by its users. Optional: without it text has bytes for tokens. Debian ships no CMake package.
if(NOT TARGET headway::sentencepiece)
  find_library(HEADWAY_SENTENCEPIECE_LIBRARY NAMES sentencepiece)
  find_library(HEADWAY_SENTENCEPIECE_TRAIN_LIBRARY NAMES sentencepiece_train)
  find_path(HEADWAY_SENTENCEPIECE_INCLUDE_DIR NAMES sentencepiece_trainer.h)
  mark_as_advanced(HEADWAY_SENTENCEPIECE_LIBRARY HEADWAY_SENTENCEPIECE_TRAIN_LIBRARY
                   HEADWAY_SENTENCEPIECE_INCLUDE_DIR)
  if(HEADWAY_SENTENCEPIECE_LIBRARY AND HEADWAY_SENTENCEPIECE_TRAIN_LIBRARY AND HEADWAY_SENTENCEPIECE_INCLUDE_DIR)
    add_library(headway::sentencepiece INTERFACE IMPORTED)
    set_target_properties(headway::sentencepiece PROPERTIES
      INTERFACE_LINK_LIBRARIES "${HEADWAY_SENTENCEPIECE_TRAIN_LIBRARY};${HEADWAY_SENTENCEPIECE_LIBRARY}"
      INTERFACE_INCLUDE_DIRECTORIES ${HEADWAY_SENTENCEPIECE_INCLUDE_DIR})
  else()
    message(NOTICE "Headway: without SentencePiece, byte tokens only; for byte-pair encoding: apt-get install libsentencepiece-dev")
  endif()
endif()
