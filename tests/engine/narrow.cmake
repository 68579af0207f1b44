# SPDX-License-Identifier: Apache-2.0
# Whole calls by the kernels and the emitted code of processors that have less than this one. (Tests of single loops go through the
# instruction sets by themselves.)
set(narrow_tests
  test_columns test_contraction test_conv_rows test_in_place test_indexing test_layer_stream test_moves test_norms
  test_pointwise test_reductions test_resampling test_rnn_fft test_row_packs test_row_rests test_softmax_stream test_windows)
foreach(set baseline avx2)
  foreach(name ${narrow_tests})
    add_test(NAME engine/${name}/${set} COMMAND ${name})
    set_tests_properties(engine/${name}/${set} PROPERTIES LABELS engine TIMEOUT 900 ENVIRONMENT ASSAY_ISA=${set})
  endforeach()
  add_test(NAME engine/test_random_graphs/${set} COMMAND test_random_graphs --count 1000)
  set_tests_properties(engine/test_random_graphs/${set} PROPERTIES LABELS engine TIMEOUT 900 ENVIRONMENT ASSAY_ISA=${set})
endforeach()
