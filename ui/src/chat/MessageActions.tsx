// What can be done with one message: copy it, edit and resend it, branch from it. History is kept: the last two make a branch.

import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, type KeyboardEvent, useRef, useState } from "react";
import { placeSession } from "../api/cache";
import { randomKey } from "../api/client";
import { branchSession } from "../api/operations";
import type { Message } from "../api/types";
import { copy } from "../parts/Code";
import { Icon } from "../parts/Icon";
import { Menu, MenuItem } from "../parts/Menu";
import { toast, toastError } from "../parts/toasts";
import { navigate, pathTo } from "../router";

const LONGEST = 16_384;

export const isOwn = ({ role, kind, meta }: Message) =>
  role === "user" && kind === "chat" && !meta.source && !meta.guest && !meta.sender_name && !meta.cron_turn;

export function MessageActions({ message, onEdit }: { message: Message; onEdit: (() => void) | null }) {
  const client = useQueryClient();

  async function branch() {
    try {
      const made = await branchSession(message.session_key, { seq: message.seq }, randomKey());
      placeSession(client, made);
      navigate(pathTo.chat(made.key));
      toast({ text: "This new conversation continues from there. Automations stay with the old one." });
    } catch (error) {
      toastError(error);
    }
  }

  async function copyText() {
    if (await copy(message.text)) toast({ text: "Copied" });
  }

  return (
    <span className="message-actions">
      <Menu
        label="Message actions"
        trigger={
          <button type="button" className="icon-button !h-7 !w-7" aria-label="Message actions">
            <Icon name="more" size={16} />
          </button>
        }
      >
        <MenuItem icon="copy" onSelect={() => void copyText()}>
          Copy text
        </MenuItem>
        {onEdit && (
          <MenuItem icon="pencil" onSelect={onEdit}>
            Edit and send again
          </MenuItem>
        )}
        <MenuItem icon="branch" onSelect={() => void branch()}>
          Branch from here
        </MenuItem>
      </Menu>
    </span>
  );
}

export function EditMessage({ message, onClose }: { message: Message; onClose: () => void }) {
  const client = useQueryClient();
  const [text, setText] = useState(message.text);
  const [busy, setBusy] = useState(false);
  // Pressing Send several times makes one branch.
  const once = useRef({ text: "", key: "" });
  const words = text.trim();
  const ready = words !== "" && words.length <= LONGEST && !busy;

  async function send(event?: FormEvent) {
    event?.preventDefault();
    if (!ready) return;
    setBusy(true);
    if (once.current.text !== words) once.current = { text: words, key: randomKey() };
    try {
      const made = await branchSession(message.session_key, { seq: message.seq, text: words }, once.current.key);
      placeSession(client, made);
      navigate(pathTo.chat(made.key));
    } catch (error) {
      toastError(error);
      setBusy(false);
    }
  }

  function onKeyDown(event: KeyboardEvent) {
    if (event.key === "Escape") onClose();
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    void send();
  }

  return (
    <form onSubmit={(event) => void send(event)} className="flex flex-col gap-2">
      <textarea
        autoFocus
        className="field"
        aria-label="Edit your message"
        rows={Math.min(10, text.split("\n").length + 1)}
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKeyDown}
      />
      <div className="flex flex-wrap items-center justify-end gap-2">
        <span className="mr-auto text-small text-mute">
          {words.length > LONGEST
            ? `At most ${LONGEST.toLocaleString("en")} characters.`
            : "The answer comes in a new conversation. This one stays as it is."}
        </span>
        <button type="button" className="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" className="button" data-look="main" disabled={!ready}>
          Send
        </button>
      </div>
    </form>
  );
}
