// Which page is shown: the sign-in, or the frame with one page in it.
import { useQueryClient } from "@tanstack/react-query";
import { Suspense, useEffect } from "react";
import { keys } from "./api/cache";
import { onSignedOut } from "./api/client";
import { connect } from "./api/live";
import { updateMe } from "./api/operations";
import { useMe, useUnread } from "./api/queries";
import { Arrivals } from "./arrivals/ArrivalCard";
import { ChatPage } from "./chat/ChatPage";
import { useNotifications } from "./chat/notify";
import { Frame } from "./Frame";
import { useKeyboard } from "./keyboard";
import {
  AgentPage,
  AgentsPage,
  ApprovalPage,
  ApprovalsPage,
  AutomationPage,
  AutomationsPage,
  DeliveriesPage,
  EditPage,
  InboxPage,
  preloadPages,
  RunPage,
  SettingsPage,
  TurnPage,
  UsagePage,
  WeekPage,
} from "./lazyPages";
import { EmptyState, Loading } from "./parts/EmptyState";
import { PageErrorBoundary } from "./parts/ErrorBoundary";
import { TooltipProvider } from "./parts/Tooltip";
import { Toasts, toastError } from "./parts/toasts";
import { useTab } from "./parts/useTitle";
import { usePush } from "./push";
import { Link, navigate, partsOfPath, usePath } from "./router";
import { SignInPage } from "./SignInPage";
import { browserZone } from "./time/format";

export function App() {
  const path = usePath();
  return (
    <TooltipProvider delayDuration={350} skipDelayDuration={150}>
      {path === "/sign-in" ? <SignInPage /> : <SignedIn path={path} />}
      <Toasts />
    </TooltipProvider>
  );
}

function SignedIn({ path }: { path: string }) {
  const client = useQueryClient();
  usePreloadedPages();
  useKeyboard();
  useAdoptZone();
  useNotifications();
  usePush();
  useTab(useUnread());

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
      <Arrivals />
      <PageErrorBoundary path={path}>
        <Suspense fallback={<PageLoading />}>{pageAt(path)}</Suspense>
      </PageErrorBoundary>
    </Frame>
  );
}

const IDLE_MS = 3000;

/** Once this page is shown, load the others. */
function usePreloadedPages() {
  useEffect(() => {
    const timer = window.setTimeout(preloadPages, IDLE_MS);
    return () => window.clearTimeout(timer);
  }, []);
}

/** A person without a time zone gets the browser's. */
function useAdoptZone() {
  const client = useQueryClient();
  const me = useMe().data;
  const unset = me !== undefined && !me.timezone;
  useEffect(() => {
    if (unset) updateMe({ timezone: browserZone }).then((now) => client.setQueryData(keys.me, now), toastError);
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
  if (room === "agents" && id !== undefined && more === undefined)
    return <AgentPage agentId={id === "new" ? null : id} key={id} />;
  if (room === "runs" && id !== undefined && more === undefined) return <RunPage runId={id} key={id} />;
  if (room === "approvals" && id !== undefined && more === undefined) return <ApprovalPage approvalId={id} key={id} />;
  if (room === "turns" && id !== undefined && more === undefined) return <TurnPage turnId={id} key={id} />;
  if (parts.length === 1) {
    if (room === "inbox") return <InboxPage />;
    if (room === "approvals") return <ApprovalsPage />;
    if (room === "agents") return <AgentsPage />;
    if (room === "week") return <WeekPage />;
    if (room === "deliveries") return <DeliveriesPage />;
    if (room === "usage") return <UsagePage />;
    if (room === "settings") return <SettingsPage />;
  }
  return <NotFound />;
}

function PageLoading() {
  return (
    <div className="page">
      <Loading />
    </div>
  );
}

function NotFound() {
  return (
    <EmptyState icon="search" title="There is no such page" whole>
      <Link to="/" className="link">
        Go to your conversations
      </Link>
    </EmptyState>
  );
}
