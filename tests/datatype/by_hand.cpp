#include "tests/datatype/by_hand.hpp"

#include <cstring>
#include <utility>

namespace stria::by_hand {

void gather(const double* from, std::int64_t stride, std::int64_t doubles, std::int64_t count, double* to) {
  if (doubles == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i] = from[i * stride];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < doubles; ++j) to[i * doubles + j] = from[i * stride + j];
}
void scatter(const double* from, double* to, std::int64_t stride, std::int64_t doubles, std::int64_t count) {
  if (doubles == 1) {
    for (std::int64_t i = 0; i < count; ++i) to[i * stride] = from[i];
    return;
  }
  for (std::int64_t i = 0; i < count; ++i)
    for (std::int64_t j = 0; j < doubles; ++j) to[i * stride + j] = from[i * doubles + j];
}

void gather_list(const double* from, const int* places, const int* lengths, std::int64_t n, double* to) {
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (int j = 0; j < lengths[i]; ++j) to[k++] = from[places[i] + j];
}
void scatter_list(const double* from, double* to, const int* places, const int* lengths, std::int64_t n) {
  std::int64_t k = 0;
  for (std::int64_t i = 0; i < n; ++i)
    for (int j = 0; j < lengths[i]; ++j) to[places[i] + j] = from[k++];
}

void move_list(const double* from, double* to, const int* places, const int* lengths, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i)
    for (int j = 0; j < lengths[i]; ++j) to[places[i] + j] = from[places[i] + j];
}

void gather_bytes(const std::byte* from, const std::int64_t* places, const std::int64_t* lengths,
                  std::int64_t n, std::byte* to) {
  for (std::int64_t i = 0; i < n; to += lengths[i], ++i)
    std::memcpy(to, from + places[i], static_cast<std::size_t>(lengths[i]));
}
void scatter_bytes(const std::byte* from, std::byte* to, const std::int64_t* places,
                   const std::int64_t* lengths, std::int64_t n) {
  for (std::int64_t i = 0; i < n; from += lengths[i], ++i)
    std::memcpy(to + places[i], from, static_cast<std::size_t>(lengths[i]));
}

namespace {
/// Calls step(place in memory, place in the stream, a constant size) for every element.
template <class Step>
void each_particle(std::int64_t room, const std::int64_t* chosen, std::int64_t n, Step step) {
  std::int64_t array = 0, stream = 0;
  const auto each = [&]<std::int64_t kBytes>() {
    for (std::int64_t i = 0; i < n; ++i, stream += kBytes)
      step.template operator()<kBytes>(array + chosen[i] * kBytes, stream);
    array += room * kBytes;
  };
  [&]<std::size_t... kI>(std::index_sequence<kI...>) {
    (each.template operator()<kElementBytes[kI]>(), ...);
  }
  (std::make_index_sequence<kArrays>());
}
}  // namespace

void gather_particles(const std::byte* from, std::int64_t room, const std::int64_t* chosen, std::int64_t n,
                      std::byte* to) {
  each_particle(room, chosen, n, [=]<std::int64_t kBytes>(std::int64_t memory, std::int64_t stream) {
    std::memcpy(to + stream, from + memory, kBytes);
  });
}
void scatter_particles(const std::byte* from, std::byte* to, std::int64_t room, const std::int64_t* chosen,
                       std::int64_t n) {
  each_particle(room, chosen, n, [=]<std::int64_t kBytes>(std::int64_t memory, std::int64_t stream) {
    std::memcpy(to + memory, from + stream, kBytes);
  });
}

void gather_records(const Record* from, std::int64_t n, std::byte* to) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(to, &from[i].d, sizeof(double));
    std::memcpy(to + 8, &from[i].i, sizeof(int));
    std::memcpy(to + 12, &from[i].c, 1);
    to += 13;
  }
}
void scatter_records(const std::byte* from, Record* to, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) {
    std::memcpy(&to[i].d, from, sizeof(double));
    std::memcpy(&to[i].i, from + 8, sizeof(int));
    std::memcpy(&to[i].c, from + 12, 1);
    from += 13;
  }
}

void transpose(const double* from, std::int64_t n, double* to) {
  for (std::int64_t j = 0; j < n; ++j)
    for (std::int64_t i = 0; i < n; ++i) to[j * n + i] = from[i * n + j];
}

void move_column(const double* from, std::int64_t from_stride, double* to, std::int64_t to_stride,
                 std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) to[i * to_stride] = from[i * from_stride];
}

}  // namespace stria::by_hand
