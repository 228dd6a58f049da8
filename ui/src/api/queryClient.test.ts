import assert from "node:assert/strict";
import { test } from "node:test";
import { QueryObserver } from "@tanstack/react-query";
import { queryClient } from "./queryClient";

test("a first load that began before a change is begun again", async (t) => {
  const client = queryClient();
  const answers: ((people: string[]) => void)[] = [];
  const list = new QueryObserver<string[]>(client, {
    queryKey: ["users"],
    queryFn: () => new Promise((resolve) => answers.push(resolve)),
  });
  t.after(list.subscribe(() => {}));
  t.after(() => client.clear());

  // The server has read the list without Anna; she is added; only then does the old answer arrive.
  const again = client.invalidateQueries({ queryKey: ["users"] });
  assert.equal(answers.length, 2);
  answers[0]?.(["default"]);
  await new Promise(setImmediate);
  assert.equal(list.getCurrentResult().data, undefined);
  answers[1]?.(["default", "anna"]);
  await again;
  assert.deepEqual(list.getCurrentResult().data, ["default", "anna"]);
});

test("a list that is only marked as old begins no load", async (t) => {
  const client = queryClient();
  let loads = 0;
  const list = new QueryObserver<string>(client, { queryKey: ["jobs"], queryFn: async () => `${++loads}` });
  t.after(list.subscribe(() => {}));
  t.after(() => client.clear());
  await client.invalidateQueries({ queryKey: ["jobs"], refetchType: "none" });
  await new Promise(setImmediate);
  assert.equal(list.getCurrentResult().data, "1");
  assert.equal(loads, 1);
});
