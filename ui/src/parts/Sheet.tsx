// Dialogs are the browser's own: it keeps the focus inside, makes the rest inert and closes on Esc.
import { type ReactNode, useEffect, useRef } from "react";
import { Icon } from "./Icon";
import { onTop } from "./layers";

type SheetProps = {
  title: string;
  onClose: () => void;
  children: ReactNode;
  drawer?: "left" | "right";
  wide?: boolean;
};

export function Sheet({ title, onClose, children, drawer, wide = false }: SheetProps) {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    dialog.showModal();
    // The browser would choose the button that closes it.
    (dialog.querySelector<HTMLElement>("[data-first]") ?? dialog).focus();
    const leave = onTop(dialog);
    return () => {
      leave();
      dialog.close();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      tabIndex={-1}
      className={drawer ? "drawer" : "sheet"}
      data-side={drawer}
      style={wide ? { width: "min(44rem, calc(100vw - 2rem))" } : undefined}
      aria-label={title}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onMouseDown={(event) =>
        event.target === event.currentTarget &&
        isOutside(event.currentTarget, event.clientX, event.clientY) &&
        onClose()
      }
    >
      {drawer ? (
        <div className="flex items-center justify-between border-b py-2 pr-2 pl-4">
          <span className="font-semibold">{title}</span>
          <CloseButton onClose={onClose} />
        </div>
      ) : (
        <div className="mb-3 flex items-start justify-between gap-4">
          <p className="text-large font-semibold" role="heading" aria-level={1}>
            {title}
          </p>
          <CloseButton onClose={onClose} />
        </div>
      )}
      {children}
    </dialog>
  );
}

function CloseButton({ onClose }: { onClose: () => void }) {
  return (
    <button type="button" className="icon-button -mt-1 -mr-1" aria-label="Close" onClick={onClose}>
      <Icon name="close" />
    </button>
  );
}

function isOutside(dialog: HTMLDialogElement, x: number, y: number) {
  const box = dialog.getBoundingClientRect();
  return x < box.left || x > box.right || y < box.top || y > box.bottom;
}
