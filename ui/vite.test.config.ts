// Bundles the unit tests for Node's own test runner: Node 20 cannot run TypeScript, and Vite is here already.
import { readdirSync } from "node:fs";
import { defineConfig } from "vite";

const files = readdirSync("src", { recursive: true, encoding: "utf8" });
const tests = files.filter((file) => file.endsWith(".test.ts"));

export default defineConfig({
  publicDir: false,
  build: {
    ssr: true,
    outDir: ".tests",
    emptyOutDir: true,
    rollupOptions: {
      input: Object.fromEntries(tests.map((file) => [file.replaceAll("/", "."), `src/${file}`])),
      output: { chunkFileNames: "chunks/[name].js" },
    },
  },
});
