// Runs the unit tests under node's own test runner; sources are bundled first because node does not read TypeScript.
import { spawnSync } from "node:child_process";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = fileURLToPath(new URL("./", import.meta.url));
const files = (await readdir(join(here, "test"))).filter((f) => /\.test\.tsx?$/.test(f));
if (!files.length) throw new Error("there are no tests");
const out = await mkdtemp(join(tmpdir(), "abduce-web-"));
try {
  await build({
    absWorkingDir: here,
    entryPoints: files.map((f) => join("test", f)),
    outdir: out,
    outExtension: { ".js": ".mjs" },
    bundle: true,
    platform: "node",
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
  });
  const made = (await readdir(out)).map((f) => join(out, f));
  process.exitCode = spawnSync(process.execPath, ["--test", ...made], { stdio: "inherit" }).status ?? 1;
} finally {
  await rm(out, { recursive: true });
}
