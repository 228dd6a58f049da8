// Two people edited one agent. What was typed here stays; what the other one changed is shown beside it.
import { useEffect, useRef } from "react";
import type { Agent } from "../api/types";
import { changedFields, type Definition, definitionOf, fieldName, wordsOf } from "./draft";

type ConflictProps = {
  before: Definition;
  mine: Definition;
  theirs: Agent;
  busy: boolean;
  onOver: () => void;
  onTheirs: () => void;
};

export function Conflict({ before, mine, theirs, busy, onOver, onTheirs }: ConflictProps) {
  const box = useRef<HTMLElement>(null);
  useEffect(() => void box.current?.scrollIntoView({ block: "center" }), []);
  const now = definitionOf(theirs);
  const mineToo = new Set(changedFields(before, mine));
  const changed = changedFields(before, now);
  return (
    <section ref={box} role="alert" aria-label="Changed meanwhile" className="mt-6 rounded-md bg-wait-tint px-4 py-3">
      <p className="font-semibold text-wait">
        Somebody changed this agent meanwhile: it is at revision {theirs.revision}. Nothing you typed is lost.
      </p>
      <dl className="mt-2 flex flex-col gap-2">
        {changed.map((field) => (
          <div key={field}>
            <dt className="text-small font-semibold">
              {fieldName[field]}
              {mineToo.has(field) ? ", which you changed too" : ""}
            </dt>
            <dd
              tabIndex={0}
              className="max-h-48 overflow-y-auto text-small whitespace-pre-wrap [overflow-wrap:anywhere]"
            >
              <p>
                <span className="text-mute">Now: </span>
                {wordsOf(field, now)}
              </p>
              <p>
                <span className="text-mute">Before: </span>
                {wordsOf(field, before)}
              </p>
            </dd>
          </div>
        ))}
      </dl>
      <div className="mt-3 flex flex-wrap gap-2">
        <button type="button" className="button" disabled={busy} onClick={onOver}>
          Save my changes over it
        </button>
        <button type="button" className="button" data-look="plain" disabled={busy} onClick={onTheirs}>
          Discard mine and show theirs
        </button>
      </div>
    </section>
  );
}
