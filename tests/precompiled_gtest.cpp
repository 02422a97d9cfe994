// Nothing: what is wanted of its target is the precompiled header. cmake/StriaTargets.cmake, stria_gtest().
