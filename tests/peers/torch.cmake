# SPDX-License-Identifier: Apache-2.0
# The tests with PyTorch: skipped, with a word how to run them, unless ASSAY_TORCH_PYTHON names one.
# Real PyTorch: runs where ASSAY_TORCH_PYTHON names a Python that has one, otherwise says that it did not and how to.
add_test(NAME peers/torch COMMAND ${CMAKE_CURRENT_SOURCE_DIR}/peers/torch.sh $<TARGET_FILE:assay>)
set_tests_properties(peers/torch PROPERTIES LABELS peers TIMEOUT 900 SKIP_RETURN_CODE 77)
