# How a program is run in the laboratory: stria_lab_test().
set(STRIA_LAB ${PROJECT_SOURCE_DIR}/tools/lab)
set(STRIA_LAB_FOLDER ${CMAKE_CURRENT_LIST_DIR})

# For Open MPI's jobs that lose no packets: a guest on a busy machine does not answer for seconds, which rxe takes for loss.
set(STRIA_LAB_PATIENT OMPI_MCA_pml_stria_verbs_ack_timeout=20)

# stria_lab_checks(name [SETTINGS NAME=VALUE ...] CHECKS "words" ...): adds checks to the ctest entry lab.name, which runs them
# in the order in which they are added. A check is a shell command; SETTINGS are variables of these checks only.
function(stria_lab_checks name)
  cmake_parse_arguments(ARG "" "" "CHECKS;SETTINGS" ${ARGN})
  list(JOIN ARG_SETTINGS " " settings)
  foreach(check ${ARG_CHECKS})
    string(STRIP "${settings} ${check}" check)
    set_property(GLOBAL APPEND PROPERTY STRIA_LAB_CHECKS_${name} ${check})
  endforeach()
endfunction()

# stria_lab_test(name KIND kind [FIRST] [WAITS] [TIMEOUT s] [SETTINGS NAME=VALUE ...]): one ctest entry named lab.name that
# boots the guests of KIND (tools/lab) once and runs in them each of the checks that stria_lab_checks() has added. A boot
# takes 3.5 s of a processor a guest, so checks that need the same guests share an entry.
#   FIRST     on lab0 only, while lab1 does what lab-on asks for
#   WAITS     two guests of which mostly only one has something to do: one processor is enough for both
#   TIMEOUT   seconds for all checks together, default 120; ctest waits longer, for a first download and, of two guests that
#             do not reach each other any more when a check failed, for a second try in fresh ones (tools/lab --again)
#   SETTINGS  variables of all checks, and of `each`
# Where the machine cannot have a laboratory the test is skipped and says why. One pair of guests runs at a time.
function(stria_lab_test name)
  cmake_parse_arguments(ARG "FIRST;WAITS" "KIND;TIMEOUT" "SETTINGS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  set(options --timeout ${ARG_TIMEOUT} --share ${CMAKE_BINARY_DIR})
  if(ARG_FIRST)
    list(APPEND options --first)
  endif()
  set(patience ${ARG_TIMEOUT})
  if(ARG_KIND MATCHES "2$")
    list(APPEND options --again)
    math(EXPR patience "2 * ${ARG_TIMEOUT}")
  endif()
  foreach(setting ${ARG_SETTINGS})
    list(APPEND options --env ${setting})
  endforeach()
  get_property(checks GLOBAL PROPERTY STRIA_LAB_CHECKS_${name})
  add_test(NAME lab.${name}
           COMMAND ${STRIA_LAB} ${ARG_KIND} ${options} -- ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/each ${checks})
  if(ARG_KIND MATCHES "2$" AND NOT ARG_WAITS)
    stria_lab_entry(lab.${name} ${patience} TWO_GUESTS)
  else()
    stria_lab_entry(lab.${name} ${patience})
  endif()
endfunction()

# What every entry that boots guests has in common: its label, that no other boots any meanwhile, and time for a first
# download. TWO_GUESTS: two processors are theirs. All are begun early: they wait for much of their time, and what compiles
# for minutes runs beside them (tests/tools).
function(stria_lab_entry test seconds)
  cmake_parse_arguments(ARG "TWO_GUESTS" "" "" ${ARGN})
  math(EXPR patience "${seconds} + 240")
  set_tests_properties(${test} PROPERTIES LABELS lab TIMEOUT ${patience} SKIP_RETURN_CODE 77 RESOURCE_LOCK lab)
  if(ARG_TWO_GUESTS)
    set_tests_properties(${test} PROPERTIES PROCESSORS 2 COST 700)
  else()
    set_tests_properties(${test} PROPERTIES COST 500)
  endif()
endfunction()
