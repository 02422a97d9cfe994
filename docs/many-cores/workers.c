/* workers RANKS BYTES ROUNDS [SKEW]: an exchange of every worker with every other one, all workers in one
 * thread, so that no worker waits and counts are the same in every run. callgrind can count the sends of
 * worker 0 (inside of count_send()), its receives (count_receive()), and a thousand looks of it that find
 * nothing (count_idle()). SKEW: before these looks, worker i sends i * SKEW messages more to worker 0, so
 * that its windows no longer stand at the same place. docs/many-cores.md has the command lines.
 */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "stria/stria.h"

#define MOST 256
static int ranks, bytes;
static stria_worker_t* worker[MOST];
static stria_endpoint_t* to[MOST][MOST];
static stria_request_t sending[MOST][MOST], receiving[MOST];
static char *out, *in;

static void expect(stria_status_t status) {
  if (status >= STRIA_OK) return;
  puts(stria_last_error());
  exit(1);
}

static void progress(int i, int times) {
  while (times-- > 0) stria_worker_progress(worker[i]);
}

static void send_to(int i, int other) {
  const stria_send_t send = {.base = out, .count = bytes, .tag = i};
  expect(stria_send(to[i][other], &send, &sending[i][other]));
}

static void receive_from(int i, int other) {
  const stria_recv_t recv = {.base = in, .count = bytes, .match = {to[i][other], other, 0}};
  expect(stria_recv(worker[i], &recv, &receiving[other]));
}

static int has_come(int other) {
  stria_info_t info;
  return stria_request_test(&receiving[other], &info) != STRIA_IN_PROGRESS;
}

static void send_all(int i) {
  for (int d = 1; d < ranks; ++d) send_to(i, (i + d) % ranks);
}

static void receive_all(int i) {
  for (int d = 1; d < ranks; ++d) receive_from(i, (i + ranks - d) % ranks);
  for (int d = 1; d < ranks; ++d)
    while (!has_come((i + ranks - d) % ranks))
      if (stria_worker_progress(worker[i]) == 0)
        for (int other = 0; other < ranks; ++other) progress(other, 1);
}

__attribute__((noinline)) void count_send(void) {
  send_all(0);
}
__attribute__((noinline)) void count_receive(void) {
  receive_all(0);
}
__attribute__((noinline)) void count_idle(void) {
  progress(0, 1000);
}

static void connect_all(void) {
  for (int i = 0; i < ranks; ++i)
    for (int j = 0; j < ranks; ++j) {
      char address[STRIA_ADDRESS_MAX];
      stria_endpoint_params_t params = {
          .size = sizeof params, .address = address, .address_bytes = sizeof address};
      expect(stria_worker_address(worker[j], address, &params.address_bytes));
      expect(stria_endpoint_open(worker[i], &params, &to[i][j]));
    }
  /* As ranks do that run side by side: each to the next one first. */
  for (int d = 1; d < ranks; ++d)
    for (int i = 0; i < ranks; ++i) {
      send_to(i, (i + d) % ranks);
      progress(i, 1);
    }
  for (int i = 0; i < ranks; ++i) receive_all(i);
}

static double ns_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1e9 + now.tv_nsec;
}

/* The least of many, as the machine may have other work. */
static double ns_of_a_look(void) {
  double least = 1e9;
  for (int i = 0; i < 300; ++i) {
    const double begin = ns_now();
    progress(0, 100);
    const double each = (ns_now() - begin) / 100;
    if (each < least) least = each;
  }
  return least;
}

int main(int argc, char** argv) {
  stria_context_t* context = NULL;
  if (argc < 4) return 2;
  ranks = atoi(argv[1]);
  bytes = atoi(argv[2]);
  const int rounds = atoi(argv[3]), skew = argc > 4 ? atoi(argv[4]) : 0;
  if (ranks < 2 || ranks > MOST) return 2;
  out = calloc(1, bytes + 1);
  in = calloc(1, bytes + 1);
  expect(stria_context_open(NULL, &context));
  for (int i = 0; i < ranks; ++i) expect(stria_worker_open(context, NULL, &worker[i]));
  connect_all();
  for (int round = -1; round < rounds; ++round) {
    if (round < 0)
      send_all(0);
    else
      count_send();
    for (int i = 1; i < ranks; ++i) send_all(i);
    if (round < 0)
      receive_all(0);
    else
      count_receive();
    for (int i = 1; i < ranks; ++i) receive_all(i);
    for (int i = 0; i < ranks; ++i) progress(i, 3);
  }
  for (int i = 1; i < ranks; ++i)
    for (int more = i * skew; more > 0; --more) {
      receive_from(0, i);
      send_to(i, 0);
      while (!has_come(i)) progress(0, 1);
    }
  printf("a look that finds nothing: %.1f ns\n", ns_of_a_look());
  count_idle();
  unsigned long long windows = 0, buffered = 0;
  for (int i = 0; i < ranks; ++i) {
    stria_counters_t one = {.size = sizeof one};
    expect(stria_worker_counters(worker[i], &one));
    windows += one.sent_pio;
    buffered += one.sent_buffered;
  }
  printf("%d ranks, %d bytes: %llu by windows, %llu buffered\n", ranks, bytes, windows, buffered);
  fflush(stdout);
  _Exit(0); /* nothing is closed: that is not what is counted */
}
