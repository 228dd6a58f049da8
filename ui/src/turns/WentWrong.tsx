// The sentence that says what went wrong, the provider's own where it gave one; the full record is one click away.
export function WentWrong({ summary, error }: { summary: string | null; error: string | null }) {
  return (
    <>
      <p className="rounded-md bg-bad-tint px-4 py-3 text-bad [overflow-wrap:anywhere]">{summary ?? error}</p>
      {error && error.trim() !== summary && (
        <details className="mt-2 text-small">
          <summary className="text-mute hover:text-ink">The whole story</summary>
          <pre
            className="mt-2 max-h-80 overflow-auto rounded-md border bg-tint px-4 py-3 font-mono text-fine whitespace-pre-wrap"
            tabIndex={0}
            aria-label="Error"
          >
            {error}
          </pre>
        </details>
      )}
    </>
  );
}
