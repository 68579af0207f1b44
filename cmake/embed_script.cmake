# SPDX-License-Identifier: Apache-2.0
# Writes MADE: the bytes of SOURCE as a C array called NAME (see embed.cmake).
file(READ ${SOURCE} bytes HEX)
string(REGEX REPLACE "(................................)" "\\1\n" bytes "${bytes}")
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${bytes}")
get_filename_component(shown ${SOURCE} NAME)
file(WRITE ${MADE} "/* Made from ${shown}; edit that instead. */
#include <stddef.h>
extern const char ${NAME}[];
extern const size_t ${NAME}_size;
const char ${NAME}[] = {
${bytes}0};
const size_t ${NAME}_size = sizeof ${NAME} - 1;
")
