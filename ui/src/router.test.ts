import assert from "node:assert/strict";
import { test } from "node:test";
import { partsOfPath, pathTo } from "./router";

test("an address gives back the ids it was made of", () => {
  assert.deepEqual(partsOfPath(pathTo.chat("web:über:uns")), ["chat", "web:über:uns"]);
  assert.deepEqual(partsOfPath(pathTo.run("job_a:1770000000000:m")), ["runs", "job_a:1770000000000:m"]);
  assert.deepEqual(partsOfPath(pathTo.editJob("job_a")), ["automations", "job_a", "edit"]);
  assert.deepEqual(partsOfPath("/"), []);
});

test("an address with a bare percent sign is read as it stands", () => {
  assert.deepEqual(partsOfPath("/chat/%zz"), ["chat", "%zz"]);
});
