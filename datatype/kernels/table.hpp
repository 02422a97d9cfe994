// Fills a table of kernels (kernels.hpp) from the functions of one kind of processor. The class `Target` has
// them as templates, compiled for that processor: strided<B>, nest<B, kBytes>, indexed<kPack, B> and
// indexed_across<B> for a class B of blocks (block.hpp); blocks<kPack> and blocks_across<> for blocks of
// several classes; run; and kVector, the vector size of its loops.
#pragma once

#include <type_traits>

#include "datatype/kernels/kernels.hpp"

namespace stria::datatype::kernel {

/// Sets the functions for one class of blocks. kBytes: the most bytes of a block of the class, for the buffer
/// in which squares of blocks are transposed; 0 where they are never transposed.
template <class Target, class B, std::int64_t kBytes>
constexpr void fill_row(Kernels& table, Width width) {
  table.strided[width] = &Target::template strided<B>;
  table.nest[width] = &Target::template nest<B, kBytes>;
  table.narrow.indexed[kPacking][width] = &Target::template indexed<true, B, std::int32_t>;
  table.narrow.indexed[kUnpacking][width] = &Target::template indexed<false, B, std::int32_t>;
  table.wide.indexed[kPacking][width] = &Target::template indexed<true, B, std::int64_t>;
  table.wide.indexed[kUnpacking][width] = &Target::template indexed<false, B, std::int64_t>;
  table.narrow.indexed_across[width] = &Target::template indexed_across<B, std::int32_t>;
  table.wide.indexed_across[width] = &Target::template indexed_across<B, std::int64_t>;
}

template <class Target>
constexpr Kernels make_table(const char* name) {
  Kernels table;
  table.name = name;
  fill_row<Target, Fixed<1>, 1>(table, k1);
  fill_row<Target, Fixed<2>, 2>(table, k2);
  fill_row<Target, Fixed<4>, 4>(table, k4);
  fill_row<Target, Fixed<8>, 8>(table, k8);
  fill_row<Target, Fixed<16>, 16>(table, k16);
  fill_row<Target, Fixed<32>, 32>(table, k32);
  fill_row<Target, Fixed<64>, 0>(table, k64);
  fill_row<Target, Twice<2>, 3>(table, kTo3);
  fill_row<Target, Twice<4>, 7>(table, kTo7);
  fill_row<Target, Twice<8>, 15>(table, kTo15);
  fill_row<Target, Twice<16>, 31>(table, kTo31);
  fill_row<Target, Twice<32>, 63>(table, kTo63);
  fill_row<Target, Loop<Target::kVector>, 0>(table, kLoop);
  fill_row<Target, Long<Target::kVector>, 0>(table, kLong);
  table.run = &Target::run;
  table.narrow.blocks = {&Target::template blocks<true, std::int32_t>,
                         &Target::template blocks<false, std::int32_t>};
  table.wide.blocks = {&Target::template blocks<true, std::int64_t>,
                       &Target::template blocks<false, std::int64_t>};
  table.narrow.blocks_across = &Target::template blocks_across<std::int32_t>;
  table.wide.blocks_across = &Target::template blocks_across<std::int64_t>;
  return table;
}

/// Side, in blocks, of the squares in which blocks of up to `bytes` are transposed: a cache line, at most 16
/// and at least 2 blocks.
constexpr std::int64_t side_of(std::int64_t bytes) {
  return bytes <= 4 ? 16 : bytes <= 8 ? 8 : bytes <= 16 ? 4 : 2;
}
template <class B, std::int64_t kBytes>
using Plain = std::conditional_t<kBytes == 0, NoSquare, PlainSquare<B, side_of(kBytes), kBytes>>;

}  // namespace stria::datatype::kernel
