// A small action that cannot be undone: the first press asks, the second one does it. Moving the focus away withdraws the question.
import { useState } from "react";

type ConfirmButtonProps = { label: string; text: string; question: string; onConfirm: () => void };

export function ConfirmButton({ label, text, question, onConfirm }: ConfirmButtonProps) {
  const [asked, setAsked] = useState(false);
  return (
    <button
      type="button"
      className={`link text-small ${asked ? "!text-bad" : ""}`}
      aria-label={asked ? `${question} ${label}` : label}
      onBlur={() => setAsked(false)}
      onKeyDown={(event) => event.key === "Escape" && setAsked(false)}
      onClick={() => (asked ? onConfirm() : setAsked(true))}
    >
      {asked ? question : text}
    </button>
  );
}
