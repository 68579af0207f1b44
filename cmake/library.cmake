# SPDX-License-Identifier: Apache-2.0
# Makes the library that is installed, libassay.a, when it is installed: what the public functions need of both archives, linked into one
# object whose other names are local. The archives themselves would keep `fail` or `text_add` from programs that have functions of these
# names.
#   ASSAY_ARCHIVES   lab and engine, in this order
#   ASSAY_HEADERS    the public headers: what they mark ASSAY_API stays visible
#   ASSAY_LIBRARY    what is made
#   ASSAY_LINK       the C compiler with its flags
#   ASSAY_OBJCOPY, ASSAY_AR
if(NOT ASSAY_OBJCOPY)
  message(FATAL_ERROR "the library needs objcopy, which binutils and LLVM have; name one in CMAKE_OBJCOPY")
endif()
set(roots)
foreach(header ${ASSAY_HEADERS})
  file(READ ${header} content)
  string(REGEX MATCHALL "ASSAY_API[^;()]*[ *]assay_[a-z0-9_]+\\(" declared "${content}")
  foreach(function ${declared})
    string(REGEX MATCH "assay_[a-z0-9_]+\\($" name "${function}")
    string(REPLACE "(" "" name "${name}")
    list(APPEND roots -Wl,-u,${name})
  endforeach()
endforeach()
string(REGEX REPLACE "[.]a$" ".o" object "${ASSAY_LIBRARY}")
file(REMOVE ${ASSAY_LIBRARY})
execute_process(COMMAND ${ASSAY_LINK} -r -nostdlib -o ${object} ${roots} ${ASSAY_ARCHIVES} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${ASSAY_OBJCOPY} --localize-hidden ${object} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${ASSAY_AR} rcs ${ASSAY_LIBRARY} ${object} COMMAND_ERROR_IS_FATAL ANY)
