// Builds the page into the Python package, which serves it under `default-src 'self'`: so nothing may be inlined.

import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig, type Plugin } from "vite";

const server = process.env.HOMING_URL ?? "http://127.0.0.1:4664";

const OUT = "../src/homing/web/static";
// As in homing/web/compression.py: below this it does not pay.
const AT_LEAST_BYTES = 1024;

/** Beside each text file the same in brotli and gzip, which the server gives to browsers that take it. */
function precompressed(): Plugin {
  return {
    name: "precompressed",
    apply: "build",
    closeBundle() {
      for (const name of readdirSync(OUT, { recursive: true, encoding: "utf8" })) {
        if (!/\.(js|css|html|svg|json|webmanifest)$/.test(name)) continue;
        const path = join(OUT, name);
        const plain = readFileSync(path);
        if (plain.length < AT_LEAST_BYTES) continue;
        const params = { [constants.BROTLI_PARAM_QUALITY]: constants.BROTLI_MAX_QUALITY };
        writeFileSync(`${path}.br`, brotliCompressSync(plain, { params }));
        writeFileSync(`${path}.gz`, gzipSync(plain, { level: constants.Z_BEST_COMPRESSION }));
      }
    },
  };
}

export default defineConfig({
  plugins: [react(), tailwindcss(), precompressed()],
  build: {
    outDir: OUT,
    emptyOutDir: true,
    assetsInlineLimit: 0,
    // The first browsers that know light-dark(), which every colour of the page is written with.
    target: ["chrome123", "firefox120", "safari17.5"],
  },
  server: { proxy: { "/api": server } },
});
