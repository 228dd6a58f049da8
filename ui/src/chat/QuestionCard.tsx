// A question of the agent: its options as buttons, or a field for words; afterwards the answer.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useId, useRef, useState } from "react";
import { placeQuestion } from "../api/cache";
import { Refusal, sentenceOf } from "../api/client";
import { answerQuestion } from "../api/operations";
import type { MessageQuestion, Question } from "../api/types";
import { Icon } from "../parts/Icon";
import { ServerText } from "../parts/ServerText";

export function QuestionCard({ question }: { question: MessageQuestion }) {
  const client = useQueryClient();
  const title = useId();
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);
  const said = useRef<HTMLParagraphElement>(null);

  async function answer(body: { option: number } | { text: string }) {
    setBusy(true);
    setRefused(null);
    try {
      placeQuestion(client, await answerQuestion(question.id, body));
      said.current?.focus();
    } catch (error) {
      setRefused(sentenceOf(error));
      if (error instanceof Refusal && error.problem.current) placeQuestion(client, error.problem.current as Question);
    }
    setBusy(false);
  }

  return (
    <section aria-labelledby={title} className="max-w-[40rem] rounded-lg border px-4 py-3" data-question={question.id}>
      <p className="flex items-baseline gap-2.5">
        <Icon name="question" size={16} className="flex-none translate-y-0.5 text-accent" />
        <span id={title} className="font-semibold whitespace-pre-wrap [overflow-wrap:anywhere]">
          {question.title}
        </span>
      </p>
      <p ref={said} tabIndex={-1} aria-live="polite" className="outline-none">
        {question.state === "answered" && (
          <span className="mt-1 block [overflow-wrap:anywhere]">
            <span className="text-mute">Answered: </span>
            {question.answer}
          </span>
        )}
        {question.state === "expired" && <span className="mt-1 block text-mute">Nobody answered in time.</span>}
      </p>
      {question.state === "pending" && (
        <Ways question={question} busy={busy} answer={(body) => void answer(body)} title={title} />
      )}
      {refused && (
        <p role="alert" className="mt-2 text-bad [overflow-wrap:anywhere]">
          <ServerText text={refused} />
        </p>
      )}
    </section>
  );
}

type WaysProps = {
  question: MessageQuestion;
  busy: boolean;
  answer: (body: { option: number } | { text: string }) => void;
  title: string;
};

function Ways({ question: { options }, busy, answer, title }: WaysProps) {
  const [own, setOwn] = useState(options === null);
  return (
    <div className="mt-2.5 flex flex-col gap-2.5">
      {options && (
        <div role="group" aria-labelledby={title} className="flex flex-wrap gap-2">
          {options.map((option, index) => (
            <button
              key={option}
              type="button"
              className="button !h-auto max-w-full py-1 !whitespace-normal [overflow-wrap:anywhere]"
              disabled={busy}
              onClick={() => answer({ option: index + 1 })}
            >
              {option}
            </button>
          ))}
          {!own && (
            <button type="button" className="button" data-look="plain" onClick={() => setOwn(true)}>
              Something else
            </button>
          )}
        </div>
      )}
      {own && <OwnWords busy={busy} focus={options !== null} answer={(text) => answer({ text })} />}
    </div>
  );
}

function OwnWords({ busy, focus, answer }: { busy: boolean; focus: boolean; answer: (text: string) => void }) {
  const [text, setText] = useState("");
  function send(event: FormEvent) {
    event.preventDefault();
    if (text.trim()) answer(text.trim());
  }
  return (
    <form className="flex gap-2" onSubmit={send}>
      <input
        className="field"
        aria-label="Your answer"
        placeholder="Your answer"
        value={text}
        maxLength={4096}
        autoComplete="off"
        autoFocus={focus}
        onChange={(event) => setText(event.target.value)}
      />
      <button type="submit" className="button" disabled={busy || text.trim() === ""}>
        Answer
      </button>
    </form>
  );
}
