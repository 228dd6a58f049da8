// The nouns of CONTRACT.md as the page reads them. Names are the server's; nothing is renamed on the way in.

export type Instant = string; // RFC 3339 with offset

export type Page<T> = { items: T[]; next_cursor: string | null };

export type RunState = "queued" | "running" | "ok" | "error" | "skipped" | "cancelled";
export type JobStatus = "active" | "paused" | "attention" | "done";
export type Source = "person" | "run" | "report" | "hook" | "agent" | "system";
export type DeliveryState = "pending" | "sent" | "dead";

export type Status = {
  version: string;
  server_time: Instant;
  timezone: string;
  model: { name: string; offline: boolean; why: string | null };
  database: string;
  scheduler: { enabled: boolean; workers: number; beat_at: Instant | null; next_wake_at: Instant | null };
  jobs: Record<JobStatus, number>;
  runs: { queued: number; running: number };
  deliveries: { pending: number; dead: number };
};

export type Me = { user_id: string; name: string | null; role: "user" | "admin"; timezone: string | null };
export type Agent = { id: string; name: string; model: string | null };
export type Token = { id: string; user_id: string; role: "user" | "admin"; expires_at: Instant | null; created_at?: Instant; token?: string };
export type Webhook = { id: string; url: string; address: string; secret?: string };
export type Memory = { id: string; text: string; session_key: string | null; created_at: Instant };

export type Waiting = {
  inbound_id: string;
  source: Source;
  text: string;
  run_id: string | null;
  waiting_for: "session" | "slot" | null;
  queued_at: Instant;
};

export type Session = {
  key: string;
  title: string | null;
  agent_id: string;
  user_id: string;
  timezone: string;
  state: "idle" | "running";
  turn: { id: string; source: Source; run_id: string | null; started_at: Instant } | null;
  lane: Waiting[];
  lane_size: number;
  addresses: string[];
  automations: { enabled: number; total: number };
  last_message: { seq: number; role: "user" | "assistant"; text: string; created_at: Instant } | null;
  revision: number;
  created_at: Instant;
  updated_at: Instant;
  deleted_at: Instant | null;
};

export type CardChange = "added" | "updated" | "removed" | "enabled" | "disabled" | "skipped";
export type Card = { kind: "job"; job_id: string; change: CardChange; revision: number };
export type MessageDelivery = { id: string; address: string; state: DeliveryState; attempts: number; error: string | null };

export type MessageMeta = {
  cron_turn?: boolean;
  cron_job_id?: string;
  cron_job_name?: string;
  cron_run_id?: string;
  [more: string]: unknown;
};

export type Message = {
  session_key: string;
  seq: number;
  role: "user" | "assistant";
  kind: "chat" | "scheduled" | "reminder" | "report" | "note" | "status";
  text: string;
  turn_id: string | null;
  inbound_id: string | null;
  model: string | null;
  meta: MessageMeta;
  created_at: Instant;
  cards: Card[];
  deliveries: MessageDelivery[];
};

export type Schedule =
  | { kind: "at"; at: string; tz?: string | null }
  | { kind: "every"; every_ms: number; anchor?: string | null; tz?: string | null }
  | { kind: "cron"; cron: string; tz?: string | null };

export type PayloadKind = "agent_turn" | "reminder" | "system_event";
export type Payload = {
  kind: PayloadKind;
  message: string;
  model?: string | null;
  thinking?: string | null;
  timeout_seconds?: number | null;
  context?: "session" | "since_last" | "none" | null;
};

export type RecentRun = { id: string; scheduled_for: Instant; state: RunState; reason: string | null };

export type Job = {
  id: string;
  name: string;
  description: string | null;
  enabled: boolean;
  kind: "user" | "system" | "legacy";
  status: JobStatus;
  session_key: string;
  user_id: string;
  agent_id: string;
  sender_id: string | null;
  schedule: Schedule;
  words: string;
  next: Instant[];
  session: "main" | "isolated";
  write_back: "full" | "summary" | "none";
  continue: boolean;
  payload: Payload;
  wake: "now" | "next_heartbeat";
  catch_up: "latest" | "skip";
  catch_up_window_seconds: number;
  quiet: boolean;
  delete_after_run: boolean;
  dedupe_key: string | null;
  starts_at: Instant | null;
  ends_at: Instant | null;
  max_runs: number | null;
  may_schedule: boolean;
  origin: { door: "tool" | "api" | "cli" | "page" | "mcp" | "import"; turn_id: string | null };
  revision: number;
  created_at: Instant;
  updated_at: Instant;
  removed_at: Instant | null;
  state: {
    next_run_at: Instant | null;
    running_at: Instant | null;
    active_run_id: string | null;
    last_run_id: string | null;
    last_run_at: Instant | null;
    last_status: RunState | null;
    last_error: string | null;
    last_duration_ms: number | null;
    consecutive_failures: number;
    disabled_reason: string | null;
    disabled_until: Instant | null;
  };
  recent?: RecentRun[];
};

export type Step = { n: number; kind: "model" | "tool"; name: string; duration_ms: number | null };

export type Run = {
  id: string;
  job_id: string;
  job_name: string;
  trigger: "timer" | "catch_up" | "manual" | "retry";
  scheduled_for: Instant;
  state: RunState;
  waiting_for: "session" | "slot" | null;
  reason: string | null;
  queued_at: Instant | null;
  started_at: Instant | null;
  finished_at: Instant | null;
  duration_ms: number | null;
  lateness_ms: number | null;
  attempt: number;
  missed_count: number | null;
  missed_until: Instant | null;
  summary: string | null;
  prompt_ref: { id: string; version: number; sha256: string } | null;
  session_key: string;
  turn_id: string | null;
  opening_seq: number | null;
  closing_seq: number | null;
  next_run_at: Instant | null;
  usage: { input_tokens: number; output_tokens: number } | null;
  deliveries?: MessageDelivery[];
  // Only when one run is asked for: lists and events leave these out.
  error?: string | null;
  prompt?: string | null;
  variables?: Record<string, unknown>;
  steps?: Step[];
};

export type Delivery = {
  id: string;
  session_key: string;
  seq: number | null;
  address: string;
  state: DeliveryState;
  attempts: number;
  next_attempt_at: Instant | null;
  sent_at: Instant | null;
  receipt: unknown;
  error: string | null;
};

export type Upcoming = { job_id: string; job_name: string; session_key: string; at: Instant; count: number };

export type Preview = { schedule: Schedule; words: string; timezone: string; next: Instant[]; warnings: string[] };

export type Why = {
  job_id: string;
  answer: string;
  next_run_at: Instant | null;
  timezone: string;
  runs: { id: string; scheduled_for: Instant; state: RunState; reason: string | null; sentence: string }[];
};

export type FieldError = { field: string; code: string; detail: string };

export type Problem = {
  type: string;
  code: string;
  title: string;
  status: number;
  detail: string;
  errors?: FieldError[];
  request_id?: string;
  run_id?: string;
  current?: unknown;
  automations?: BlockingJob[];
};

export type BlockingJob = { id: string; name: string; enabled: boolean };

export type JobDraft = {
  name?: string;
  session_key?: string;
  schedule?: Schedule;
  payload?: Payload;
  session?: Job["session"];
  write_back?: Job["write_back"];
  continue?: boolean;
  catch_up?: Job["catch_up"];
  catch_up_window_seconds?: number | null;
  quiet?: boolean;
  delete_after_run?: boolean;
  starts_at?: Instant | null;
  ends_at?: Instant | null;
  max_runs?: number | null;
  revision?: number;
};
