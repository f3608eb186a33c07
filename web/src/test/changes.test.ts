import assert from "node:assert/strict";
import { test } from "node:test";
import { chosen, deltas, pairOf } from "../report/changes";
import { inSight } from "../shared/virtual";
import { share, signed } from "../shared/format";
import { cut } from "../shared/source";

const EXAMPLES = {
  ids: ["e0", "e1", "e2", "e3"],
  golds: ["Cash", "Debt", "Cash", "Tax"],
  values: ["1", "2", "3", "4"],
  lines: ["cash on hand", "debt", "petty cash", "tax"],
  groups: { kind: ["table", "text", "table", "table"] },
};
const VALUES = { values: { a: { MRR: [1, 0.5, 0.2, null] }, b: { MRR: [0.5, 0.5, 1, 1] } }, ranks: {} };

test("an example without a value in either row is in no change", () => {
  const delta = deltas(VALUES, "a", "b", "MRR");
  assert.deepEqual(delta, [0.5, 0, -0.8, null]);
  assert.deepEqual(chosen(EXAMPLES, delta, { change: "helped" }), [0]);
  assert.deepEqual(chosen(EXAMPLES, delta, { change: "same" }), [1]);
});

test("filters hold together, and the largest change comes first", () => {
  const delta = deltas(VALUES, "a", "b", "MRR");
  assert.deepEqual(chosen(EXAMPLES, delta, { "by.kind": "table" }), [2, 0, 3]);
  assert.deepEqual(chosen(EXAMPLES, delta, { "by.kind": "table", find: "CASH" }), [2, 0]);
  assert.deepEqual(chosen(EXAMPLES, delta, { order: "data" }), [0, 1, 2, 3]);
});

test("rows of the address are believed where they exist", () => {
  const rows = ["direct", "locus", "FHS"];
  const compared = [{ a: "locus", b: "direct" }, { a: "FHS", b: "direct" }];
  assert.deepEqual(pairOf({}, rows, compared, "direct"), ["FHS", "direct"]);
  assert.deepEqual(pairOf({ a: "locus", b: "gone" }, rows, compared, "direct"), ["locus", "direct"]);
});

test("a long list draws what is in sight and a little more", () => {
  assert.deepEqual(inSight(3000, 300, 30, 3000), [92, 118]);
  assert.deepEqual(inSight(0, 300, 30, 4), [0, 4]);
});

test("numbers are printed as the tables print them", () => {
  assert.deepEqual([share(0.1234), share(1), share(-0.05), share(null), signed(0.02)], [".123", "1.000", "-.050", "", "+.020"]);
});

test("spans count characters, not UTF-16 units", () => {
  assert.deepEqual(cut("a😀bcd", 2, 4), ["a😀", "bc", "d"]);
});
