/* Two processes, started on their own, play ping-pong with tagged messages. All they exchange beforehand are
 * the bytes of one worker address, in a file; the second process sends its own address as its first message.
 *
 *   tag_pingpong server.addr              waits for the other one
 *   tag_pingpong --connect server.addr    starts it
 *
 * Every message carries a pattern of its round trip, and each side checks every byte it receives.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "stria/stria.h"

enum { kTagHello = 1, kTagPing = 2, kTagPong = 3 };
enum { kRounds = 200, kPatienceMs = 30000 };
/* Around the places where the way of a message changes: PIO, buffered, rendezvous. */
static const uint64_t kSizes[] = {0, 1, 8, 1024, 4096, 16384, 16385, 65536, 1048576};
enum { kSizeCount = sizeof kSizes / sizeof kSizes[0], kLongest = 1048576 };

static void fail(const char* what, stria_status_t status) {
  fprintf(stderr, "tag_pingpong: %s: %s: %s\n", what, stria_status_string(status), stria_last_error());
  exit(1);
}
static void need(const char* what, stria_status_t status) {
  if (status < STRIA_OK) fail(what, status);
}

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* Written beside and renamed, so that a reader finds the whole address or no file. */
static void write_address(const char* path, const void* bytes, size_t size) {
  char beside[4096];
  snprintf(beside, sizeof beside, "%s.part", path);
  FILE* file = fopen(beside, "wb");
  if (file == NULL || fwrite(bytes, 1, size, file) != size || fclose(file) != 0 ||
      rename(beside, path) != 0) {
    perror(path);
    exit(1);
  }
}

static size_t read_address(const char* path, void* bytes, size_t room) {
  for (int waited_ms = 0; waited_ms < kPatienceMs; waited_ms += 10) {
    FILE* file = fopen(path, "rb");
    if (file != NULL) {
      const size_t size = fread(bytes, 1, room, file);
      fclose(file);
      return size;
    }
    usleep(10000);
  }
  fprintf(stderr, "tag_pingpong: %s did not appear within %d s\n", path, kPatienceMs / 1000);
  exit(1);
}

static stria_endpoint_t* open_endpoint(stria_worker_t* worker, const void* address, size_t bytes) {
  const stria_endpoint_params_t params = {.size = sizeof params,
                                          .address = address,
                                          .address_bytes = bytes,
                                          .endpoint_class = STRIA_CLASS_LOW_LATENCY};
  stria_endpoint_t* endpoint = NULL;
  need("opening the endpoint", stria_endpoint_open(worker, &params, &endpoint));
  return endpoint;
}

static void send_message(stria_endpoint_t* peer, uint64_t tag, const void* data, uint64_t bytes) {
  const stria_send_t send = {.base = data, .count = bytes, .tag = tag};
  need("sending", stria_send_wait(peer, &send));
}

static stria_info_t receive_message(stria_worker_t* worker, uint64_t tag, void* data, uint64_t room) {
  const stria_recv_t recv = {.base = data, .count = room, .match = {.tag = tag}};
  stria_request_t request;
  stria_info_t info;
  need("receiving", stria_recv(worker, &recv, &request));
  const double until_us = now_us() + kPatienceMs * 1e3;
  stria_status_t status;
  while ((status = stria_request_test(&request, &info)) == STRIA_IN_PROGRESS) {
    need("waiting", stria_worker_wait(worker, 1000));
    if (now_us() < until_us) continue;
    fprintf(stderr, "tag_pingpong: nothing came within %d s\n", kPatienceMs / 1000);
    exit(1);
  }
  need("receiving", status);
  return info;
}

static unsigned char pattern(uint64_t i, unsigned round, unsigned direction) {
  return (unsigned char)(i * 7 + round * 31 + direction * 101 + (i >> 8));
}
static void fill(unsigned char* data, uint64_t bytes, unsigned round, unsigned direction) {
  for (uint64_t i = 0; i < bytes; ++i) data[i] = pattern(i, round, direction);
}
static void verify(const unsigned char* data, const stria_info_t* info, uint64_t bytes, unsigned round,
                   unsigned direction) {
  if (info->length != bytes || info->received != bytes) {
    fprintf(stderr, "tag_pingpong: expected %llu bytes, got %llu\n", (unsigned long long)bytes,
            (unsigned long long)info->received);
    exit(1);
  }
  for (uint64_t i = 0; i < bytes; ++i) {
    if (data[i] == pattern(i, round, direction)) continue;
    fprintf(stderr, "tag_pingpong: byte %llu of %llu is wrong in round %u\n", (unsigned long long)i,
            (unsigned long long)bytes, round);
    exit(1);
  }
}

/* One size: both sides fill and check every round; the time includes that work. */
static void play(stria_worker_t* worker, stria_endpoint_t* peer, int starts, uint64_t bytes,
                 unsigned char* out, unsigned char* in) {
  const unsigned rounds = bytes > 65536 ? kRounds / 10 : kRounds;
  const double begin_us = now_us();
  for (unsigned round = 0; round < rounds; ++round) {
    if (starts) {
      fill(out, bytes, round, 0);
      send_message(peer, kTagPing, out, bytes);
    }
    memset(in, 0xee, bytes);
    const stria_info_t info = receive_message(worker, starts ? kTagPong : kTagPing, in, kLongest);
    verify(in, &info, bytes, round, starts ? 1 : 0);
    if (!starts) {
      fill(out, bytes, round, 1);
      send_message(peer, kTagPong, out, bytes);
    }
  }
  if (starts)
    printf("%8llu bytes  %10.2f us one way, filling and checking included\n", (unsigned long long)bytes,
           (now_us() - begin_us) / (2.0 * rounds));
}

int main(int argc, char** argv) {
  const int starts = argc == 3 && strcmp(argv[1], "--connect") == 0;
  if (!starts && (argc != 2 || argv[1][0] == '-')) {
    fprintf(stderr,
            "usage: tag_pingpong FILE             write the address to FILE and wait for the peer\n"
            "       tag_pingpong --connect FILE   read the address from FILE and start\n");
    return 2;
  }
  const char* path = argv[argc - 1];

  stria_context_t* context = NULL;
  stria_worker_t* worker = NULL;
  need("opening the context", stria_context_open(NULL, &context));
  need("opening the worker", stria_worker_open(context, NULL, &worker));

  unsigned char own[STRIA_ADDRESS_MAX];
  unsigned char theirs[STRIA_ADDRESS_MAX];
  size_t own_bytes = sizeof own;
  need("asking for the address", stria_worker_address(worker, own, &own_bytes));

  stria_endpoint_t* peer = NULL;
  if (starts) {
    const size_t bytes = read_address(path, theirs, sizeof theirs);
    peer = open_endpoint(worker, theirs, bytes);
    send_message(peer, kTagHello, own, own_bytes);
  } else {
    write_address(path, own, own_bytes);
    const stria_info_t hello = receive_message(worker, kTagHello, theirs, sizeof theirs);
    peer = open_endpoint(worker, theirs, hello.received);
    unlink(path);
  }

  unsigned char* out = malloc(kLongest);
  unsigned char* in = malloc(kLongest);
  if (out == NULL || in == NULL) return 1;
  for (int i = 0; i < kSizeCount; ++i) play(worker, peer, starts, kSizes[i], out, in);

  if (starts) {
    stria_endpoint_state_t state = {.size = sizeof state};
    need("asking the endpoint", stria_endpoint_info(peer, &state));
    printf("all bytes right; provider %s, path: %s\n", state.provider, state.path);
  }
  free(out);
  free(in);
  need("closing the endpoint", stria_endpoint_close(peer));
  need("closing the worker", stria_worker_close(worker));
  need("closing the context", stria_context_close(context));
  return 0;
}
