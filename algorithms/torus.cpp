// Torus: ranks stand in R rows and C columns (grid_of()). Rings along rows and rings along columns take turns, so all
// messages go to neighbours on the grid, and the steps grow with its sides, not with its area. H. Mikami, H. Suganuma,
// P. U-chupala, Y. Tanaka and Y. Kageyama, "Massively distributed SGD: ImageNet/ResNet-50 training in a flash",
// arXiv:1811.05233 (2018), "2D-Torus all-reduce"; the reduce-scatter and the allgather are its halves.
//
// Where the number of ranks is prime there is one row, and these are plain rings.
#include "algorithms/ring.hpp"
#include "src/spi/schedule.hpp"

namespace hocket::algorithms {
namespace {

// The place of a rank. Chunk r belongs to rank r, so those of a row adjoin.
struct GridPlace {
  explicit GridPlace(const Shape& shape)
      : rows(grid_of(shape.size).rows),
        columns(grid_of(shape.size).columns),
        row(shape.rank / columns),
        column(shape.rank % columns) {}

  Rank rank_at(Rank in_row, Rank in_column) const {
    return (in_row + rows) % rows * columns + (in_column + columns) % columns;
  }
  // Of this rank's row, on the chunks of that row.
  Ring along_row() const {
    return {.place = column,
            .size = columns,
            .left = rank_at(row, column - 1),
            .right = rank_at(row, column + 1),
            .first_chunk = static_cast<std::uint32_t>(row * columns)};
  }
  // Of this rank's column, on all chunks, row by row.
  Ring along_column() const {
    return {.place = row,
            .size = rows,
            .left = rank_at(row - 1, column),
            .right = rank_at(row + 1, column),
            .width = static_cast<std::uint32_t>(columns)};
  }

  Rank rows, columns;
  Rank row, column;
};

}  // namespace

// R - 1 steps along the column, each of a row's chunks, then C - 1 along the row: R + C - 2 messages; sends and
// receives (N - 1)/N · S. Scratch for two rows.
void torus_reduce_scatter(const Shape& shape, ScheduleBuilder& builder) {
  const GridPlace place(shape);
  if (place.rows == 1) return ring_reduce_scatter(shape, builder);
  const Ring column = place.along_column(), row = place.along_row();
  const Range own_row = column.range(Space::input, place.row);
  // Partial sums alternate, so that the next one can arrive while the last one leaves.
  const Range cells[2] = {builder.scratch(own_row), place.rows > 2 ? builder.scratch(own_row) : Range{}};
  ring_sum(
      column, [&](Rank at) { return column.range(Space::input, at); },
      [&](Rank step, Range mine) { return ScheduleBuilder::at(cells[step % 2], mine); }, builder);

  const Range sums = ScheduleBuilder::at(cells[place.rows % 2], own_row);  // of the last step, place.rows - 2
  ring_sum(
      row, [&](Rank at) { return ScheduleBuilder::part(sums, row.chunk_of(at), 1); },
      [&](Rank step, Range mine) { return step == place.columns - 2 ? builder.output(shape.rank) : mine; }, builder);
}

// C - 1 steps along the row, then R - 1 along the column, each of a row's chunks: R + C - 2 messages; sends and
// receives (N - 1)/N · S.
void torus_allgather(const Shape& shape, ScheduleBuilder& builder) {
  const GridPlace place(shape);
  if (place.rows == 1) return ring_allgather(shape, builder);
  const Ring column = place.along_column();
  const Range own = builder.output(shape.rank);
  builder.copy(builder.input(shape.rank), own);
  ring_circulate(place.along_row(), own, builder);
  ring_circulate(column, column.range(Space::output, place.row), builder);
}

// Reduce-scatter along the column, allreduce along the row, allgather along the column: 2(R + C - 2) steps; sends and
// receives 2(N - 1)/N · S, the least possible.
void torus_allreduce(const Shape& shape, ScheduleBuilder& builder) {
  const GridPlace place(shape);
  if (place.rows == 1) return ring_allreduce(shape, builder);
  const Ring column = place.along_column();
  ring_sum_in_output(column, Space::input, builder);
  ring_allreduce_among(place.along_row(), Space::output, builder);
  ring_circulate(column, column.range(Space::output, place.row), builder);
}

}  // namespace hocket::algorithms
