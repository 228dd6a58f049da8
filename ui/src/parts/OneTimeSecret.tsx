// A secret that is shown only once.
import { toast } from "./toasts";

export function OneTimeSecret({ label, value }: { label: string; value: string }) {
  async function copy() {
    await navigator.clipboard.writeText(value);
    toast({ text: "Copied" });
  }
  return (
    <div role="status" className="mt-3 rounded-md bg-wait-tint px-3 py-2">
      <p className="text-small text-wait">{label}. It is shown only now; keep it where it is safe.</p>
      <div className="mt-1 flex items-center gap-2">
        <code className="min-w-0 flex-1 font-mono text-small [overflow-wrap:anywhere]">{value}</code>
        {"clipboard" in navigator && (
          <button type="button" className="button" onClick={() => void copy()}>
            Copy
          </button>
        )}
      </div>
    </div>
  );
}
