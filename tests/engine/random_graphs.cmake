# SPDX-License-Identifier: Apache-2.0
# A random program beyond those that every run takes, which failed once: something kept for a later phase was not read there, so
# that its text did not compile without a warning.
add_test(NAME engine/test_random_graphs/kept COMMAND test_random_graphs --seed 2024 --first 1071 --count 1)
set_tests_properties(engine/test_random_graphs/kept PROPERTIES LABELS engine TIMEOUT 100)

# As users have them compiled: what a compiler makes of vector code can be wrong where the text is right.
add_test(NAME engine/test_random_graphs/optimised COMMAND test_random_graphs --optimised --seed 601 --first 400 --count 300)
set_tests_properties(engine/test_random_graphs/optimised PROPERTIES LABELS engine TIMEOUT 600)
foreach(program 811:1255 1001:661) # which gcc 12 has got wrong besides
  string(REPLACE ":" ";" at ${program})
  list(GET at 0 seed)
  list(GET at 1 first)
  add_test(NAME engine/test_random_graphs/optimised_${seed} COMMAND test_random_graphs --optimised --seed ${seed} --first ${first} --count 1)
  set_tests_properties(engine/test_random_graphs/optimised_${seed} PROPERTIES LABELS engine TIMEOUT 100)
endforeach()
