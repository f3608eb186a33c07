import assert from "node:assert/strict";
import { test } from "node:test";
import { gzipSync } from "node:zlib";
import { bytesOf, gunzip } from "../shared/packs";

test("a pack is what was packed", async () => {
  const text = JSON.stringify({ a: "été </script>", n: [1, null] });
  assert.equal(await gunzip(bytesOf(gzipSync(text).toString("base64"))), text);
});
