// Files that are dropped anywhere on the conversation. Without this a browser would leave the page and show the file.
import { useEffect, useState } from "react";

type Dropped = File & { isFolder?: boolean };

const hasFiles = (event: DragEvent) => event.dataTransfer?.types.includes("Files") ?? false;

/** Says whether files are over the page now. */
export function useDrop(onFiles: (files: Dropped[]) => void): boolean {
  const [over, setOver] = useState(false);
  useEffect(() => {
    // Each element that the pointer comes over enters before the one before it is left.
    let depth = 0;
    const enter = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth += 1;
      setOver(true);
    };
    const leave = (event: DragEvent) => {
      if (!hasFiles(event)) return;
      depth = Math.max(0, depth - 1);
      if (depth === 0) setOver(false);
    };
    const hold = (event: DragEvent) => hasFiles(event) && event.preventDefault();
    const drop = (event: DragEvent) => {
      if (!hasFiles(event) || !event.dataTransfer) return;
      event.preventDefault();
      depth = 0;
      setOver(false);
      onFiles(filesOf(event.dataTransfer));
    };
    const listeners = { dragenter: enter, dragleave: leave, dragover: hold, drop } as const;
    for (const [name, listener] of Object.entries(listeners)) window.addEventListener(name, listener as EventListener);
    return () => {
      for (const [name, listener] of Object.entries(listeners))
        window.removeEventListener(name, listener as EventListener);
    };
  }, [onFiles]);
  return over;
}

function filesOf(data: DataTransfer): Dropped[] {
  return Array.from(data.items).flatMap((item) => {
    const file: Dropped | null = item.kind === "file" ? item.getAsFile() : null;
    if (!file) return [];
    if (item.webkitGetAsEntry()?.isDirectory) file.isFolder = true;
    return [file];
  });
}

/** What was pasted. A copied table is text, and brings its picture along only for programs that cannot read it. */
export function pastedFiles(data: DataTransfer): File[] {
  const isText = data.types.includes("text/plain") && data.types.includes("text/html");
  return isText ? [] : Array.from(data.files);
}
