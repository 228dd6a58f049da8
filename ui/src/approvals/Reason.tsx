/** The agent's own words, marked as such: they say why it asks, never what will run. */
export function Reason({ reason }: { reason: string }) {
  return (
    <figure className="border-l-2 pl-3">
      <figcaption className="text-fine text-mute">The agent’s reason, in its own words</figcaption>
      <blockquote className="whitespace-pre-wrap [overflow-wrap:anywhere]">{reason}</blockquote>
    </figure>
  );
}
