// The server's operations under the server's names, one function each.
import { answer, api } from "./client";
import type { JobDraft, Schedule } from "./types";

const LIST = 50;

export const getStatus = () => answer(api.GET("/api/status", at({})));
export const getMe = () => answer(api.GET("/api/me", at({})));
export const updateMe = (body: { timezone?: string; name?: string }) => answer(api.PATCH("/api/me", { ...at({}), body }));
export const listAgents = () => answer(api.GET("/api/agents", at({})));

export const signIn = (body: { code?: string; token?: string }) => answer(api.POST("/api/auth/sign-in", { ...at({}), body }));
export const signOut = () => answer(api.POST("/api/auth/sign-out", at({})));

export const listTokens = () => answer(api.GET("/api/tokens", at({}, { limit: 200 })));
export const createToken = (body: { expires?: string }) => answer(api.POST("/api/tokens", { ...at({}), body }));
export const revokeToken = (id: string) => answer(api.DELETE("/api/tokens/{id}", at({ id })));

export const listSessions = (query: { q?: string; channel?: string; cursor?: string; limit?: number }) =>
  answer(api.GET("/api/sessions", at({}, { limit: LIST, ...query })));
export const addSession = (body: { key?: string; title?: string; timezone?: string }) => answer(api.POST("/api/sessions", { ...at({}), body }));
export const getSession = (key: string) => answer(api.GET("/api/sessions/{key}", at({ key })));
export const updateSession = (key: string, body: { title?: string | null; timezone?: string; addresses?: string[]; revision?: number }) =>
  answer(api.PATCH("/api/sessions/{key}", { ...at({ key }), body }));
export const deleteSession = (key: string, withAutomations: boolean) =>
  answer(api.DELETE("/api/sessions/{key}", at({ key }, withAutomations ? { delete_automations: true } : {})));

export const sendMessage = (key: string, body: { text: string; mode?: "inject" | "queue" }, idempotencyKey: string) =>
  answer(api.POST("/api/sessions/{key}/messages", { params: { path: { key }, header: { "Idempotency-Key": idempotencyKey } }, body }));
export const listMessages = (key: string, query: { after?: number; cursor?: string; limit?: number }) =>
  answer(api.GET("/api/sessions/{key}/messages", at({ key }, { limit: LIST, ...query })));
export const cancelTurn = (key: string, turnId?: string) =>
  answer(api.POST("/api/sessions/{key}/cancel", { ...at({ key }), body: turnId ? { turn_id: turnId } : {} }));
export const testAddress = (key: string, address: string) => answer(api.POST("/api/sessions/{key}/test", { ...at({ key }), body: { address } }));

export const listWebhooks = () => answer(api.GET("/api/webhooks", at({}, { limit: 200 })));
export const addWebhook = (url: string) => answer(api.POST("/api/webhooks", { ...at({}), body: { url } }));
export const removeWebhook = (id: string) => answer(api.DELETE("/api/webhooks/{id}", at({ id })));

export type JobFilter = { session_key?: string; enabled?: boolean; status?: string; q?: string; sort?: string; recent?: number };
export const listJobs = (query: JobFilter & { cursor?: string; limit?: number }) => answer(api.GET("/api/jobs", at({}, { limit: LIST, ...query })));
export const getJob = (id: string) => answer(api.GET("/api/jobs/{id}", at({ id }, {})));
export const addJob = (body: JobDraft) => answer(api.POST("/api/jobs", { ...at({}), body }));
export const updateJob = (id: string, body: JobDraft) => answer(api.PATCH("/api/jobs/{id}", { ...at({ id }), body }));
export const removeJob = (id: string) => answer(api.DELETE("/api/jobs/{id}", at({ id })));
export const enableJob = (id: string) => answer(api.POST("/api/jobs/{id}/enable", at({ id })));
export const disableJob = (id: string) => answer(api.POST("/api/jobs/{id}/disable", { ...at({ id }), body: {} }));
export const skipJob = (id: string) => answer(api.POST("/api/jobs/{id}/skip", { ...at({ id }), body: { count: 1 } }));
export const undoJob = (id: string, revision: number) => answer(api.POST("/api/jobs/{id}/undo", { ...at({ id }), body: { revision } }));
export const runJob = (id: string) => answer(api.POST("/api/jobs/{id}/run", at({ id })));
export const whyJob = (id: string, instant?: string) => answer(api.GET("/api/jobs/{id}/why", at({ id }, instant ? { at: instant } : {})));

export type RunFilter = { job_id?: string; session_key?: string; state?: string; from?: string; to?: string };
export const listRuns = (query: RunFilter & { cursor?: string; limit?: number }) => answer(api.GET("/api/runs", at({}, { limit: LIST, ...query })));
export const getRun = (id: string) => answer(api.GET("/api/runs/{id}", at({ id })));
export const cancelRun = (id: string) => answer(api.POST("/api/runs/{id}/cancel", at({ id })));
export const listUpcoming = (from: string, to: string) => answer(api.GET("/api/upcoming", at({}, { from, to })));

export const previewSchedule = (body: { when?: string; schedule?: Schedule; timezone?: string; count?: number; after?: string }) =>
  answer(api.POST("/api/schedules/preview", { ...at({}), body }));

export const listDeliveries = (query: { state?: string; session_key?: string; cursor?: string; limit?: number }) =>
  answer(api.GET("/api/deliveries", at({}, { limit: LIST, ...query })));
export const retryDelivery = (id: string) => answer(api.POST("/api/deliveries/{id}/retry", at({ id })));

export const listMemories = (q?: string) => answer(api.GET("/api/memories", at({}, { limit: LIST, ...(q ? { q } : {}) })));
export const removeMemory = (id: string) => answer(api.DELETE("/api/memories/{id}", at({ id })));

function at<P, Q = Record<never, never>>(path: P, query?: Q) {
  return { params: { path, query } };
}
