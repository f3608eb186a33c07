import assert from "node:assert/strict";
import { test } from "node:test";
import { changed, parseAddress, writeAddress } from "../shared/address";

test("an address holds whatever it was given", () => {
  const given = { id: "F1&x=<b>", "by.company": "A | B #1", find: "été 100%" };
  assert.deepEqual(parseAddress(writeAddress(given)), given);
});

test("an empty setting leaves the address", () => {
  assert.equal(changed({ id: "a", change: "helped" }, { change: "" }), "#id=a");
});
