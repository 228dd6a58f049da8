// The files of the message one is writing: each can be removed, and says how far it is or what is wrong with it.
import { Icon } from "../parts/Icon";
import { ServerText } from "../parts/ServerText";
import { sizeOf } from "../parts/words";
import { type Attachment, attachAgain, detach } from "./attachments";

type AttachedFilesProps = { draft: string; files: readonly Attachment[]; onRemoved: () => void };

export function AttachedFiles({ draft, files, onRemoved }: AttachedFilesProps) {
  if (files.length === 0) return null;
  return (
    <ul aria-label="Files to send" className="flex flex-wrap gap-1.5 pb-1.5">
      {files.map((one) => (
        <li
          key={one.id}
          className="flex max-w-full flex-wrap items-center gap-x-2 rounded-lg border border-edge bg-paper py-0.5 pr-0.5 pl-2.5 text-small data-[state=failed]:border-bad"
          data-state={one.state}
        >
          <span className="max-w-64 min-w-0 truncate">{one.name}</span>
          <State one={one} />
          {one.again && one.state === "failed" && (
            <button
              type="button"
              className="link"
              aria-label={`Try ${one.name} again`}
              onClick={() => attachAgain(one.id)}
            >
              Try again
            </button>
          )}
          <button
            type="button"
            className="icon-button"
            aria-label={`Remove ${one.name}`}
            onClick={() => {
              detach(draft, one.id);
              onRemoved();
            }}
          >
            <Icon name="close" size={14} />
          </button>
        </li>
      ))}
    </ul>
  );
}

function State({ one }: { one: Attachment }) {
  switch (one.state) {
    case "uploading":
      return (
        <progress
          className="h-1.5 w-16 accent-(--color-accent)"
          aria-label={`Uploading ${one.name}`}
          value={one.part}
        />
      );
    case "unreachable":
      return <span className="text-bad">Homing is not responding. The upload continues when it is back.</span>;
    case "failed":
      return (
        <span className="text-bad [overflow-wrap:anywhere]">
          <ServerText text={one.error ?? ""} />
        </span>
      );
    case "kept":
      return <span className="text-mute">{sizeOf(one.size)}</span>;
  }
}
