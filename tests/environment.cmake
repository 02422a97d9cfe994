# Read by ctest before it runs tests. What a test counts on does not depend on this machine: neither on how fast it is
# (the choices that follow from measured figures, docs/machine.md, are the defaults), nor on how long a probe took
# whose process waited for a processor (peers are near). Whoever starts ctest may say otherwise.
if(NOT DEFINED ENV{STRIA_MACHINE})
  set(ENV{STRIA_MACHINE} defaults)
endif()
if(NOT DEFINED ENV{STRIA_SHM_DISTANCE})
  set(ENV{STRIA_SHM_DISTANCE} near)
endif()
