#include "datatype/pack.hpp"
#include "datatype/walk.hpp"

namespace stria::datatype {
namespace {

/// Most runs that one call visits. A canonical tree has hardly any runs that touch, but the tree of a peer's
/// descriptor may consist of 2^40 such runs; merging them into one entry would take hours.
constexpr std::size_t kMostRuns = 1 << 16;

/// The sink of a walk (walk.hpp) that appends runs to a bounded list, and merges a run with the run before
/// where the two touch.
class Lister : public RunSink<Lister> {
 public:
  Lister(struct iovec* out, std::size_t max) noexcept : out_(out), max_(max) {}

  bool run(Address memory, std::int64_t bytes) noexcept {
    const auto length = static_cast<std::size_t>(bytes);
    if (seen_++ == kMostRuns) return false;
    if (used_ > 0 && end_ == memory) {
      out_[used_ - 1].iov_len += length;
    } else {
      if (used_ == max_) return false;
      out_[used_++] = {at(memory), length};
    }
    end_ = memory + length;
    covered_ += bytes;
    return true;
  }
  std::size_t used() const noexcept { return used_; }
  std::int64_t covered() const noexcept { return covered_; }

 private:
  struct iovec* out_;
  std::size_t max_;
  std::size_t used_ = 0;
  std::size_t seen_ = 0;
  std::int64_t covered_ = 0;
  Address end_ = 0;
};

}  // namespace

std::size_t iovecs(const Range& memory, struct iovec* out, std::size_t max, std::int64_t* covered) noexcept {
  Lister lister(out, max);
  walk(memory, lister);
  *covered = lister.covered();
  return lister.used();
}

}  // namespace stria::datatype
