// Dialogs are the browser's own: it keeps the focus inside, makes the rest inert and closes on Esc.
import { type ReactNode, useLayoutEffect, useRef } from "react";
import { Icon } from "./Icon";
import { onTop } from "./layers";

type SheetProps = {
  title: string;
  onClose: () => void;
  children: ReactNode;
  drawer?: "left" | "right";
  wide?: boolean;
  /** At the top, without a head: what is inside has a way to close it. */
  palette?: boolean;
};

export function Sheet({ title, onClose, children, drawer, wide = false, palette = false }: SheetProps) {
  const ref = useRef<HTMLDialogElement>(null);
  // In the layout phase, because its end must come while the dialog is still in the document.
  useLayoutEffect(() => {
    const dialog = ref.current;
    if (!dialog) return;
    const opener = openerOf(document.activeElement);
    dialog.showModal();
    // The browser would choose the button that closes it.
    (dialog.querySelector<HTMLElement>("[data-first]") ?? dialog).focus();
    const leave = onTop(dialog);
    return () => {
      leave();
      dialog.close();
      opener?.focus();
    };
  }, []);
  return (
    <dialog
      ref={ref}
      tabIndex={-1}
      className={palette ? "palette" : drawer ? "drawer" : "sheet"}
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
      {palette ? null : drawer ? (
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

/** Where the focus goes back to: what opened it, or the button of the menu that did. */
function openerOf(active: Element | null): HTMLElement | null {
  const menu = active?.closest("[role=menu]");
  const opener = menu ? document.getElementById(menu.getAttribute("aria-labelledby") ?? "") : active;
  return opener instanceof HTMLElement && opener !== document.body ? opener : null;
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
