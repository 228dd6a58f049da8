SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE public.address (
    n bigint NOT NULL,
    session_id bigint NOT NULL,
    address text NOT NULL
);
CREATE SEQUENCE public.address_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.address_n_seq OWNED BY public.address.n;
CREATE TABLE public.agent (
    id text NOT NULL,
    name text NOT NULL,
    model text,
    instructions text NOT NULL,
    tools jsonb,
    created_at bigint NOT NULL
);
CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);
CREATE TABLE public.audit (
    n bigint NOT NULL,
    at bigint NOT NULL,
    user_id text NOT NULL,
    action text NOT NULL,
    object_id text NOT NULL,
    detail jsonb
);
CREATE SEQUENCE public.audit_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.audit_n_seq OWNED BY public.audit.n;
CREATE TABLE public.delivery (
    n bigint NOT NULL,
    id text NOT NULL,
    outbound_n bigint NOT NULL,
    session_id bigint NOT NULL,
    user_id text NOT NULL,
    seq bigint NOT NULL,
    address text NOT NULL,
    state text NOT NULL,
    attempts bigint DEFAULT '0'::bigint NOT NULL,
    next_attempt_at bigint,
    sent_at bigint,
    receipt jsonb,
    error text,
    rev bigint DEFAULT '0'::bigint NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT ck_delivery_pending_has_next CHECK (((state = 'pending'::text) = (next_attempt_at IS NOT NULL))),
    CONSTRAINT ck_delivery_sent_at CHECK (((state = 'sent'::text) = (sent_at IS NOT NULL))),
    CONSTRAINT ck_delivery_state CHECK ((state = ANY (ARRAY['pending'::text, 'sent'::text, 'dead'::text])))
);
CREATE SEQUENCE public.delivery_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.delivery_n_seq OWNED BY public.delivery.n;
CREATE TABLE public."grant" (
    n bigint NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    address text NOT NULL,
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.grant_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.grant_n_seq OWNED BY public."grant".n;
CREATE TABLE public.hook (
    id text NOT NULL,
    session_id bigint NOT NULL,
    name text,
    hash text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.idempotency (
    user_id text NOT NULL,
    path text NOT NULL,
    key text NOT NULL,
    body_sha256 text NOT NULL,
    status integer NOT NULL,
    answer text NOT NULL,
    created_at bigint NOT NULL
);
CREATE TABLE public.inbound (
    n bigint NOT NULL,
    id text NOT NULL,
    session_id bigint NOT NULL,
    lane_id bigint NOT NULL,
    user_id text NOT NULL,
    source text NOT NULL,
    text text NOT NULL,
    line text NOT NULL,
    mode text NOT NULL,
    state text NOT NULL,
    run_id text,
    job_id text,
    sender_id text,
    address text,
    external_id text,
    meta jsonb,
    turn_id text,
    injected boolean DEFAULT false NOT NULL,
    queued_at bigint NOT NULL,
    CONSTRAINT ck_inbound_line CHECK ((line = ANY (ARRAY['people'::text, 'machines'::text, 'note'::text]))),
    CONSTRAINT ck_inbound_mode CHECK ((mode = ANY (ARRAY['inject'::text, 'queue'::text]))),
    CONSTRAINT ck_inbound_only_people_are_injected CHECK (((NOT injected) OR (source = 'person'::text))),
    CONSTRAINT ck_inbound_people_are_people CHECK (((line <> 'people'::text) OR (source = 'person'::text))),
    CONSTRAINT ck_inbound_run_has_id CHECK (((source = 'run'::text) = (run_id IS NOT NULL))),
    CONSTRAINT ck_inbound_source CHECK ((source = ANY (ARRAY['person'::text, 'run'::text, 'report'::text, 'hook'::text, 'agent'::text, 'system'::text]))),
    CONSTRAINT ck_inbound_state CHECK ((state = ANY (ARRAY['waiting'::text, 'taken'::text, 'withdrawn'::text]))),
    CONSTRAINT ck_inbound_taken_by_turn CHECK (((state = 'taken'::text) = (turn_id IS NOT NULL)))
);
CREATE SEQUENCE public.inbound_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.inbound_n_seq OWNED BY public.inbound.n;
CREATE TABLE public.job (
    n bigint NOT NULL,
    id text NOT NULL,
    session_id bigint NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    sender_id text,
    kind text NOT NULL,
    name text NOT NULL,
    description text,
    schedule_kind text NOT NULL,
    at bigint,
    every_ms bigint,
    anchor bigint,
    cron text,
    tz text NOT NULL,
    starts_at bigint,
    ends_at bigint,
    max_runs bigint,
    payload_kind text NOT NULL,
    message text NOT NULL,
    model text,
    thinking text,
    timeout_seconds double precision,
    context text NOT NULL,
    isolated boolean DEFAULT false NOT NULL,
    write_back text NOT NULL,
    continues boolean DEFAULT true NOT NULL,
    wake text NOT NULL,
    catch_up text NOT NULL,
    catch_up_window_seconds bigint DEFAULT '0'::bigint NOT NULL,
    quiet boolean DEFAULT false NOT NULL,
    delete_after_run boolean DEFAULT false NOT NULL,
    may_schedule boolean DEFAULT false NOT NULL,
    dedupe_key text,
    origin_door text NOT NULL,
    origin_turn_id text,
    legacy jsonb,
    revision bigint DEFAULT '1'::bigint NOT NULL,
    undo jsonb,
    enabled boolean DEFAULT true NOT NULL,
    disabled_by text,
    disabled_reason text,
    disabled_until bigint,
    next_run_at bigint,
    retry bigint DEFAULT '0'::bigint NOT NULL,
    retry_of bigint,
    runs_queued bigint DEFAULT '0'::bigint NOT NULL,
    last_run_id text,
    last_run_at bigint,
    last_status text,
    last_error text,
    last_duration_ms bigint,
    consecutive_failures bigint DEFAULT '0'::bigint NOT NULL,
    schedule_errors bigint DEFAULT '0'::bigint NOT NULL,
    rev bigint DEFAULT '0'::bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    removed_at bigint,
    CONSTRAINT ck_job_catch_up CHECK ((catch_up = ANY (ARRAY['latest'::text, 'skip'::text]))),
    CONSTRAINT ck_job_context CHECK ((context = ANY (ARRAY['session'::text, 'since_last'::text, 'none'::text]))),
    CONSTRAINT ck_job_disabled_by CHECK ((disabled_by = ANY (ARRAY['person'::text, 'engine'::text, 'done'::text]))),
    CONSTRAINT ck_job_disabled_by_somebody CHECK ((enabled = (disabled_by IS NULL))),
    CONSTRAINT ck_job_due_only_when_enabled CHECK (((next_run_at IS NULL) OR (enabled AND (removed_at IS NULL)))),
    CONSTRAINT ck_job_isolated_is_agent_turn CHECK (((NOT isolated) OR (payload_kind = 'agent_turn'::text))),
    CONSTRAINT ck_job_kind CHECK ((kind = ANY (ARRAY['user'::text, 'system'::text, 'legacy'::text]))),
    CONSTRAINT ck_job_one_schedule CHECK ((((schedule_kind = 'at'::text) = (at IS NOT NULL)) AND ((schedule_kind = 'every'::text) = (every_ms IS NOT NULL)) AND ((schedule_kind = 'every'::text) = (anchor IS NOT NULL)) AND ((schedule_kind = 'cron'::text) = (cron IS NOT NULL)))),
    CONSTRAINT ck_job_payload_kind CHECK ((payload_kind = ANY (ARRAY['agent_turn'::text, 'reminder'::text, 'system_event'::text]))),
    CONSTRAINT ck_job_schedule_kind CHECK ((schedule_kind = ANY (ARRAY['at'::text, 'every'::text, 'cron'::text]))),
    CONSTRAINT ck_job_wake CHECK ((wake = ANY (ARRAY['now'::text, 'next_heartbeat'::text]))),
    CONSTRAINT ck_job_write_back CHECK ((write_back = ANY (ARRAY['full'::text, 'summary'::text, 'none'::text])))
);
CREATE SEQUENCE public.job_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.job_n_seq OWNED BY public.job.n;
CREATE TABLE public.memory (
    n bigint NOT NULL,
    id text NOT NULL,
    user_id text NOT NULL,
    session_id bigint,
    sender_id text,
    text text NOT NULL,
    grams text NOT NULL,
    created_at bigint NOT NULL
);
CREATE SEQUENCE public.memory_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.memory_n_seq OWNED BY public.memory.n;
CREATE TABLE public.message (
    n bigint NOT NULL,
    session_id bigint NOT NULL,
    lane_id bigint NOT NULL,
    seq bigint NOT NULL,
    rev bigint NOT NULL,
    role text NOT NULL,
    kind text NOT NULL,
    text text NOT NULL,
    turn_id text,
    inbound_id text,
    job_id text,
    run_id text,
    model text,
    meta jsonb,
    cards jsonb,
    folded boolean DEFAULT false NOT NULL,
    created_at bigint NOT NULL,
    CONSTRAINT ck_message_kind CHECK ((kind = ANY (ARRAY['chat'::text, 'scheduled'::text, 'reminder'::text, 'report'::text, 'note'::text, 'status'::text]))),
    CONSTRAINT ck_message_role CHECK ((role = ANY (ARRAY['user'::text, 'assistant'::text])))
);
CREATE SEQUENCE public.message_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.message_n_seq OWNED BY public.message.n;
CREATE TABLE public.outbound (
    n bigint NOT NULL,
    session_id bigint NOT NULL,
    seq bigint NOT NULL,
    cause text NOT NULL,
    turn_id text,
    run_id text,
    created_at bigint NOT NULL,
    CONSTRAINT ck_outbound_cause CHECK ((cause = ANY (ARRAY['closing'::text, 'note'::text, 'sent'::text, 'question'::text]))),
    CONSTRAINT ck_outbound_closing_has_turn CHECK (((cause <> 'closing'::text) OR (turn_id IS NOT NULL)))
);
CREATE SEQUENCE public.outbound_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.outbound_n_seq OWNED BY public.outbound.n;
CREATE TABLE public.run (
    n bigint NOT NULL,
    id text NOT NULL,
    job_id text NOT NULL,
    session_id bigint NOT NULL,
    lane_id bigint NOT NULL,
    user_id text NOT NULL,
    trigger text NOT NULL,
    scheduled_for bigint NOT NULL,
    state text NOT NULL,
    reason text,
    revision bigint DEFAULT '0'::bigint NOT NULL,
    rev bigint DEFAULT '0'::bigint NOT NULL,
    attempt bigint DEFAULT '1'::bigint NOT NULL,
    queued_at bigint NOT NULL,
    started_at bigint,
    finished_at bigint,
    lateness_ms bigint,
    missed_count bigint,
    missed_until bigint,
    summary text,
    error text,
    prompt_id text,
    prompt_version bigint,
    prompt_sha256 text,
    prompt text,
    variables jsonb,
    turn_id text,
    opening_seq bigint,
    closing_seq bigint,
    next_run_at bigint,
    input_tokens bigint DEFAULT '0'::bigint NOT NULL,
    output_tokens bigint DEFAULT '0'::bigint NOT NULL,
    CONSTRAINT ck_run_finished CHECK (((state = ANY (ARRAY['queued'::text, 'running'::text])) = (finished_at IS NULL))),
    CONSTRAINT ck_run_running_has_turn CHECK (((state <> 'running'::text) OR ((started_at IS NOT NULL) AND (turn_id IS NOT NULL)))),
    CONSTRAINT ck_run_state CHECK ((state = ANY (ARRAY['queued'::text, 'running'::text, 'ok'::text, 'error'::text, 'skipped'::text, 'cancelled'::text]))),
    CONSTRAINT ck_run_trigger CHECK ((trigger = ANY (ARRAY['timer'::text, 'catch_up'::text, 'manual'::text, 'retry'::text])))
);
CREATE SEQUENCE public.run_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.run_n_seq OWNED BY public.run.n;
CREATE TABLE public.session (
    id bigint NOT NULL,
    key text NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    title text,
    timezone text,
    parent_id bigint,
    seq bigint DEFAULT '0'::bigint NOT NULL,
    rev bigint DEFAULT '0'::bigint NOT NULL,
    revision bigint DEFAULT '1'::bigint NOT NULL,
    summary text,
    summary_until bigint DEFAULT '0'::bigint NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    deleted_at bigint
);
CREATE SEQUENCE public.session_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.session_id_seq OWNED BY public.session.id;
CREATE TABLE public.step (
    turn_id text NOT NULL,
    n bigint NOT NULL,
    kind text NOT NULL,
    name text NOT NULL,
    key text NOT NULL,
    state text NOT NULL,
    failed boolean DEFAULT false NOT NULL,
    args text,
    result text,
    cards jsonb,
    duration_ms bigint,
    input_tokens bigint DEFAULT '0'::bigint NOT NULL,
    output_tokens bigint DEFAULT '0'::bigint NOT NULL,
    begun_at bigint NOT NULL,
    done_at bigint,
    CONSTRAINT ck_step_done_at CHECK (((state = 'done'::text) = (done_at IS NOT NULL))),
    CONSTRAINT ck_step_kind CHECK ((kind = ANY (ARRAY['model'::text, 'tool'::text, 'inject'::text]))),
    CONSTRAINT ck_step_state CHECK ((state = ANY (ARRAY['begun'::text, 'done'::text])))
);
CREATE TABLE public.token (
    id text NOT NULL,
    user_id text NOT NULL,
    role text NOT NULL,
    kind text NOT NULL,
    hash text NOT NULL,
    created_at bigint NOT NULL,
    expires_at bigint,
    made_from text,
    CONSTRAINT ck_token_kind CHECK ((kind = ANY (ARRAY['token'::text, 'cookie'::text, 'code'::text])))
);
CREATE TABLE public.turn (
    n bigint NOT NULL,
    id text NOT NULL,
    lane_id bigint NOT NULL,
    session_id bigint NOT NULL,
    user_id text NOT NULL,
    agent_id text NOT NULL,
    source text NOT NULL,
    run_id text,
    job_id text,
    state text NOT NULL,
    outcome text,
    reason text,
    worker_id text,
    claimed_until bigint,
    fence bigint DEFAULT '1'::bigint NOT NULL,
    attempts bigint DEFAULT '1'::bigint NOT NULL,
    deadline_at bigint,
    cancel_requested_at bigint,
    cancel_reason text,
    address text,
    sender_id text,
    model text NOT NULL,
    thinking text,
    prompt text NOT NULL,
    policy jsonb,
    error text,
    history text,
    opening_seq bigint,
    closing_seq bigint,
    input_tokens bigint DEFAULT '0'::bigint NOT NULL,
    output_tokens bigint DEFAULT '0'::bigint NOT NULL,
    opened_at bigint NOT NULL,
    closed_at bigint,
    CONSTRAINT ck_turn_closed_at CHECK (((state = 'closed'::text) = (closed_at IS NOT NULL))),
    CONSTRAINT ck_turn_closed_has_outcome CHECK (((state = 'closed'::text) = (outcome IS NOT NULL))),
    CONSTRAINT ck_turn_outcome CHECK ((outcome = ANY (ARRAY['answered'::text, 'empty'::text, 'failed'::text, 'cancelled'::text]))),
    CONSTRAINT ck_turn_run_has_id CHECK (((source = 'run'::text) = (run_id IS NOT NULL))),
    CONSTRAINT ck_turn_source CHECK ((source = ANY (ARRAY['person'::text, 'run'::text, 'report'::text, 'hook'::text, 'agent'::text, 'system'::text]))),
    CONSTRAINT ck_turn_state CHECK ((state = ANY (ARRAY['running'::text, 'closed'::text])))
);
CREATE SEQUENCE public.turn_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;
ALTER SEQUENCE public.turn_n_seq OWNED BY public.turn.n;
CREATE TABLE public."user" (
    id text NOT NULL,
    name text NOT NULL,
    role text NOT NULL,
    timezone text,
    created_at bigint NOT NULL,
    CONSTRAINT ck_user_role CHECK ((role = ANY (ARRAY['user'::text, 'admin'::text])))
);
CREATE TABLE public.webhook (
    id text NOT NULL,
    user_id text NOT NULL,
    url text NOT NULL,
    secret text NOT NULL,
    created_at bigint NOT NULL,
    removed_at bigint
);
CREATE TABLE public.worker (
    id text NOT NULL,
    name text NOT NULL,
    schedules boolean DEFAULT false NOT NULL,
    started_at bigint NOT NULL,
    beat_at bigint NOT NULL,
    next_wake_at bigint
);
ALTER TABLE ONLY public.address ALTER COLUMN n SET DEFAULT nextval('public.address_n_seq'::regclass);
ALTER TABLE ONLY public.audit ALTER COLUMN n SET DEFAULT nextval('public.audit_n_seq'::regclass);
ALTER TABLE ONLY public.delivery ALTER COLUMN n SET DEFAULT nextval('public.delivery_n_seq'::regclass);
ALTER TABLE ONLY public."grant" ALTER COLUMN n SET DEFAULT nextval('public.grant_n_seq'::regclass);
ALTER TABLE ONLY public.inbound ALTER COLUMN n SET DEFAULT nextval('public.inbound_n_seq'::regclass);
ALTER TABLE ONLY public.job ALTER COLUMN n SET DEFAULT nextval('public.job_n_seq'::regclass);
ALTER TABLE ONLY public.memory ALTER COLUMN n SET DEFAULT nextval('public.memory_n_seq'::regclass);
ALTER TABLE ONLY public.message ALTER COLUMN n SET DEFAULT nextval('public.message_n_seq'::regclass);
ALTER TABLE ONLY public.outbound ALTER COLUMN n SET DEFAULT nextval('public.outbound_n_seq'::regclass);
ALTER TABLE ONLY public.run ALTER COLUMN n SET DEFAULT nextval('public.run_n_seq'::regclass);
ALTER TABLE ONLY public.session ALTER COLUMN id SET DEFAULT nextval('public.session_id_seq'::regclass);
ALTER TABLE ONLY public.turn ALTER COLUMN n SET DEFAULT nextval('public.turn_n_seq'::regclass);
INSERT INTO public.address (n, session_id, address) VALUES (2, 2, 'web:other');
INSERT INTO public.address (n, session_id, address) VALUES (3, 3, 'web:ana');
INSERT INTO public.address (n, session_id, address) VALUES (4, 5, 'web:kept');
INSERT INTO public.address (n, session_id, address) VALUES (5, 1, 'web:kept');
INSERT INTO public.address (n, session_id, address) VALUES (6, 1, 'webhook:wh_ywxp3scsw4');
INSERT INTO public.agent (id, name, model, instructions, tools, created_at) VALUES ('main', 'Main', NULL, 'You are a helpful assistant in a lasting conversation. You have a sense of time: you can come back to this conversation later by yourself. Answer briefly and plainly.', '["schedule_task", "remember", "recall", "forget"]', 1794844021698032);
INSERT INTO public.alembic_version (version_num) VALUES ('0002');
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (1, 'dlv_dtggqlna4r', 1, 1, 'default', 2, 'web:kept', 'sent', 1, NULL, 1794844024036216, NULL, NULL, 4, 1794844024036216);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (2, 'dlv_hdg7p5fn6e', 2, 1, 'default', 4, 'web:kept', 'sent', 1, NULL, 1794844024239315, NULL, NULL, 8, 1794844024239315);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (3, 'dlv_bvnevvkmvs', 4, 1, 'default', 6, 'web:kept', 'sent', 1, NULL, 1794844025265611, NULL, NULL, 28, 1794844025265611);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (4, 'dlv_3fawhit7ni', 5, 1, 'default', 7, 'web:kept', 'sent', 1, NULL, 1794844026097410, NULL, NULL, 29, 1794844026097410);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (5, 'dlv_7t7qx7uvid', 6, 1, 'default', 9, 'web:kept', 'sent', 1, NULL, 1794844028299290, NULL, NULL, 32, 1794844028299290);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (6, 'dlv_rk53bv2fdc', 7, 1, 'default', 11, 'web:kept', 'sent', 1, NULL, 1794844030308876, NULL, NULL, 35, 1794844030308876);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (7, 'dlv_vxsliyxebb', 8, 1, 'default', 13, 'web:kept', 'sent', 1, NULL, 1794844033186172, NULL, NULL, 39, 1794844033186172);
INSERT INTO public.delivery (n, id, outbound_n, session_id, user_id, seq, address, state, attempts, next_attempt_at, sent_at, receipt, error, rev, created_at) VALUES (8, 'dlv_5e3to23bcx', 8, 1, 'default', 13, 'webhook:wh_ywxp3scsw4', 'pending', 2, 1794844039224964, NULL, NULL, 'The receiver answered 500.', 41, 1794844033186172);
INSERT INTO public.hook (id, session_id, name, hash, created_at) VALUES ('hook_q7povcd5v6', 1, 'deploy', 'baf34d481f76c1be5ddadd0b7d9be61cf765941f22dab1bce7d011d3e9a528b5', 1794844030241534);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (1, 'in_24uhcjfmjd', 1, 1, 'default', 'person', 'remember apples please', 'people', 'inject', 'taken', NULL, NULL, 'default', 'web:kept', NULL, NULL, 'turn_yacjbbhdb3', false, 1794844023497519);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (2, 'in_lkle6ojo6g', 1, 1, 'default', 'person', 'every weekday at 8 look at the fruit prices', 'people', 'inject', 'taken', NULL, NULL, 'default', 'web:kept', NULL, NULL, 'turn_pbevjkez6i', false, 1794844024164128);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (3, 'in_lfzhmtdzv7', 4, 4, 'default', 'run', 'Dig through the archive', 'machines', 'queue', 'taken', 'job_l3kfzwfjuo:1794844025163:m', 'job_l3kfzwfjuo', NULL, NULL, NULL, NULL, 'turn_jan7darzl7', false, 1794844025163335);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (4, 'in_sgphfckduj', 1, 1, 'default', 'report', 'Found three old letters.', 'machines', 'queue', 'taken', NULL, 'job_l3kfzwfjuo', NULL, NULL, NULL, '{"count": 1, "report": true, "cron_turn": true, "cron_job_id": "job_l3kfzwfjuo", "cron_run_id": "job_l3kfzwfjuo:1794844025163:m", "cron_job_name": "dig", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "6f51c993d3ff2f55a1e130c33e9af435e802440153ad807dcec7ad5819f5920b", "version": 1}}', 'turn_wut7yzowd3', false, 1794844025217115);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (5, 'in_476udhpc3l', 1, 1, 'default', 'run', 'Tell me only when the price changed', 'machines', 'queue', 'taken', 'job_djak7iugnd:1794844028228:m', 'job_djak7iugnd', NULL, 'web:kept', NULL, NULL, 'turn_vsnyvumvhl', false, 1794844028228144);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (6, 'in_76uzd3hedv', 1, 1, 'default', 'hook', 'Build 41 is green', 'machines', 'queue', 'taken', NULL, NULL, NULL, 'web:kept', NULL, '{"hook_id": "hook_q7povcd5v6", "hook_name": "deploy"}', 'turn_wwsrmkq2ro', false, 1794844030270385);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (7, 'in_xeyiunvzfj', 1, 1, 'default', 'person', 'hello again', 'people', 'inject', 'taken', NULL, NULL, 'default', 'web:kept', NULL, NULL, 'turn_yywqa7iegy', false, 1794844033154960);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (8, 'in_3rfhras6rd', 1, 1, 'default', 'person', 'what do I like?', 'people', 'inject', 'taken', NULL, NULL, 'default', 'web:kept', NULL, NULL, 'turn_p4ab573zva', false, 1794844034752224);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (9, 'in_oampb6lvrs', 1, 1, 'default', 'run', 'Check the oven', 'machines', 'queue', 'waiting', 'job_xkbudnoerg:1794844036910:m', 'job_xkbudnoerg', NULL, 'web:kept', NULL, NULL, NULL, false, 1794844036910501);
INSERT INTO public.inbound (n, id, session_id, lane_id, user_id, source, text, line, mode, state, run_id, job_id, sender_id, address, external_id, meta, turn_id, injected, queued_at) VALUES (10, 'in_bp6glanlej', 1, 1, 'default', 'person', 'and tomorrow?', 'people', 'queue', 'waiting', NULL, NULL, 'default', 'web:kept', NULL, NULL, NULL, false, 1794844036922825);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (1, 'job_s446veo652', 1, 'default', 'main', 'default', 'user', 'fruit watch', NULL, 'cron', NULL, NULL, NULL, '0 8 * * 1-5', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Look at the fruit prices', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'tool', 'turn_pbevjkez6i', NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794898800000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 7, 1794844024196536, 1794844024196536, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (2, 'job_6icletg5mk', 1, 'default', 'main', NULL, 'user', 'in the far future', NULL, 'at', 4070937600000000, NULL, NULL, NULL, 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Look back', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 4070937600000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 9, 1794844024344875, 1794844024344875, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (4, 'job_t2bun4qu6w', 1, 'default', 'main', NULL, 'user', 'monthly', NULL, 'cron', NULL, NULL, NULL, '0 9 1 * *', 'Europe/Berlin', NULL, NULL, 12, 'agent_turn', 'Write the report', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, 'report', 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1796112000000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 11, 1794844024457867, 1794844024457867, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (5, 'job_xklirz6stj', 1, 'default', 'main', NULL, 'user', 'stretch', NULL, 'cron', NULL, NULL, NULL, '0 15 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'reminder', 'Stretch', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794924000000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 12, 1794844024512595, 1794844024512595, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (6, 'job_wftui7i3cj', 1, 'default', 'main', NULL, 'user', 'standup', NULL, 'cron', NULL, NULL, NULL, '0 9 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'system_event', 'Standup in 5 minutes', NULL, NULL, 300, 'session', false, 'full', true, 'next_heartbeat', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794902400000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 13, 1794844024565135, 1794844024565135, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (9, 'job_feb7hgufdr', 1, 'default', 'main', NULL, 'user', 'paused one', NULL, 'cron', NULL, NULL, NULL, '0 7 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Paused', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 2, '{"before": {"at": null, "tz": "Europe/Berlin", "cron": "0 7 * * *", "name": "paused one", "wake": "now", "model": null, "quiet": false, "retry": 0, "anchor": null, "context": "session", "enabled": true, "ends_at": null, "message": "Paused", "catch_up": "latest", "every_ms": null, "isolated": false, "max_runs": null, "retry_of": null, "thinking": null, "continues": true, "sender_id": null, "starts_at": null, "dedupe_key": null, "write_back": "full", "description": null, "disabled_by": null, "next_run_at": "2026-11-17T06:00:00+00:00", "may_schedule": false, "payload_kind": "agent_turn", "schedule_kind": "cron", "disabled_until": null, "disabled_reason": null, "timeout_seconds": 300.0, "delete_after_run": false, "catch_up_window_seconds": 86400}, "change": "disabled", "revision": 2}', false, 'person', 'on holiday', NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 17, 1794844024720239, 1794844024775244, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (10, 'job_x6qd5tn525', 1, 'default', 'main', NULL, 'user', 'paused until', NULL, 'cron', NULL, NULL, NULL, '30 7 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Paused until', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 2, '{"before": {"at": null, "tz": "Europe/Berlin", "cron": "30 7 * * *", "name": "paused until", "wake": "now", "model": null, "quiet": false, "retry": 0, "anchor": null, "context": "session", "enabled": true, "ends_at": null, "message": "Paused until", "catch_up": "latest", "every_ms": null, "isolated": false, "max_runs": null, "retry_of": null, "thinking": null, "continues": true, "sender_id": null, "starts_at": null, "dedupe_key": null, "write_back": "full", "description": null, "disabled_by": null, "next_run_at": "2026-11-17T06:30:00+00:00", "may_schedule": false, "payload_kind": "agent_turn", "schedule_kind": "cron", "disabled_until": null, "disabled_reason": null, "timeout_seconds": 300.0, "delete_after_run": false, "catch_up_window_seconds": 86400}, "change": "disabled", "revision": 2}', false, 'person', NULL, 4070908800000000, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 19, 1794844024823874, 1794844024878119, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (11, 'job_4lz6al6vvr', 2, 'default', 'main', NULL, 'user', 'bounded', NULL, 'cron', NULL, NULL, NULL, '0 10 * * 1', 'Europe/Berlin', 1796083200000000, 4039372800000000, NULL, 'agent_turn', 'Bounded', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'skip', 86400, false, false, true, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1796083200000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 2, 1794844024932590, 1794844024932590, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (12, 'job_avazs4a4to', 1, 'default', 'main', NULL, 'user', 'removed one', NULL, 'cron', NULL, NULL, NULL, '0 4 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Removed', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 2, '{"before": {"at": null, "tz": "Europe/Berlin", "cron": "0 4 * * *", "name": "removed one", "wake": "now", "model": null, "quiet": false, "retry": 0, "anchor": null, "context": "session", "enabled": true, "ends_at": null, "message": "Removed", "catch_up": "latest", "every_ms": null, "isolated": false, "max_runs": null, "retry_of": null, "thinking": null, "continues": true, "sender_id": null, "starts_at": null, "dedupe_key": null, "write_back": "full", "description": null, "disabled_by": null, "next_run_at": "2026-11-17T03:00:00+00:00", "may_schedule": false, "payload_kind": "agent_turn", "schedule_kind": "cron", "disabled_until": null, "disabled_reason": null, "timeout_seconds": 300.0, "delete_after_run": false, "catch_up_window_seconds": 86400}, "change": "removed", "revision": 2}', true, NULL, NULL, NULL, NULL, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 21, 1794844024985082, 1794844025043178, 1794844025043178);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (14, 'job_t573aqbyqn', 3, 'ana', 'main', NULL, 'user', 'Ana''s lunch', NULL, 'cron', NULL, NULL, NULL, '0 12 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Ana''s lunch', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794913200000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 2, 1794844025152363, 1794844025152363, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (7, 'job_l3kfzwfjuo', 1, 'default', 'main', NULL, 'user', 'dig', NULL, 'cron', NULL, NULL, NULL, '0 5 * * 0', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Dig through the archive', NULL, NULL, 300, 'session', true, 'summary', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1795320000000000, 0, NULL, 0, 'job_l3kfzwfjuo:1794844025163:m', 1794844025185202, 'ok', NULL, 31, 0, 0, 25, 1794844024616446, 1794844024616446, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (8, 'job_djak7iugnd', 1, 'default', 'main', NULL, 'user', 'quiet price', NULL, 'cron', NULL, NULL, NULL, '0 6 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Tell me only when the price changed', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, true, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794891600000000, 0, NULL, 0, 'job_djak7iugnd:1794844028228:m', 1794844028245148, 'ok', NULL, 54, 0, 0, 32, 1794844024668982, 1794844024668982, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (3, 'job_xkbudnoerg', 1, 'default', 'main', NULL, 'user', 'every six hours', NULL, 'every', NULL, 21600000, 1794844024405000, NULL, 'UTC', NULL, NULL, NULL, 'agent_turn', 'Check the oven', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794865624405000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 44, 1794844024404533, 1794844024404533, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (13, 'job_rczckirjrf', 1, 'default', 'main', NULL, 'user', 'ran once', NULL, 'at', 1794844026096000, NULL, NULL, NULL, 'Europe/Berlin', NULL, NULL, NULL, 'reminder', 'It ran once', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'api', NULL, NULL, 1, '{"before": {}, "change": "added", "revision": 1}', false, 'done', 'It has no further time to run.', NULL, NULL, 0, NULL, 1, 'job_rczckirjrf:1794844026096', 1794844026097410, 'ok', NULL, 0, 0, 0, 29, 1794844025095943, 1794844025095943, NULL);
INSERT INTO public.job (n, id, session_id, user_id, agent_id, sender_id, kind, name, description, schedule_kind, at, every_ms, anchor, cron, tz, starts_at, ends_at, max_runs, payload_kind, message, model, thinking, timeout_seconds, context, isolated, write_back, continues, wake, catch_up, catch_up_window_seconds, quiet, delete_after_run, may_schedule, dedupe_key, origin_door, origin_turn_id, legacy, revision, undo, enabled, disabled_by, disabled_reason, disabled_until, next_run_at, retry, retry_of, runs_queued, last_run_id, last_run_at, last_status, last_error, last_duration_ms, consecutive_failures, schedule_errors, rev, created_at, updated_at, removed_at) VALUES (15, 'abc12345', 5, 'default', 'main', NULL, 'legacy', 'old nanobot job', NULL, 'cron', NULL, NULL, NULL, '0 8 * * *', 'Europe/Berlin', NULL, NULL, NULL, 'agent_turn', 'Say hello', NULL, NULL, 300, 'session', false, 'full', true, 'now', 'latest', 86400, false, false, false, NULL, 'import', NULL, '{"id": "abc12345", "name": "old nanobot job", "state": {}, "enabled": true, "payload": {"to": "kept", "kind": "agent_turn", "channel": "web", "deliver": true, "message": "Say hello"}, "schedule": {"tz": "Europe/Berlin", "expr": "0 8 * * *", "kind": "cron"}, "createdAtMs": 1790000000000, "updatedAtMs": 1790000000000}', 1, '{"before": {}, "change": "added", "revision": 1}', true, NULL, NULL, NULL, 1794898800000000, 0, NULL, 0, NULL, NULL, NULL, NULL, NULL, 0, 0, 2, 1794844032951452, 1794844032951452, NULL);
INSERT INTO public.memory (n, id, user_id, session_id, sender_id, text, grams, created_at) VALUES (1, 'mem_qdhwkpt23y', 'default', 1, 'default', 'The user likes apples', 'the user like apple', 1794844024016919);
INSERT INTO public.memory (n, id, user_id, session_id, sender_id, text, grams, created_at) VALUES (2, 'mem_e6wbckwlpg', 'default', NULL, NULL, '我喜欢苹果', '我喜 喜欢 欢苹 苹果 我 喜 欢 苹 果', 1794844024105076);
INSERT INTO public.memory (n, id, user_id, session_id, sender_id, text, grams, created_at) VALUES (3, 'mem_d2ihqt2ab6', 'ana', NULL, NULL, 'Ana plays chess', 'ana play chess', 1794844024157491);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (1, 1, 1, 1, 3, 'user', 'chat', 'remember apples please', 'turn_yacjbbhdb3', 'in_24uhcjfmjd', NULL, NULL, NULL, '{"sender_id": "default"}', NULL, false, 1794844023514142);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (2, 1, 1, 2, 4, 'assistant', 'chat', 'I will remember.', 'turn_yacjbbhdb3', NULL, NULL, NULL, 'openai-chat:stub', NULL, NULL, false, 1794844024036216);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (3, 1, 1, 3, 6, 'user', 'chat', 'every weekday at 8 look at the fruit prices', 'turn_pbevjkez6i', 'in_lkle6ojo6g', NULL, NULL, NULL, '{"sender_id": "default"}', NULL, false, 1794844024173029);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (4, 1, 1, 4, 8, 'assistant', 'chat', 'Every weekday at 8.', 'turn_pbevjkez6i', NULL, NULL, NULL, 'openai-chat:stub', NULL, '[{"kind": "job", "change": "added", "job_id": "job_s446veo652", "revision": 1}]', false, 1794844024239315);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (5, 4, 4, 1, 2, 'user', 'scheduled', 'Scheduled cron job triggered: dig
Dig through the archive', 'turn_jan7darzl7', 'in_lfzhmtdzv7', 'job_l3kfzwfjuo', 'job_l3kfzwfjuo:1794844025163:m', NULL, '{"cron_turn": true, "cron_job_id": "job_l3kfzwfjuo", "cron_run_id": "job_l3kfzwfjuo:1794844025163:m", "cron_job_name": "dig", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "6f51c993d3ff2f55a1e130c33e9af435e802440153ad807dcec7ad5819f5920b", "version": 1}}', NULL, false, 1794844025185202);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (6, 4, 4, 2, 3, 'assistant', 'scheduled', 'Found three old letters.', 'turn_jan7darzl7', NULL, 'job_l3kfzwfjuo', 'job_l3kfzwfjuo:1794844025163:m', 'openai-chat:stub', '{"cron_turn": true, "cron_job_id": "job_l3kfzwfjuo", "cron_run_id": "job_l3kfzwfjuo:1794844025163:m", "cron_job_name": "dig", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "6f51c993d3ff2f55a1e130c33e9af435e802440153ad807dcec7ad5819f5920b", "version": 1}}', NULL, false, 1794844025217115);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (7, 1, 1, 5, 27, 'user', 'report', 'Found three old letters.', 'turn_wut7yzowd3', 'in_sgphfckduj', 'job_l3kfzwfjuo', NULL, NULL, '{"report": true, "source": "report", "cron_turn": true, "cron_job_id": "job_l3kfzwfjuo", "cron_run_id": "job_l3kfzwfjuo:1794844025163:m", "cron_job_name": "dig", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "6f51c993d3ff2f55a1e130c33e9af435e802440153ad807dcec7ad5819f5920b", "version": 1}}', NULL, false, 1794844025236649);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (8, 1, 1, 6, 28, 'assistant', 'report', 'You said: An automation of this conversation, "dig" (job_l3kfzwfjuo), worked apart and reports its result.
Go on from here: tell the user what matters in it. Do not run the automation again.
The report:
Found three old letters.', 'turn_wut7yzowd3', NULL, NULL, NULL, 'openai-chat:stub', '{"report": true, "source": "report", "cron_turn": true, "cron_job_id": "job_l3kfzwfjuo", "cron_run_id": "job_l3kfzwfjuo:1794844025163:m", "cron_job_name": "dig", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "6f51c993d3ff2f55a1e130c33e9af435e802440153ad807dcec7ad5819f5920b", "version": 1}}', NULL, false, 1794844025265611);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (9, 1, 1, 7, 29, 'assistant', 'reminder', 'It ran once', NULL, NULL, 'job_rczckirjrf', 'job_rczckirjrf:1794844026096', NULL, '{"cron_job_id": "job_rczckirjrf", "cron_run_id": "job_rczckirjrf:1794844026096", "cron_job_name": "ran once"}', NULL, false, 1794844026097410);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (11, 1, 1, 9, 32, 'assistant', 'status', 'Checked once, last 16:47 Europe/Berlin: nothing to report. price is 3.10', 'turn_vsnyvumvhl', NULL, 'job_djak7iugnd', 'job_djak7iugnd:1794844028228:m', 'openai-chat:stub', '{"checked": 1, "cron_turn": true, "cron_job_id": "job_djak7iugnd", "cron_run_id": "job_djak7iugnd:1794844028228:m", "cron_job_name": "quiet price", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "28d7f2cfd4d36e9b74ce1797cfbcc38d0d7574498929096a1275143d79901ce6", "version": 1}}', NULL, false, 1794844028299290);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (10, 1, 1, 8, 31, 'user', 'scheduled', 'Scheduled cron job triggered: quiet price
Tell me only when the price changed', 'turn_vsnyvumvhl', 'in_476udhpc3l', 'job_djak7iugnd', 'job_djak7iugnd:1794844028228:m', NULL, '{"cron_turn": true, "cron_job_id": "job_djak7iugnd", "cron_run_id": "job_djak7iugnd:1794844028228:m", "cron_job_name": "quiet price", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "sha256": "28d7f2cfd4d36e9b74ce1797cfbcc38d0d7574498929096a1275143d79901ce6", "version": 1}}', NULL, true, 1794844028245148);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (12, 1, 1, 10, 34, 'user', 'note', 'Build 41 is green', 'turn_wwsrmkq2ro', 'in_76uzd3hedv', NULL, NULL, NULL, '{"source": "hook", "hook_id": "hook_q7povcd5v6", "hook_name": "deploy"}', NULL, false, 1794844030279879);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (13, 1, 1, 11, 35, 'assistant', 'chat', 'You said: Build 41 is green', 'turn_wwsrmkq2ro', NULL, NULL, NULL, 'openai-chat:stub', NULL, NULL, false, 1794844030308876);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (14, 1, 1, 12, 38, 'user', 'chat', 'hello again', 'turn_yywqa7iegy', 'in_xeyiunvzfj', NULL, NULL, NULL, '{"sender_id": "default"}', NULL, false, 1794844033161649);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (15, 1, 1, 13, 39, 'assistant', 'chat', 'You said: hello again', 'turn_yywqa7iegy', NULL, NULL, NULL, 'openai-chat:stub', NULL, NULL, false, 1794844033186172);
INSERT INTO public.message (n, session_id, lane_id, seq, rev, role, kind, text, turn_id, inbound_id, job_id, run_id, model, meta, cards, folded, created_at) VALUES (16, 1, 1, 14, 43, 'user', 'chat', 'what do I like?', 'turn_p4ab573zva', 'in_3rfhras6rd', NULL, NULL, NULL, '{"sender_id": "default"}', NULL, false, 1794844034758566);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (1, 1, 2, 'closing', 'turn_yacjbbhdb3', NULL, 1794844024036216);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (2, 1, 4, 'closing', 'turn_pbevjkez6i', NULL, 1794844024239315);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (3, 4, 2, 'closing', 'turn_jan7darzl7', 'job_l3kfzwfjuo:1794844025163:m', 1794844025217115);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (4, 1, 6, 'closing', 'turn_wut7yzowd3', NULL, 1794844025265611);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (5, 1, 7, 'note', NULL, 'job_rczckirjrf:1794844026096', 1794844026097410);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (6, 1, 9, 'closing', 'turn_vsnyvumvhl', 'job_djak7iugnd:1794844028228:m', 1794844028299290);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (7, 1, 11, 'closing', 'turn_wwsrmkq2ro', NULL, 1794844030308876);
INSERT INTO public.outbound (n, session_id, seq, cause, turn_id, run_id, created_at) VALUES (8, 1, 13, 'closing', 'turn_yywqa7iegy', NULL, 1794844033186172);
INSERT INTO public.run (n, id, job_id, session_id, lane_id, user_id, trigger, scheduled_for, state, reason, revision, rev, attempt, queued_at, started_at, finished_at, lateness_ms, missed_count, missed_until, summary, error, prompt_id, prompt_version, prompt_sha256, prompt, variables, turn_id, opening_seq, closing_seq, next_run_at, input_tokens, output_tokens) VALUES (1, 'job_l3kfzwfjuo:1794844025163:m', 'job_l3kfzwfjuo', 1, 4, 'default', 'manual', 1794844025163335, 'ok', NULL, 1, 25, 1, 1794844025163335, 1794844025185202, 1794844025217115, 0, NULL, NULL, 'Found three old letters.', NULL, 'cron.agent_turn.reminder', 1, '6f51c993d3ff2f55a1e130c33e9af435e802440153ad807dcec7ad5819f5920b', 'This is a scheduled turn of this conversation: the automation "dig" (job_l3kfzwfjuo) came due.
Due: 2026-11-16 16:47:05 Europe/Berlin. Now: 2026-11-16 16:47:05 Europe/Berlin.
Somebody asked to run it now.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.
The task:
Dig through the archive', '{"now": "2026-11-16 16:47:05 Europe/Berlin", "quiet": false, "job_id": "job_l3kfzwfjuo", "message": "Dig through the archive", "trigger": "manual", "job_name": "dig", "last_error": null, "late_words": null, "last_run_at": null, "last_status": null, "missed_count": 0, "scheduled_for": "2026-11-16 16:47:05 Europe/Berlin"}', 'turn_jan7darzl7', 1, 2, 1795320000000000, 190, 7);
INSERT INTO public.run (n, id, job_id, session_id, lane_id, user_id, trigger, scheduled_for, state, reason, revision, rev, attempt, queued_at, started_at, finished_at, lateness_ms, missed_count, missed_until, summary, error, prompt_id, prompt_version, prompt_sha256, prompt, variables, turn_id, opening_seq, closing_seq, next_run_at, input_tokens, output_tokens) VALUES (2, 'job_rczckirjrf:1794844026096', 'job_rczckirjrf', 1, 1, 'default', 'timer', 1794844026096000, 'ok', NULL, 1, 29, 1, 1794844026097410, NULL, 1794844026097410, 1, NULL, NULL, 'It ran once', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 7, NULL, 0, 0);
INSERT INTO public.run (n, id, job_id, session_id, lane_id, user_id, trigger, scheduled_for, state, reason, revision, rev, attempt, queued_at, started_at, finished_at, lateness_ms, missed_count, missed_until, summary, error, prompt_id, prompt_version, prompt_sha256, prompt, variables, turn_id, opening_seq, closing_seq, next_run_at, input_tokens, output_tokens) VALUES (3, 'job_djak7iugnd:1794844028228:m', 'job_djak7iugnd', 1, 1, 'default', 'manual', 1794844028228144, 'ok', 'quiet', 1, 32, 1, 1794844028228144, 1794844028245148, 1794844028299290, 0, NULL, NULL, 'price is 3.10', NULL, 'cron.agent_turn.reminder', 1, '28d7f2cfd4d36e9b74ce1797cfbcc38d0d7574498929096a1275143d79901ce6', 'This is a scheduled turn of this conversation: the automation "quiet price" (job_djak7iugnd) came due.
Due: 2026-11-16 16:47:08 Europe/Berlin. Now: 2026-11-16 16:47:08 Europe/Berlin.
Somebody asked to run it now.
If there is no news, call nothing_to_report and write no answer.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.
The task:
Tell me only when the price changed', '{"now": "2026-11-16 16:47:08 Europe/Berlin", "quiet": true, "job_id": "job_djak7iugnd", "message": "Tell me only when the price changed", "trigger": "manual", "job_name": "quiet price", "last_error": null, "late_words": null, "last_run_at": null, "last_status": null, "missed_count": 0, "scheduled_for": "2026-11-16 16:47:08 Europe/Berlin"}', 'turn_vsnyvumvhl', 8, 9, 1794891600000000, 733, 8);
INSERT INTO public.run (n, id, job_id, session_id, lane_id, user_id, trigger, scheduled_for, state, reason, revision, rev, attempt, queued_at, started_at, finished_at, lateness_ms, missed_count, missed_until, summary, error, prompt_id, prompt_version, prompt_sha256, prompt, variables, turn_id, opening_seq, closing_seq, next_run_at, input_tokens, output_tokens) VALUES (4, 'job_xkbudnoerg:1794844036910:m', 'job_xkbudnoerg', 1, 1, 'default', 'manual', 1794844036910501, 'queued', NULL, 1, 44, 1, 1794844036910501, NULL, NULL, 0, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 1794865624405000, 0, 0);
INSERT INTO public.session (id, key, user_id, agent_id, title, timezone, parent_id, seq, rev, revision, summary, summary_until, created_at, updated_at, deleted_at) VALUES (1, 'web:kept', 'default', 'main', 'Fruit', 'Europe/Berlin', NULL, 14, 45, 2, NULL, 0, 1794844023283547, 1794844034758566, NULL);
INSERT INTO public.session (id, key, user_id, agent_id, title, timezone, parent_id, seq, rev, revision, summary, summary_until, created_at, updated_at, deleted_at) VALUES (2, 'web:other', 'default', 'main', 'Other', NULL, NULL, 0, 2, 1, NULL, 0, 1794844023350457, 1794844023350457, NULL);
INSERT INTO public.session (id, key, user_id, agent_id, title, timezone, parent_id, seq, rev, revision, summary, summary_until, created_at, updated_at, deleted_at) VALUES (3, 'web:ana', 'ana', 'main', NULL, NULL, NULL, 0, 2, 1, NULL, 0, 1794844023481562, 1794844023481562, NULL);
INSERT INTO public.session (id, key, user_id, agent_id, title, timezone, parent_id, seq, rev, revision, summary, summary_until, created_at, updated_at, deleted_at) VALUES (4, 'cron:job_l3kfzwfjuo:1794844025163:m', 'default', 'main', 'dig', 'Europe/Berlin', 1, 2, 3, 1, NULL, 0, 1794844025163335, 1794844025217115, NULL);
INSERT INTO public.session (id, key, user_id, agent_id, title, timezone, parent_id, seq, rev, revision, summary, summary_until, created_at, updated_at, deleted_at) VALUES (5, 'cron:abc12345', 'default', 'main', 'old nanobot job', NULL, NULL, 0, 2, 1, NULL, 0, 1794844032951452, 1794844032951452, NULL);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_yacjbbhdb3', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"tool_name":"remember","args":"{\"text\": \"The user likes apples\"}","tool_call_id":"c1","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":109,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":9,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:03.958994Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:03Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-7b9210aed8a767a0","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 26, 109, 9, 1794844024009110, 1794844024009110);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_yacjbbhdb3', 2, 'tool', 'remember', 'c1', 'done', false, '{"text": "The user likes apples"}', 'Remembered: The user likes apples (mem_qdhwkpt23y)', NULL, 0, 0, 0, 1794844024016919, 1794844024016919);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_yacjbbhdb3', 3, 'model', 'openai-chat:stub', '3', 'done', false, NULL, '[{"parts":[{"content":"I will remember.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":123,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:04.028544Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:04Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-3cb8e673f2168c55","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 8, 123, 5, 1794844024031757, 1794844024031757);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_pbevjkez6i', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"tool_name":"schedule_task","args":"{\"action\": \"add\", \"when\": \"every weekday at 8\", \"message\": \"Look at the fruit prices\", \"name\": \"fruit watch\"}","tool_call_id":"c2","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":139,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":28,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:04.189080Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:04Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-e07e05f080e687b0","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 9, 139, 28, 1794844024192452, 1794844024192452);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_pbevjkez6i', 2, 'tool', 'schedule_task', 'c2', 'done', false, '{"action": "add", "when": "every weekday at 8", "message": "Look at the fruit prices", "name": "fruit watch"}', 'Added "fruit watch" (job_s446veo652): weekdays at 08:00 Europe/Berlin. Next: Tue 17 Nov 08:00, Wed 18 Nov 08:00, Thu 19 Nov 08:00. To undo: remove.', '[{"kind": "job", "change": "added", "job_id": "job_s446veo652", "revision": 1}]', 0, 0, 0, 1794844024196536, 1794844024196536);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_pbevjkez6i', 3, 'model', 'openai-chat:stub', '3', 'done', false, NULL, '[{"parts":[{"content":"Every weekday at 8.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":177,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:04.228391Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:04Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-f3c83903d1755906","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 12, 177, 5, 1794844024232852, 1794844024232852);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_jan7darzl7', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"content":"Found three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":190,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:05.207969Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:05Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-f3d670a90859e885","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 6, 190, 7, 1794844025210988, 1794844025210988);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_wut7yzowd3', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"content":"You said: An automation of this conversation, \"dig\" (job_l3kfzwfjuo), worked apart and reports its result.\nGo on from here: tell the user what matters in it. Do not run the automation again.\n\nThe report:\nFound three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":237,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":58,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:05.253625Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:05Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-0123db34816e1a1e","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 13, 237, 58, 1794844025262401, 1794844025262401);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_vsnyvumvhl', 2, 'tool', 'nothing_to_report', 'c3', 'done', false, '{"note": "price is 3.10"}', 'Noted. The user is not disturbed; end now without an answer.', NULL, 0, 0, 0, 1794844028275354, 1794844028275354);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_vsnyvumvhl', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"tool_name":"nothing_to_report","args":"{\"note\": \"price is 3.10\"}","tool_call_id":"c3","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":358,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:08.265927Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:08Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-cc365b43139e898f","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 9, 358, 7, 1794844028269685, 1794844028269685);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_vsnyvumvhl', 3, 'model', 'openai-chat:stub', '3', 'done', false, NULL, '[{"parts":[],"usage":{"input_tokens":375,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":1,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:08.287853Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:08Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-2753079c0205cd25","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 12, 375, 1, 1794844028291312, 1794844028291312);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_p4ab573zva', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"tool_name":"recall","args":"{\"query\": \"apples\"}","tool_call_id":"c9","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":299,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:14.777891Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:14Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-17c9903540a34183","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 12, 299, 5, 1794844034781921, 1794844034781921);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_p4ab573zva', 2, 'tool', 'recall', 'c9', 'done', false, '{"query": "apples"}', '- The user likes apples (mem_qdhwkpt23y)', NULL, 0, 0, 0, 1794844034787100, 1794844034787100);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_wwsrmkq2ro', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"content":"You said: Build 41 is green","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":255,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:10.299789Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:10Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-f203b604da56da48","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 11, 255, 7, 1794844030304655, 1794844030304655);
INSERT INTO public.step (turn_id, n, kind, name, key, state, failed, args, result, cards, duration_ms, input_tokens, output_tokens, begun_at, done_at) VALUES ('turn_yywqa7iegy', 1, 'model', 'openai-chat:stub', '1', 'done', false, NULL, '[{"parts":[{"content":"You said: hello again","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":265,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":6,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:13.178594Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:13Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-1d12360f7cc04186","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', NULL, 10, 265, 6, 1794844033182236, 1794844033182236);
INSERT INTO public.token (id, user_id, role, kind, hash, created_at, expires_at, made_from) VALUES ('tok_cyla5makjb', 'default', 'admin', 'token', '321c92f538ca8a7eeed06eeef0cb2369b544b2c6a1aa1bd78d21133f0c0eaca7', 1794844022745030, NULL, NULL);
INSERT INTO public.token (id, user_id, role, kind, hash, created_at, expires_at, made_from) VALUES ('tok_6mrq3mwrvn', 'default', 'admin', 'code', '36d565d587293df29e9cefad56745253d704391c66d30651dfab782c492627e4', 1794844023033425, 1794844623033425, 'tok_cyla5makjb');
INSERT INTO public.token (id, user_id, role, kind, hash, created_at, expires_at, made_from) VALUES ('tok_6znplhepdc', 'ana', 'user', 'token', 'a1403c96616be01dc207db44938d89a633992d0e4044cf8c33e73424e5dc2afc', 1794844023412167, NULL, NULL);
INSERT INTO public.token (id, user_id, role, kind, hash, created_at, expires_at, made_from) VALUES ('tok_yke2kxq7um', 'default', 'admin', 'cookie', 'db9e4b392ce090291a935d1cd593201b7f9b2f23c51bac6daffc825dccf6a375', 1794844033133070, 1797436033133070, 'tok_cyla5makjb');
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (1, 'turn_yacjbbhdb3', 1, 1, 'default', 'main', 'person', NULL, NULL, 'closed', 'answered', NULL, NULL, NULL, 1, 1, 1794845823514142, NULL, NULL, 'web:kept', 'default', 'openai-chat:stub', NULL, 'remember apples please', NULL, NULL, '[{"parts":[{"content":"remember apples please","timestamp":"2026-11-16T15:47:04.033362Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"tool_name":"remember","args":"{\"text\": \"The user likes apples\"}","tool_call_id":"c1","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":109,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":9,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:03.958994Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:03Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-7b9210aed8a767a0","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"remember","content":"Remembered: The user likes apples (mem_qdhwkpt23y)","tool_call_id":"c1","tool_kind":null,"metadata":null,"timestamp":"2026-11-16T15:47:04.021814Z","outcome":"success","retry":null,"part_kind":"tool-return"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"I will remember.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":123,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:04.028544Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:04Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-3cb8e673f2168c55","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 1, 2, 232, 14, 1794844023514142, 1794844024036216);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (2, 'turn_pbevjkez6i', 1, 1, 'default', 'main', 'person', NULL, NULL, 'closed', 'answered', NULL, NULL, NULL, 1, 1, 1794845824173029, NULL, NULL, 'web:kept', 'default', 'openai-chat:stub', NULL, 'every weekday at 8 look at the fruit prices', NULL, NULL, '[{"parts":[{"content":"every weekday at 8 look at the fruit prices","timestamp":"2026-11-16T15:47:04.236313Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"tool_name":"schedule_task","args":"{\"action\": \"add\", \"when\": \"every weekday at 8\", \"message\": \"Look at the fruit prices\", \"name\": \"fruit watch\"}","tool_call_id":"c2","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":139,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":28,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:04.189080Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:04Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-e07e05f080e687b0","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"schedule_task","content":"Added \"fruit watch\" (job_s446veo652): weekdays at 08:00 Europe/Berlin. Next: Tue 17 Nov 08:00, Wed 18 Nov 08:00, Thu 19 Nov 08:00. To undo: remove.","tool_call_id":"c2","tool_kind":null,"metadata":null,"timestamp":"2026-11-16T15:47:04.217978Z","outcome":"success","retry":null,"part_kind":"tool-return"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"Every weekday at 8.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":177,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:04.228391Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:04Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-f3c83903d1755906","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 3, 4, 316, 33, 1794844024173029, 1794844024239315);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (3, 'turn_jan7darzl7', 4, 4, 'default', 'main', 'run', 'job_l3kfzwfjuo:1794844025163:m', 'job_l3kfzwfjuo', 'closed', 'answered', NULL, NULL, NULL, 1, 1, 1794844325185202, NULL, NULL, NULL, NULL, 'openai-chat:stub', NULL, 'This is a scheduled turn of this conversation: the automation "dig" (job_l3kfzwfjuo) came due.
Due: 2026-11-16 16:47:05 Europe/Berlin. Now: 2026-11-16 16:47:05 Europe/Berlin.
Somebody asked to run it now.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.
The task:
Dig through the archive', '{"quiet": false, "context": "session", "message": "Dig through the archive", "trigger": "manual", "job_name": "dig", "revision": 1, "may_schedule": false}', NULL, '[{"parts":[{"content":"Scheduled cron job triggered: dig\n\nDig through the archive","timestamp":"2026-11-16T15:47:05.212310Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"Found three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":190,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:05.207969Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:05Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-f3d670a90859e885","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 1, 2, 190, 7, 1794844025185202, 1794844025217115);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (4, 'turn_wut7yzowd3', 1, 1, 'default', 'main', 'report', NULL, 'job_l3kfzwfjuo', 'closed', 'answered', NULL, NULL, NULL, 1, 1, 1794845825236649, NULL, NULL, NULL, NULL, 'openai-chat:stub', NULL, 'An automation of this conversation, "dig" (job_l3kfzwfjuo), worked apart and reports its result.
Go on from here: tell the user what matters in it. Do not run the automation again.
The report:
Found three old letters.', NULL, NULL, '[{"parts":[{"content":"Found three old letters.","timestamp":"2026-11-16T15:47:05.263705Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"You said: An automation of this conversation, \"dig\" (job_l3kfzwfjuo), worked apart and reports its result.\nGo on from here: tell the user what matters in it. Do not run the automation again.\n\nThe report:\nFound three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":237,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":58,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:05.253625Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:05Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-0123db34816e1a1e","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 5, 6, 237, 58, 1794844025236649, 1794844025265611);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (6, 'turn_wwsrmkq2ro', 1, 1, 'default', 'main', 'hook', NULL, NULL, 'closed', 'answered', NULL, NULL, NULL, 1, 1, 1794845830279879, NULL, NULL, 'web:kept', NULL, 'openai-chat:stub', NULL, 'Build 41 is green', NULL, NULL, '[{"parts":[{"content":"Build 41 is green","timestamp":"2026-11-16T15:47:10.306811Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"You said: Build 41 is green","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":255,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:10.299789Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:10Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-f203b604da56da48","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 10, 11, 255, 7, 1794844030279879, 1794844030308876);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (5, 'turn_vsnyvumvhl', 1, 1, 'default', 'main', 'run', 'job_djak7iugnd:1794844028228:m', 'job_djak7iugnd', 'closed', 'answered', 'quiet', NULL, NULL, 1, 1, 1794844328245148, NULL, NULL, 'web:kept', NULL, 'openai-chat:stub', NULL, 'This is a scheduled turn of this conversation: the automation "quiet price" (job_djak7iugnd) came due.
Due: 2026-11-16 16:47:08 Europe/Berlin. Now: 2026-11-16 16:47:08 Europe/Berlin.
Somebody asked to run it now.
If there is no news, call nothing_to_report and write no answer.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.
The task:
Tell me only when the price changed', '{"quiet": true, "context": "session", "message": "Tell me only when the price changed", "trigger": "manual", "job_name": "quiet price", "revision": 1, "may_schedule": false}', NULL, '[{"parts":[{"content":"Scheduled cron job triggered: quiet price\n\nTell me only when the price changed","timestamp":"2026-11-16T15:47:08.293455Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"tool_name":"nothing_to_report","args":"{\"note\": \"price is 3.10\"}","tool_call_id":"c3","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":358,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:08.265927Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:08Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-cc365b43139e898f","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"nothing_to_report","content":"Noted. The user is not disturbed; end now without an answer.","tool_call_id":"c3","tool_kind":null,"metadata":null,"timestamp":"2026-11-16T15:47:08.277141Z","outcome":"success","retry":null,"part_kind":"tool-return"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[],"usage":{"input_tokens":375,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":1,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:08.287853Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:08Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-2753079c0205cd25","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"content":"(The answer was empty.)","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":0,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":0,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":null,"model_id":null,"timestamp":"2026-11-16T15:47:08.293442Z","kind":"response","provider_name":null,"provider_url":null,"canonical_system":null,"provider_details":null,"provider_response_id":null,"finish_reason":null,"run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 8, 9, 733, 8, 1794844028245148, 1794844028299290);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (7, 'turn_yywqa7iegy', 1, 1, 'default', 'main', 'person', NULL, NULL, 'closed', 'answered', NULL, NULL, NULL, 1, 1, 1794845833161649, NULL, NULL, 'web:kept', 'default', 'openai-chat:stub', NULL, 'hello again', NULL, NULL, '[{"parts":[{"content":"hello again","timestamp":"2026-11-16T15:47:13.184600Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"You said: hello again","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":265,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":6,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:47:13.178594Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:36107/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:47:13Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-1d12360f7cc04186","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]', 12, 13, 265, 6, 1794844033161649, 1794844033186172);
INSERT INTO public.turn (n, id, lane_id, session_id, user_id, agent_id, source, run_id, job_id, state, outcome, reason, worker_id, claimed_until, fence, attempts, deadline_at, cancel_requested_at, cancel_reason, address, sender_id, model, thinking, prompt, policy, error, history, opening_seq, closing_seq, input_tokens, output_tokens, opened_at, closed_at) VALUES (8, 'turn_p4ab573zva', 1, 1, 'default', 'main', 'person', NULL, NULL, 'running', NULL, NULL, 'worker_dtyb77jyji', 1794844046495259, 1, 1, 1794845834758566, NULL, NULL, 'web:kept', 'default', 'openai-chat:stub', NULL, 'what do I like?', NULL, NULL, NULL, 14, NULL, 0, 0, 1794844034758566, NULL);
INSERT INTO public."user" (id, name, role, timezone, created_at) VALUES ('default', 'Owner', 'admin', NULL, 1794844021698032);
INSERT INTO public."user" (id, name, role, timezone, created_at) VALUES ('ana', 'ana', 'user', NULL, 1794844023412167);
INSERT INTO public.webhook (id, user_id, url, secret, created_at, removed_at) VALUES ('wh_ywxp3scsw4', 'default', 'http://127.0.0.1:1/kept', 'whsec_UxRFQfF52Y9QbFF7ci35q+bWe12MknDpAT6tgG0CzUI=', 1794844024295766, NULL);
INSERT INTO public.worker (id, name, schedules, started_at, beat_at, next_wake_at) VALUES ('worker_dtyb77jyji', 'vm:15887', true, 1794844023260331, 1794844033360846, 1794865624405000);
SELECT pg_catalog.setval('public.address_n_seq', 6, true);
SELECT pg_catalog.setval('public.audit_n_seq', 1, false);
SELECT pg_catalog.setval('public.delivery_n_seq', 8, true);
SELECT pg_catalog.setval('public.grant_n_seq', 1, false);
SELECT pg_catalog.setval('public.inbound_n_seq', 10, true);
SELECT pg_catalog.setval('public.job_n_seq', 15, true);
SELECT pg_catalog.setval('public.memory_n_seq', 3, true);
SELECT pg_catalog.setval('public.message_n_seq', 16, true);
SELECT pg_catalog.setval('public.outbound_n_seq', 8, true);
SELECT pg_catalog.setval('public.run_n_seq', 4, true);
SELECT pg_catalog.setval('public.session_id_seq', 5, true);
SELECT pg_catalog.setval('public.turn_n_seq', 8, true);
ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);
ALTER TABLE ONLY public.address
    ADD CONSTRAINT pk_address PRIMARY KEY (n);
ALTER TABLE ONLY public.agent
    ADD CONSTRAINT pk_agent PRIMARY KEY (id);
ALTER TABLE ONLY public.audit
    ADD CONSTRAINT pk_audit PRIMARY KEY (n);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT pk_delivery PRIMARY KEY (n);
ALTER TABLE ONLY public."grant"
    ADD CONSTRAINT pk_grant PRIMARY KEY (n);
ALTER TABLE ONLY public.hook
    ADD CONSTRAINT pk_hook PRIMARY KEY (id);
ALTER TABLE ONLY public.idempotency
    ADD CONSTRAINT pk_idempotency PRIMARY KEY (user_id, path, key);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT pk_inbound PRIMARY KEY (n);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT pk_job PRIMARY KEY (n);
ALTER TABLE ONLY public.memory
    ADD CONSTRAINT pk_memory PRIMARY KEY (n);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT pk_message PRIMARY KEY (n);
ALTER TABLE ONLY public.outbound
    ADD CONSTRAINT pk_outbound PRIMARY KEY (n);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT pk_run PRIMARY KEY (n);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT pk_session PRIMARY KEY (id);
ALTER TABLE ONLY public.step
    ADD CONSTRAINT pk_step PRIMARY KEY (turn_id, n);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT pk_token PRIMARY KEY (id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT pk_turn PRIMARY KEY (n);
ALTER TABLE ONLY public."user"
    ADD CONSTRAINT pk_user PRIMARY KEY (id);
ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT pk_webhook PRIMARY KEY (id);
ALTER TABLE ONLY public.worker
    ADD CONSTRAINT pk_worker PRIMARY KEY (id);
ALTER TABLE ONLY public.address
    ADD CONSTRAINT uq_address_session_id_address UNIQUE (session_id, address);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT uq_delivery_id UNIQUE (id);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT uq_delivery_outbound_n_address UNIQUE (outbound_n, address);
ALTER TABLE ONLY public."grant"
    ADD CONSTRAINT uq_grant_user_id_agent_id_address UNIQUE (user_id, agent_id, address);
ALTER TABLE ONLY public.hook
    ADD CONSTRAINT uq_hook_hash UNIQUE (hash);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT uq_inbound_id UNIQUE (id);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT uq_inbound_run_id UNIQUE (run_id);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT uq_inbound_session_id_external_id UNIQUE (session_id, external_id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT uq_job_id UNIQUE (id);
ALTER TABLE ONLY public.memory
    ADD CONSTRAINT uq_memory_id UNIQUE (id);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT uq_message_session_id_seq UNIQUE (session_id, seq);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT uq_run_id UNIQUE (id);
ALTER TABLE ONLY public.step
    ADD CONSTRAINT uq_step_turn_id_kind_key UNIQUE (turn_id, kind, key);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT uq_token_hash UNIQUE (hash);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT uq_turn_id UNIQUE (id);
CREATE INDEX ix_delivery_dead ON public.delivery USING btree (user_id, n) WHERE (state = 'dead'::text);
CREATE INDEX ix_delivery_due ON public.delivery USING btree (next_attempt_at) WHERE (state = 'pending'::text);
CREATE INDEX ix_delivery_line ON public.delivery USING btree (address, n) WHERE (state = 'pending'::text);
CREATE INDEX ix_delivery_message ON public.delivery USING btree (session_id, seq);
CREATE INDEX ix_delivery_session ON public.delivery USING btree (session_id, rev);
CREATE INDEX ix_hook_session ON public.hook USING btree (session_id);
CREATE INDEX ix_idempotency_created ON public.idempotency USING btree (created_at);
CREATE INDEX ix_inbound_lane ON public.inbound USING btree (lane_id, line, n) WHERE (state = 'waiting'::text);
CREATE INDEX ix_inbound_machines ON public.inbound USING btree (user_id, n) WHERE ((state = 'waiting'::text) AND (line = 'machines'::text));
CREATE INDEX ix_inbound_people ON public.inbound USING btree (n) WHERE ((state = 'waiting'::text) AND (line = 'people'::text));
CREATE INDEX ix_inbound_turn ON public.inbound USING btree (turn_id) WHERE (turn_id IS NOT NULL);
CREATE INDEX ix_job_due ON public.job USING btree (next_run_at) WHERE (next_run_at IS NOT NULL);
CREATE INDEX ix_job_session ON public.job USING btree (session_id, rev);
CREATE INDEX ix_job_user ON public.job USING btree (user_id, n);
CREATE INDEX ix_job_wakes ON public.job USING btree (disabled_until) WHERE (disabled_until IS NOT NULL);
CREATE INDEX ix_memory_grams ON public.memory USING gin (to_tsvector('simple'::regconfig, grams));
CREATE INDEX ix_memory_user ON public.memory USING btree (user_id, n);
CREATE INDEX ix_message_lane ON public.message USING btree (lane_id, n);
CREATE INDEX ix_message_rev ON public.message USING btree (session_id, rev);
CREATE INDEX ix_outbound_message ON public.outbound USING btree (session_id, seq);
CREATE INDEX ix_run_finished ON public.run USING btree (finished_at) WHERE (finished_at IS NOT NULL);
CREATE INDEX ix_run_job ON public.run USING btree (job_id, scheduled_for);
CREATE INDEX ix_run_session ON public.run USING btree (session_id, rev);
CREATE INDEX ix_run_user ON public.run USING btree (user_id, n);
CREATE INDEX ix_session_user ON public.session USING btree (user_id, updated_at);
CREATE INDEX ix_token_user ON public.token USING btree (user_id);
CREATE INDEX ix_turn_claim ON public.turn USING btree (claimed_until) WHERE (state <> 'closed'::text);
CREATE INDEX ix_turn_lane ON public.turn USING btree (lane_id, n);
CREATE INDEX ix_webhook_user ON public.webhook USING btree (user_id);
CREATE UNIQUE INDEX ux_job_dedupe ON public.job USING btree (session_id, dedupe_key) WHERE ((dedupe_key IS NOT NULL) AND (removed_at IS NULL));
CREATE UNIQUE INDEX ux_outbound_closing ON public.outbound USING btree (turn_id) WHERE (cause = 'closing'::text);
CREATE UNIQUE INDEX ux_run_active ON public.run USING btree (job_id) WHERE (state = ANY (ARRAY['queued'::text, 'running'::text]));
CREATE UNIQUE INDEX ux_session_key ON public.session USING btree (key) WHERE (deleted_at IS NULL);
CREATE UNIQUE INDEX ux_turn_open ON public.turn USING btree (lane_id) WHERE (state <> 'closed'::text);
ALTER TABLE ONLY public.address
    ADD CONSTRAINT fk_address_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT fk_delivery_outbound_n FOREIGN KEY (outbound_n) REFERENCES public.outbound(n);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT fk_delivery_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.delivery
    ADD CONSTRAINT fk_delivery_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public."grant"
    ADD CONSTRAINT fk_grant_agent_id FOREIGN KEY (agent_id) REFERENCES public.agent(id);
ALTER TABLE ONLY public."grant"
    ADD CONSTRAINT fk_grant_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.hook
    ADD CONSTRAINT fk_hook_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT fk_inbound_lane_id FOREIGN KEY (lane_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT fk_inbound_run_id FOREIGN KEY (run_id) REFERENCES public.run(id);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT fk_inbound_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.inbound
    ADD CONSTRAINT fk_inbound_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT fk_job_agent_id FOREIGN KEY (agent_id) REFERENCES public.agent(id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT fk_job_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.job
    ADD CONSTRAINT fk_job_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.memory
    ADD CONSTRAINT fk_memory_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.memory
    ADD CONSTRAINT fk_memory_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT fk_message_lane_id FOREIGN KEY (lane_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.message
    ADD CONSTRAINT fk_message_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.outbound
    ADD CONSTRAINT fk_outbound_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.outbound
    ADD CONSTRAINT fk_outbound_turn_id FOREIGN KEY (turn_id) REFERENCES public.turn(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_job_id FOREIGN KEY (job_id) REFERENCES public.job(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_lane_id FOREIGN KEY (lane_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.run
    ADD CONSTRAINT fk_run_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT fk_session_agent_id FOREIGN KEY (agent_id) REFERENCES public.agent(id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT fk_session_parent_id FOREIGN KEY (parent_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.session
    ADD CONSTRAINT fk_session_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.step
    ADD CONSTRAINT fk_step_turn_id FOREIGN KEY (turn_id) REFERENCES public.turn(id);
ALTER TABLE ONLY public.token
    ADD CONSTRAINT fk_token_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT fk_turn_lane_id FOREIGN KEY (lane_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT fk_turn_session_id FOREIGN KEY (session_id) REFERENCES public.session(id);
ALTER TABLE ONLY public.turn
    ADD CONSTRAINT fk_turn_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
ALTER TABLE ONLY public.webhook
    ADD CONSTRAINT fk_webhook_user_id FOREIGN KEY (user_id) REFERENCES public."user"(id);
