// A list in pages, as it was fetched. Pages far out of sight give way to a gap as high as they were, so that two
// thousand rows weigh no more than a hundred.
import { type ReactNode, useEffect, useRef, useState } from "react";

type PagedListProps<T> = { label: string; busy: boolean; pages: T[][]; row: (item: T) => ReactNode };

export function PagedList<T>({ label, busy, pages, row }: PagedListProps<T>) {
  return pages.map((items, index) => (
    <Shown key={index}>
      <ul aria-label={index === 0 ? label : `${label}, part ${index + 1}`} aria-busy={busy}>
        {items.map(row)}
      </ul>
    </Shown>
  ));
}

const NEAR = "1500px";
/** What scrolls a list: the page, or a part of it that says so. */
export const SCROLLS = "[data-scrolls], main";

function Shown({ children }: { children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  const [gap, setGap] = useState<number | null>(null);
  useEffect(() => {
    const element = ref.current;
    if (!element) return;
    const look: IntersectionObserverCallback = (seen) => {
      const near = seen.at(-1)?.isIntersecting ?? true;
      setGap((had) => (near ? null : (had ?? element.offsetHeight)));
    };
    // A margin counts only for the root itself, so the root is what scrolls.
    const observer = new IntersectionObserver(look, { root: element.closest(SCROLLS), rootMargin: NEAR });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return (
    <div ref={ref} style={gap === null ? undefined : { height: gap }}>
      {gap === null && children}
    </div>
  );
}
