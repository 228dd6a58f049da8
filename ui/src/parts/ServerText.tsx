// A short sentence from the server. Names in backticks become code; it contains no other Markdown.
export function ServerText({ text }: { text: string }) {
  const parts = text.split("`");
  // An odd number of backticks: they are plain characters.
  if (parts.length % 2 === 0) return text;
  return parts.map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part));
}
