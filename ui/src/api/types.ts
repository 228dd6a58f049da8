// The server's nouns under short names. Their fields are generated from its OpenAPI document; nothing is renamed on the way in.
import type { components } from "./schema";

type Shapes = components["schemas"];

export type Page<T> = { items: T[]; next_cursor?: string | null };

export type Status = Shapes["StatusShape"];
export type Me = Shapes["MeShape"];
export type ModelSetting = Shapes["ModelSettingShape"];
export type ModelDraft = Shapes["SetModel"];
export type ModelList = Shapes["ModelsShape"];
export type Token = Shapes["TokenShape"];
export type User = Shapes["UserShape"];
export type NewToken = Shapes["NewTokenShape"];
export type Webhook = Shapes["WebhookShape"];
export type NewWebhook = Shapes["NewWebhookShape"];
export type Channel = Shapes["ChannelShape"];
export type ChannelKind = Shapes["ChannelKindShape"];
export type NewChannel = Shapes["AddChannel"];
export type Grant = Shapes["GrantShape"];
export type PushDevice = Shapes["PushShape"];
export type NewPushDevice = Shapes["AddPush"];
export type Contact = Shapes["ContactShape"];
export type ContactPatch = Pick<Shapes["UpdateContact"], "who" | "wakes">;
export type LinkCode = Shapes["LinkShape"];
export type Memory = Shapes["MemoryShape"];

export type Agent = Shapes["AgentShape"];
export type AgentTool = Shapes["ToolInEffect"];
export type ToolPolicy = AgentTool["policy"];
export type McpServer = Shapes["McpServerShape"];
export type McpServerDraft = Shapes["AddMcpServer"];
export type McpServerPatch = Shapes["UpdateMcpServer"];
export type AgentDraft = Shapes["AddAgent"];
export type AgentPatch = Shapes["UpdateAgent"];

export type Session = Shapes["SessionShape"];
export type Waiting = Shapes["WaitingShape"];
export type Source = Waiting["source"];
export type BlockingJob = Shapes["BlockingJob"];

export type Card = Shapes["CardShape"];
export type CardChange = Card["change"];
export type MessageDelivery = Shapes["CarriedShape"];

/** A tool call in one line, on the message that closes its turn. A null `failed`: nobody knows whether it took effect. */
export type ToolLine = { n: number; name: string; about: string; failed: boolean | null; duration_ms: number | null };

export type MessageMeta = {
  cron_turn?: boolean;
  cron_job_id?: string;
  cron_job_name?: string;
  cron_run_id?: string;
  cron_trigger?: Run["trigger"];
  cron_due_at?: string;
  outcome?: "failed" | "cancelled";
  partial?: boolean;
  tools?: ToolLine[];
  source?: string;
  hook_id?: string;
  hook_name?: string | null;
  from_agent?: string;
  from_agent_name?: string;
  from_session?: string;
  answers_turn_id?: string;
  to?: string | string[];
  approval_id?: string;
  question_title?: string;
  dream_id?: string;
  undone_dream_id?: string;
  [more: string]: unknown;
};
export type Message = Omit<Shapes["MessageShape"], "meta"> & { meta: MessageMeta };

export type Promised = Shapes["PromiseShape"];

/** What trying again means: a person's words are sent again; an automation runs again. */
export type Again =
  | { kind: "message"; sessionKey: string; turnId: string; text: string }
  | { kind: "run"; jobId: string; runId: string };

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
/** Lists and events leave out the prompt, its variables, the error, the steps, the retries and what the script printed. */
export type Run = Shapes["RunRow"] &
  Partial<Pick<WholeRun, "prompt" | "variables" | "error" | "steps" | "retries" | "gate">>;
export type RunState = Run["state"];
export type Step = Shapes["StepShape"];
type WholeTurn = Shapes["TurnShape"];
/** Lists leave out the steps and the retries. */
export type Turn = WholeTurn & Required<Pick<WholeTurn, "steps" | "retries">>;
export type TurnStep = Shapes["TurnStepShape"];
export type Retry = Shapes["RetryShape"];
export type Usage = Shapes["UsageShape"];
export type UsageReport = Shapes["UsageReport"];
export type UsageItem = Shapes["UsageItem"];

export type Delivery = Shapes["DeliveryShape"];
export type DeliveryState = Delivery["state"];
export type Upcoming = Shapes["UpcomingShape"];
export type Preview = Shapes["PreviewShape"];
export type Trial = Shapes["TrialShape"];
export type TriedScript = Shapes["TriedScriptShape"];
export type Gate = NonNullable<WholeRun["gate"]>;
export type Why = Shapes["WhyShape"];

export type Approval = Shapes["ApprovalShape"];
export type ApprovalState = Approval["state"];
export type Question = Shapes["QuestionShape"];
export type MessageQuestion = Shapes["QuestionOnMessage"];

export type Found = Shapes["FoundShape"];
export type FoundPage = Shapes["FoundPage"];

export type InboxItem = Shapes["InboxItemShape"];

export type FieldError = Shapes["FieldProblem"];
/** Some problems name more beside: the run that runs already, the jobs that block a deletion, or the thing as it is now. */
export type Problem = Shapes["Problem"] & { run_id?: string; automations?: BlockingJob[]; current?: unknown };
