// The box one writes in. It works while an answer runs, and says beforehand whether the message is seen now or next.
import { useQueryClient } from "@tanstack/react-query";
import {
  type ClipboardEvent,
  type KeyboardEvent,
  useCallback,
  useEffect,
  useLayoutEffect,
  useRef,
  useState,
} from "react";
import type { Session } from "../api/types";
import type { KeptFile } from "../api/upload";
import { Icon } from "../parts/Icon";
import { Tooltip } from "../parts/Tooltip";
import { useMedia } from "../parts/useMedia";
import { plural, sourceWord } from "../parts/words";
import { AttachedFiles } from "./AttachedFiles";
import { type Attachment, attach, detachAll, MOST_FILES, moveAttachments, useAttachments } from "./attachments";
import { CommandList, commandId } from "./CommandList";
import { type Command, commandsFor } from "./commands";
import { isFocusWanted } from "./focus";
import { pastedFiles, useDrop } from "./useDrop";

const LONGEST = 16_384;

type ComposerProps = {
  session: Session | undefined;
  draftKey: string;
  onSend: (text: string, mode: "inject" | "queue", files: readonly KeptFile[]) => void;
};

const draftAt = (key: string) => `homing.draft.${key}`;

/** What is being written goes along into the conversation that was just made. */
export function moveDraft(from: string, to: string) {
  moveAttachments(from, to);
  const text = sessionStorage.getItem(draftAt(from));
  if (text === null) return;
  sessionStorage.setItem(draftAt(to), text);
  sessionStorage.removeItem(draftAt(from));
}

export function Composer({ session, draftKey, onSend }: ComposerProps) {
  const storage = draftAt(draftKey);
  const [text, setText] = useState(() => sessionStorage.getItem(storage) ?? "");
  const [queue, setQueue] = useState(false);
  const field = useRef<HTMLTextAreaElement>(null);
  const turn = session?.state === "running" ? session.turn : null;
  const narrow = useMedia("(max-width: 30rem)");
  const choice = turn?.source === "person";
  const tooLong = text.trim().length - LONGEST;
  const files = useAttachments(draftKey);
  const [leftOut, setLeftOut] = useState(0);
  const chooser = useRef<HTMLInputElement>(null);
  const add = useCallback(
    (given: readonly File[]) => {
      if (given.length > 0) setLeftOut(attach(draftKey, given));
    },
    [draftKey],
  );
  const over = useDrop(add);
  const kept = files.flatMap((one) => (one.kept ? [one.kept] : []));
  const waits = files.length > kept.length;
  const client = useQueryClient();
  const [chosen, setChosen] = useState(0);
  const [dismissed, setDismissed] = useState(false);
  const commands = dismissed ? null : commandsFor(text, session !== undefined);
  const command = commands?.[Math.min(chosen, commands.length - 1)];
  const ready = (text.trim() !== "" || kept.length > 0) && tooLong <= 0 && !waits;

  useEffect(() => {
    const asked = isFocusWanted(draftKey);
    if (asked || matchMedia("(pointer: fine)").matches) field.current?.focus();
  }, [draftKey]);

  useLayoutEffect(() => {
    const element = field.current;
    if (!element) return;
    element.style.height = "auto";
    element.style.height = `${Math.min(element.scrollHeight, window.innerHeight * 0.4)}px`;
  }, [text]);

  function write(next: string) {
    setText(next);
    setChosen(0);
    setDismissed(false);
    if (next) sessionStorage.setItem(storage, next);
    else sessionStorage.removeItem(storage);
  }

  function send() {
    const words = text.trim();
    if (!ready) return;
    write("");
    setLeftOut(0);
    detachAll(draftKey);
    onSend(words, choice && queue ? "queue" : "inject", kept);
  }

  function carryOut(command: Command) {
    write(command.writes ?? "");
    field.current?.focus();
    command.run?.(client, session);
  }

  function onCommandKey(event: KeyboardEvent, among: readonly Command[], command: Command): boolean {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) setChosen((chosen + step + among.length) % among.length);
    else if (event.key === "Escape") setDismissed(true);
    else if (event.key === "Enter" || event.key === "Tab") carryOut(command);
    else return false;
    event.preventDefault();
    return true;
  }

  function onKeyDown(event: KeyboardEvent) {
    if (commands && command && !event.shiftKey && !event.nativeEvent.isComposing)
      if (onCommandKey(event, commands, command)) return;
    // Enter that ends the composing of a Chinese or Japanese word is not a send.
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    send();
  }

  function onPaste(event: ClipboardEvent) {
    const pasted = pastedFiles(event.clipboardData);
    if (pasted.length === 0) return;
    event.preventDefault();
    add(pasted);
  }

  return (
    <div className="pt-1.5 pb-3">
      {turn && text.trim() !== "" && (
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
                Send as a separate message
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
      <AttachedFiles
        draft={draftKey}
        files={files}
        onRemoved={() => {
          setLeftOut(0);
          field.current?.focus();
        }}
      />
      <p role="status" className="text-small text-mute">
        {over
          ? "Drop the files to add them to your message."
          : leftOut > 0
            ? `${plural(leftOut, "file")} left out: a message has at most ${MOST_FILES}.`
            : waits && text.trim() !== ""
              ? waitsFor(files)
              : ""}
      </p>
      <div
        data-over={over || undefined}
        className="relative flex items-end gap-1 rounded-xl data-over:border-accent data-over:bg-hover border border-edge bg-paper py-1 pr-1 pl-1 focus-within:border-accent focus-within:outline focus-within:outline-accent"
      >
        {commands && (
          <CommandList commands={commands} chosen={Math.min(chosen, commands.length - 1)} onChoose={carryOut} />
        )}
        <Tooltip text="Add files (or paste or drop them)">
          <button type="button" className="icon-button" aria-label="Add files" onClick={() => chooser.current?.click()}>
            <Icon name="clip" />
          </button>
        </Tooltip>
        <input
          ref={chooser}
          type="file"
          multiple
          hidden
          aria-hidden="true"
          tabIndex={-1}
          onChange={(event) => {
            add(Array.from(event.target.files ?? []));
            // The same file may be chosen again after it was removed.
            event.target.value = "";
            field.current?.focus();
          }}
        />
        <textarea
          ref={field}
          data-composer
          rows={1}
          aria-label="Message"
          aria-autocomplete="list"
          aria-controls={commands ? "commands" : undefined}
          aria-activedescendant={commands && command ? commandId(command.name) : undefined}
          aria-describedby={
            [turn && text.trim() !== "" ? "will" : "", tooLong > 0 ? "too-long" : ""].join(" ").trim() || undefined
          }
          aria-invalid={tooLong > 0}
          placeholder={narrow ? "Say something" : "Say something, or “remind me in 10 minutes to …”"}
          className="max-h-[40dvh] min-h-[2.15rem] w-full resize-none bg-transparent px-1.5 py-1.5 leading-snug outline-none"
          value={text}
          onChange={(event) => write(event.target.value)}
          onKeyDown={onKeyDown}
          onPaste={onPaste}
        />
        <button
          type="button"
          className="icon-button !bg-ink !text-paper disabled:!bg-hover disabled:!text-mute"
          aria-label="Send"
          disabled={!ready}
          onClick={send}
        >
          <Icon name="up" />
        </button>
      </div>
    </div>
  );
}

function waitsFor(files: readonly Attachment[]): string {
  return files.some((one) => one.state === "failed")
    ? "Remove the files that cannot be sent; then your message can go."
    : "Your message can go as soon as the files are there.";
}
