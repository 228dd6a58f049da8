// Names and values, one a line, between hairlines.
import type { ReactNode } from "react";

export function Facts({ children, label }: { children: ReactNode; label?: string }) {
  return (
    <dl aria-label={label} className="border-t">
      {children}
    </dl>
  );
}

export function Fact({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="grid gap-x-6 border-b py-2 sm:grid-cols-[9.5rem_minmax(0,1fr)]">
      <dt className="text-mute">{name}</dt>
      <dd className="min-w-0 [overflow-wrap:anywhere]">{children}</dd>
    </div>
  );
}
