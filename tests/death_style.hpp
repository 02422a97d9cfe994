// Death tests whose process is to begin anew, without what this one has learnt once and for all.
#pragma once

#include <gtest/gtest.h>

namespace stria::test {

/// For the rest of the test. The program starts itself, which the system cannot do for a program that an
/// emulator runs: there the process is a copy of this one, made before anything of the kind was learnt.
inline void die_in_new_processes() {
#ifndef STRIA_TEST_EMULATED
  GTEST_FLAG_SET(death_test_style, "threadsafe");
#endif
}

}  // namespace stria::test
