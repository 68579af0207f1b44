# SPDX-License-Identifier: Apache-2.0
# The hot loops are plain C, built once per instruction set. Each object exports one table, named by ISA_TABLE;
# kernels/cpu/isa.c picks one at run time. GCC's vectoriser needs no intrinsics for them, only the flags.
file(GLOB isa_sources CONFIGURE_DEPENDS src/engine/kernels/cpu/isa/*.c)
# Positions must come out as ATen's, product by product: src/engine/schema/resample.h says why.
set_source_files_properties(src/engine/kernels/cpu/isa/grid_points.c PROPERTIES COMPILE_OPTIONS -ffp-contract=off)
# Roots, many at a time: with errno to be set each would be taken by itself.
set_source_files_properties(src/engine/kernels/cpu/reduce_moments.c src/engine/kernels/cpu/reduce_columns.c PROPERTIES COMPILE_OPTIONS -fno-math-errno)
if(ASSAY_FUZZ) # nothing that is read reaches these, and clang takes ten minutes for one of them with sanitizers
  set_property(SOURCE ${isa_sources} APPEND PROPERTY COMPILE_OPTIONS -fno-sanitize=all -O1)
endif()
set(isa_objects)
function(assay_isa name)
  add_library(assay-isa-${name} OBJECT ${isa_sources})
  target_include_directories(assay-isa-${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/include ${CMAKE_CURRENT_SOURCE_DIR}/src)
  target_compile_definitions(assay-isa-${name} PRIVATE ISA_NAME=${name})
  # -Wno-psabi: vectors wider than the instruction set's pass between inlined functions only, where no ABI is involved.
  # No -ffast-math: only what keeps results the same (errno and traps are not read here).
  # -fno-thread-jumps: GCC otherwise splits `x > 88 ? 88 : x` into two paths and vectorises both, which makes a clipped
  # function nearly twice as long (gcc 12).
  # -falign-loops=32: a short loop over two lines of code takes half as long again (x *= 0.7 in L2 on Zen 3: 6.4 us instead of 5.0).
  target_compile_options(assay-isa-${name} PRIVATE -O3 -falign-loops=32 -fno-math-errno -fno-trapping-math $<$<C_COMPILER_ID:GNU>:-fno-thread-jumps> -Wno-psabi
    -Wno-pass-failed ${ARGN}) # clang tells of loops it leaves scalar (calls to libm): known and no fault
  target_link_libraries(assay-isa-${name} PRIVATE assay-flags OpenMP::OpenMP_C)
  set(isa_objects ${isa_objects} $<TARGET_OBJECTS:assay-isa-${name}> PARENT_SCOPE)
endfunction()
if(isa_sources AND CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  # For processors older than AVX2 (2013) alone: row_loops_f32.c takes GCC 17 s so, and 42 with -O3.
  assay_isa(baseline -O1 -ftree-vectorize $<$<C_COMPILER_ID:GNU>:-fpeel-loops>)
  assay_isa(avx2 -march=x86-64-v3)
  assay_isa(avx512 -march=x86-64-v4 -mprefer-vector-width=512)
  set(ASSAY_HAVE_X86_ISA ON)
elseif(isa_sources)
  assay_isa(baseline)
endif()
