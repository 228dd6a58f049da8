// How an approval stands, and the way to answer it. What one may not answer says who can.
import { useQueryClient } from "@tanstack/react-query";
import { useId, useRef, useState } from "react";
import { placeApproval } from "../api/cache";
import { Refusal, sentenceOf } from "../api/client";
import { answerApproval } from "../api/operations";
import { useMe } from "../api/queries";
import type { Approval } from "../api/types";
import { Glyph } from "../parts/Glyph";
import { ServerText } from "../parts/ServerText";
import { capital } from "../parts/words";
import { Stamp } from "../time/Time";
import { answererOf, approveWord, shapeOfApproval, whyNotYours } from "./words";

type AnswerProps = { approval: Approval; zone: string };

export function Answer({ approval, zone }: AnswerProps) {
  const client = useQueryClient();
  const me = useMe().data;
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const state = useRef<HTMLParagraphElement>(null);

  async function answer(decision: "approve" | "deny", note: string) {
    setBusy(true);
    setRefused(null);
    try {
      const { id, digest } = approval;
      placeApproval(client, await answerApproval(id, { decision, digest, ...(note ? { note } : {}) }));
      // The pressed button goes; who cannot see that is told where it went.
      state.current?.focus();
    } catch (error) {
      setRefused(sentenceOf(error));
      if (error instanceof Refusal && error.problem.current) placeApproval(client, error.problem.current as Approval);
    }
    setBusy(false);
  }

  const pending = approval.state === "pending";
  const why = me && whyNotYours(approval, me);
  return (
    <div className="flex flex-col gap-2">
      <Standing approval={approval} zone={zone} ref={state} />
      {refused && (
        <p role="alert" className="text-bad [overflow-wrap:anywhere]">
          <ServerText text={refused} />
        </p>
      )}
      {pending && why && (
        <p className="text-mute">
          <ServerText text={why} />
        </p>
      )}
      {pending && me && !why && <Form tool={approval.tool} busy={busy} answer={answer} />}
    </div>
  );
}

function Form({
  tool,
  busy,
  answer,
}: {
  tool: string;
  busy: boolean;
  answer: (decision: "approve" | "deny", note: string) => Promise<void>;
}) {
  const id = useId();
  const [note, setNote] = useState("");
  return (
    <form className="flex flex-col gap-2" onSubmit={(event) => event.preventDefault()}>
      <label htmlFor={id} className="text-small text-mute">
        Note for the agent, if you like
      </label>
      <input
        id={id}
        className="field"
        value={note}
        maxLength={1000}
        autoComplete="off"
        onChange={(event) => setNote(event.target.value)}
      />
      <div className="flex flex-wrap gap-2">
        <button
          type="button"
          className="button"
          data-look="main"
          disabled={busy}
          onClick={() => void answer("approve", note.trim())}
        >
          {approveWord(tool)}
        </button>
        <button type="button" className="button" disabled={busy} onClick={() => void answer("deny", note.trim())}>
          Deny
        </button>
      </div>
    </form>
  );
}

function Standing({
  approval,
  zone,
  ref,
}: AnswerProps & {
  ref: React.Ref<HTMLParagraphElement>;
}) {
  const me = useMe().data;
  const who = answererOf(approval, me);
  return (
    <div aria-live="polite">
      <p ref={ref} tabIndex={-1} className="flex items-baseline gap-2 outline-none">
        <Glyph shape={shapeOfApproval(approval.state)} className="translate-y-px" />
        <span className="[overflow-wrap:anywhere]">
          {capital(approval.words)}
          {approval.state === "pending" && (
            <span className="text-mute">
              , open until <Stamp at={approval.expires_at} zone={zone} />
            </span>
          )}
        </span>
      </p>
      {who && approval.answered_at && (
        <p className="text-small text-mute">
          Answered by {who}, <Stamp at={approval.answered_at} zone={zone} />
        </p>
      )}
      {approval.note && (
        <p className="text-small whitespace-pre-wrap [overflow-wrap:anywhere]">
          <span className="text-mute">Note: </span>
          {approval.note}
        </p>
      )}
      {approval.error && <p className="text-small text-bad [overflow-wrap:anywhere]">{approval.error}</p>}
    </div>
  );
}
