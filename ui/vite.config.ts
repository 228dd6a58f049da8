// Builds the page into the Python package, which serves it under `default-src 'self'`: so nothing may be inlined.
import tailwindcss from "@tailwindcss/vite";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";

const server = process.env.HOMING_URL ?? "http://127.0.0.1:4664";

export default defineConfig({
  plugins: [react(), tailwindcss()],
  build: {
    outDir: "../src/homing/web/static",
    emptyOutDir: true,
    assetsInlineLimit: 0,
    // The first browsers that know light-dark(), which every colour of the page is written with.
    target: ["chrome123", "firefox120", "safari17.5"],
  },
  server: { proxy: { "/api": server } },
});
