// How a request of the agent ended: a line, and what came of it behind it. It is told to the agent, so it is plain text here.
import type { Message } from "../api/types";
import { Icon } from "../parts/Icon";
import { Link, pathTo } from "../router";

export function EndedBody({ message, approvalId }: { message: Message; approvalId: string }) {
  const cut = message.text.indexOf("\n\n");
  const line = cut < 0 ? message.text : message.text.slice(0, cut);
  const more = cut < 0 ? "" : message.text.slice(cut + 2);
  return (
    <div className="flex gap-2.5 text-mute">
      <Icon name="approve" size={16} className="mt-1 flex-none" />
      <div className="min-w-0 flex-1">
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">
          <span className="sr-only">Note: </span>
          {line}{" "}
          <Link to={pathTo.approval(approvalId)} className="link text-small">
            Request
          </Link>
        </p>
        {more && (
          <details className="text-small">
            <summary className="hover:text-ink">What came of it</summary>
            <pre
              tabIndex={0}
              aria-label="What came of it"
              className="mt-1 max-h-72 overflow-auto rounded-md border bg-tint px-3 py-2 font-mono text-fine whitespace-pre-wrap text-ink [overflow-wrap:anywhere]"
            >
              {more}
            </pre>
          </details>
        )}
      </div>
    </div>
  );
}
