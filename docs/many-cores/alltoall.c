/* alltoall BYTES ROUNDS [COMMAND]: an exchange of every rank with every other one, and by which path the
 * messages of all ranks went. callgrind can count inside of stria_counted(). COMMAND is run at the end, as a
 * child of rank 0, while all ranks are there. docs/many-cores.md has the command lines.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNTERS 4
static const char* const kNames[COUNTERS] = {"pml_stria_sent_pio", "pml_stria_sent_buffered",
                                             "pml_stria_sent_rendezvous", "pml_stria_fallbacks"};
static int bytes;
static char *out, *in;

static void exchange(int rounds) {
  for (int i = 0; i < rounds; ++i) MPI_Alltoall(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, MPI_COMM_WORLD);
}

__attribute__((noinline)) void stria_counted(int rounds) {
  exchange(rounds);
}

int main(int argc, char** argv) {
  int rank = 0, size = 0, ignored = 0, number = 0;
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handles[COUNTERS];
  unsigned long long here[COUNTERS] = {0}, all[COUNTERS] = {0};
  MPI_Init(&argc, &argv);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &ignored);
  MPI_T_pvar_session_create(&session);
  for (int i = 0; i < COUNTERS;
       ++i) { /* they count from here on; another layer than stria has none of them */
    handles[i] = MPI_T_PVAR_HANDLE_NULL;
    if (MPI_T_pvar_get_index(kNames[i], MPI_T_PVAR_CLASS_COUNTER, &number) == MPI_SUCCESS)
      MPI_T_pvar_handle_alloc(session, number, NULL, &handles[i], &ignored);
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bytes = argc > 1 ? atoi(argv[1]) : 8;
  out = calloc(size, bytes + 1);
  in = calloc(size, bytes + 1);
  exchange(2); /* all are connected */
  stria_counted(argc > 2 ? atoi(argv[2]) : 10);
  for (int i = 0; i < COUNTERS; ++i)
    if (handles[i] != MPI_T_PVAR_HANDLE_NULL) MPI_T_pvar_read(session, handles[i], &here[i]);
  MPI_Reduce(here, all, COUNTERS, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d ranks, %d bytes: %llu by windows, %llu buffered, %llu announced, %llu fallbacks\n", size,
           bytes, all[0], all[1], all[2], all[3]);
  fflush(stdout);
  if (rank == 0 && argc > 3 && system(argv[3]) != 0) puts("the command failed");
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
