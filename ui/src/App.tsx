// Which page is shown: the sign-in, or the frame with one page in it.
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect, useState } from "react";
import { keys } from "./api/cache";
import { onSignedOut } from "./api/client";
import { connect, useLine } from "./api/live";
import { updateMe } from "./api/operations";
import { useMe } from "./api/queries";
import { ChatPage } from "./chat/ChatPage";
import { Frame } from "./Frame";
import { useKeyboard } from "./keyboard";
import { Blank, Loading } from "./parts/Blank";
import { Net } from "./parts/Net";
import { TipProvider } from "./parts/Tip";
import { complain, Toasts } from "./parts/toasts";
import {
  AutomationPage,
  AutomationsPage,
  DeliveriesPage,
  EditPage,
  fetchRooms,
  RunPage,
  SettingsPage,
  WeekPage,
} from "./rooms";
import { Link, navigate, partsOfPath, usePath } from "./router";
import { SignInPage } from "./SignInPage";
import { browserZone } from "./time/format";

export function App() {
  const path = usePath();
  return (
    <TipProvider delayDuration={350} skipDelayDuration={150}>
      {path === "/sign-in" ? <SignInPage /> : <SignedIn path={path} />}
      <Toasts />
    </TipProvider>
  );
}

function SignedIn({ path }: { path: string }) {
  const client = useQueryClient();
  const ready = useHelloOrPatience();
  useOtherRooms();
  useKeyboard();
  useAdoptZone();

  useEffect(() => {
    const forget = onSignedOut(() => {
      sessionStorage.setItem("homing.next", location.pathname + location.search);
      client.clear();
      navigate("/sign-in", { replace: true });
    });
    const disconnect = connect(client);
    return () => {
      forget();
      disconnect();
    };
  }, [client]);

  return (
    <Frame>
      {ready && (
        <Net on={path}>
          <Suspense fallback={<PageLoading />}>{pageAt(path)}</Suspense>
        </Net>
      )}
    </Frame>
  );
}

const PATIENCE_MS = 700;

/** Lists are asked for after the stream's hello, so nothing falls between; but a slow hello holds up no page. */
function useHelloOrPatience(): boolean {
  const line = useLine();
  const [patient, setPatient] = useState(true);
  useEffect(() => {
    const timer = window.setTimeout(() => setPatient(false), PATIENCE_MS);
    return () => window.clearTimeout(timer);
  }, []);
  return line !== "connecting" || !patient;
}

const IDLE_MS = 3000;

/** Once this page stands, the others come along. */
function useOtherRooms() {
  useEffect(() => {
    const timer = window.setTimeout(fetchRooms, IDLE_MS);
    return () => window.clearTimeout(timer);
  }, []);
}

/** A person without a time zone gets the browser's. */
function useAdoptZone() {
  const client = useQueryClient();
  const me = useMe().data;
  const unset = me !== undefined && !me.timezone;
  useEffect(() => {
    if (unset) updateMe({ timezone: browserZone }).then((now) => client.setQueryData(keys.me, now), complain);
  }, [unset, client]);
}

function pageAt(path: string) {
  const parts = partsOfPath(path);
  const [room, id, more] = parts;
  if (room === undefined) return <ChatPage sessionKey={null} home />;
  if (room === "chat" && parts.length <= 2) return <ChatPage sessionKey={id ?? null} key={id ?? "new"} />;
  if (room === "automations") {
    if (id === undefined) return <AutomationsPage />;
    if (id === "new" && more === undefined) return <EditPage jobId={null} />;
    if (more === "edit") return <EditPage jobId={id} key={id} />;
    if (more === undefined) return <AutomationPage jobId={id} key={id} />;
  }
  if (room === "runs" && id !== undefined && more === undefined) return <RunPage runId={id} key={id} />;
  if (parts.length === 1) {
    if (room === "week") return <WeekPage />;
    if (room === "deliveries") return <DeliveriesPage />;
    if (room === "settings") return <SettingsPage />;
  }
  return <NotHere />;
}

function PageLoading() {
  return (
    <div className="page">
      <Loading />
    </div>
  );
}

function NotHere() {
  return (
    <Blank icon="search" title="There is no such page">
      <Link to="/" className="link">
        Go to your conversations
      </Link>
    </Blank>
  );
}
