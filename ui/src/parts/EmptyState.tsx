// What is shown instead of content: nothing yet, still loading, or an error with a retry.
import type { ReactNode } from "react";
import { sentenceOf, Unreachable } from "../api/client";
import { Icon, type IconName } from "./Icon";
import { ServerText } from "./ServerText";

type EmptyStateProps = { icon: IconName; title: string; children?: ReactNode; whole?: boolean };

/** `whole`: it is all that is on the page, so its title is the page's heading. */
export function EmptyState({ icon, title, children, whole = false }: EmptyStateProps) {
  const Title = whole ? "h1" : "p";
  return (
    <div className="flex flex-col items-center px-4 py-16 text-center">
      <Icon name={icon} size={28} className="mb-4 text-mute" />
      <Title className="!text-base font-semibold">{title}</Title>
      {children && <div className="mt-1.5 max-w-[26rem] text-mute">{children}</div>}
    </div>
  );
}

export function Loading({ rows = 5 }: { rows?: number }) {
  return (
    <div role="status" aria-label="Loading" className="divide-y">
      {Array.from({ length: rows }, (_, row) => (
        <div key={row} className="flex items-center gap-4 py-4">
          <div className="skeleton size-3 rounded-full" />
          <div className="flex-1">
            <div className="skeleton mb-2 h-3.5" style={{ width: `${44 - (row % 3) * 9}%` }} />
            <div className="skeleton h-3" style={{ width: `${64 - (row % 4) * 11}%` }} />
          </div>
        </div>
      ))}
    </div>
  );
}

export function LoadError({ error, again }: { error: unknown; again: () => void }) {
  const away = error instanceof Unreachable;
  return (
    <div role="alert">
      <EmptyState icon="note" title={away ? "No answer from the server" : "This could not be shown"}>
        <p>
          <ServerText text={sentenceOf(error)} />
        </p>
        <button type="button" className="button mt-4" onClick={again}>
          Try again
        </button>
      </EmptyState>
    </div>
  );
}
