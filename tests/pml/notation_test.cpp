// A column has many names in MPI, and one layout here: what a message costs is decided by where the bytes
// lie, not by the constructor that a program happened to call. Bounds are the type's own: those of a subarray
// or a resized type say where the next instance lies.
#include <gtest/gtest.h>
#include <mpi.h>

#include <cstddef>
#include <functional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/pml/description_shim.h"

namespace {

/// Makes a type, which is not committed.
using Make = std::function<void(MPI_Datatype* out)>;
struct Notation {
  const char* name;
  Make make;
};

/// The type that `outer` makes of what `inner` makes.
Make of(const Make& inner, const std::function<void(MPI_Datatype, MPI_Datatype*)>& outer) {
  return [=](MPI_Datatype* out) {
    MPI_Datatype made = MPI_DATATYPE_NULL;
    inner(&made);
    outer(made, out);
    MPI_Type_free(&made);
  };
}

/// The first column of a matrix of doubles, row by row.
class Column {
 public:
  Column(int rows, int columns) : rows_(rows), columns_(columns), row_bytes_(columns * MPI_Aint{8}) {
    for (int i = 0; i < rows; ++i) {
      in_doubles_.push_back(i * columns);
      in_bytes_.push_back(i * row_bytes_);
    }
    ones_.resize(in_bytes_.size(), 1);
    doubles_.resize(in_bytes_.size(), MPI_DOUBLE);
  }
  std::vector<Notation> notations() const {
    std::vector<Notation> out = plain();
    const std::vector<Notation> others = nested();
    out.insert(out.end(), others.begin(), others.end());
    return out;
  }

 private:
  Make part(int rows) const {
    return [=, this](MPI_Datatype* out) { MPI_Type_vector(rows, 1, columns_, MPI_DOUBLE, out); };
  }
  /// A double, two hundred of them, and the rest.
  Make uneven(int rows) const {
    return of(part(200), [=, this](MPI_Datatype type, MPI_Datatype* out) {
      MPI_Datatype rest = MPI_DATATYPE_NULL;
      part(rows - 201)(&rest);
      const int ones[] = {1, 1, 1};
      const MPI_Aint at[] = {0, row_bytes_, 201 * row_bytes_};
      const MPI_Datatype types[] = {MPI_DOUBLE, type, rest};
      MPI_Type_create_struct(3, ones, at, types, out);
      MPI_Type_free(&rest);
    });
  }
  Make subarray(int order) const {
    return [=, this](MPI_Datatype* out) {
      int sizes[] = {rows_, columns_}, piece[] = {rows_, 1};
      const int starts[] = {0, 0};
      if (order == MPI_ORDER_FORTRAN) std::swap(sizes[0], sizes[1]), std::swap(piece[0], piece[1]);
      MPI_Type_create_subarray(2, sizes, piece, starts, order, MPI_DOUBLE, out);
    };
  }
  std::vector<Notation> plain() const {
    return {
        {"vector", part(rows_)},
        {"hvector",
         [this](MPI_Datatype* out) { MPI_Type_create_hvector(rows_, 1, row_bytes_, MPI_DOUBLE, out); }},
        {"hvector_of_two_halves",
         [this](MPI_Datatype* out) { MPI_Type_create_hvector(rows_, 2, row_bytes_, MPI_INT, out); }},
        {"indexed",
         [this](MPI_Datatype* out) {
           MPI_Type_indexed(rows_, ones_.data(), in_doubles_.data(), MPI_DOUBLE, out);
         }},
        {"hindexed",
         [this](MPI_Datatype* out) {
           MPI_Type_create_hindexed(rows_, ones_.data(), in_bytes_.data(), MPI_DOUBLE, out);
         }},
        {"indexed_block",
         [this](MPI_Datatype* out) {
           MPI_Type_create_indexed_block(rows_, 1, in_doubles_.data(), MPI_DOUBLE, out);
         }},
        {"hindexed_block",
         [this](MPI_Datatype* out) {
           MPI_Type_create_hindexed_block(rows_, 1, in_bytes_.data(), MPI_DOUBLE, out);
         }},
        {"struct",
         [this](MPI_Datatype* out) {
           MPI_Type_create_struct(rows_, ones_.data(), in_bytes_.data(), doubles_.data(), out);
         }},
        {"subarray", subarray(MPI_ORDER_C)},
        {"subarray_of_fortran", subarray(MPI_ORDER_FORTRAN)},
        {"darray",
         [this](MPI_Datatype* out) {
           const int sizes[] = {rows_, columns_}, processes[] = {1, columns_};
           const int distributions[] = {MPI_DISTRIBUTE_NONE, MPI_DISTRIBUTE_BLOCK};
           const int arguments[] = {MPI_DISTRIBUTE_DFLT_DARG, 1};
           MPI_Type_create_darray(columns_, 0, 2, sizes, distributions, arguments, processes, MPI_ORDER_C,
                                  MPI_DOUBLE, out);
         }},
    };
  }
  std::vector<Notation> nested() const {
    // A double, and the next one a row further.
    const Make wide = [this](MPI_Datatype* out) { MPI_Type_create_resized(MPI_DOUBLE, 0, row_bytes_, out); };
    const auto contiguous = [](int count) {
      return [=](MPI_Datatype type, MPI_Datatype* out) { MPI_Type_contiguous(count, type, out); };
    };
    return {
        {"dup", of(part(rows_), [](MPI_Datatype type, MPI_Datatype* out) { MPI_Type_dup(type, out); })},
        {"contiguous_of_resized", of(wide, contiguous(rows_))},
        {"contiguous_of_contiguous", of(of(wide, contiguous(rows_ / 8)), contiguous(8))},
        {"struct_of_vectors", uneven(rows_)},
        {"hvector_of_structs", of(uneven(rows_ / 2),
                                  [this](MPI_Datatype type, MPI_Datatype* out) {
                                    MPI_Type_create_hvector(2, 1, rows_ / 2 * row_bytes_, type, out);
                                  })},
    };
  }

  const int rows_, columns_;
  const MPI_Aint row_bytes_;
  std::vector<int> ones_, in_doubles_;
  std::vector<MPI_Aint> in_bytes_;
  std::vector<MPI_Datatype> doubles_;
};

/// What a layout is to the code that copies it: the dump, but for the bounds behind the tree.
std::string dump_of(const Make& make) {
  MPI_Datatype type = MPI_DATATYPE_NULL;
  make(&type);
  MPI_Type_commit(&type);
  stria_layout_t* layout = shim_layout(type);
  EXPECT_NE(layout, nullptr) << stria_last_error();
  std::string text(stria_layout_dump(layout, nullptr, 0), '\0');
  stria_layout_dump(layout, text.data(), text.size());
  stria_layout_free(layout);
  MPI_Type_free(&type);
  const std::size_t bounds = text.find(", lb ");
  EXPECT_NE(bounds, std::string::npos) << text;
  text.erase(bounds, text.find('\n') - bounds);
  return text.substr(0, text.find("wire descriptor"));  // which has the bounds
}

/// Rows and columns: so few that runs are written out before they are looked at, and more.
using Size = std::pair<int, int>;
class NotationOfAColumn : public testing::TestWithParam<std::tuple<Size, std::size_t>> {};

TEST_P(NotationOfAColumn, compiles_to_the_one_layout_of_a_column) {
  const auto& [size, index] = GetParam();
  const Column column(size.first, size.second);
  const std::string dump = dump_of(column.notations()[index].make);
  EXPECT_EQ(dump.substr(0, dump.find('\n')),
            "strided(" + std::to_string(size.first) + ", " + std::to_string(size.second * 8) + ", block(8))");
  EXPECT_EQ(dump, dump_of(column.notations()[0].make)) << "bounds of the data, kernel";
}

std::string name_of(const testing::TestParamInfo<std::tuple<Size, std::size_t>>& test) {
  const auto& [size, index] = test.param;
  return std::string(Column(1, 1).notations()[index].name) + "_" + std::to_string(size.first);
}
INSTANTIATE_TEST_SUITE_P(All, NotationOfAColumn,
                         testing::Combine(testing::Values(Size{512, 512}, Size{80000, 10}),
                                          testing::Range(std::size_t{0}, Column(1, 1).notations().size())),
                         name_of);

}  // namespace
