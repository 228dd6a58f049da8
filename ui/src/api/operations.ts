// The server's operations under the server's names, one function each.
import { answer, api } from "./client";
import { keepKey } from "./key";
import type {
  DeliveryState,
  Job,
  JobDraft,
  JobPatch,
  JobStatus,
  Message,
  Page,
  Run,
  RunState,
  ScheduleDraft,
} from "./types";

const LIST = 50;
const WHOLE = 200;

type Paging = { cursor?: string; limit?: number };
const query = <Q extends Paging>(asked: Q) => ({ params: { query: { limit: LIST, ...asked } } });
const byId = (id: string) => ({ params: { path: { id } } });
const byKey = (key: string) => ({ params: { path: { key } } });

export const getStatus = () => answer(api.GET("/api/status"));
export const getMe = () => answer(api.GET("/api/me"));
export const updateMe = (body: { timezone?: string }) => answer(api.PATCH("/api/me", { body }));

export const signIn = async (body: { code?: string; token?: string }) => {
  const signed = await answer(api.POST("/api/auth/sign-in", { body }));
  keepKey(signed.key);
  return signed;
};
export const signOut = async () => {
  const gone = await answer(api.POST("/api/auth/sign-out"));
  keepKey(null);
  return gone;
};

export const listTokens = () => answer(api.GET("/api/tokens", query({ limit: WHOLE })));
export const createToken = (body: { name?: string; expires?: string }) => answer(api.POST("/api/tokens", { body }));
export const revokeToken = (id: string) => answer(api.DELETE("/api/tokens/{id}", byId(id)));

export const listSessions = (asked: Paging & { q?: string }) => answer(api.GET("/api/sessions", query(asked)));
export const addSession = (body: { title?: string; timezone?: string }) => answer(api.POST("/api/sessions", { body }));
export const getSession = (key: string) => answer(api.GET("/api/sessions/{key}", byKey(key)));
export const updateSession = (
  key: string,
  body: { title?: string | null; timezone?: string; addresses?: string[]; revision?: number },
) => answer(api.PATCH("/api/sessions/{key}", { ...byKey(key), body }));
export const deleteSession = (key: string, withAutomations: boolean) =>
  answer(
    api.DELETE("/api/sessions/{key}", { params: { path: { key }, query: { delete_automations: withAutomations } } }),
  );

export const sendMessage = (key: string, body: { text: string; mode: "inject" | "queue" }, idempotencyKey: string) =>
  answer(
    api.POST("/api/sessions/{key}/messages", {
      params: { path: { key }, header: { "Idempotency-Key": idempotencyKey } },
      body,
    }),
  );
export const listMessages = (key: string, asked: Paging & { after?: number; before?: number }) =>
  answer(
    api.GET("/api/sessions/{key}/messages", { params: { path: { key }, query: { limit: LIST, ...asked } } }),
  ) as Promise<Page<Message>>;
export const cancelTurn = (key: string, turnId?: string) =>
  answer(api.POST("/api/sessions/{key}/cancel", { ...byKey(key), body: { turn_id: turnId } }));
export const testAddress = (key: string, address: string) =>
  answer(api.POST("/api/sessions/{key}/test", { ...byKey(key), body: { address } }));

export const listWebhooks = () => answer(api.GET("/api/webhooks", query({ limit: WHOLE })));
export const addWebhook = (url: string) => answer(api.POST("/api/webhooks", { body: { url } }));
export const removeWebhook = (id: string) => answer(api.DELETE("/api/webhooks/{id}", byId(id)));

export const listGrants = () => answer(api.GET("/api/grants", query({ limit: WHOLE })));
export const addGrant = (address: string) => answer(api.POST("/api/grants", { body: { address } }));
export const removeGrant = (id: string) => answer(api.DELETE("/api/grants/{id}", byId(id)));

export type JobSort = "next" | "name" | "updated" | "last";
export type JobFilter = { session_key?: string; status?: JobStatus; q?: string; sort?: JobSort; recent?: number };
export const listJobs = (asked: JobFilter & Paging) => answer(api.GET("/api/jobs", query(asked)));
export const getJob = (id: string) => answer(api.GET("/api/jobs/{id}", byId(id)));
export const addJob = (body: JobDraft): Promise<Job> => answer(api.POST("/api/jobs", { body }));
export const updateJob = (id: string, body: JobPatch) => answer(api.PATCH("/api/jobs/{id}", { ...byId(id), body }));
export const removeJob = (id: string) => answer(api.DELETE("/api/jobs/{id}", byId(id)));
export const enableJob = (id: string) => answer(api.POST("/api/jobs/{id}/enable", byId(id)));
export const disableJob = (id: string) => answer(api.POST("/api/jobs/{id}/disable", { ...byId(id), body: {} }));
export const skipJob = (id: string) => answer(api.POST("/api/jobs/{id}/skip", { ...byId(id), body: { count: 1 } }));
export const undoJob = (id: string, revision: number) =>
  answer(api.POST("/api/jobs/{id}/undo", { ...byId(id), body: { revision } }));
export const runJob = (id: string) => answer(api.POST("/api/jobs/{id}/run", byId(id)));
export const whyJob = (id: string, at?: string) =>
  answer(api.GET("/api/jobs/{id}/why", { params: { path: { id }, query: { at } } }));

export type RunFilter = { job_id?: string; session_key?: string; state?: RunState; from?: string; to?: string };
export const listRuns = (asked: RunFilter & Paging) => answer(api.GET("/api/runs", query(asked)));
export const getRun = (id: string): Promise<Run> => answer(api.GET("/api/runs/{id}", byId(id)));
export const cancelRun = (id: string) => answer(api.POST("/api/runs/{id}/cancel", byId(id)));
export const listUpcoming = (from: string, to: string) =>
  answer(api.GET("/api/upcoming", { params: { query: { from, to } } }));

export type PreviewAsk = { when?: string; schedule?: ScheduleDraft; timezone?: string; count?: number; after?: string };
export const previewSchedule = (body: PreviewAsk) => answer(api.POST("/api/schedules/preview", { body }));

export const listDeliveries = (asked: { state?: DeliveryState } & Paging) =>
  answer(api.GET("/api/deliveries", query(asked)));
export const retryDelivery = (id: string) => answer(api.POST("/api/deliveries/{id}/retry", byId(id)));

export const listMemories = (asked: Paging) => answer(api.GET("/api/memories", query(asked)));
export const addMemory = (text: string) => answer(api.POST("/api/memories", { body: { text } }));
export const confirmMemory = (id: string) => answer(api.POST("/api/memories/{id}/confirm", byId(id)));
export const removeMemory = (id: string) => answer(api.DELETE("/api/memories/{id}", byId(id)));
