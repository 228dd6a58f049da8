// The end of a paged list: it loads the next page when it is scrolled near, or pressed.
import { useEffect, useRef } from "react";
import { SCROLLS } from "./PagedList";

type LoadMoreProps = { has: boolean; busy: boolean; load: () => void; label?: string };

export function LoadMore({ has, busy, load, label = "Show more" }: LoadMoreProps) {
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
