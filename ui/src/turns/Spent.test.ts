import assert from "node:assert/strict";
import { test } from "node:test";
import { dollars } from "./Spent";

test("a price says something, however small it is", () => {
  assert.equal(dollars(null), "price unknown");
  assert.equal(dollars(0), "$0");
  assert.equal(dollars(12.345), "$12.35");
  assert.equal(dollars(0.25), "$0.25");
  assert.equal(dollars(0.00423), "$0.0042");
  assert.equal(dollars(0.0000001), "$0.00000010");
});
