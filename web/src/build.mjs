// Builds the pages into ../assets: `node build.mjs`; `node build.mjs --check` fails where they are not up to date.
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";

const here = new URL("./", import.meta.url);
const assets = new URL("../assets/", here);

const result = await build({
  absWorkingDir: fileURLToPath(here),
  entryPoints: { report: "report/main.tsx", review: "review/main.tsx", page: "shared/page.css" },
  outdir: fileURLToPath(assets),
  bundle: true,
  format: "iife",
  target: "es2022",
  charset: "utf8",
  jsx: "automatic",
  jsxImportSource: "preact",
  legalComments: "eof",
  minify: true,
  write: false,
});

const check = process.argv.includes("--check");
let stale = 0;
for (const file of result.outputFiles) {
  const name = file.path.split(/[\\/]/).at(-1);
  const path = new URL(name, assets);
  if (check) {
    const built = await readFile(path, "utf8").catch(() => "");
    if (built !== file.text) {
      console.error(`web/assets/${name} is not what its sources give: run make pages`);
      stale += 1;
    }
  } else {
    await writeFile(path, file.text);
    console.log(`web/assets/${name}  ${(file.contents.length / 1024).toFixed(0)} KB`);
  }
}
process.exitCode = stale ? 1 : 0;
