// The server's operations under the server's names, one function each.
import { api, randomKey, unwrap } from "./client";
import { storeKey } from "./key";
import type {
  Agent,
  AgentDraft,
  AgentPatch,
  Approval,
  ApprovalState,
  ContactPatch,
  DeliveryState,
  FoundPage,
  InboxItem,
  Job,
  JobDraft,
  JobPatch,
  JobStatus,
  McpServerDraft,
  McpServerPatch,
  Message,
  ModelDraft,
  ModelList,
  ModelSetting,
  NewChannel,
  NewPushDevice,
  Page,
  Question,
  Run,
  RunState,
  ScheduleDraft,
  Trial,
  TriedScript,
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
export const getModel = (): Promise<ModelSetting> => unwrap(api.GET("/api/settings/model"));
export const setModel = (body: ModelDraft): Promise<ModelSetting> => unwrap(api.PUT("/api/settings/model", { body }));
export const listModels = (base_url?: string): Promise<ModelList> =>
  unwrap(api.GET("/api/settings/models", { params: { query: base_url ? { base_url } : {} } }));
export const updateMe = (body: { timezone?: string; quiet_hours?: string | null }) =>
  unwrap(api.PATCH("/api/me", { body }));

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

export const listUsers = () => unwrap(api.GET("/api/users"));
export const listTokens = (user?: string) =>
  unwrap(api.GET("/api/tokens", query({ limit: WHOLE, ...(user ? { user } : {}) })));
type TokenDraft = { name?: string; expires?: string; user?: string; role?: "admin" | "user" };
export const createToken = (body: TokenDraft) => unwrap(api.POST("/api/tokens", { body }));
export const revokeToken = (id: string) => unwrap(api.DELETE("/api/tokens/{id}", byId(id)));

export const listAgents = () => unwrap(api.GET("/api/agents"));
export const getAgent = (id: string): Promise<Agent> => unwrap(api.GET("/api/agents/{id}", byId(id)));
export const addAgent = (body: AgentDraft): Promise<Agent> => unwrap(api.POST("/api/agents", { body }));
export const updateAgent = (id: string, body: AgentPatch): Promise<Agent> =>
  unwrap(api.PATCH("/api/agents/{id}", { ...byId(id), body }));
export const removeAgent = (id: string) => unwrap(api.DELETE("/api/agents/{id}", byId(id)));

const byName = (id: string, name: string) => ({ params: { path: { id, name } } });
export const listMcpServers = (id: string) => unwrap(api.GET("/api/agents/{id}/mcp-servers", byId(id)));
export const addMcpServer = (id: string, body: McpServerDraft) =>
  unwrap(api.POST("/api/agents/{id}/mcp-servers", { ...byId(id), body }));
export const updateMcpServer = (id: string, name: string, body: McpServerPatch) =>
  unwrap(api.PATCH("/api/agents/{id}/mcp-servers/{name}", { ...byName(id, name), body }));
export const testMcpServer = (id: string, name: string) =>
  unwrap(api.POST("/api/agents/{id}/mcp-servers/{name}/test", byName(id, name)));
export const acceptMcpTools = (id: string, name: string, sha256: string) =>
  unwrap(
    api.POST("/api/agents/{id}/mcp-servers/{name}/accept", { ...byName(id, name), body: { tools_sha256: sha256 } }),
  );

export const listSessions = (asked: Paging & { q?: string; pinned?: boolean; archived?: boolean }) =>
  unwrap(api.GET("/api/sessions", query(asked)));
export const addSession = (body: { key?: string; title?: string; timezone?: string; agent_id?: string }) =>
  unwrap(api.POST("/api/sessions", { body }));
export const getSession = (key: string) => unwrap(api.GET("/api/sessions/{key}", byKey(key)));
export const updateSession = (
  key: string,
  body: {
    title?: string | null;
    timezone?: string;
    agent_id?: string;
    model?: string | null;
    addresses?: string[];
    pinned?: boolean;
    archived?: boolean;
    revision?: number;
  },
) => unwrap(api.PATCH("/api/sessions/{key}", { ...byKey(key), body }));
export const deleteSession = (key: string, withAutomations: boolean) =>
  unwrap(
    api.DELETE("/api/sessions/{key}", { params: { path: { key }, query: { delete_automations: withAutomations } } }),
  );

/** Branch from a message into a new conversation; with `text`, replace that message. Once per idempotency key. */
export const branchSession = (key: string, body: { seq: number; text?: string }, idempotencyKey: string) =>
  unwrap(
    api.POST("/api/sessions/{key}/branch", {
      params: { path: { key }, header: { "Idempotency-Key": idempotencyKey } },
      body,
    }),
  );
export const exportSession = (key: string, format: "markdown" | "json"): Promise<Blob> =>
  unwrap<Blob>(
    api.GET("/api/sessions/{key}/export", { params: { path: { key }, query: { format } }, parseAs: "blob" }),
  );

export const getFile = (id: string): Promise<Blob> =>
  unwrap<Blob>(api.GET("/api/files/{id}", { ...byId(id), parseAs: "blob" }));

type NewMessage = { text: string; mode: "inject" | "queue"; files: string[] };
export const sendMessage = (key: string, body: NewMessage, idempotencyKey: string) =>
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
export const markRead = (key: string, seq: number) =>
  unwrap(api.POST("/api/sessions/{key}/read", { ...byKey(key), body: { seq } }));
export const testAddress = (key: string, address: string) =>
  unwrap(api.POST("/api/sessions/{key}/test", { ...byKey(key), body: { address } }));

export const listWebhooks = () => unwrap(api.GET("/api/webhooks", query({ limit: WHOLE })));
export const addWebhook = (url: string) => unwrap(api.POST("/api/webhooks", { body: { url } }));
export const removeWebhook = (id: string) => unwrap(api.DELETE("/api/webhooks/{id}", byId(id)));

export const listPush = () => unwrap(api.GET("/api/push", {}));
export const addPush = (body: NewPushDevice) => unwrap(api.POST("/api/push", { body }));
export const removePush = (id: string) => unwrap(api.DELETE("/api/push/{id}", byId(id)));

export const listChannels = () => unwrap(api.GET("/api/channels"));
export const listChannelKinds = () => unwrap(api.GET("/api/channel-kinds"));
export const addChannel = (body: NewChannel) => unwrap(api.POST("/api/channels", { body }));
export const updateChannel = (name: string, fields: Record<string, string>) =>
  unwrap(api.PATCH("/api/channels/{name}", { params: { path: { name } }, body: { fields } }));
export const removeChannel = (name: string) =>
  unwrap(api.DELETE("/api/channels/{name}", { params: { path: { name } } }));
export const testChannel = (name: string) =>
  unwrap(api.POST("/api/channels/{name}/test", { params: { path: { name } }, body: {} }));

export const listContacts = () => unwrap(api.GET("/api/contacts", {}));
export const linkChannel = (name: string, group: boolean) =>
  unwrap(api.POST("/api/channels/{name}/link", { params: { path: { name } }, body: { group } }));
export const verifyAddress = (name: string, address: string, code?: string) =>
  unwrap(api.POST("/api/channels/{name}/verify", { params: { path: { name } }, body: { address, code } }));
export const updateContact = (id: string, body: ContactPatch) =>
  unwrap(api.PATCH("/api/contacts/{id}", { ...byId(id), body }));
export const removeContact = (id: string) => unwrap(api.DELETE("/api/contacts/{id}", byId(id)));

export const listGrants = () => unwrap(api.GET("/api/grants", query({ limit: WHOLE })));
export const addGrant = (address: string) => unwrap(api.POST("/api/grants", { body: { address } }));
export const allowTalk = (agent_id: string, to_agent_id: string) =>
  unwrap(api.POST("/api/grants", { body: { agent_id, to_agent_id } }));
export const removeGrant = (id: string) => unwrap(api.DELETE("/api/grants/{id}", byId(id)));

export type JobSort = "next" | "name" | "updated" | "last";
export type JobFilter = {
  session_key?: string;
  status?: JobStatus;
  q?: string;
  sort?: JobSort;
  recent?: number;
  system?: boolean;
};
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

export type ScriptAsk = {
  script: string;
  script_language: "bash" | "python";
  script_hosts: string[];
  script_seconds: number;
};
export const tryScript = (body: ScriptAsk) =>
  unwrap(api.POST("/api/scripts/try", { body: { ...body, state: null } })) as Promise<TriedScript>;

/** Start a test of an automation; `getTurn` shows its progress. */
export const tryJob = (id: string, message?: string): Promise<Trial> =>
  unwrap(api.POST("/api/jobs/{id}/try", { ...byId(id), body: message ? { message } : {} }));

export type PreviewAsk = { when?: string; schedule?: ScheduleDraft; timezone?: string; count?: number; after?: string };
export const previewSchedule = (body: PreviewAsk) => unwrap(api.POST("/api/schedules/preview", { body }));

export const getUsage = (by: "day" | "job" | "session" | "agent" | "model") =>
  unwrap(api.GET("/api/usage", { params: { query: { by } } }));
export const listDeliveries = (asked: { state?: DeliveryState; outside?: boolean } & Paging) =>
  unwrap(api.GET("/api/deliveries", query(asked)));
export const retryDelivery = (id: string) => unwrap(api.POST("/api/deliveries/{id}/retry", byId(id)));

export type ApprovalFilter = { state?: ApprovalState; session_key?: string; agent_id?: string };
export const listApprovals = (asked: ApprovalFilter & Paging) => unwrap(api.GET("/api/approvals", query(asked)));
export const getApproval = (id: string): Promise<Approval> => unwrap(api.GET("/api/approvals/{id}", byId(id)));
export const answerApproval = (
  id: string,
  body: { decision: "approve" | "deny"; digest: string; note?: string },
): Promise<Approval> => unwrap(api.POST("/api/approvals/{id}", { ...byId(id), body }));
export const answerQuestion = (id: string, body: { option: number } | { text: string }): Promise<Question> =>
  unwrap(api.POST("/api/questions/{id}", { ...byId(id), body }));

export const listQuestions = (asked: { state?: Question["state"] } & Paging) =>
  unwrap(api.GET("/api/questions", query(asked)));

/** Words in messages, automations, memories and conversations, the newest first. */
export const search = (asked: Paging & { q: string }) =>
  unwrap(api.GET("/api/search", query(asked))) as Promise<FoundPage>;

export const listInbox = (asked: Paging) => unwrap(api.GET("/api/inbox", query(asked)));
/** One item, or all that is there. */
export const seeInbox = (item?: { kind: InboxItem["kind"]; id: string }) =>
  unwrap(api.POST("/api/inbox/seen", { body: item ? { kind: item.kind, id: item.id } : {} }));

export const listMemories = (asked: Paging) => unwrap(api.GET("/api/memories", query(asked)));
export const addMemory = (text: string) => unwrap(api.POST("/api/memories", { body: { text } }));
export const confirmMemory = (id: string) => unwrap(api.POST("/api/memories/{id}/confirm", byId(id)));
export const undoDream = (id: string) => unwrap(api.POST("/api/memories/undo", { body: { id } }));
export const removeMemory = (id: string) => unwrap(api.DELETE("/api/memories/{id}", byId(id)));
