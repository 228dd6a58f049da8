// The end of a paged list: it asks for the next page when it comes into sight, and can be pressed.
import { useEffect, useRef } from "react";
import { SCROLLS } from "./Pages";

type MoreProps = { has: boolean; busy: boolean; load: () => void; label?: string };

export function More({ has, busy, load, label = "Show more" }: MoreProps) {
  const ref = useRef<HTMLDivElement>(null);
  const latest = useRef(load);
  latest.current = load;
  useEffect(() => {
    const end = ref.current;
    if (!end || !has || busy) return;
    const observer = new IntersectionObserver(
      (entries) => entries.some((entry) => entry.isIntersecting) && latest.current(),
      { root: end.closest(SCROLLS), rootMargin: "600px" },
    );
    observer.observe(end);
    return () => observer.disconnect();
  }, [has, busy]);
  if (!has) return null;
  return (
    <div ref={ref} className="py-4 text-center">
      <button type="button" className="button" data-look="plain" disabled={busy} onClick={load}>
        {busy ? "Loading" : label}
      </button>
    </div>
  );
}
