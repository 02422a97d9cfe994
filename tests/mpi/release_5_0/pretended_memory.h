/* Where the pretended accelerator has its memory. */
#ifndef STRIA_TEST_PRETENDED_MEMORY_H
#define STRIA_TEST_PRETENDED_MEMORY_H

#include <stdint.h>

#define PRETENDED_MEMORY UINT64_C(0x5e0000000000)
#define PRETENDED_BYTES UINT64_C(0x1000000)

#endif
