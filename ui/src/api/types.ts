// The server's nouns under short names. Their fields are generated from its OpenAPI document; nothing is renamed on the way in.
import type { components } from "./schema";

type Shapes = components["schemas"];

export type Page<T> = { items: T[]; next_cursor?: string | null };

export type Status = Shapes["StatusShape"];
export type Me = Shapes["MeShape"];
export type Token = Shapes["TokenShape"];
export type NewToken = Shapes["NewTokenShape"];
export type Webhook = Shapes["WebhookShape"];
export type NewWebhook = Shapes["NewWebhookShape"];
export type Grant = Shapes["GrantShape"];
export type Memory = Shapes["MemoryShape"];

export type Agent = Shapes["AgentShape"];
export type AgentTool = Shapes["ToolInEffect"];
export type ToolPolicy = AgentTool["policy"];
export type AgentDraft = Shapes["AddAgent"];
export type AgentPatch = Shapes["UpdateAgent"];

export type Session = Shapes["SessionShape"];
export type Waiting = Shapes["WaitingShape"];
export type Source = Waiting["source"];
export type BlockingJob = Shapes["BlockingJob"];

export type Card = Shapes["CardShape"];
export type CardChange = Card["change"];
export type MessageDelivery = Shapes["CarriedShape"];

export type MessageMeta = {
  cron_turn?: boolean;
  cron_job_id?: string;
  cron_job_name?: string;
  cron_run_id?: string;
  cron_trigger?: Run["trigger"];
  cron_due_at?: string;
  outcome?: "failed" | "cancelled";
  source?: string;
  hook_id?: string;
  hook_name?: string | null;
  [more: string]: unknown;
};
export type Message = Omit<Shapes["MessageShape"], "meta"> & { meta: MessageMeta };

export type Job = Shapes["JobShape"];
export type JobStatus = Job["status"];
export type Schedule = Job["schedule"];
export type Payload = Job["payload"];
export type RecentRun = Shapes["RecentShape"];
export type JobDraft = Shapes["AddJob"];
export type JobPatch = Shapes["UpdateJob"];

/** A schedule on its way in: a wall time may be without offset, an anchor left to the server. */
export type ScheduleDraft =
  | { kind: "at"; at: string; tz: string }
  | { kind: "every"; every_ms: number; anchor?: string; tz: string }
  | { kind: "cron"; cron: string; tz: string };

type WholeRun = Shapes["RunShape"];
/** Lists and events leave out the prompt, its variables, the error and the steps. */
export type Run = Shapes["RunRow"] & Partial<Pick<WholeRun, "prompt" | "variables" | "error" | "steps">>;
export type RunState = Run["state"];
export type Step = Shapes["StepShape"];

export type Delivery = Shapes["DeliveryShape"];
export type DeliveryState = Delivery["state"];
export type Upcoming = Shapes["UpcomingShape"];
export type Preview = Shapes["PreviewShape"];
export type Why = Shapes["WhyShape"];

export type FieldError = Shapes["FieldProblem"];
/** Some problems name more beside: the run that runs already, the jobs that block a deletion, or the thing as it is now. */
export type Problem = Shapes["Problem"] & { run_id?: string; automations?: BlockingJob[]; current?: unknown };
