// A picture of a message, shown in a box of one height so that nothing jumps when it comes. A click shows it large.
import { useEffect, useRef, useState } from "react";
import { getFile } from "../api/operations";

const SHOWN = ["image/png", "image/jpeg", "image/gif", "image/webp"];
const LARGEST = 10 * 1024 * 1024;

export const isPicture = (file: { media_type: string; bytes: number }) =>
  SHOWN.includes(file.media_type) && file.bytes <= LARGEST;

export function Picture({ id, name }: { id: string; name: string }) {
  const place = useRef<HTMLDivElement>(null);
  const near = useNear(place);
  const [url, setUrl] = useState<string | null>(null);
  const [open, setOpen] = useState(false);
  const [broken, setBroken] = useState(false);

  useEffect(() => {
    if (!near) return;
    let made: string | null = null;
    let left = false;
    getFile(id).then(
      (bytes) => {
        if (left) return;
        made = URL.createObjectURL(bytes);
        setUrl(made);
      },
      () => setBroken(true),
    );
    return () => {
      left = true;
      if (made) URL.revokeObjectURL(made);
    };
  }, [near, id]);

  // Its name, size and download are there all the same.
  if (broken) return null;
  return (
    <div ref={place} className="flex h-48 w-full items-start">
      {url && (
        <button
          type="button"
          className="max-h-full max-w-full cursor-zoom-in"
          aria-label={`Open ${name}`}
          onClick={() => setOpen(true)}
        >
          <img
            src={url}
            alt={name}
            className="max-h-48 max-w-full rounded-lg border border-edge object-contain"
            onError={() => setBroken(true)}
          />
        </button>
      )}
      {url && open && <Large url={url} name={name} onClose={() => setOpen(false)} />}
    </div>
  );
}

function Large({ url, name, onClose }: { url: string; name: string; onClose: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);

  useEffect(() => dialog.current?.showModal(), []);

  return (
    <dialog
      ref={dialog}
      aria-label={name}
      className="m-auto max-h-[95dvh] max-w-[95vw] rounded-lg border border-edge bg-paper p-3 backdrop:bg-black/60"
      onClose={onClose}
    >
      <img src={url} alt={name} className="max-h-[80dvh] max-w-full object-contain" />
      <button type="button" className="link mt-2" onClick={() => dialog.current?.close()}>
        Close
      </button>
    </dialog>
  );
}

/** A long conversation fetches only the pictures that one is about to see. */
function useNear(place: { current: HTMLElement | null }): boolean {
  const [near, setNear] = useState(false);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const watch = new IntersectionObserver(
      (seen) => {
        if (!seen.some((one) => one.isIntersecting)) return;
        setNear(true);
        watch.disconnect();
      },
      { rootMargin: "400px" },
    );
    watch.observe(element);
    return () => watch.disconnect();
  }, [place]);
  return near;
}
