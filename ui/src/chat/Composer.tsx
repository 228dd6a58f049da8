// The box one writes in. It works while an answer runs, and says beforehand whether the message is seen now or next.
import { type KeyboardEvent, useEffect, useLayoutEffect, useRef, useState } from "react";
import type { Session } from "../api/types";
import { Icon } from "../parts/Icon";
import { Tooltip } from "../parts/Tooltip";
import { useMedia } from "../parts/useMedia";
import { plural, sourceWord } from "../parts/words";

const LONGEST = 16_384;

type ComposerProps = {
  session: Session | undefined;
  draftKey: string;
  onSend: (text: string, mode: "inject" | "queue") => void;
  onPanel: (() => void) | null;
  panelOpen: boolean;
};

export function Composer({ session, draftKey, onSend, onPanel, panelOpen }: ComposerProps) {
  const storage = `homing.draft.${draftKey}`;
  const [text, setText] = useState(() => sessionStorage.getItem(storage) ?? "");
  const [queue, setQueue] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const turn = session?.state === "running" ? session.turn : null;
  const narrow = useMedia("(max-width: 30rem)");
  const choice = turn?.source === "person";
  const tooLong = text.trim().length - LONGEST;

  useEffect(() => {
    if (matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, []);

  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);

  function write(next: string) {
    setText(next);
    if (next) sessionStorage.setItem(storage, next);
    else sessionStorage.removeItem(storage);
  }

  function send() {
    const words = text.trim();
    if (words === "" || tooLong > 0) return;
    write("");
    onSend(words, choice && queue ? "queue" : "inject");
  }

  function onKeyDown(event: KeyboardEvent) {
    // Enter that ends the composing of a Chinese or Japanese word is not a send.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  return (
    <div className="pt-1.5 pb-3">
      {turn && (
        <div className="flex min-h-7 flex-wrap items-center gap-x-3 pb-1 text-small text-mute">
          {choice ? (
            <>
              <span id="will">
                {queue
                  ? "Your message will be answered next, in a turn of its own."
                  : "Your message will be seen in the answer in progress."}
              </span>
              <label className="ml-auto flex items-center gap-1.5">
                <input
                  type="checkbox"
                  className="accent-(--color-accent)"
                  checked={queue}
                  onChange={(event) => setQueue(event.target.checked)}
                />
                Answer it next
              </label>
            </>
          ) : (
            <span id="will">Your message will be answered next, after {sourceWord[turn.source]} in progress.</span>
          )}
        </div>
      )}
      {tooLong > 0 && (
        <p id="too-long" role="alert" className="pb-1 text-small text-bad">
          {plural(tooLong, "character")} too long: a message has at most {LONGEST.toLocaleString("en")}. Shorten it, or
          send it in parts.
        </p>
      )}
      <div className="flex items-end gap-1 rounded-xl border border-edge bg-paper py-1 pr-1 pl-1 focus-within:border-accent focus-within:outline focus-within:outline-accent">
        {onPanel && (
          <Tooltip
            text={
              session?.automations.total
                ? plural(session.automations.total, "automation")
                : "Automations of this conversation"
            }
          >
            <button
              type="button"
              className="icon-button"
              aria-label="Automations of this conversation"
              aria-pressed={panelOpen}
              onClick={onPanel}
            >
              <Icon name="clock" />
            </button>
          </Tooltip>
        )}
        <textarea
          ref={field}
          data-composer
          rows={1}
          aria-label="Message"
          aria-describedby={[turn ? "will" : "", tooLong > 0 ? "too-long" : ""].join(" ").trim() || undefined}
          aria-invalid={tooLong > 0}
          placeholder={narrow ? "Say something" : "Say something, or “remind me in 10 minutes to …”"}
          className="max-h-[40dvh] min-h-[2.15rem] w-full resize-none bg-transparent px-1.5 py-1.5 leading-snug outline-none"
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
        />
        <button
          type="button"
          className="icon-button !bg-ink !text-paper disabled:!bg-hover disabled:!text-mute"
          aria-label="Send"
          disabled={text.trim() === "" || tooLong > 0}
          onClick={send}
        >
          <Icon name="up" />
        </button>
      </div>
    </div>
  );
}
