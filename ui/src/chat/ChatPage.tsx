// One conversation, or the beginning of one: the first message makes it.
import { useQueryClient } from "@tanstack/react-query";
import { useEffect, useMemo, useState } from "react";
import { placeSession } from "../api/cache";
import { Refusal } from "../api/client";
import { addSession, updateSession } from "../api/operations";
import {
  flat,
  MAIN_AGENT,
  messagesQuery,
  sessionQuery,
  useJobs,
  useMessages,
  useMyZone,
  useSession,
  useSessions,
} from "../api/queries";
import type { Session } from "../api/types";
import type { KeptFile } from "../api/upload";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Icon } from "../parts/Icon";
import { SessionName } from "../parts/SessionName";
import { Sheet } from "../parts/Sheet";
import { toastError } from "../parts/toasts";
import { useMedia } from "../parts/useMedia";
import { useTitle } from "../parts/useTitle";
import { titleOf } from "../parts/words";
import { Link, navigate, pathTo, useSearch } from "../router";
import { AutomationsPanel } from "./AutomationsPanel";
import { ChatHead } from "./ChatHead";
import { Composer, moveDraft } from "./Composer";
import { Lane } from "./Lane";
import { post, useOutbox } from "./outbox";
import { OutgoingOnly, Transcript } from "./Transcript";
import { Welcome } from "./Welcome";

export function ChatPage({ sessionKey, home = false }: { sessionKey: string | null; home?: boolean }) {
  if (sessionKey !== null) return <Conversation sessionKey={sessionKey} />;
  return home ? <Home /> : <Beginning />;
}

/** The front page is where one left off. */
function Home() {
  const list = useSessions();
  const sessions = flat(list.data);
  const last = localStorage.getItem("homing.last");
  const target = sessions.find((session) => session.key === last) ?? sessions[0];
  useEffect(() => {
    if (target) navigate(pathTo.chat(target.key), { replace: true });
  }, [target]);
  if (list.isError) return <LoadError error={list.error} again={() => void list.refetch()} />;
  if (list.isPending || target) return <Waiting />;
  return <Beginning />;
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz234567";
const newKey = () =>
  `web:${Array.from(crypto.getRandomValues(new Uint8Array(10)), (byte) => LETTERS[byte % 32]).join("")}`;

function titleFrom(text: string): string {
  const line = text.split("\n", 1)[0] ?? "";
  return line.length <= 60 ? line : `${line.slice(0, 59).replace(/\s+\S*$/, "")}…`;
}

const NEW_DRAFT = "new";

function Beginning() {
  const client = useQueryClient();
  const [key] = useState(newKey);
  const agentId = useSearch().get("agent") ?? MAIN_AGENT;
  const outbox = useOutbox(key);
  const zone = useMyZone();

  async function begin(text: string, files: readonly KeptFile[] = []) {
    // A message to a key nobody has yet makes the conversation, with the usual agent; for another it is made first.
    if (agentId !== MAIN_AGENT && !(await madeFor(agentId))) return;
    if (!(await post(key, text, "inject", { files }))) return;
    // A conversation is called after its first words until somebody names it.
    updateSession(key, { title: titleFrom(text || (files[0]?.name ?? "")) }).then(
      (session) => placeSession(client, session),
      toastError,
    );
    // Both are there when the page changes, so that nothing is seen to vanish and come back.
    await Promise.all([
      client.prefetchQuery(sessionQuery(key)),
      client.prefetchQuery(messagesQuery(client, key, null)),
    ]);
    moveDraft(NEW_DRAFT, key);
    navigate(pathTo.chat(key), { replace: true });
  }

  async function madeFor(agent_id: string): Promise<boolean> {
    try {
      placeSession(client, await addSession({ key, agent_id }));
    } catch (error) {
      // Made by the send before this one, which did not arrive.
      if (!(error instanceof Refusal && error.code === "session_exists")) {
        toastError(error);
        return false;
      }
    }
    return true;
  }

  return (
    <div className="flex h-full flex-col">
      <ChatHead session={undefined} agentId={agentId} />
      {outbox.length > 0 ? (
        <OutgoingOnly sessionKey={key} zone={zone} />
      ) : (
        <Welcome onTry={(text) => void begin(text)} />
      )}
      <Foot>
        <Composer session={undefined} draftKey={NEW_DRAFT} onSend={(text, _, files) => void begin(text, files)} />
      </Foot>
    </div>
  );
}

function Conversation({ sessionKey }: { sessionKey: string }) {
  const session = useSession(sessionKey);
  useEffect(() => {
    if (session.isSuccess) localStorage.setItem("homing.last", sessionKey);
  }, [session.isSuccess, sessionKey]);
  useTitle(session.data && titleOf(session.data));

  if (session.isPending) return <Waiting />;
  if (session.error instanceof Refusal && session.error.status === 404) return <Gone />;
  if (!session.data)
    return session.isError ? <LoadError error={session.error} again={() => void session.refetch()} /> : <Gone />;
  return <Open session={session.data} />;
}

// Where there is room beside the conversation, its automations are shown until somebody closes them.
const ROOMY = "(min-width: 100rem)";

function Open({ session }: { session: Session }) {
  const key = session.key;
  const at = Number(useSearch().get("at")) || null;
  const myZone = useMyZone();
  const zone = session.timezone || myZone;
  const messages = useMessages(key, at);
  const jobList = useJobs({ session_key: key });
  const jobs = useMemo(() => flat(jobList.data).filter((job) => job.session_key === key), [jobList.data, key]);
  const outbox = useOutbox(key);
  const wide = useMedia("(min-width: 80rem)");
  const roomy = useMedia(ROOMY);
  const [chosen, setChosen] = useState(() => localStorage.getItem("homing.panel"));
  const panel = chosen === null ? roomy && session.automations.total > 0 : chosen === "open";
  const [drawer, setDrawer] = useState(false);

  function togglePanel() {
    if (!wide) return setDrawer(true);
    const next = panel ? "closed" : "open";
    localStorage.setItem("homing.panel", next);
    setChosen(next);
  }

  function send(text: string, mode: "inject" | "queue", files: readonly KeptFile[] = []) {
    if (at !== null) navigate(pathTo.chat(key), { replace: true });
    void post(key, text, mode, { files });
  }

  const empty =
    messages.data?.items.length === 0 && outbox.length === 0 && session.state === "idle" && jobs.length === 0;
  return (
    <div className="flex h-full">
      <div className="flex min-w-0 flex-1 flex-col">
        <ChatHead session={session} panel={{ open: wide ? panel : drawer, toggle: togglePanel }} />
        {session.branch_of && (
          <p className="flex-none truncate border-b px-4 py-1 text-small text-mute sm:px-5">
            <Icon name="branch" size={14} className="mr-1.5 inline align-[-0.15em]" />
            Branched from{" "}
            <Link to={`${pathTo.chat(session.branch_of.session_key)}?at=${session.branch_of.seq}`} className="link">
              <SessionName of={session.branch_of.session_key} />
            </Link>
          </p>
        )}
        {messages.isPending && <Waiting bare />}
        {messages.isError && !messages.data && (
          <LoadError error={messages.error} again={() => void messages.refetch()} />
        )}
        {messages.data &&
          (empty ? (
            <Welcome onTry={(text) => send(text, "inject")} />
          ) : (
            <Transcript key={key} sessionKey={key} loaded={messages.data} jobs={jobs} zone={zone} at={at} />
          ))}
        <Foot>
          <Lane session={session} jobs={jobs} />
          <Composer key={key} session={session} draftKey={key} onSend={send} />
        </Foot>
      </div>
      {wide && panel && (
        <aside aria-label="Automations of this conversation" className="w-80 flex-none overflow-y-auto border-l">
          <p className="flex min-h-14 items-center justify-between pr-2 pl-4 font-semibold">
            Automations here
            <button type="button" className="icon-button" aria-label="Close automations" onClick={togglePanel}>
              <Icon name="close" />
            </button>
          </p>
          <AutomationsPanel jobs={jobs} sessionKey={key} more={jobList.hasNextPage} />
        </aside>
      )}
      {drawer && !wide && (
        <Sheet title="Automations here" drawer="right" onClose={() => setDrawer(false)}>
          <AutomationsPanel jobs={jobs} sessionKey={key} more={jobList.hasNextPage} />
        </Sheet>
      )}
    </div>
  );
}

function Foot({ children }: { children: React.ReactNode }) {
  return (
    <div className="flex-none">
      <div className="mx-auto max-w-[50rem] px-3 sm:px-8">{children}</div>
    </div>
  );
}

function Waiting({ bare = false }: { bare?: boolean }) {
  return (
    <div className="flex h-full flex-1 flex-col">
      {!bare && <div className="min-h-14 border-b" />}
      <div className="mx-auto w-full max-w-[50rem] px-4 sm:px-8">
        <Loading rows={4} />
      </div>
    </div>
  );
}

function Gone() {
  return (
    <EmptyState icon="chat" title="There is no such conversation" whole>
      It was deleted, or it belongs to somebody else.{" "}
      <Link to="/chat" className="link">
        Begin a new one
      </Link>
    </EmptyState>
  );
}
