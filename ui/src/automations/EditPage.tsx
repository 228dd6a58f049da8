// Making an automation, changing one, or making one like another.
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useEffect, useRef, useState } from "react";
import { keys, placeJob, placeSession } from "../api/cache";
import { Refusal, sentenceOf } from "../api/client";
import { addJob, addSession, undoJob, updateJob } from "../api/operations";
import { useJob, useMyZone, useSession } from "../api/queries";
import type { FieldError, Job, JobDraft, Session } from "../api/types";
import { LoadError, Loading } from "../parts/EmptyState";
import { Icon } from "../parts/Icon";
import { toast } from "../parts/toasts";
import { useTitle } from "../parts/useTitle";
import { plainOf } from "../parts/words";
import { Link, navigate, pathTo, useSearch } from "../router";
import { nowMs } from "../time/clock";
import { knownZone } from "../time/format";
import { type Draft, draftOf, emptyDraft, emptyWhen, showIn } from "./draft";
import { listOf } from "./ScriptFields";
import { type Previewed, usePreview } from "./usePreview";
import { WhatFields } from "./WhatFields";
import { WhenFields } from "./WhenFields";

export default function EditPage({ jobId }: { jobId: string | null }) {
  const search = useSearch();
  const from = jobId ?? search.get("from");
  if (from) return <FromJob id={from} edit={jobId !== null} />;
  return <ForSession sessionKey={search.get("session") ?? localStorage.getItem("homing.last")} />;
}

function FromJob({ id, edit }: { id: string; edit: boolean }) {
  const { data: job, error, isPending, refetch } = useJob(id);
  const zone = useMyZone();
  if (isPending) return <Wait />;
  if (!job) return <LoadError error={error} again={() => void refetch()} />;
  return <Form job={job} edit={edit} zone={job.schedule.tz ?? zone} sessionKey={job.session_key} />;
}

/** A new one is read in its conversation's zone, as the agent would read it there. */
function ForSession({ sessionKey }: { sessionKey: string | null }) {
  const session = useSession(sessionKey);
  const mine = useMyZone();
  if (sessionKey !== null && session.isPending) return <Wait />;
  return <Form job={null} edit={false} zone={session.data?.timezone || mine} sessionKey={session.data?.key ?? ""} />;
}

const Wait = () => (
  <div className="page">
    <Loading />
  </div>
);

function Form({ job, edit, zone, sessionKey }: { job: Job | null; edit: boolean; zone: string; sessionKey: string }) {
  useTitle(edit ? "Edit automation" : "New automation");
  const client = useQueryClient();
  const [draft, setDraft] = useState<Draft>(() =>
    job ? { ...draftOf(job), name: edit ? job.name : `${job.name} copy` } : emptyDraft(sessionKey),
  );
  const [when, setWhen] = useState(() =>
    job ? { ...showIn(emptyWhen(zone, nowMs()), job.schedule), source: "tab" as const } : emptyWhen(zone, nowMs()),
  );
  const [untouched, setUntouched] = useState(edit);
  const [busy, setBusy] = useState(false);
  const [hurried, setHurried] = useState(false);
  const [refused, setRefused] = useState<{ fields: FieldError[]; sentence: string | null; times: number }>({
    fields: [],
    sentence: null,
    times: 0,
  });
  const previewed = usePreview(when);
  const form = useRef<HTMLFormElement>(null);
  const errorOf = (...names: string[]) =>
    refused.fields
      .filter((field) => names.includes(field.field))
      .map((field) => field.detail)
      .join(" ") || null;
  const left = refused.fields.filter((field) => !placed.has(field.field));

  // Where one begins to write; on a phone a keyboard that nobody asked for would hide the form.
  useEffect(() => {
    if (!edit && matchMedia("(pointer: fine)").matches)
      form.current?.querySelector<HTMLElement>("[data-when]")?.focus();
  }, [edit]);

  // A field that was refused may be out of sight, or under the bar with the buttons.
  useEffect(() => {
    if (refused.times === 0) return;
    const wrong = form.current?.querySelector<HTMLElement>("[aria-invalid=true]");
    wrong?.focus({ preventScroll: true });
    wrong?.scrollIntoView({ block: "center" });
  }, [refused.times]);

  // Who presses Enter right after the last letter means what will be read in a moment.
  useEffect(() => {
    if (!hurried || previewed.busy) return;
    setHurried(false);
    form.current?.requestSubmit();
  }, [hurried, previewed.busy]);

  const refuse = (fields: FieldError[], sentence: string | null = null) =>
    setRefused(({ times }) => ({ fields, sentence, times: times + 1 }));
  /** What was changed since is no longer refused. */
  const mended = (is: (field: FieldError) => boolean) =>
    setRefused((now) => ({ ...now, fields: now.fields.filter((field) => !is(field)) }));

  async function save(event: FormEvent) {
    event.preventDefault();
    if (!untouched && previewed.busy) return setHurried(true);
    const missing = [
      ...(untouched || previewed.preview ? [] : [unread(previewed, when.zone)]),
      ...(draft.message.trim() === "" ? [UNSAID] : []),
    ];
    if (missing.length > 0) return refuse(missing);
    setBusy(true);
    mended(() => true);
    try {
      const { warnings, ...saved } =
        edit && job
          ? await updateJob(job.id, { ...changesOf(job, draft), ...schedulePart(), revision: job.revision })
          : await addJob({ ...(await bodyOf()), ...schedulePart() });
      placeJob(client, saved);
      toast({
        text: `${edit ? "Saved" : "Scheduled"}: ${saved.name}`,
        warnings,
        undo: async () => placeJob(client, await undoJob(saved.id, saved.revision)),
      });
      navigate(pathTo.job(saved.id), { replace: edit });
    } catch (error) {
      const fields = error instanceof Refusal ? error.fields : [];
      const stale = error instanceof Refusal && error.code === "stale_revision";
      if (stale && job) void client.invalidateQueries({ queryKey: keys.job(job.id) });
      refuse(
        fields,
        stale
          ? "Somebody changed it meanwhile. Open it again to see their version, then change it."
          : fields.length === 0
            ? sentenceOf(error)
            : null,
      );
      setBusy(false);
    }
  }

  /** Exactly what the preview showed is what is stored. */
  function schedulePart(): JobDraft {
    return untouched || !previewed.preview ? {} : { schedule: previewed.preview.schedule };
  }

  async function bodyOf(): Promise<JobDraft> {
    const session_key = draft.sessionKey || (await newSession()).key;
    return { ...wholeOf(draft), session_key };
  }

  async function newSession(): Promise<Session> {
    const session = await addSession({
      title: draft.name.trim() || plainOf(draft.message, 60).trim() || "Automations",
      timezone: when.zone,
    });
    placeSession(client, session);
    setDraft((now) => ({ ...now, sessionKey: session.key }));
    return session;
  }

  return (
    <form ref={form} className="page narrow" onSubmit={(event) => void save(event)} noValidate>
      <Link
        to={job && edit ? pathTo.job(job.id) : "/automations"}
        className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink"
      >
        <Icon name="back" size={14} /> {job && edit ? job.name : "Automations"}
      </Link>
      <h1 className="mb-6">{edit ? "Edit automation" : "New automation"}</h1>
      <section aria-label="Schedule">
        <WhenFields
          when={when}
          setWhen={(next) => {
            setUntouched(false);
            setWhen(next);
            mended((field) => ofWhen.has(field.field));
          }}
          previewed={previewed}
          refused={{
            schedule: errorOf(
              "when",
              "schedule",
              "schedule.at",
              "schedule.cron",
              "schedule.every_ms",
              "schedule.anchor",
              "schedule.kind",
            ),
            zone: errorOf("timezone", "schedule.tz"),
          }}
        />
      </section>
      <WhatFields
        draft={draft}
        setDraft={(next) => {
          setDraft(next);
          mended((field) => !ofWhen.has(field.field));
        }}
        edit={edit}
        errorOf={errorOf}
      />
      <div aria-live="assertive">
        {refused.sentence && <p className="mt-4 text-bad">{refused.sentence}</p>}
        {left.map((field) => (
          <p key={field.field} className="mt-2 text-bad">
            {field.field}: {field.detail}
          </p>
        ))}
      </div>
      <div className="sticky bottom-0 mt-6 flex items-center justify-end gap-2 border-t bg-paper py-3">
        <Link to={job && edit ? pathTo.job(job.id) : "/automations"} className="button">
          Cancel
        </Link>
        <button type="submit" className="button" data-look="main" disabled={busy || hurried}>
          {busy || hurried ? "Saving" : edit ? "Save" : "Schedule"}
        </button>
      </div>
    </form>
  );
}

const UNSAID: FieldError = { field: "message", code: "missing", detail: "Say what should happen." };

/** Why there is no schedule to store: its zone, its words, or nothing said yet. */
function unread({ zoneError, scheduleError }: Previewed, zone: string): FieldError {
  if (zoneError || !knownZone(zone))
    return { field: "timezone", code: "unknown_timezone", detail: zoneError ?? `There is no time zone “${zone}”.` };
  return {
    field: "when",
    code: "missing",
    detail: scheduleError ?? "Say when: in words above, or with one of the tabs.",
  };
}

const ofWhen = new Set([
  "when",
  "schedule",
  "schedule.at",
  "schedule.cron",
  "schedule.every_ms",
  "schedule.anchor",
  "schedule.kind",
  "timezone",
  "schedule.tz",
]);
const placed = new Set([
  ...ofWhen,
  ...[
    "name",
    "session_key",
    "message",
    "payload",
    "payload.message",
    "session",
    "catch_up",
    "catch_up_window_seconds",
    "payload.timeout_seconds",
    "script",
    "script_language",
    "script_hosts",
    "script_seconds",
    "max_cost_usd_per_day",
    "alert_after",
    "alert_to",
  ],
]);

function wholeOf(draft: Draft): JobDraft {
  const turn = draft.payloadKind === "agent_turn";
  const isolated = turn && draft.session === "isolated";
  return {
    ...(draft.name.trim() ? { name: draft.name.trim() } : {}),
    payload: {
      kind: draft.payloadKind,
      message: draft.message,
      ...(turn ? { timeout_seconds: draft.timeoutSeconds, context: draft.context } : {}),
    },
    session: isolated ? "isolated" : "main",
    ...(isolated ? { write_back: draft.writeBack, continue: draft.continues } : {}),
    ...(turn ? { max_cost_usd_per_day: Number.isNaN(draft.budget) ? null : draft.budget } : {}),
    quiet: turn && draft.quiet,
    delete_after_run: draft.deleteAfterRun,
    catch_up: draft.catchUp,
    ...(draft.catchUp === "latest" ? { catch_up_window_seconds: Math.round(draft.windowHours * 3600) } : {}),
    alert_after: Number.isNaN(draft.alertAfter) ? null : draft.alertAfter,
    alert_to: listOf(draft.alertTo),
    ...scriptOf(draft),
  };
}

/** Without a script nothing else about it matters. */
function scriptOf(draft: Draft): JobDraft {
  if (draft.script.trim() === "") return { script: null };
  return {
    script: draft.script,
    script_language: draft.scriptLanguage,
    script_hosts: listOf(draft.scriptHosts),
    script_seconds: draft.scriptSeconds,
  };
}

/** Only what differs is sent, so that an edit of one field leaves every other as somebody else may have set it. */
function changesOf(job: Job, draft: Draft): JobDraft {
  const before: Record<string, unknown> = wholeOf(draftOf(job));
  const changed = Object.entries(wholeOf(draft)).filter(
    ([name, value]) => JSON.stringify(value) !== JSON.stringify(before[name]),
  );
  return Object.fromEntries(changed);
}
