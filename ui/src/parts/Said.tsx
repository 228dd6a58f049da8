// A short sentence of the server. It may name a thing in backticks, as Markdown does; nothing else of Markdown is in it.
export function Said({ text }: { text: string }) {
  const parts = text.split("`");
  // A backtick without its fellow is a backtick.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
