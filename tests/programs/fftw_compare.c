/* FFTW's distributed transforms against its serial ones: the same seeded input, both ways, every element
 * compared. Each rank holds a slab; the transposes inside FFTW exchange all of it, contiguous and in pieces.
 */
#include <complex.h>
#include <fftw3-mpi.h>
#include <math.h>
#include <mpi.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { kMaxRank = 3 };

/* A value that depends on the element's place only, so that a slab in the wrong place is seen. */
static fftw_complex place_value(uint64_t seed, uint64_t index) {
  uint64_t z = seed + index * UINT64_C(0x9e3779b97f4a7c15);
  z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
  z ^= z >> 31;
  const double real = (double)(z >> 32) / 4294967296.0 - 0.5;
  const double imaginary = (double)(z & 0xffffffffu) / 4294967296.0 - 0.5;
  return real + imaginary * I;
}

static fftw_complex* make_buffer(ptrdiff_t elements) {
  fftw_complex* const buffer = fftw_alloc_complex((size_t)(elements > 0 ? elements : 1));
  if (buffer == NULL) {
    fprintf(stderr, "no memory for %td elements\n", elements);
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  return buffer;
}

/* One shape, one direction. Returns the largest error relative to the size of the result, on all ranks. */
static double compare(int dimensions, const ptrdiff_t* shape, int sign, unsigned flags, uint64_t seed) {
  ptrdiff_t total = 1;
  ptrdiff_t row = 1;
  int serial_shape[kMaxRank];
  for (int d = 0; d < dimensions; ++d) {
    total *= shape[d];
    row *= d > 0 ? shape[d] : 1;
    serial_shape[d] = (int)shape[d];
  }

  fftw_complex* const expected = make_buffer(total);
  fftw_plan serial = fftw_plan_dft(dimensions, serial_shape, expected, expected, sign, FFTW_ESTIMATE);
  for (ptrdiff_t i = 0; i < total; ++i) expected[i] = place_value(seed, (uint64_t)i);
  fftw_execute(serial);

  ptrdiff_t in_rows = 0, in_first = 0, out_rows = 0, out_first = 0;
  ptrdiff_t needed = 0;
  if (dimensions == 1) {
    needed = fftw_mpi_local_size_1d(shape[0], MPI_COMM_WORLD, sign, flags, &in_rows, &in_first, &out_rows,
                                    &out_first);
  } else {
    needed = fftw_mpi_local_size(dimensions, shape, MPI_COMM_WORLD, &in_rows, &in_first);
    out_rows = in_rows;
    out_first = in_first;
  }
  fftw_complex* const mine = make_buffer(needed);
  fftw_plan parallel = fftw_mpi_plan_dft(dimensions, shape, mine, mine, MPI_COMM_WORLD, sign, flags);
  if (serial == NULL || parallel == NULL) {
    fprintf(stderr, "no plan\n");
    MPI_Abort(MPI_COMM_WORLD, 3);
  }
  for (ptrdiff_t i = 0; i < in_rows * row; ++i) mine[i] = place_value(seed, (uint64_t)(in_first * row + i));
  fftw_execute(parallel);

  double worst[2] = {0.0, 0.0}; /* error, magnitude */
  for (ptrdiff_t i = 0; i < out_rows * row; ++i) {
    const double error = cabs(mine[i] - expected[out_first * row + i]);
    worst[0] = !(error <= worst[0]) ? error : worst[0]; /* a NaN stays */
    worst[1] = fmax(worst[1], cabs(expected[out_first * row + i]));
  }
  MPI_Allreduce(MPI_IN_PLACE, worst, 2, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  fftw_destroy_plan(parallel);
  fftw_destroy_plan(serial);
  fftw_free(mine);
  fftw_free(expected);
  return worst[0] / worst[1];
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  fftw_mpi_init();
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;
  /* Small enough for eager messages, odd so that slabs are unequal (or empty), large enough for rendezvous.
   */
  static const struct {
    int dimensions;
    ptrdiff_t shape[kMaxRank];
  } cases[] = {{2, {4, 6, 0}},     {2, {3, 5, 0}},      {2, {17, 31, 0}},   {2, {128, 96, 0}},
               {2, {513, 257, 0}}, {2, {1024, 768, 0}}, {3, {5, 7, 11}},    {3, {64, 48, 40}},
               {3, {96, 96, 96}},  {1, {4096, 0, 0}},   {1, {46656, 0, 0}}, {1, {1048576, 0, 0}}};
  int failures = 0;
  int done = 0;
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
    for (int sign = -1; sign <= 1; sign += 2) {
      const double error = compare(cases[c].dimensions, cases[c].shape, sign, FFTW_ESTIMATE, seed + c);
      const int wrong = !(error < 1e-12);
      failures += wrong;
      ++done;
      if (rank == 0) {
        printf("%s %dd %td x %td x %td, sign %+d: error %.2e\n", wrong ? "FAIL" : "ok  ", cases[c].dimensions,
               cases[c].shape[0], cases[c].shape[1], cases[c].shape[2], sign, error);
      }
    }
  }
  if (rank == 0) printf("seed %llu: %d transforms, %d wrong\n", (unsigned long long)seed, done, failures);
  fftw_mpi_cleanup();
  MPI_Finalize();
  return failures > 0;
}
