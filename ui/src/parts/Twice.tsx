// A small deed that cannot be taken back: the first press asks, the second does it. Looking away takes the question back.
import { useState } from "react";

type TwiceProps = { label: string; does: string; sure: string; onDo: () => void };

export function Twice({ label, does, sure, onDo }: TwiceProps) {
  const [asked, setAsked] = useState(false);
  return (
    <button
      type="button"
      className={`link text-[0.9rem] ${asked ? "!text-bad" : ""}`}
      aria-label={asked ? `${sure} ${label}` : label}
      onBlur={() => setAsked(false)}
      onKeyDown={(event) => event.key === "Escape" && setAsked(false)}
      onClick={() => (asked ? onDo() : setAsked(true))}
    >
      {asked ? sure : does}
    </button>
  );
}
