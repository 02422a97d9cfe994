# Read by ctest before it runs tests. No test depends on how fast this machine is: the choices that follow from measured
# figures (docs/machine.md) are the defaults, unless whoever starts ctest says otherwise.
if(NOT DEFINED ENV{STRIA_MACHINE})
  set(ENV{STRIA_MACHINE} defaults)
endif()
