# SPDX-License-Identifier: Apache-2.0
# assay_embed(TARGET NAME FILE) builds FILE into TARGET as `const char NAME[]` with a NUL behind it and
# `const size_t NAME_size`, which does not count that NUL. Made again whenever FILE changes. No linker or assembler tricks:
# any C compiler reads the result.
set(assay_embed_script ${CMAKE_CURRENT_LIST_DIR}/embed_script.cmake)
function(assay_embed target name file)
  get_filename_component(source ${file} ABSOLUTE)
  set(made ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.c)
  add_custom_command(OUTPUT ${made}
    COMMAND ${CMAKE_COMMAND} -DNAME=${name} -DSOURCE=${source} -DMADE=${made} -P ${assay_embed_script}
    DEPENDS ${source} ${assay_embed_script}
    COMMENT "Embedding ${file}" VERBATIM)
  target_sources(${target} PRIVATE ${made})
endfunction()
