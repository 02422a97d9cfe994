/* A program outside the tree, in C: one worker sends itself a column of a matrix and checks what arrived. */
#include <stdio.h>
#include <stdlib.h>
#include <stria/provider.h>
#include <stria/stria.h>
#include <string.h>

static void need(const char* what, stria_status_t status) {
  if (status >= STRIA_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, stria_status_string(status), stria_last_error());
  exit(1);
}

int main(void) {
  enum { kRows = 300, kColumns = 7 };
  static double matrix[kRows][kColumns];
  static double column[kRows];
  for (int row = 0; row < kRows; ++row)
    for (int i = 0; i < kColumns; ++i) matrix[row][i] = 100.0 * row + i;

  char wanted[32];
  snprintf(wanted, sizeof wanted, "%d.%d.%d", STRIA_VERSION_MAJOR, STRIA_VERSION_MINOR, STRIA_VERSION_PATCH);
  if (strcmp(stria_version(), wanted) != 0)
    return fprintf(stderr, "header %s, library %s\n", wanted, stria_version()), 1;

  stria_context_t* context = NULL;
  stria_worker_t* worker = NULL;
  stria_endpoint_t* self = NULL;
  stria_layout_t* item = NULL;
  stria_layout_t* strided = NULL;
  need("context_open", stria_context_open(NULL, &context));
  need("worker_open", stria_worker_open(context, NULL, &worker));
  unsigned char address[STRIA_ADDRESS_MAX];
  size_t bytes = sizeof address;
  need("worker_address", stria_worker_address(worker, address, &bytes));
  const stria_endpoint_params_t params = {.size = sizeof params, .address = address, .address_bytes = bytes};
  need("endpoint_open", stria_endpoint_open(worker, &params, &self));
  need("layout_bytes", stria_layout_bytes(sizeof(double), &item));
  need("layout_vector", stria_layout_vector(kRows, 1, sizeof matrix[0], item, &strided));

  stria_request_t sending;
  stria_request_t receiving;
  stria_info_t info;
  const stria_recv_t recv = {.base = column, .count = sizeof column, .match = {.tag = 5}};
  const stria_send_t send = {.base = &matrix[0][3], .layout = strided, .count = 1, .tag = 5, .immediate = 17};
  need("recv", stria_recv(worker, &recv, &receiving));
  const stria_status_t sent = stria_send(self, &send, &sending);
  need("send", sent);
  need("request_wait", stria_request_wait(worker, &receiving, &info));
  if (sent == STRIA_IN_PROGRESS) need("request_wait", stria_request_wait(worker, &sending, NULL));
  int wrong = info.length != sizeof column || info.immediate != 17;
  for (int row = 0; row < kRows; ++row) wrong += column[row] != matrix[row][3];

  stria_layout_free(strided);
  stria_layout_free(item);
  stria_endpoint_close(self);
  stria_worker_close(worker);
  stria_context_close(context);
  printf("stria %s: %s\n", stria_version(), wrong ? "WRONG" : "the column arrived");
  return wrong != 0;
}
