// Sign-in. A link's code is in the fragment, which no server log or link preview sees; it works once and is removed.
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from "react";
import { sentenceOf } from "./api/client";
import { signIn } from "./api/operations";
import { Logo } from "./parts/Logo";
import { ServerText } from "./parts/ServerText";
import { navigate } from "./router";

function enter() {
  const next = sessionStorage.getItem("homing.next");
  sessionStorage.removeItem("homing.next");
  navigate(next && !next.startsWith("/sign-in") ? next : "/", { replace: true });
}

function takeCode(): string | null {
  const code = new URLSearchParams(location.hash.slice(1)).get("code");
  if (code) history.replaceState(null, "", "/sign-in");
  return code;
}

export function SignInPage() {
  const [refused, setRefused] = useState<string | null>(null);
  const [code, setCode] = useState(takeCode);
  const [waiting, setWaiting] = useState(code !== null);
  const used = useRef<string | null>(null);

  // A link pasted into this tab changes only the fragment: the page is not loaded again.
  useEffect(() => {
    const onHashChange = () => setCode((before) => takeCode() ?? before);
    window.addEventListener("hashchange", onHashChange);
    return () => window.removeEventListener("hashchange", onHashChange);
  }, []);

  useEffect(() => {
    if (!code || used.current === code) return;
    used.current = code; // A code works once, and React may run an effect twice.
    setWaiting(true);
    signIn({ code }).then(enter, (error: unknown) => {
      setRefused(sentenceOf(error));
      setWaiting(false);
    });
  }, [code]);

  if (waiting)
    return (
      <SignInLayout>
        <p role="status" className="text-mute">
          Signing you in.
        </p>
      </SignInLayout>
    );
  return (
    <SignInLayout>
      <TokenForm refused={refused} setRefused={setRefused} />
    </SignInLayout>
  );
}

function TokenForm({ refused, setRefused }: { refused: string | null; setRefused: (sentence: string | null) => void }) {
  const [token, setToken] = useState("");
  const [busy, setBusy] = useState(false);

  async function submit(event: FormEvent) {
    event.preventDefault();
    setBusy(true);
    setRefused(null);
    try {
      await signIn({ token: token.trim() });
      enter();
    } catch (error) {
      setRefused(sentenceOf(error));
      setBusy(false);
    }
  }

  return (
    <form onSubmit={(event) => void submit(event)} className="flex w-full flex-col gap-3">
      <p className="text-mute">
        Run <code className="rounded bg-hover px-1.5 py-0.5 font-mono text-[0.9em] text-ink">homing open</code> on the
        machine where Homing runs: it gives a fresh link that signs you in. Or enter a token.
      </p>
      <label className="mt-2 flex flex-col gap-1">
        <span className="text-small font-semibold">Token</span>
        <input
          className="field font-mono"
          type="password"
          name="token"
          autoComplete="current-password"
          autoFocus
          required
          value={token}
          aria-invalid={refused !== null}
          aria-describedby={refused ? "refused" : undefined}
          onChange={(event) => setToken(event.target.value)}
        />
      </label>
      {refused && (
        <p id="refused" role="alert" className="text-small text-bad">
          <ServerText text={refused} />
        </p>
      )}
      <button type="submit" className="button" data-look="main" disabled={busy || token.trim() === ""}>
        {busy ? "Signing in" : "Sign in"}
      </button>
    </form>
  );
}

function SignInLayout({ children }: { children: ReactNode }) {
  return (
    <main className="flex h-dvh flex-col items-center justify-center px-6">
      <div className="flex w-full max-w-[22rem] flex-col items-start gap-5">
        <Logo size={44} />
        <h1>Homing</h1>
        {children}
      </div>
    </main>
  );
}
