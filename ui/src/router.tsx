// Paths and history, no more: the page has a dozen routes and every one of them can be linked to.
import type { AnchorHTMLAttributes, MouseEvent } from "react";
import { createStore } from "./store";

const address = createStore(globalThis.location, (notify) => {
  window.addEventListener("popstate", notify);
  return () => window.removeEventListener("popstate", notify);
});

let repeats = 0;

/** Counts how often one asked for the place where one is: what a link points to is shown again. */
export const useRepeats = () => address.use(() => repeats);

export function navigate(to: string, options: { replace?: boolean } = {}) {
  if (to === location.pathname + location.search) {
    repeats += 1;
    return address.notify();
  }
  if (options.replace) history.replaceState(null, "", to);
  else history.pushState(null, "", to);
  address.notify();
}

export function usePath(): string {
  return address.use(({ pathname }) => pathname);
}

export function useSearch(): URLSearchParams {
  return new URLSearchParams(address.use(({ search }) => search));
}

/** Change some of the address's query, and leave the rest; an empty value drops out. */
export function setSearch(changes: Record<string, string | null>) {
  const search = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(changes)) {
    if (value) search.set(name, value);
    else search.delete(name);
  }
  const text = search.toString();
  navigate(location.pathname + (text ? `?${text}` : ""), { replace: true });
}

export const pathTo = {
  chat: (key: string) => `/chat/${encodeURI(key)}`,
  message: (key: string, seq: number) => `/chat/${encodeURI(key)}?at=${seq}`,
  newChat: (agentId: string) => `/chat?agent=${encodeURIComponent(agentId)}`,
  agent: (id: string) => `/agents/${encodeURIComponent(id)}`,
  job: (id: string) => `/automations/${encodeURIComponent(id)}`,
  editJob: (id: string) => `/automations/${encodeURIComponent(id)}/edit`,
  memory: (id: string) => `/settings?memory=${encodeURIComponent(id)}`,
  approval: (id: string) => `/approvals/${encodeURIComponent(id)}`,
  turn: (id: string) => `/turns/${encodeURIComponent(id)}`,
  run: (id: string) => `/runs/${encodeURI(id)}`,
};

/** The parts of a path, decoded: what `pathTo` put in comes out. */
export const partsOfPath = (path: string) => path.split("/").filter(Boolean).map(decoded);

function decoded(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part; // Somebody typed a percent sign.
  }
}

type LinkProps = AnchorHTMLAttributes<HTMLAnchorElement> & { to: string };

export function Link({ to, onClick, ...rest }: LinkProps) {
  function follow(event: MouseEvent<HTMLAnchorElement>) {
    onClick?.(event);
    if (
      event.defaultPrevented ||
      event.button !== 0 ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    event.preventDefault();
    navigate(to);
  }
  return <a href={to} onClick={follow} {...rest} />;
}
