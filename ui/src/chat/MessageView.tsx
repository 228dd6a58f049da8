// One message. What an agent did by the clock never looks like something a person typed.
import { useQueryClient } from "@tanstack/react-query";
import { memo, type ReactNode, Suspense, useLayoutEffect, useRef, useState } from "react";
import { placeDelivery } from "../api/cache";
import { retryDelivery, undoDream } from "../api/operations";
import type { Again, Message, MessageDelivery } from "../api/types";
import { ApprovalCard } from "../lazyPages";
import { ErrorBoundary } from "../parts/ErrorBoundary";
import { Glyph } from "../parts/Glyph";
import { Icon, type IconName } from "../parts/Icon";
import { Markdown, PlainText } from "../parts/Markdown";
import { ServerText } from "../parts/ServerText";
import { Tooltip } from "../parts/Tooltip";
import { toast, toastError } from "../parts/toasts";
import { askedOf, plural } from "../parts/words";
import { Link, pathTo } from "../router";
import { nowMs } from "../time/clock";
import { clockOf, clockWithSeconds, latenessOf, stampOf } from "../time/format";
import { Zone } from "../time/Time";
import { EndedBody } from "./Ended";
import { MessageCard } from "./JobCard";
import { EditMessage, isOwn, MessageActions } from "./MessageActions";
import { MessageFiles } from "./MessageFiles";
import { PromiseMark } from "./PromiseMark";
import { QuestionCard } from "./QuestionCard";
import { ToolLines } from "./ToolLines";
import { TryAgain } from "./TryAgain";

type MessageProps = {
  message: Message;
  zone: string;
  follows: boolean;
  cardOf: (jobId: string) => number | undefined;
  marked: boolean;
  again?: Again | null;
};

export const MessageView = memo(function MessageView({ message, zone, follows, cardOf, marked, again }: MessageProps) {
  const { tools } = message.meta;
  const turnId = message.role === "assistant" ? message.turn_id : null;
  const [editing, setEditing] = useState(false);
  const edit = isOwn(message) ? () => setEditing(true) : null;
  const actions = editing ? null : <MessageActions message={message} onEdit={edit} />;
  return (
    <Line at={message.created_at} zone={zone} seq={message.seq} marked={marked} turnId={turnId} actions={actions}>
      {turnId && tools && tools.length > 0 && <ToolLines turnId={turnId} lines={tools} />}
      <ErrorBoundary fallback={<PlainText text={message.text} />}>
        {editing ? (
          <EditMessage message={message} onClose={() => setEditing(false)} />
        ) : (
          <Body message={message} zone={zone} follows={follows} />
        )}
      </ErrorBoundary>
      {message.files && message.files.length > 0 && <MessageFiles files={message.files} />}
      {again && <TryAgain again={again} />}
      {message.promise && <PromiseMark message={message} promise={message.promise} zone={zone} />}
      {message.cards.map((card) => (
        <MessageCard key={card.job_id + card.revision} card={card} whole={cardOf(card.job_id) === message.seq} />
      ))}
      {message.deliveries.map((delivery) => (
        <DeliveryLine key={delivery.id} delivery={delivery} />
      ))}
    </Line>
  );
});

function Body({ message, zone, follows }: { message: Message; zone: string; follows: boolean }) {
  if (message.approval)
    return (
      <Suspense fallback={<div className="skeleton h-40 max-w-[40rem]" role="status" aria-label="Loading request" />}>
        <ApprovalCard id={message.approval.id} sessionKey={message.session_key} zone={zone} />
      </Suspense>
    );
  if (message.question) return <QuestionCard question={message.question} />;
  if (message.meta.source === "hook") return <HookBody message={message} />;
  if (message.meta.source === "agent") return <AgentBody message={message} />;
  if (message.kind === "note" && message.meta.approval_id)
    return <EndedBody message={message} approvalId={message.meta.approval_id} />;
  if (message.kind === "note") return <NoteBody message={message} />;
  if (message.kind === "report" && message.role === "user") return <ReportBody message={message} />;
  if (message.role === "user")
    return message.kind === "scheduled" || message.meta.cron_turn ? (
      <OpeningBody message={message} zone={zone} />
    ) : (
      <PersonBody text={message.text} about={message.meta.question_title} />
    );
  return (
    <div>
      <span className="sr-only">Agent: </span>
      {typeof message.meta.to === "string" && (
        <p className="mb-1 text-small text-mute [overflow-wrap:anywhere]">Sent to {message.meta.to}</p>
      )}
      {message.kind === "reminder" && <Chip icon="bell" message={message} word="Reminder" />}
      {message.kind === "scheduled" && !follows && <Chip icon="clock" message={message} word="Scheduled" />}
      {message.kind === "report" && !follows && <Chip icon="report" message={message} word="After a report" />}
      {message.meta.outcome === "failed" || message.meta.outcome === "cancelled" ? (
        <Unfinished message={message} />
      ) : (
        <Markdown text={message.text} />
      )}
    </div>
  );
}

/** `about` is the question that it answers. */
type PersonProps = { text: string; about?: string; faded?: boolean };

export function PersonBody({ text, about, faded = false }: PersonProps) {
  return (
    <div className={`-mx-3 w-fit max-w-[calc(100%+1.5rem)] rounded-lg bg-tint px-3 py-1.5 ${faded ? "text-mute" : ""}`}>
      <span className="sr-only">You: </span>
      {about && <p className="text-small text-mute [overflow-wrap:anywhere]">{about}</p>}
      {text ? (
        <p className="whitespace-pre-wrap [overflow-wrap:anywhere]">{text}</p>
      ) : (
        <p className="text-small text-mute">Sent without text</p>
      )}
    </div>
  );
}

/** A scheduled turn's opening: the clock, the name, due against actual, and the way to its run. */
function OpeningBody({ message, zone }: { message: Message; zone: string }) {
  const { cron_job_id: jobId, cron_job_name: name, cron_run_id: runId, cron_trigger: trigger } = message.meta;
  const due = message.meta.cron_due_at && trigger !== "manual" ? Date.parse(message.meta.cron_due_at) : null;
  const began = Date.parse(message.created_at);
  return (
    <div className="border-l-2 border-accent pl-3">
      <p className="flex flex-wrap items-center gap-x-2.5 gap-y-0.5">
        <Icon name="clock" size={16} className="text-accent" />
        {jobId ? (
          <Link to={pathTo.job(jobId)} className="font-semibold hover:underline">
            {name ?? jobId}
          </Link>
        ) : (
          <span className="font-semibold">{name ?? "Scheduled"}</span>
        )}
        <span className="text-small text-mute">
          {trigger === "manual" ? "run now" : due ? `due ${clockWithSeconds(due, zone)}` : "scheduled"}
          {", began "}
          {clockWithSeconds(began, zone)} <Zone name={zone} short />
          {due ? `, ${latenessOf(began - due)}` : ""}
        </span>
        {runId && (
          <Link to={pathTo.run(runId)} className="link text-small">
            Details
          </Link>
        )}
      </p>
      <p className="mt-0.5 line-clamp-3 text-small whitespace-pre-wrap text-mute [overflow-wrap:anywhere]">
        {askedOf(message)}
      </p>
    </div>
  );
}

/** A closing without an answer: what there was of one, and the short line the server gave, under the outcome's own sign. */
function Unfinished({ message }: { message: Message }) {
  const failed = message.meta.outcome === "failed";
  // The server's line is the last paragraph; what the agent said before it stands in front.
  const cut = message.meta.partial ? message.text.lastIndexOf("\n\n") : -1;
  return (
    <>
      {cut > 0 && (
        <div className="mb-1.5">
          <Markdown text={message.text.slice(0, cut)} />
        </div>
      )}
      <div className={`flex gap-2.5 ${failed ? "" : "text-mute"}`}>
        <Glyph shape={failed ? "error" : "cancelled"} label={failed ? "Failed" : "Stopped"} className="mt-[0.4rem]" />
        <Markdown text={cut > 0 ? message.text.slice(cut + 2) : message.text} />
      </div>
    </>
  );
}

function Chip({ icon, message, word }: { icon: IconName; message: Message; word: string }) {
  const { cron_job_name: name, cron_run_id: runId } = message.meta;
  return (
    <p className="mb-1 flex flex-wrap items-center gap-x-2 text-small text-mute">
      <Icon name={icon} size={15} className="text-accent" />
      <span>
        {word}
        {name ? `: ${name}` : ""}
      </span>
      {runId && (
        <Link to={pathTo.run(runId)} className="link">
          Details
        </Link>
      )}
    </p>
  );
}

function ReportBody({ message }: { message: Message }) {
  return (
    <div className="border-l-2 border-accent pl-3">
      <Chip icon="report" message={message} word="Report" />
      <Clamped>
        <Markdown text={message.text} />
      </Clamped>
    </div>
  );
}

function Clamped({ children }: { children: ReactNode }) {
  const ref = useRef<HTMLDivElement>(null);
  const [open, setOpen] = useState(false);
  const [long, setLong] = useState(false);
  useLayoutEffect(() => setLong((ref.current?.scrollHeight ?? 0) > (ref.current?.clientHeight ?? 0) + 4), []);
  return (
    <>
      <div ref={ref} className={open ? "" : "max-h-40 overflow-hidden"}>
        {children}
      </div>
      {long && (
        <button type="button" className="link mt-1 text-small" aria-expanded={open} onClick={() => setOpen(!open)}>
          {open ? "Show less" : "Show all"}
        </button>
      )}
    </>
  );
}

/** What another program sent: its name, and its words as plain text. */
function HookBody({ message }: { message: Message }) {
  return (
    <div className="border-l-2 border-edge pl-3">
      <p className="mb-1 flex flex-wrap items-center gap-x-2 text-small text-mute">
        <Icon name="tool" size={15} />
        <span>From the hook {message.meta.hook_name ? `“${message.meta.hook_name}”` : message.meta.hook_id}</span>
      </p>
      <Clamped>
        <PlainText text={message.text} />
      </Clamped>
    </div>
  );
}

/** What another agent asked or answered, with the way to the conversation in which it said so. */
function AgentBody({ message }: { message: Message }) {
  const { from_agent: id, from_agent_name: name, from_session: from, answers_turn_id: answers } = message.meta;
  return (
    <div className="border-l-2 border-edge pl-3">
      <p className="mb-1 flex flex-wrap items-center gap-x-2 text-small text-mute">
        <Icon name="report" size={15} />
        <span>
          {answers ? "Answer from the agent" : "From the agent"} “{name ?? id}”
        </span>
        {from && (
          <Link to={pathTo.chat(from)} className="link">
            Show its conversation
          </Link>
        )}
      </p>
      <Clamped>
        <PlainText text={message.text} />
      </Clamped>
    </div>
  );
}

function NoteBody({ message }: { message: Message }) {
  return (
    <div className="flex gap-2.5 text-mute">
      <Icon name="note" size={16} className="mt-1 flex-none" />
      <div className="min-w-0">
        <span className="sr-only">Note: </span>
        <Markdown text={message.text} />
        {message.meta.cron_run_id && (
          <Link to={pathTo.run(message.meta.cron_run_id)} className="link text-small">
            Details
          </Link>
        )}
      </div>
    </div>
  );
}

/** What was noted, merged or forgotten at night, with its undo. */
function UndoDream({ dreamId }: { dreamId: string }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  async function undo() {
    setBusy(true);
    try {
      await undoDream(dreamId);
      toast({ text: "Undone: what is remembered is as before" });
      await client.invalidateQueries({ queryKey: ["memories"] });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  }
  return (
    <button type="button" className="link" disabled={busy} onClick={() => void undo()}>
      Undo
    </button>
  );
}

/** Checks that had nothing to tell, in one line. The newest counts those before it. */
export function QuietLine({ messages, zone }: { messages: Message[]; zone: string }) {
  const [open, setOpen] = useState(false);
  const last = messages.at(-1);
  if (!last) return null;
  return (
    <Line at={last.created_at} zone={zone} seq={last.seq}>
      <div className="text-small text-mute">
        <button
          type="button"
          className="flex items-center gap-2 text-left hover:text-ink"
          aria-expanded={open}
          onClick={() => setOpen(!open)}
        >
          <Icon name="check" size={15} />
          <span>
            {last.meta.cron_job_name ? `${last.meta.cron_job_name}: ` : ""}
            {last.text}
          </span>
        </button>
        {last.meta.dream_id && <UndoDream dreamId={last.meta.dream_id} />}
        {open && (
          <ul className="mt-1 ml-6">
            {messages.map((message) => (
              <li key={message.seq}>
                {stampOf(Date.parse(message.created_at), zone, nowMs())} <Zone name={zone} short /> {message.text}{" "}
                {message.meta.cron_run_id && (
                  <Link to={pathTo.run(message.meta.cron_run_id)} className="link">
                    Details
                  </Link>
                )}
              </li>
            ))}
          </ul>
        )}
      </div>
    </Line>
  );
}

type LineProps = {
  at: string | null;
  zone: string;
  seq?: number;
  marked?: boolean;
  turnId?: string | null;
  actions?: ReactNode;
  children: ReactNode;
};

/** The transcript is a timetable: times stand in a column of their own. That of an answer leads to its turn. */
export function Line({ at, zone, seq, marked = false, turnId = null, actions, children }: LineProps) {
  const instant = at ? Date.parse(at) : null;
  return (
    <article
      data-seq={seq}
      className={`entry relative grid gap-x-4 py-2.5 sm:grid-cols-[3rem_minmax(0,1fr)] ${marked ? "-mx-3 rounded-lg bg-accent-tint px-3" : ""}`}
    >
      {instant !== null && at ? (
        <Tooltip text={`${stampOf(instant, zone, nowMs(), true)} ${zone}`} side="right">
          {turnId ? (
            <Link to={pathTo.turn(turnId)} className="h-fit w-fit pt-[0.17rem] text-fine text-mute hover:underline">
              <time dateTime={at}>{clockOf(instant, zone)}</time>
              <span className="sr-only">, how this answer came about</span>
            </Link>
          ) : (
            <time dateTime={at} className="h-fit w-fit pt-[0.17rem] text-fine text-mute">
              {clockOf(instant, zone)}
            </time>
          )}
        </Tooltip>
      ) : (
        <span className="hidden sm:block" />
      )}
      <div className="min-w-0">{children}</div>
      {actions}
    </article>
  );
}

function DeliveryLine({ delivery }: { delivery: MessageDelivery }) {
  const client = useQueryClient();
  const [busy, setBusy] = useState(false);
  const quiet = delivery.state === "sent" || (delivery.state === "pending" && delivery.attempts === 0);
  if (quiet && !delivery.unsure) return null;

  async function again() {
    setBusy(true);
    try {
      placeDelivery(client, await retryDelivery(delivery.id));
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  }

  const dead = delivery.state === "dead";
  if (delivery.state === "sent") {
    return <p className="mt-1.5 text-mute text-small">It may have arrived twice at {delivery.address}.</p>;
  }
  return (
    <p
      className={`mt-1.5 flex flex-wrap items-center gap-x-2 text-small ${dead ? "text-bad" : "text-wait"}`}
      role={dead ? "alert" : undefined}
    >
      <Glyph shape={dead ? "error" : "waiting"} size={10} />
      <span className="[overflow-wrap:anywhere]">
        {dead
          ? `Not delivered to ${delivery.address} after ${plural(delivery.attempts, "attempt")}`
          : `Delivering to ${delivery.address}, ${plural(delivery.attempts, "attempt")} so far`}
        {delivery.parts_sent > 0 && `, ${delivery.parts_sent} of ${delivery.parts} parts sent`}
        {delivery.unsure && ", and it may have arrived already"}
        {delivery.error && (
          <>
            : <ServerText text={delivery.error} />
          </>
        )}
      </span>
      {dead && (
        <button type="button" className="link" disabled={busy} onClick={() => void again()}>
          Retry
        </button>
      )}
    </p>
  );
}
