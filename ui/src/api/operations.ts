// The server's operations under the server's names, one function each.
import { api, randomKey, unwrap } from "./client";
import { storeKey } from "./key";
import type {
  Agent,
  AgentDraft,
  AgentPatch,
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
  Turn,
} from "./types";

const LIST = 50;
const WHOLE = 200;

type Paging = { cursor?: string; limit?: number };
const query = <Q extends Paging>(asked: Q) => ({ params: { query: { limit: LIST, ...asked } } });
const byId = (id: string) => ({ params: { path: { id } } });
const byKey = (key: string) => ({ params: { path: { key } } });

export const getStatus = () => unwrap(api.GET("/api/status"));
export const getMe = () => unwrap(api.GET("/api/me"));
export const updateMe = (body: { timezone?: string }) => unwrap(api.PATCH("/api/me", { body }));

export const signIn = async (body: { code?: string; token?: string }) => {
  const signed = await unwrap(api.POST("/api/auth/sign-in", { body }));
  storeKey(signed.key);
  return signed;
};
export const signOut = async () => {
  const gone = await unwrap(api.POST("/api/auth/sign-out"));
  storeKey(null);
  return gone;
};

export const listTokens = () => unwrap(api.GET("/api/tokens", query({ limit: WHOLE })));
export const createToken = (body: { name?: string; expires?: string }) => unwrap(api.POST("/api/tokens", { body }));
export const revokeToken = (id: string) => unwrap(api.DELETE("/api/tokens/{id}", byId(id)));

export const listAgents = () => unwrap(api.GET("/api/agents"));
export const getAgent = (id: string): Promise<Agent> => unwrap(api.GET("/api/agents/{id}", byId(id)));
export const addAgent = (body: AgentDraft): Promise<Agent> => unwrap(api.POST("/api/agents", { body }));
export const updateAgent = (id: string, body: AgentPatch): Promise<Agent> =>
  unwrap(api.PATCH("/api/agents/{id}", { ...byId(id), body }));
export const removeAgent = (id: string) => unwrap(api.DELETE("/api/agents/{id}", byId(id)));

const byName = (id: string, name: string) => ({ params: { path: { id, name } } });
export const listMcpServers = (id: string) => unwrap(api.GET("/api/agents/{id}/mcp-servers", byId(id)));
export const testMcpServer = (id: string, name: string) =>
  unwrap(api.POST("/api/agents/{id}/mcp-servers/{name}/test", byName(id, name)));
export const acceptMcpTools = (id: string, name: string, sha256: string) =>
  unwrap(
    api.POST("/api/agents/{id}/mcp-servers/{name}/accept", { ...byName(id, name), body: { tools_sha256: sha256 } }),
  );

export const listSessions = (asked: Paging & { q?: string }) => unwrap(api.GET("/api/sessions", query(asked)));
export const addSession = (body: { key?: string; title?: string; timezone?: string; agent_id?: string }) =>
  unwrap(api.POST("/api/sessions", { body }));
export const getSession = (key: string) => unwrap(api.GET("/api/sessions/{key}", byKey(key)));
export const updateSession = (
  key: string,
  body: { title?: string | null; timezone?: string; agent_id?: string; addresses?: string[]; revision?: number },
) => unwrap(api.PATCH("/api/sessions/{key}", { ...byKey(key), body }));
export const deleteSession = (key: string, withAutomations: boolean) =>
  unwrap(
    api.DELETE("/api/sessions/{key}", { params: { path: { key }, query: { delete_automations: withAutomations } } }),
  );

export const sendMessage = (key: string, body: { text: string; mode: "inject" | "queue" }, idempotencyKey: string) =>
  unwrap(
    api.POST("/api/sessions/{key}/messages", {
      params: { path: { key }, header: { "Idempotency-Key": idempotencyKey } },
      body,
    }),
  );
export const listMessages = (key: string, asked: Paging & { after?: number; before?: number }) =>
  unwrap(
    api.GET("/api/sessions/{key}/messages", { params: { path: { key }, query: { limit: LIST, ...asked } } }),
  ) as Promise<Page<Message>>;
export const cancelTurn = (key: string, turnId?: string) =>
  unwrap(api.POST("/api/sessions/{key}/cancel", { ...byKey(key), body: { turn_id: turnId } }));
export const testAddress = (key: string, address: string) =>
  unwrap(api.POST("/api/sessions/{key}/test", { ...byKey(key), body: { address } }));

export const listWebhooks = () => unwrap(api.GET("/api/webhooks", query({ limit: WHOLE })));
export const addWebhook = (url: string) => unwrap(api.POST("/api/webhooks", { body: { url } }));
export const removeWebhook = (id: string) => unwrap(api.DELETE("/api/webhooks/{id}", byId(id)));

export const listGrants = () => unwrap(api.GET("/api/grants", query({ limit: WHOLE })));
export const addGrant = (address: string) => unwrap(api.POST("/api/grants", { body: { address } }));
export const removeGrant = (id: string) => unwrap(api.DELETE("/api/grants/{id}", byId(id)));

export type JobSort = "next" | "name" | "updated" | "last";
export type JobFilter = { session_key?: string; status?: JobStatus; q?: string; sort?: JobSort; recent?: number };
export const listJobs = (asked: JobFilter & Paging) => unwrap(api.GET("/api/jobs", query(asked)));
export const getJob = (id: string) => unwrap(api.GET("/api/jobs/{id}", byId(id)));
export const addJob = (body: JobDraft): Promise<Job> => unwrap(api.POST("/api/jobs", { body }));
export const updateJob = (id: string, body: JobPatch) => unwrap(api.PATCH("/api/jobs/{id}", { ...byId(id), body }));
export const removeJob = (id: string) => unwrap(api.DELETE("/api/jobs/{id}", byId(id)));
export const enableJob = (id: string) => unwrap(api.POST("/api/jobs/{id}/enable", byId(id)));
export const disableJob = (id: string) => unwrap(api.POST("/api/jobs/{id}/disable", { ...byId(id), body: {} }));
export const skipJob = (id: string) => unwrap(api.POST("/api/jobs/{id}/skip", { ...byId(id), body: { count: 1 } }));
export const undoJob = (id: string, revision: number) =>
  unwrap(api.POST("/api/jobs/{id}/undo", { ...byId(id), body: { revision } }));
export const runJob = (id: string, idempotencyKey = randomKey()) =>
  unwrap(
    api.POST("/api/jobs/{id}/run", {
      params: { path: { id }, header: { "Idempotency-Key": idempotencyKey } },
    }),
  );
export const whyJob = (id: string, at?: string) =>
  unwrap(api.GET("/api/jobs/{id}/why", { params: { path: { id }, query: { at } } }));

export type RunFilter = { job_id?: string; session_key?: string; state?: RunState; from?: string; to?: string };
export const listRuns = (asked: RunFilter & Paging) => unwrap(api.GET("/api/runs", query(asked)));
export const getRun = (id: string): Promise<Run> => unwrap(api.GET("/api/runs/{id}", byId(id)));
export const cancelRun = (id: string) => unwrap(api.POST("/api/runs/{id}/cancel", byId(id)));
export const getTurn = (id: string) => unwrap(api.GET("/api/turns/{id}", byId(id))) as Promise<Turn>;
export const listUpcoming = (from: string, to: string) =>
  unwrap(api.GET("/api/upcoming", { params: { query: { from, to } } }));

export type PreviewAsk = { when?: string; schedule?: ScheduleDraft; timezone?: string; count?: number; after?: string };
export const previewSchedule = (body: PreviewAsk) => unwrap(api.POST("/api/schedules/preview", { body }));

export const listDeliveries = (asked: { state?: DeliveryState } & Paging) =>
  unwrap(api.GET("/api/deliveries", query(asked)));
export const retryDelivery = (id: string) => unwrap(api.POST("/api/deliveries/{id}/retry", byId(id)));

export const listMemories = (asked: Paging) => unwrap(api.GET("/api/memories", query(asked)));
export const addMemory = (text: string) => unwrap(api.POST("/api/memories", { body: { text } }));
export const confirmMemory = (id: string) => unwrap(api.POST("/api/memories/{id}/confirm", byId(id)));
export const removeMemory = (id: string) => unwrap(api.DELETE("/api/memories/{id}", byId(id)));
