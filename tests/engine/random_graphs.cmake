# SPDX-License-Identifier: Apache-2.0
# Random programs that failed once, in every manner. kept_for_a_phase, unread_names: something named was not read, so that their text did
# not compile without a warning. read_backwards, cut_and_padded, lanes_of_turns: gcc 12 has got them wrong, as users have them compiled.
# channels_last, channels_last_besides, table_of_columns: a library call's operands lay otherwise than in the graph, and so did what it
# answered. groups_of_none, part_of_none: sizes of 0. far_positions: gradients of resampled images, whose positions round. patches_back: without masks,
# planes of patches were taken for columns of one image. one_element_many_looks: what each look sees by its own condition was taken for
# what lies there by the first one's. places_of_places: what says where a load looks was itself looked for by places that nobody had
# found yet. places_named_twice: two loops over lanes in one block gave their places the same names. index_of_rows_chosen:
# a table that nobody looked at. gelu_far_below: the reference lost digits. cut_sums_of_few_lanes: gcc 12 got them wrong.
# gathered_ends, gathered_ends_of_sums: of the lanes behind the last whole block too few were gathered. rows_of_halves: kept for what it
# covers, not for a failure. choice_of_one: casts of a choice of one element called each other without end.
# halves_apart_beside_wider: bf16 was taken for f16. elements_shown_twice: what a view shows in part had no place in what shows it.
# halves_onto_a_shifted_view: rows were taken to begin with what lies where they are stored.
set(manner_read_backwards --optimised)
set(manner_cut_sums_of_few_lanes --optimised)
set(manner_cut_and_padded --optimised)
set(manner_lanes_of_turns --optimised)
set(isa_patches_back avx2)
file(GLOB kept_graphs CONFIGURE_DEPENDS engine/kept_graphs/*.graph)
foreach(file ${kept_graphs})
  get_filename_component(kept ${file} NAME_WE)
  add_test(NAME engine/test_random_graphs/${kept}
    COMMAND test_random_graphs ${manner_${kept}} --check ${file})
  set_tests_properties(engine/test_random_graphs/${kept} PROPERTIES LABELS engine TIMEOUT 200)
  if(DEFINED isa_${kept})
    set_tests_properties(engine/test_random_graphs/${kept} PROPERTIES ENVIRONMENT ASSAY_ISA=${isa_${kept}})
  endif()
endforeach()

# As users have them compiled: what a compiler makes of vector code can be wrong where the text is right.
add_test(NAME engine/test_random_graphs/optimised COMMAND test_random_graphs --optimised --seed 601 --first 400 --count 300)
set_tests_properties(engine/test_random_graphs/optimised PROPERTIES LABELS engine TIMEOUT 600)

# Another compiler warns of other things.
find_program(ASSAY_CLANG clang)
if(ASSAY_CLANG)
  add_test(NAME engine/test_random_graphs/clang COMMAND test_random_graphs --seed 314 --count 700)
  set_tests_properties(engine/test_random_graphs/clang PROPERTIES LABELS engine TIMEOUT 900 ENVIRONMENT ASSAY_CC=${ASSAY_CLANG})
endif()
