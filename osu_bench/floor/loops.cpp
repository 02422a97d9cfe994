#include "osu_bench/floor/loops.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace stria::bench {
namespace {

struct Run {
  std::int64_t at;
  std::int64_t bytes;
};

constexpr std::size_t kFewest = 16;   // runs of one length that are worth a loop
constexpr std::int64_t kLong = 256;   // bytes of a run that is copied by itself
constexpr std::int64_t kElement = 8;  // of irregular runs, where it divides them

std::vector<Run> runs_of(const Recipe& shape) {
  std::vector<Run> runs;
  shape.walk(0, [&](std::int64_t at, std::int64_t bytes) {
    if (!runs.empty() && runs.back().at + runs.back().bytes == at) {
      runs.back().bytes += bytes;
    } else {
      runs.push_back({at, bytes});
    }
  });
  return runs;
}

/// Runs of one length as strided loops, or as one listed loop where the strides change all the time.
void add_equal(std::vector<Loop>& loops, const Run* first, std::size_t count) {
  std::vector<Loop> strided;
  for (std::size_t i = 0; i < count;) {
    Loop loop{Loop::Kind::strided, first[i].at, first[i].bytes};
    if (i + 1 < count) loop.stride = first[i + 1].at - first[i].at;
    std::size_t end = i + 1;
    while (end < count && first[end].at - first[end - 1].at == loop.stride) ++end;
    loop.blocks = static_cast<std::int64_t>(end - i);
    strided.push_back(loop);
    i = end;
  }
  if (strided.size() <= count / kFewest) {
    loops.insert(loops.end(), strided.begin(), strided.end());
    return;
  }
  Loop listed{Loop::Kind::listed, 0, first->bytes};
  for (std::size_t i = 0; i < count; ++i) listed.places.push_back(first[i].at);
  listed.blocks = static_cast<std::int64_t>(count);
  loops.push_back(std::move(listed));
}

void add_irregular(std::vector<Loop>& loops, const Run& run) {
  if (loops.empty() || loops.back().kind != Loop::Kind::irregular) {
    loops.push_back({Loop::Kind::irregular});
    loops.back().blocks = 0;
    loops.back().element = kElement;
  }
  Loop& loop = loops.back();
  loop.places.push_back(run.at);
  loop.lengths.push_back(run.bytes);
  if (run.bytes % kElement != 0) loop.element = 1;
  ++loop.blocks;
}

// The copies. The length of a block is a constant to the compiler where it is one of the usual ones, as it is
// in a loop over a known type.
template <class Copy>
void with_length(std::int64_t bytes, Copy&& copy) {
  switch (bytes) {
    case 4:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 4); });
    case 8:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 8); });
    case 12:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 12); });
    case 13:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 13); });
    case 24:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 24); });
    case 32:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 32); });
    case 48:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 48); });
    case 64:
      return copy([](std::byte* to, const std::byte* from) { std::memcpy(to, from, 64); });
    default:
      break;
  }
  const auto length = static_cast<std::size_t>(bytes);
  copy([length](std::byte* to, const std::byte* from) { std::memcpy(to, from, length); });
}

template <bool Gather>
void move(std::byte* packed, std::byte* memory, const auto& one) {
  if constexpr (Gather) {
    one(packed, memory);
  } else {
    one(memory, packed);
  }
}

template <bool Gather>
void move_irregular(const Loop& loop, const Part& part, std::byte* base, std::byte* packed) {
  // What the loop reads is in variables of its own: its stores could change it for all the compiler knows.
  const std::int64_t* const places = loop.places.data();
  const std::int64_t* const lengths = loop.lengths.data();
  const bool by_elements = loop.element == kElement;
  for (std::int64_t i = part.first; i < part.last; ++i) {
    std::byte* const memory = base + places[i];
    const std::int64_t length = lengths[i];
    if (by_elements) {
      for (std::int64_t j = 0; j < length; j += kElement) {
        move<Gather>(packed + j, memory + j,
                     [](std::byte* to, const std::byte* from) { std::memcpy(to, from, kElement); });
      }
    } else {
      move<Gather>(packed, memory, [length](std::byte* to, const std::byte* from) {
        std::memcpy(to, from, static_cast<std::size_t>(length));
      });
    }
    packed += length;
  }
}

template <bool Gather>
void move_part(const Loop& loop, const Part& part, std::byte* base, std::byte* packed) {
  switch (loop.kind) {
    case Loop::Kind::plain: {
      const auto bytes = static_cast<std::size_t>(part.bytes);
      move<Gather>(packed, base + loop.at + part.first,
                   [bytes](std::byte* to, const std::byte* from) { std::memcpy(to, from, bytes); });
      return;
    }
    case Loop::Kind::strided:
      with_length(loop.block, [&](const auto& one) {
        std::byte* memory = base + loop.at + part.first * loop.stride;
        std::byte* to = packed;
        const std::int64_t stride = loop.stride, block = loop.block;
        for (std::int64_t left = part.last - part.first; left > 0; --left, memory += stride, to += block) {
          move<Gather>(to, memory, one);
        }
      });
      return;
    case Loop::Kind::listed:
      with_length(loop.block, [&](const auto& one) {
        const std::int64_t* place = loop.places.data() + part.first;
        std::byte* to = packed;
        const std::int64_t block = loop.block;
        for (std::int64_t left = part.last - part.first; left > 0; --left, ++place, to += block) {
          move<Gather>(to, base + *place, one);
        }
      });
      return;
    case Loop::Kind::irregular:
      move_irregular<Gather>(loop, part, base, packed);
      return;
  }
}

std::int64_t unit_bytes(const Loop& loop, std::int64_t unit) {
  if (loop.kind == Loop::Kind::plain) return 1;
  if (loop.kind == Loop::Kind::irregular) return loop.lengths[static_cast<std::size_t>(unit)];
  return loop.block;
}

std::int64_t units(const Loop& loop) {
  return loop.kind == Loop::Kind::plain ? loop.block : loop.blocks;
}

}  // namespace

Loops::Loops(const Recipe& shape) {
  const std::vector<Run> runs = runs_of(shape);
  for (std::size_t i = 0; i < runs.size();) {
    std::size_t end = i + 1;
    while (end < runs.size() && runs[end].bytes == runs[i].bytes) ++end;
    if (end - i >= kFewest) {
      add_equal(loops_, &runs[i], end - i);
      i = end;
      continue;
    }
    for (; i < end; ++i) {
      if (runs[i].bytes >= kLong) {
        loops_.push_back({Loop::Kind::plain, runs[i].at, runs[i].bytes});
      } else {
        add_irregular(loops_, runs[i]);
      }
    }
  }
}

bool Loops::is_plain() const {
  return std::all_of(loops_.begin(), loops_.end(),
                     [](const Loop& loop) { return loop.kind == Loop::Kind::plain; });
}

std::vector<std::int64_t> Loops::cuts(std::int64_t most) const {
  std::vector<std::int64_t> ends;
  std::int64_t begin = 0;
  std::int64_t at = 0;
  for (const Loop& loop : loops_) {
    for (std::int64_t unit = 0; unit < units(loop);) {
      const std::int64_t length = unit_bytes(loop, unit);
      if (at > begin && at + length - begin > most) {
        ends.push_back(at);
        begin = at;
      }
      // As many equal ones as fit, at least one.
      const std::int64_t fitting =
          loop.kind == Loop::Kind::irregular ? 1 : std::max<std::int64_t>(1, (begin + most - at) / length);
      const std::int64_t taken = std::min(fitting, units(loop) - unit);
      unit += taken;
      at += taken * length;
    }
  }
  if (at > begin) ends.push_back(at);
  return ends;
}

std::vector<std::vector<Part>> Loops::fragments(const std::vector<std::int64_t>& cuts) const {
  std::vector<std::vector<Part>> all;
  std::size_t loop = 0;
  std::int64_t unit = 0;
  std::int64_t at = 0;
  for (const std::int64_t end : cuts) {
    std::vector<Part> parts;
    while (at < end) {
      Part part{loop, unit, unit, 0};
      const Loop& of = loops_[loop];
      if (of.kind == Loop::Kind::irregular) {
        while (part.last < units(of) && at + part.bytes < end) part.bytes += unit_bytes(of, part.last++);
      } else {
        part.last = std::min(units(of), unit + (end - at) / unit_bytes(of, unit));
        part.bytes = (part.last - part.first) * unit_bytes(of, unit);
      }
      at += part.bytes;
      unit = part.last;
      if (unit == units(of)) {
        ++loop;
        unit = 0;
      }
      parts.push_back(part);
    }
    all.push_back(std::move(parts));
  }
  return all;
}

std::int64_t Loops::gather(const std::vector<Part>& parts, const std::byte* base, std::byte* to) const {
  std::int64_t done = 0;
  for (const Part& part : parts) {
    move_part<true>(loops_[part.loop], part, const_cast<std::byte*>(base), to + done);
    done += part.bytes;
  }
  return done;
}

std::int64_t Loops::scatter(const std::vector<Part>& parts, const std::byte* from, std::byte* base) const {
  std::int64_t done = 0;
  for (const Part& part : parts) {
    move_part<false>(loops_[part.loop], part, base, const_cast<std::byte*>(from) + done);
    done += part.bytes;
  }
  return done;
}

}  // namespace stria::bench
