import assert from "node:assert/strict";
import { test } from "node:test";
import { litCell, place } from "../shared/grid";

// | Name  | 2024      |
// |       | Q1  | Q2  |
// | Sales | 5   | 7   |
// | Costs | 5   | 3   |
const ROWS = [
  [["Name", 1, 2], ["2024", 2, 1]],
  [["Q1"], ["Q2"]],
  [["Sales"], ["5"], ["7"]],
  [["Costs"], ["5"], ["3"]],
] as const;

test("a cell that spans down pushes the next row's cells", () => {
  const placed = place(ROWS);
  assert.deepEqual(placed[1]?.map((c) => [c.text, c.row, c.col]), [["Q1", 1, 1], ["Q2", 1, 2]]);
});

test("a fact's cell is the one at its place", () => {
  assert.equal(litCell(place(ROWS), { value: "5", row_index: 3, col_index: 1 })?.row, 3);
});

test("without a place its headers tell it", () => {
  assert.equal(litCell(place(ROWS), { value: "5", row_header: "Total | Sales", column_header: "2024 | Q1" })?.row, 2);
});

test("a wrong place is not believed", () => {
  assert.equal(litCell(place(ROWS), { value: "7", row_index: 0, col_index: 0 })?.col, 2);
});

test("nothing is lit where two cells are equally right", () => {
  assert.equal(litCell(place(ROWS), { value: "5" }), undefined);
});
