// The paths of CONTRACT.md, written by hand in the shape `npm run types` generates from the server's OpenAPI document.
import type * as t from "./types";

type Json<T> = { content: { "application/json": T } };
type Answer<T> = { responses: { 200: Json<T>; default: Json<t.Problem> } };
type In<P, Q, B> = {
  parameters: { query?: Q; path: P; header?: { "Idempotency-Key"?: string } };
} & (B extends never ? { requestBody?: never } : { requestBody?: Json<B> });

type Op<T, P = Record<never, never>, Q = Record<never, never>, B = Record<never, never>> = In<P, Q, B> & Answer<T>;
type Paging = { limit?: number; cursor?: string };
type Key = { key: string };
type Id = { id: string };

export interface paths {
  "/api/status": { get: Op<t.Status> };
  "/api/me": { get: Op<t.Me>; patch: Op<t.Me, Record<never, never>, Record<never, never>, { timezone?: string; name?: string }> };
  "/api/agents": { get: Op<t.Page<t.Agent>, Record<never, never>, Paging> };
  "/api/tokens": {
    get: Op<t.Page<t.Token>, Record<never, never>, Paging>;
    post: Op<t.Token, Record<never, never>, Record<never, never>, { user?: string; role?: string; expires?: string }>;
  };
  "/api/tokens/{id}": { delete: Op<unknown, Id> };
  "/api/auth/sign-in": { post: Op<unknown, Record<never, never>, Record<never, never>, { code?: string; token?: string }> };
  "/api/auth/sign-out": { post: Op<unknown> };
  "/api/sessions": {
    get: Op<t.Page<t.Session>, Record<never, never>, Paging & { q?: string; channel?: string }>;
    post: Op<t.Session, Record<never, never>, Record<never, never>, { key?: string; title?: string; agent_id?: string; timezone?: string }>;
  };
  "/api/sessions/{key}": {
    get: Op<t.Session, Key>;
    patch: Op<t.Session, Key, Record<never, never>, { title?: string | null; timezone?: string; agent_id?: string; addresses?: string[]; revision?: number }>;
    delete: Op<{ deleted: boolean; blocked_by_automations: boolean; automations: t.BlockingJob[] }, Key, { delete_automations?: boolean }>;
  };
  "/api/sessions/{key}/messages": {
    get: Op<t.Page<t.Message>, Key, Paging & { after?: number }>;
    post: Op<{ inbound_id: string; session_key: string; will: "start" | "inject" | "queue" }, Key, { wait?: number }, { text: string; mode?: "inject" | "queue"; sender_id?: string }>;
  };
  "/api/sessions/{key}/cancel": { post: Op<{ cancelled: boolean; turn_id: string | null }, Key, Record<never, never>, { turn_id?: string }> };
  "/api/sessions/{key}/test": { post: Op<t.Delivery, Key, Record<never, never>, { address: string }> };
  "/api/webhooks": {
    get: Op<t.Page<t.Webhook>, Record<never, never>, Paging>;
    post: Op<t.Webhook, Record<never, never>, Record<never, never>, { url: string }>;
  };
  "/api/webhooks/{id}": { delete: Op<unknown, Id> };
  "/api/jobs": {
    get: Op<t.Page<t.Job>, Record<never, never>, Paging & { session_key?: string; enabled?: boolean; status?: string; q?: string; sort?: string; recent?: number }>;
    post: Op<t.Job, Record<never, never>, Record<never, never>, t.JobDraft>;
  };
  "/api/jobs/{id}": {
    get: Op<t.Job, Id, { recent?: number }>;
    patch: Op<t.Job, Id, Record<never, never>, t.JobDraft>;
    delete: Op<t.Job, Id>;
  };
  "/api/jobs/{id}/enable": { post: Op<t.Job, Id> };
  "/api/jobs/{id}/disable": { post: Op<t.Job, Id, Record<never, never>, { reason?: string; until?: string }> };
  "/api/jobs/{id}/skip": { post: Op<t.Job, Id, Record<never, never>, { count?: number }> };
  "/api/jobs/{id}/undo": { post: Op<t.Job, Id, Record<never, never>, { revision: number }> };
  "/api/jobs/{id}/run": { post: Op<t.Run, Id> };
  "/api/jobs/{id}/why": { get: Op<t.Why, Id, { at?: string }> };
  "/api/runs": { get: Op<t.Page<t.Run>, Record<never, never>, Paging & { job_id?: string; session_key?: string; state?: string; from?: string; to?: string }> };
  "/api/runs/{id}": { get: Op<t.Run, Id> };
  "/api/runs/{id}/cancel": { post: Op<t.Run, Id> };
  "/api/upcoming": { get: Op<{ items: t.Upcoming[] }, Record<never, never>, { from?: string; to?: string }> };
  "/api/schedules/preview": {
    post: Op<t.Preview, Record<never, never>, Record<never, never>, { when?: string; schedule?: t.Schedule; timezone?: string; count?: number; after?: string }>;
  };
  "/api/deliveries": { get: Op<t.Page<t.Delivery>, Record<never, never>, Paging & { state?: string; session_key?: string }> };
  "/api/deliveries/{id}/retry": { post: Op<t.Delivery, Id> };
  "/api/memories": {
    get: Op<t.Page<t.Memory>, Record<never, never>, Paging & { q?: string }>;
    post: Op<t.Memory, Record<never, never>, Record<never, never>, { text: string }>;
  };
  "/api/memories/{id}": { delete: Op<unknown, Id> };
}
