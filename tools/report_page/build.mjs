// Bundle script and style into the Python package: npm ci && npm run build
import { build } from "esbuild";
import { readFileSync, writeFileSync } from "node:fs";

const assets = new URL("../../src/taxolearn/report/assets/", import.meta.url).pathname;
const common = { bundle: true, minify: true, charset: "ascii", legalComments: "none", logLevel: "info" };
await build({
  ...common,
  entryPoints: ["src/main.js"],
  outfile: `${assets}report.js`,
  format: "iife",
  target: ["chrome100", "firefox100", "safari15"],
});
await build({ ...common, entryPoints: ["src/report.css"], outfile: `${assets}report.css` });

const bundled = ["d3-hierarchy"];
const parts = bundled.map((name) => {
  const { version, license } = JSON.parse(readFileSync(`node_modules/${name}/package.json`));
  return `${name} ${version} (${license}), part of report.js\n\n${readFileSync(`node_modules/${name}/LICENSE`)}`;
});
writeFileSync(`${assets}licenses.txt`, parts.join("\n"));
