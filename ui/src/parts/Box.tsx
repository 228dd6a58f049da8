// Text from outside in a box of its own: it is shown letter by letter, and never drawn as a page.
export function Box({ title, text }: { title: string; text: string }) {
  return (
    <div>
      <p className="text-fine text-mute">{title}</p>
      <pre
        tabIndex={0}
        aria-label={title}
        className="max-h-72 overflow-auto rounded-md border bg-tint px-3 py-2 font-mono text-fine whitespace-pre-wrap [overflow-wrap:anywhere]"
      >
        {text}
      </pre>
    </div>
  );
}
