BEGIN TRANSACTION;
CREATE TABLE address (
	n INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	address TEXT NOT NULL, 
	CONSTRAINT pk_address PRIMARY KEY (n), 
	CONSTRAINT fk_address_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT uq_address_session_id_address UNIQUE (session_id, address)
);
INSERT INTO "address" VALUES(2,2,'web:other');
INSERT INTO "address" VALUES(3,3,'web:ana');
INSERT INTO "address" VALUES(4,5,'web:kept');
INSERT INTO "address" VALUES(5,1,'web:kept');
INSERT INTO "address" VALUES(6,1,'webhook:wh_uwditxfpyj');
CREATE TABLE agent (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	model TEXT, 
	instructions TEXT NOT NULL, 
	tools JSON, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_agent PRIMARY KEY (id)
);
INSERT INTO "agent" VALUES('main','Main',NULL,'You are a helpful assistant in a lasting conversation. You have a sense of time: you can come back to this conversation later by yourself. Answer briefly and plainly.','["schedule_task", "remember", "recall", "forget"]',1794844005299780);
CREATE TABLE alembic_version (
	version_num VARCHAR(32) NOT NULL, 
	CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);
INSERT INTO "alembic_version" VALUES('0002');
CREATE TABLE audit (
	n INTEGER NOT NULL, 
	at BIGINT NOT NULL, 
	user_id TEXT NOT NULL, 
	action TEXT NOT NULL, 
	object_id TEXT NOT NULL, 
	detail JSON, 
	CONSTRAINT pk_audit PRIMARY KEY (n)
);
CREATE TABLE delivery (
	n INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	outbound_n INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	seq BIGINT NOT NULL, 
	address TEXT NOT NULL, 
	state TEXT NOT NULL, 
	attempts BIGINT DEFAULT '0' NOT NULL, 
	next_attempt_at BIGINT, 
	sent_at BIGINT, 
	receipt JSON, 
	error TEXT, 
	rev BIGINT DEFAULT '0' NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_delivery PRIMARY KEY (n), 
	CONSTRAINT ck_delivery_pending_has_next CHECK ((state = 'pending') = (next_attempt_at is not null)), 
	CONSTRAINT ck_delivery_sent_at CHECK ((state = 'sent') = (sent_at is not null)), 
	CONSTRAINT ck_delivery_state CHECK (state in ('pending', 'sent', 'dead')), 
	CONSTRAINT fk_delivery_outbound_n FOREIGN KEY(outbound_n) REFERENCES outbound (n), 
	CONSTRAINT fk_delivery_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_delivery_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_delivery_id UNIQUE (id), 
	CONSTRAINT uq_delivery_outbound_n_address UNIQUE (outbound_n, address)
);
INSERT INTO "delivery" VALUES(1,'dlv_mo77723vl7',1,1,'default',2,'web:kept','sent',1,NULL,1794844006737779,NULL,NULL,4,1794844006737779);
INSERT INTO "delivery" VALUES(2,'dlv_3bzznbncmw',2,1,'default',4,'web:kept','sent',1,NULL,1794844006852652,NULL,NULL,8,1794844006852652);
INSERT INTO "delivery" VALUES(3,'dlv_erk45cordu',4,1,'default',6,'web:kept','sent',1,NULL,1794844007764202,NULL,NULL,28,1794844007764202);
INSERT INTO "delivery" VALUES(4,'dlv_jjtlwvtdlv',5,1,'default',7,'web:kept','sent',1,NULL,1794844008637016,NULL,NULL,29,1794844008637016);
INSERT INTO "delivery" VALUES(5,'dlv_cge75tliga',6,1,'default',9,'web:kept','sent',1,NULL,1794844010784540,NULL,NULL,32,1794844010784540);
INSERT INTO "delivery" VALUES(6,'dlv_snzzfzfpu6',7,1,'default',11,'web:kept','sent',1,NULL,1794844012804858,NULL,NULL,35,1794844012804858);
INSERT INTO "delivery" VALUES(7,'dlv_mb5utrxsrw',8,1,'default',13,'web:kept','sent',1,NULL,1794844015679558,NULL,NULL,39,1794844015679558);
INSERT INTO "delivery" VALUES(8,'dlv_5jhycvowhy',8,1,'default',13,'webhook:wh_uwditxfpyj','pending',2,1794844021706190,NULL,NULL,'The receiver answered 500.',41,1794844015679558);
CREATE TABLE grant (
	n INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	address TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_grant PRIMARY KEY (n), 
	CONSTRAINT fk_grant_agent_id FOREIGN KEY(agent_id) REFERENCES agent (id), 
	CONSTRAINT fk_grant_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_grant_user_id_agent_id_address UNIQUE (user_id, agent_id, address)
);
CREATE TABLE hook (
	id TEXT NOT NULL, 
	session_id INTEGER NOT NULL, 
	name TEXT, 
	hash TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_hook PRIMARY KEY (id), 
	CONSTRAINT fk_hook_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT uq_hook_hash UNIQUE (hash)
);
INSERT INTO "hook" VALUES('hook_oxid6nl2qq',1,'deploy','7fcbd085bb4f818dd0c13544bb48b75233b5ab4a01e206fec8f28aca0b0ad2ed',1794844012754759);
CREATE TABLE idempotency (
	user_id TEXT NOT NULL, 
	path TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	body_sha256 TEXT NOT NULL, 
	status INTEGER NOT NULL, 
	answer TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_idempotency PRIMARY KEY (user_id, path, "key")
);
CREATE TABLE inbound (
	n INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	session_id INTEGER NOT NULL, 
	lane_id INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	source TEXT NOT NULL, 
	text TEXT NOT NULL, 
	line TEXT NOT NULL, 
	mode TEXT NOT NULL, 
	state TEXT NOT NULL, 
	run_id TEXT, 
	job_id TEXT, 
	sender_id TEXT, 
	address TEXT, 
	external_id TEXT, 
	meta JSON, 
	turn_id TEXT, 
	injected BOOLEAN DEFAULT 0 NOT NULL, 
	queued_at BIGINT NOT NULL, 
	CONSTRAINT pk_inbound PRIMARY KEY (n), 
	CONSTRAINT ck_inbound_run_has_id CHECK ((source = 'run') = (run_id is not null)), 
	CONSTRAINT ck_inbound_taken_by_turn CHECK ((state = 'taken') = (turn_id is not null)), 
	CONSTRAINT ck_inbound_people_are_people CHECK (line <> 'people' or source = 'person'), 
	CONSTRAINT ck_inbound_line CHECK (line in ('people', 'machines', 'note')), 
	CONSTRAINT ck_inbound_mode CHECK (mode in ('inject', 'queue')), 
	CONSTRAINT ck_inbound_only_people_are_injected CHECK (not injected or source = 'person'), 
	CONSTRAINT ck_inbound_source CHECK (source in ('person', 'run', 'report', 'hook', 'agent', 'system')), 
	CONSTRAINT ck_inbound_state CHECK (state in ('waiting', 'taken', 'withdrawn')), 
	CONSTRAINT fk_inbound_lane_id FOREIGN KEY(lane_id) REFERENCES session (id), 
	CONSTRAINT fk_inbound_run_id FOREIGN KEY(run_id) REFERENCES run (id), 
	CONSTRAINT fk_inbound_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_inbound_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_inbound_id UNIQUE (id), 
	CONSTRAINT uq_inbound_run_id UNIQUE (run_id), 
	CONSTRAINT uq_inbound_session_id_external_id UNIQUE (session_id, external_id)
);
INSERT INTO "inbound" VALUES(1,'in_ihbhvop44s',1,1,'default','person','remember apples please','people','inject','taken',NULL,NULL,'default','web:kept',NULL,NULL,'turn_26gev26sdh',0,1794844006203071);
INSERT INTO "inbound" VALUES(2,'in_cu4mogolam',1,1,'default','person','every weekday at 8 look at the fruit prices','people','inject','taken',NULL,NULL,'default','web:kept',NULL,NULL,'turn_akijtqsxyh',0,1794844006800826);
INSERT INTO "inbound" VALUES(3,'in_lz5fxjpfea',4,4,'default','run','Dig through the archive','machines','queue','taken','job_7qq7wlzenc:1794844007692:m','job_7qq7wlzenc',NULL,NULL,NULL,NULL,'turn_y7pglbhp5x',0,1794844007692826);
INSERT INTO "inbound" VALUES(4,'in_xgfepoena5',1,1,'default','report','Found three old letters.','machines','queue','taken',NULL,'job_7qq7wlzenc',NULL,NULL,NULL,'{"cron_turn": true, "cron_job_id": "job_7qq7wlzenc", "cron_job_name": "dig", "cron_run_id": "job_7qq7wlzenc:1794844007692:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "f185cdc905a407099374e42ccd41133a86f285ff82f01f9ab3e425c6660ad1ba"}, "report": true, "count": 1}','turn_bpq4fydxkz',0,1794844007732449);
INSERT INTO "inbound" VALUES(5,'in_6olw4jyxh6',1,1,'default','run','Tell me only when the price changed','machines','queue','taken','job_ohjs26s2eu:1794844010744:m','job_ohjs26s2eu',NULL,'web:kept',NULL,NULL,'turn_35pi3bb5uu',0,1794844010744887);
INSERT INTO "inbound" VALUES(6,'in_coc2h6g7tk',1,1,'default','hook','Build 41 is green','machines','queue','taken',NULL,NULL,NULL,'web:kept',NULL,'{"hook_id": "hook_oxid6nl2qq", "hook_name": "deploy"}','turn_f6rrcmxrmm',0,1794844012783860);
INSERT INTO "inbound" VALUES(7,'in_xg4cjfbsp3',1,1,'default','person','hello again','people','inject','taken',NULL,NULL,'default','web:kept',NULL,NULL,'turn_3fcr7lkbc6',0,1794844015650188);
INSERT INTO "inbound" VALUES(8,'in_pzz7y3tzp3',1,1,'default','person','what do I like?','people','inject','taken',NULL,NULL,'default','web:kept',NULL,NULL,'turn_acn5p5jdn5',0,1794844017242697);
INSERT INTO "inbound" VALUES(9,'in_yhp73d334e',1,1,'default','run','Check the oven','machines','queue','waiting','job_u3eat53fii:1794844019393:m','job_u3eat53fii',NULL,'web:kept',NULL,NULL,NULL,0,1794844019393565);
INSERT INTO "inbound" VALUES(10,'in_xjpmhuwvwa',1,1,'default','person','and tomorrow?','people','queue','waiting',NULL,NULL,'default','web:kept',NULL,NULL,NULL,0,1794844019407830);
CREATE TABLE job (
	n INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	session_id INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	sender_id TEXT, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	description TEXT, 
	schedule_kind TEXT NOT NULL, 
	at BIGINT, 
	every_ms BIGINT, 
	anchor BIGINT, 
	cron TEXT, 
	tz TEXT NOT NULL, 
	starts_at BIGINT, 
	ends_at BIGINT, 
	max_runs BIGINT, 
	payload_kind TEXT NOT NULL, 
	message TEXT NOT NULL, 
	model TEXT, 
	thinking TEXT, 
	timeout_seconds FLOAT, 
	context TEXT NOT NULL, 
	isolated BOOLEAN DEFAULT 0 NOT NULL, 
	write_back TEXT NOT NULL, 
	continues BOOLEAN DEFAULT 1 NOT NULL, 
	wake TEXT NOT NULL, 
	catch_up TEXT NOT NULL, 
	catch_up_window_seconds BIGINT DEFAULT '0' NOT NULL, 
	quiet BOOLEAN DEFAULT 0 NOT NULL, 
	delete_after_run BOOLEAN DEFAULT 0 NOT NULL, 
	may_schedule BOOLEAN DEFAULT 0 NOT NULL, 
	dedupe_key TEXT, 
	origin_door TEXT NOT NULL, 
	origin_turn_id TEXT, 
	legacy JSON, 
	revision BIGINT DEFAULT '1' NOT NULL, 
	undo JSON, 
	enabled BOOLEAN DEFAULT 1 NOT NULL, 
	disabled_by TEXT, 
	disabled_reason TEXT, 
	disabled_until BIGINT, 
	next_run_at BIGINT, 
	retry BIGINT DEFAULT '0' NOT NULL, 
	retry_of BIGINT, 
	runs_queued BIGINT DEFAULT '0' NOT NULL, 
	last_run_id TEXT, 
	last_run_at BIGINT, 
	last_status TEXT, 
	last_error TEXT, 
	last_duration_ms BIGINT, 
	consecutive_failures BIGINT DEFAULT '0' NOT NULL, 
	schedule_errors BIGINT DEFAULT '0' NOT NULL, 
	rev BIGINT DEFAULT '0' NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	removed_at BIGINT, 
	CONSTRAINT pk_job PRIMARY KEY (n), 
	CONSTRAINT ck_job_one_schedule CHECK ((schedule_kind = 'at') = (at is not null) and (schedule_kind = 'every') = (every_ms is not null) and (schedule_kind = 'every') = (anchor is not null) and (schedule_kind = 'cron') = (cron is not null)), 
	CONSTRAINT ck_job_catch_up CHECK (catch_up in ('latest', 'skip')), 
	CONSTRAINT ck_job_context CHECK (context in ('session', 'since_last', 'none')), 
	CONSTRAINT ck_job_disabled_by CHECK (disabled_by in ('person', 'engine', 'done')), 
	CONSTRAINT ck_job_kind CHECK (kind in ('user', 'system', 'legacy')), 
	CONSTRAINT ck_job_isolated_is_agent_turn CHECK (not isolated or payload_kind = 'agent_turn'), 
	CONSTRAINT ck_job_payload_kind CHECK (payload_kind in ('agent_turn', 'reminder', 'system_event')), 
	CONSTRAINT ck_job_schedule_kind CHECK (schedule_kind in ('at', 'every', 'cron')), 
	CONSTRAINT ck_job_wake CHECK (wake in ('now', 'next_heartbeat')), 
	CONSTRAINT ck_job_write_back CHECK (write_back in ('full', 'summary', 'none')), 
	CONSTRAINT ck_job_disabled_by_somebody CHECK (enabled = (disabled_by is null)), 
	CONSTRAINT ck_job_due_only_when_enabled CHECK (next_run_at is null or (enabled and removed_at is null)), 
	CONSTRAINT fk_job_agent_id FOREIGN KEY(agent_id) REFERENCES agent (id), 
	CONSTRAINT fk_job_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_job_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_job_id UNIQUE (id)
);
INSERT INTO "job" VALUES(1,'job_3klep5biup',1,'default','main','default','user','fruit watch',NULL,'cron',NULL,NULL,NULL,'0 8 * * 1-5','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Look at the fruit prices',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'tool','turn_akijtqsxyh',NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794898800000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,7,1794844006821927,1794844006821927,NULL);
INSERT INTO "job" VALUES(2,'job_azhuy4u26j',1,'default','main',NULL,'user','in the far future',NULL,'at',4070937600000000,NULL,NULL,NULL,'Europe/Berlin',NULL,NULL,NULL,'agent_turn','Look back',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,4070937600000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,9,1794844006951545,1794844006951545,NULL);
INSERT INTO "job" VALUES(3,'job_u3eat53fii',1,'default','main',NULL,'user','every six hours',NULL,'every',NULL,21600000,1794844007004000,NULL,'UTC',NULL,NULL,NULL,'agent_turn','Check the oven',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794865607004000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,44,1794844007003567,1794844007003567,NULL);
INSERT INTO "job" VALUES(4,'job_ktfxykot4x',1,'default','main',NULL,'user','monthly',NULL,'cron',NULL,NULL,NULL,'0 9 1 * *','Europe/Berlin',NULL,NULL,12,'agent_turn','Write the report',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,'report','api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1796112000000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,11,1794844007052692,1794844007052692,NULL);
INSERT INTO "job" VALUES(5,'job_we5zsd4uda',1,'default','main',NULL,'user','stretch',NULL,'cron',NULL,NULL,NULL,'0 15 * * *','Europe/Berlin',NULL,NULL,NULL,'reminder','Stretch',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794924000000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,12,1794844007103552,1794844007103552,NULL);
INSERT INTO "job" VALUES(6,'job_uk36mzzlz7',1,'default','main',NULL,'user','standup',NULL,'cron',NULL,NULL,NULL,'0 9 * * *','Europe/Berlin',NULL,NULL,NULL,'system_event','Standup in 5 minutes',NULL,NULL,300.0,'session',0,'full',1,'next_heartbeat','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794902400000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,13,1794844007151317,1794844007151317,NULL);
INSERT INTO "job" VALUES(7,'job_7qq7wlzenc',1,'default','main',NULL,'user','dig',NULL,'cron',NULL,NULL,NULL,'0 5 * * 0','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Dig through the archive',NULL,NULL,300.0,'session',1,'summary',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1795320000000000,0,NULL,0,'job_7qq7wlzenc:1794844007692:m',1794844007707072,'ok',NULL,25,0,0,25,1794844007199814,1794844007199814,NULL);
INSERT INTO "job" VALUES(8,'job_ohjs26s2eu',1,'default','main',NULL,'user','quiet price',NULL,'cron',NULL,NULL,NULL,'0 6 * * *','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Tell me only when the price changed',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,1,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794891600000000,0,NULL,0,'job_ohjs26s2eu:1794844010744:m',1794844010753582,'ok',NULL,30,0,0,32,1794844007247424,1794844007247424,NULL);
INSERT INTO "job" VALUES(9,'job_zy7bws6h7c',1,'default','main',NULL,'user','paused one',NULL,'cron',NULL,NULL,NULL,'0 7 * * *','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Paused',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,2,'{"change": "disabled", "revision": 2, "before": {"name": "paused one", "description": null, "sender_id": null, "at": null, "every_ms": null, "anchor": null, "cron": "0 7 * * *", "tz": "Europe/Berlin", "schedule_kind": "cron", "starts_at": null, "ends_at": null, "max_runs": null, "payload_kind": "agent_turn", "message": "Paused", "model": null, "thinking": null, "timeout_seconds": 300.0, "context": "session", "isolated": false, "write_back": "full", "continues": true, "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400, "quiet": false, "delete_after_run": false, "may_schedule": false, "dedupe_key": null, "enabled": true, "disabled_by": null, "disabled_reason": null, "disabled_until": null, "next_run_at": "2026-11-17T06:00:00+00:00", "retry": 0, "retry_of": null}}',0,'person','on holiday',NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,17,1794844007295590,1794844007344926,NULL);
INSERT INTO "job" VALUES(10,'job_jfkf7zfozm',1,'default','main',NULL,'user','paused until',NULL,'cron',NULL,NULL,NULL,'30 7 * * *','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Paused until',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,2,'{"change": "disabled", "revision": 2, "before": {"name": "paused until", "description": null, "sender_id": null, "at": null, "every_ms": null, "anchor": null, "cron": "30 7 * * *", "tz": "Europe/Berlin", "schedule_kind": "cron", "starts_at": null, "ends_at": null, "max_runs": null, "payload_kind": "agent_turn", "message": "Paused until", "model": null, "thinking": null, "timeout_seconds": 300.0, "context": "session", "isolated": false, "write_back": "full", "continues": true, "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400, "quiet": false, "delete_after_run": false, "may_schedule": false, "dedupe_key": null, "enabled": true, "disabled_by": null, "disabled_reason": null, "disabled_until": null, "next_run_at": "2026-11-17T06:30:00+00:00", "retry": 0, "retry_of": null}}',0,'person',NULL,4070908800000000,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,19,1794844007391652,1794844007443548,NULL);
INSERT INTO "job" VALUES(11,'job_ddxi7xznx4',2,'default','main',NULL,'user','bounded',NULL,'cron',NULL,NULL,NULL,'0 10 * * 1','Europe/Berlin',1796083200000000,4039372800000000,NULL,'agent_turn','Bounded',NULL,NULL,300.0,'session',0,'full',1,'now','skip',86400,0,0,1,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1796083200000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,2,1794844007491229,1794844007491229,NULL);
INSERT INTO "job" VALUES(12,'job_74bxqgduqx',1,'default','main',NULL,'user','removed one',NULL,'cron',NULL,NULL,NULL,'0 4 * * *','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Removed',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,2,'{"change": "removed", "revision": 2, "before": {"name": "removed one", "description": null, "sender_id": null, "at": null, "every_ms": null, "anchor": null, "cron": "0 4 * * *", "tz": "Europe/Berlin", "schedule_kind": "cron", "starts_at": null, "ends_at": null, "max_runs": null, "payload_kind": "agent_turn", "message": "Removed", "model": null, "thinking": null, "timeout_seconds": 300.0, "context": "session", "isolated": false, "write_back": "full", "continues": true, "wake": "now", "catch_up": "latest", "catch_up_window_seconds": 86400, "quiet": false, "delete_after_run": false, "may_schedule": false, "dedupe_key": null, "enabled": true, "disabled_by": null, "disabled_reason": null, "disabled_until": null, "next_run_at": "2026-11-17T03:00:00+00:00", "retry": 0, "retry_of": null}}',1,NULL,NULL,NULL,NULL,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,21,1794844007538592,1794844007587843,1794844007587843);
INSERT INTO "job" VALUES(13,'job_crl6s7ttya',1,'default','main',NULL,'user','ran once',NULL,'at',1794844008635000,NULL,NULL,NULL,'Europe/Berlin',NULL,NULL,NULL,'reminder','It ran once',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',0,'done','It has no further time to run.',NULL,NULL,0,NULL,1,'job_crl6s7ttya:1794844008635',1794844008637016,'ok',NULL,0,0,0,29,1794844007634716,1794844007634716,NULL);
INSERT INTO "job" VALUES(14,'job_tddf6dfefe',3,'ana','main',NULL,'user','Ana''s lunch',NULL,'cron',NULL,NULL,NULL,'0 12 * * *','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Ana''s lunch',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'api',NULL,NULL,1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794913200000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,2,1794844007683681,1794844007683681,NULL);
INSERT INTO "job" VALUES(15,'abc12345',5,'default','main',NULL,'legacy','old nanobot job',NULL,'cron',NULL,NULL,NULL,'0 8 * * *','Europe/Berlin',NULL,NULL,NULL,'agent_turn','Say hello',NULL,NULL,300.0,'session',0,'full',1,'now','latest',86400,0,0,0,NULL,'import',NULL,'{"id": "abc12345", "name": "old nanobot job", "enabled": true, "schedule": {"kind": "cron", "expr": "0 8 * * *", "tz": "Europe/Berlin"}, "payload": {"kind": "agent_turn", "message": "Say hello", "deliver": true, "channel": "web", "to": "kept"}, "state": {}, "createdAtMs": 1790000000000, "updatedAtMs": 1790000000000}',1,'{"change": "added", "revision": 1, "before": {}}',1,NULL,NULL,NULL,1794898800000000,0,NULL,0,NULL,NULL,NULL,NULL,NULL,0,0,2,1794844015411997,1794844015411997,NULL);
CREATE TABLE memory (
	n INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	session_id INTEGER, 
	sender_id TEXT, 
	text TEXT NOT NULL, 
	grams TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_memory PRIMARY KEY (n), 
	CONSTRAINT fk_memory_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_memory_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_memory_id UNIQUE (id)
);
INSERT INTO "memory" VALUES(1,'mem_xigk2exfyd','default',1,'default','The user likes apples','the user like apple',1794844006718922);
INSERT INTO "memory" VALUES(2,'mem_v5uk7cn4zh','default',NULL,NULL,'我喜欢苹果','我喜 喜欢 欢苹 苹果 我 喜 欢 苹 果',1794844006747081);
INSERT INTO "memory" VALUES(3,'mem_b3isuurlu5','ana',NULL,NULL,'Ana plays chess','ana play chess',1794844006795720);
CREATE TABLE message (
	n INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	lane_id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	rev BIGINT NOT NULL, 
	role TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	text TEXT NOT NULL, 
	turn_id TEXT, 
	inbound_id TEXT, 
	job_id TEXT, 
	run_id TEXT, 
	model TEXT, 
	meta JSON, 
	cards JSON, 
	folded BOOLEAN DEFAULT 0 NOT NULL, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_message PRIMARY KEY (n), 
	CONSTRAINT ck_message_kind CHECK (kind in ('chat', 'scheduled', 'reminder', 'report', 'note', 'status')), 
	CONSTRAINT ck_message_role CHECK (role in ('user', 'assistant')), 
	CONSTRAINT fk_message_lane_id FOREIGN KEY(lane_id) REFERENCES session (id), 
	CONSTRAINT fk_message_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT uq_message_session_id_seq UNIQUE (session_id, seq)
);
INSERT INTO "message" VALUES(1,1,1,1,3,'user','chat','remember apples please','turn_26gev26sdh','in_ihbhvop44s',NULL,NULL,NULL,'{"sender_id": "default"}',NULL,0,1794844006215554);
INSERT INTO "message" VALUES(2,1,1,2,4,'assistant','chat','I will remember.','turn_26gev26sdh',NULL,NULL,NULL,'openai-chat:stub',NULL,NULL,0,1794844006737779);
INSERT INTO "message" VALUES(3,1,1,3,6,'user','chat','every weekday at 8 look at the fruit prices','turn_akijtqsxyh','in_cu4mogolam',NULL,NULL,NULL,'{"sender_id": "default"}',NULL,0,1794844006804711);
INSERT INTO "message" VALUES(4,1,1,4,8,'assistant','chat','Every weekday at 8.','turn_akijtqsxyh',NULL,NULL,NULL,'openai-chat:stub',NULL,'[{"kind": "job", "job_id": "job_3klep5biup", "change": "added", "revision": 1}]',0,1794844006852652);
INSERT INTO "message" VALUES(5,4,4,1,2,'user','scheduled','Scheduled cron job triggered: dig

Dig through the archive','turn_y7pglbhp5x','in_lz5fxjpfea','job_7qq7wlzenc','job_7qq7wlzenc:1794844007692:m',NULL,'{"cron_turn": true, "cron_job_id": "job_7qq7wlzenc", "cron_job_name": "dig", "cron_run_id": "job_7qq7wlzenc:1794844007692:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "f185cdc905a407099374e42ccd41133a86f285ff82f01f9ab3e425c6660ad1ba"}}',NULL,0,1794844007707072);
INSERT INTO "message" VALUES(6,4,4,2,3,'assistant','scheduled','Found three old letters.','turn_y7pglbhp5x',NULL,'job_7qq7wlzenc','job_7qq7wlzenc:1794844007692:m','openai-chat:stub','{"cron_turn": true, "cron_job_id": "job_7qq7wlzenc", "cron_job_name": "dig", "cron_run_id": "job_7qq7wlzenc:1794844007692:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "f185cdc905a407099374e42ccd41133a86f285ff82f01f9ab3e425c6660ad1ba"}}',NULL,0,1794844007732449);
INSERT INTO "message" VALUES(7,1,1,5,27,'user','report','Found three old letters.','turn_bpq4fydxkz','in_xgfepoena5','job_7qq7wlzenc',NULL,NULL,'{"cron_turn": true, "cron_job_id": "job_7qq7wlzenc", "cron_job_name": "dig", "cron_run_id": "job_7qq7wlzenc:1794844007692:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "f185cdc905a407099374e42ccd41133a86f285ff82f01f9ab3e425c6660ad1ba"}, "report": true, "source": "report"}',NULL,0,1794844007740713);
INSERT INTO "message" VALUES(8,1,1,6,28,'assistant','report','You said: An automation of this conversation, "dig" (job_7qq7wlzenc), worked apart and reports its result.
Go on from here: tell the user what matters in it. Do not run the automation again.

The report:
Found three old letters.','turn_bpq4fydxkz',NULL,NULL,NULL,'openai-chat:stub','{"cron_turn": true, "cron_job_id": "job_7qq7wlzenc", "cron_job_name": "dig", "cron_run_id": "job_7qq7wlzenc:1794844007692:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "f185cdc905a407099374e42ccd41133a86f285ff82f01f9ab3e425c6660ad1ba"}, "report": true, "source": "report"}',NULL,0,1794844007764202);
INSERT INTO "message" VALUES(9,1,1,7,29,'assistant','reminder','It ran once',NULL,NULL,'job_crl6s7ttya','job_crl6s7ttya:1794844008635',NULL,'{"cron_job_id": "job_crl6s7ttya", "cron_job_name": "ran once", "cron_run_id": "job_crl6s7ttya:1794844008635"}',NULL,0,1794844008637016);
INSERT INTO "message" VALUES(10,1,1,8,31,'user','scheduled','Scheduled cron job triggered: quiet price

Tell me only when the price changed','turn_35pi3bb5uu','in_6olw4jyxh6','job_ohjs26s2eu','job_ohjs26s2eu:1794844010744:m',NULL,'{"cron_turn": true, "cron_job_id": "job_ohjs26s2eu", "cron_job_name": "quiet price", "cron_run_id": "job_ohjs26s2eu:1794844010744:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "834c36ab97e3c065b21391ca925433ec3d5e2f8bb6d782def141b76c6b397909"}}',NULL,1,1794844010753582);
INSERT INTO "message" VALUES(11,1,1,9,32,'assistant','status','Checked once, last 16:46 Europe/Berlin: nothing to report. price is 3.10','turn_35pi3bb5uu',NULL,'job_ohjs26s2eu','job_ohjs26s2eu:1794844010744:m','openai-chat:stub','{"cron_turn": true, "cron_job_id": "job_ohjs26s2eu", "cron_job_name": "quiet price", "cron_run_id": "job_ohjs26s2eu:1794844010744:m", "cron_prompt_ref": {"id": "cron.agent_turn.reminder", "version": 1, "sha256": "834c36ab97e3c065b21391ca925433ec3d5e2f8bb6d782def141b76c6b397909"}, "checked": 1}',NULL,0,1794844010784540);
INSERT INTO "message" VALUES(12,1,1,10,34,'user','note','Build 41 is green','turn_f6rrcmxrmm','in_coc2h6g7tk',NULL,NULL,NULL,'{"hook_id": "hook_oxid6nl2qq", "hook_name": "deploy", "source": "hook"}',NULL,0,1794844012789550);
INSERT INTO "message" VALUES(13,1,1,11,35,'assistant','chat','You said: Build 41 is green','turn_f6rrcmxrmm',NULL,NULL,NULL,'openai-chat:stub',NULL,NULL,0,1794844012804858);
INSERT INTO "message" VALUES(14,1,1,12,38,'user','chat','hello again','turn_3fcr7lkbc6','in_xg4cjfbsp3',NULL,NULL,NULL,'{"sender_id": "default"}',NULL,0,1794844015657376);
INSERT INTO "message" VALUES(15,1,1,13,39,'assistant','chat','You said: hello again','turn_3fcr7lkbc6',NULL,NULL,NULL,'openai-chat:stub',NULL,NULL,0,1794844015679558);
INSERT INTO "message" VALUES(16,1,1,14,43,'user','chat','what do I like?','turn_acn5p5jdn5','in_pzz7y3tzp3',NULL,NULL,NULL,'{"sender_id": "default"}',NULL,0,1794844017246002);
CREATE TABLE outbound (
	n INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	seq BIGINT NOT NULL, 
	cause TEXT NOT NULL, 
	turn_id TEXT, 
	run_id TEXT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_outbound PRIMARY KEY (n), 
	CONSTRAINT ck_outbound_closing_has_turn CHECK (cause <> 'closing' or turn_id is not null), 
	CONSTRAINT ck_outbound_cause CHECK (cause in ('closing', 'note', 'sent', 'question')), 
	CONSTRAINT fk_outbound_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_outbound_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id)
);
INSERT INTO "outbound" VALUES(1,1,2,'closing','turn_26gev26sdh',NULL,1794844006737779);
INSERT INTO "outbound" VALUES(2,1,4,'closing','turn_akijtqsxyh',NULL,1794844006852652);
INSERT INTO "outbound" VALUES(3,4,2,'closing','turn_y7pglbhp5x','job_7qq7wlzenc:1794844007692:m',1794844007732449);
INSERT INTO "outbound" VALUES(4,1,6,'closing','turn_bpq4fydxkz',NULL,1794844007764202);
INSERT INTO "outbound" VALUES(5,1,7,'note',NULL,'job_crl6s7ttya:1794844008635',1794844008637016);
INSERT INTO "outbound" VALUES(6,1,9,'closing','turn_35pi3bb5uu','job_ohjs26s2eu:1794844010744:m',1794844010784540);
INSERT INTO "outbound" VALUES(7,1,11,'closing','turn_f6rrcmxrmm',NULL,1794844012804858);
INSERT INTO "outbound" VALUES(8,1,13,'closing','turn_3fcr7lkbc6',NULL,1794844015679558);
CREATE TABLE run (
	n INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	job_id TEXT NOT NULL, 
	session_id INTEGER NOT NULL, 
	lane_id INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	"trigger" TEXT NOT NULL, 
	scheduled_for BIGINT NOT NULL, 
	state TEXT NOT NULL, 
	reason TEXT, 
	revision BIGINT DEFAULT '0' NOT NULL, 
	rev BIGINT DEFAULT '0' NOT NULL, 
	attempt BIGINT DEFAULT '1' NOT NULL, 
	queued_at BIGINT NOT NULL, 
	started_at BIGINT, 
	finished_at BIGINT, 
	lateness_ms BIGINT, 
	missed_count BIGINT, 
	missed_until BIGINT, 
	summary TEXT, 
	error TEXT, 
	prompt_id TEXT, 
	prompt_version BIGINT, 
	prompt_sha256 TEXT, 
	prompt TEXT, 
	variables JSON, 
	turn_id TEXT, 
	opening_seq BIGINT, 
	closing_seq BIGINT, 
	next_run_at BIGINT, 
	input_tokens BIGINT DEFAULT '0' NOT NULL, 
	output_tokens BIGINT DEFAULT '0' NOT NULL, 
	CONSTRAINT pk_run PRIMARY KEY (n), 
	CONSTRAINT ck_run_finished CHECK ((state in ('queued', 'running')) = (finished_at is null)), 
	CONSTRAINT ck_run_running_has_turn CHECK (state <> 'running' or (started_at is not null and turn_id is not null)), 
	CONSTRAINT ck_run_state CHECK (state in ('queued', 'running', 'ok', 'error', 'skipped', 'cancelled')), 
	CONSTRAINT ck_run_trigger CHECK (trigger in ('timer', 'catch_up', 'manual', 'retry')), 
	CONSTRAINT fk_run_job_id FOREIGN KEY(job_id) REFERENCES job (id), 
	CONSTRAINT fk_run_lane_id FOREIGN KEY(lane_id) REFERENCES session (id), 
	CONSTRAINT fk_run_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_run_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_run_id UNIQUE (id)
);
INSERT INTO "run" VALUES(1,'job_7qq7wlzenc:1794844007692:m','job_7qq7wlzenc',1,4,'default','manual',1794844007692826,'ok',NULL,1,25,1,1794844007692826,1794844007707072,1794844007732449,0,NULL,NULL,'Found three old letters.',NULL,'cron.agent_turn.reminder',1,'f185cdc905a407099374e42ccd41133a86f285ff82f01f9ab3e425c6660ad1ba','This is a scheduled turn of this conversation: the automation "dig" (job_7qq7wlzenc) came due.
Due: 2026-11-16 16:46:47 Europe/Berlin. Now: 2026-11-16 16:46:47 Europe/Berlin.
Somebody asked to run it now.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.

The task:
Dig through the archive','{"job_id": "job_7qq7wlzenc", "job_name": "dig", "message": "Dig through the archive", "scheduled_for": "2026-11-16 16:46:47 Europe/Berlin", "now": "2026-11-16 16:46:47 Europe/Berlin", "trigger": "manual", "late_words": null, "missed_count": 0, "last_status": null, "last_run_at": null, "last_error": null, "quiet": false}','turn_y7pglbhp5x',1,2,1795320000000000,190,7);
INSERT INTO "run" VALUES(2,'job_crl6s7ttya:1794844008635','job_crl6s7ttya',1,1,'default','timer',1794844008635000,'ok',NULL,1,29,1,1794844008637016,NULL,1794844008637016,2,NULL,NULL,'It ran once',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,7,NULL,0,0);
INSERT INTO "run" VALUES(3,'job_ohjs26s2eu:1794844010744:m','job_ohjs26s2eu',1,1,'default','manual',1794844010744887,'ok','quiet',1,32,1,1794844010744887,1794844010753582,1794844010784540,0,NULL,NULL,'price is 3.10',NULL,'cron.agent_turn.reminder',1,'834c36ab97e3c065b21391ca925433ec3d5e2f8bb6d782def141b76c6b397909','This is a scheduled turn of this conversation: the automation "quiet price" (job_ohjs26s2eu) came due.
Due: 2026-11-16 16:46:50 Europe/Berlin. Now: 2026-11-16 16:46:50 Europe/Berlin.
Somebody asked to run it now.
If there is no news, call nothing_to_report and write no answer.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.

The task:
Tell me only when the price changed','{"job_id": "job_ohjs26s2eu", "job_name": "quiet price", "message": "Tell me only when the price changed", "scheduled_for": "2026-11-16 16:46:50 Europe/Berlin", "now": "2026-11-16 16:46:50 Europe/Berlin", "trigger": "manual", "late_words": null, "missed_count": 0, "last_status": null, "last_run_at": null, "last_error": null, "quiet": true}','turn_35pi3bb5uu',8,9,1794891600000000,733,8);
INSERT INTO "run" VALUES(4,'job_u3eat53fii:1794844019393:m','job_u3eat53fii',1,1,'default','manual',1794844019393565,'queued',NULL,1,44,1,1794844019393565,NULL,NULL,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,1794865607004000,0,0);
CREATE TABLE session (
	id INTEGER NOT NULL, 
	"key" TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	title TEXT, 
	timezone TEXT, 
	parent_id INTEGER, 
	seq BIGINT DEFAULT '0' NOT NULL, 
	rev BIGINT DEFAULT '0' NOT NULL, 
	revision BIGINT DEFAULT '1' NOT NULL, 
	summary TEXT, 
	summary_until BIGINT DEFAULT '0' NOT NULL, 
	created_at BIGINT NOT NULL, 
	updated_at BIGINT NOT NULL, 
	deleted_at BIGINT, 
	CONSTRAINT pk_session PRIMARY KEY (id), 
	CONSTRAINT fk_session_agent_id FOREIGN KEY(agent_id) REFERENCES agent (id), 
	CONSTRAINT fk_session_parent_id FOREIGN KEY(parent_id) REFERENCES session (id), 
	CONSTRAINT fk_session_user_id FOREIGN KEY(user_id) REFERENCES user (id)
);
INSERT INTO "session" VALUES(1,'web:kept','default','main','Fruit','Europe/Berlin',NULL,14,45,2,NULL,0,1794844006001945,1794844017246002,NULL);
INSERT INTO "session" VALUES(2,'web:other','default','main','Other',NULL,NULL,0,2,1,NULL,0,1794844006059334,1794844006059334,NULL);
INSERT INTO "session" VALUES(3,'web:ana','ana','main',NULL,NULL,NULL,0,2,1,NULL,0,1794844006187938,1794844006187938,NULL);
INSERT INTO "session" VALUES(4,'cron:job_7qq7wlzenc:1794844007692:m','default','main','dig','Europe/Berlin',1,2,3,1,NULL,0,1794844007692826,1794844007732449,NULL);
INSERT INTO "session" VALUES(5,'cron:abc12345','default','main','old nanobot job',NULL,NULL,0,2,1,NULL,0,1794844015411997,1794844015411997,NULL);
CREATE TABLE step (
	turn_id TEXT NOT NULL, 
	n BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	name TEXT NOT NULL, 
	"key" TEXT NOT NULL, 
	state TEXT NOT NULL, 
	failed BOOLEAN DEFAULT 0 NOT NULL, 
	args TEXT, 
	result TEXT, 
	cards JSON, 
	duration_ms BIGINT, 
	input_tokens BIGINT DEFAULT '0' NOT NULL, 
	output_tokens BIGINT DEFAULT '0' NOT NULL, 
	begun_at BIGINT NOT NULL, 
	done_at BIGINT, 
	CONSTRAINT pk_step PRIMARY KEY (turn_id, n), 
	CONSTRAINT ck_step_done_at CHECK ((state = 'done') = (done_at is not null)), 
	CONSTRAINT ck_step_kind CHECK (kind in ('model', 'tool', 'inject')), 
	CONSTRAINT ck_step_state CHECK (state in ('begun', 'done')), 
	CONSTRAINT fk_step_turn_id FOREIGN KEY(turn_id) REFERENCES turn (id), 
	CONSTRAINT uq_step_turn_id_kind_key UNIQUE (turn_id, kind, "key")
);
INSERT INTO "step" VALUES('turn_26gev26sdh',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"tool_name":"remember","args":"{\"text\": \"The user likes apples\"}","tool_call_id":"c1","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":109,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":9,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.670454Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-134423aabd670a4d","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,23,109,9,1794844006714115,1794844006714115);
INSERT INTO "step" VALUES('turn_26gev26sdh',2,'tool','remember','c1','done',0,'{"text": "The user likes apples"}','Remembered: The user likes apples (mem_xigk2exfyd)',NULL,0,0,0,1794844006718922,1794844006718922);
INSERT INTO "step" VALUES('turn_26gev26sdh',3,'model','openai-chat:stub','3','done',0,NULL,'[{"parts":[{"content":"I will remember.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":123,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.730581Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-e67b182cadbffe92","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,9,123,5,1794844006734078,1794844006734078);
INSERT INTO "step" VALUES('turn_akijtqsxyh',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"tool_name":"schedule_task","args":"{\"action\": \"add\", \"when\": \"every weekday at 8\", \"message\": \"Look at the fruit prices\", \"name\": \"fruit watch\"}","tool_call_id":"c2","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":139,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":28,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.816820Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-e0644417ea0efc30","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,9,139,28,1794844006819361,1794844006819361);
INSERT INTO "step" VALUES('turn_akijtqsxyh',2,'tool','schedule_task','c2','done',0,'{"action": "add", "when": "every weekday at 8", "message": "Look at the fruit prices", "name": "fruit watch"}','Added "fruit watch" (job_3klep5biup): weekdays at 08:00 Europe/Berlin. Next: Tue 17 Nov 08:00, Wed 18 Nov 08:00, Thu 19 Nov 08:00. To undo: remove.','[{"kind": "job", "job_id": "job_3klep5biup", "change": "added", "revision": 1}]',0,0,0,1794844006821927,1794844006821927);
INSERT INTO "step" VALUES('turn_akijtqsxyh',3,'model','openai-chat:stub','3','done',0,NULL,'[{"parts":[{"content":"Every weekday at 8.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":177,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.844686Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-e4486d11c196a6ea","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,12,177,5,1794844006848182,1794844006848182);
INSERT INTO "step" VALUES('turn_y7pglbhp5x',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"content":"Found three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":190,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:47.724763Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:47Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-da404b363007bd8d","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,8,190,7,1794844007728519,1794844007728519);
INSERT INTO "step" VALUES('turn_bpq4fydxkz',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"content":"You said: An automation of this conversation, \"dig\" (job_7qq7wlzenc), worked apart and reports its result.\nGo on from here: tell the user what matters in it. Do not run the automation again.\n\nThe report:\nFound three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":237,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":58,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:47.754297Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:47Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-b672bae3675b0b82","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,13,237,58,1794844007762275,1794844007762275);
INSERT INTO "step" VALUES('turn_35pi3bb5uu',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"tool_name":"nothing_to_report","args":"{\"note\": \"price is 3.10\"}","tool_call_id":"c3","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":358,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:50.765106Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:50Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-47c60a1529b4b37b","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,8,358,7,1794844010767920,1794844010767920);
INSERT INTO "step" VALUES('turn_35pi3bb5uu',2,'tool','nothing_to_report','c3','done',0,'{"note": "price is 3.10"}','Noted. The user is not disturbed; end now without an answer.',NULL,0,0,0,1794844010770528,1794844010770528);
INSERT INTO "step" VALUES('turn_35pi3bb5uu',3,'model','openai-chat:stub','3','done',0,NULL,'[{"parts":[],"usage":{"input_tokens":375,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":1,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:50.778109Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:50Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-a934c03fdcb2a4aa","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,7,375,1,1794844010780020,1794844010780020);
INSERT INTO "step" VALUES('turn_f6rrcmxrmm',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"content":"You said: Build 41 is green","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":255,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:52.799969Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:52Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-5f751fa5100ef346","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,8,255,7,1794844012802986,1794844012802986);
INSERT INTO "step" VALUES('turn_3fcr7lkbc6',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"content":"You said: hello again","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":265,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":6,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:55.673037Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:55Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-83d5afc2fb098d32","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,13,265,6,1794844015676023,1794844015676023);
INSERT INTO "step" VALUES('turn_acn5p5jdn5',1,'model','openai-chat:stub','1','done',0,NULL,'[{"parts":[{"tool_name":"recall","args":"{\"query\": \"apples\"}","tool_call_id":"c9","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":299,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:57.257871Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:57Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-84bfa4bb123f49c4","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',NULL,9,299,5,1794844017260604,1794844017260604);
INSERT INTO "step" VALUES('turn_acn5p5jdn5',2,'tool','recall','c9','done',0,'{"query": "apples"}','- The user likes apples (mem_xigk2exfyd)',NULL,0,0,0,1794844017263836,1794844017263836);
CREATE TABLE token (
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	role TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	hash TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	expires_at BIGINT, made_from TEXT, 
	CONSTRAINT pk_token PRIMARY KEY (id), 
	CONSTRAINT ck_token_kind CHECK (kind in ('token', 'cookie', 'code')), 
	CONSTRAINT fk_token_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_token_hash UNIQUE (hash)
);
INSERT INTO "token" VALUES('tok_sbdo3rvyhh','default','admin','token','321c92f538ca8a7eeed06eeef0cb2369b544b2c6a1aa1bd78d21133f0c0eaca7',1794844005303100,NULL,NULL);
INSERT INTO "token" VALUES('tok_5b5demm6he','default','admin','code','75172d05f05b9a35ab12f5c6fa77bc2b784e3fcd2a6f6343296f3f71f85a2704',1794844005374094,1794844605374094,'tok_sbdo3rvyhh');
INSERT INTO "token" VALUES('tok_ivfqg6vx6i','ana','user','token','8149261fc7938f8cccabb9ff0a49cd0754d2064e407467569aae8523fec9c840',1794844006111661,NULL,NULL);
INSERT INTO "token" VALUES('tok_cm7jjzgt7q','default','admin','cookie','39c87e2186961df98ff3a1fb246af9c4c36e70a67d93511209248a58bcc6c9be',1794844015631940,1797436015631940,'tok_sbdo3rvyhh');
CREATE TABLE turn (
	n INTEGER NOT NULL, 
	id TEXT NOT NULL, 
	lane_id INTEGER NOT NULL, 
	session_id INTEGER NOT NULL, 
	user_id TEXT NOT NULL, 
	agent_id TEXT NOT NULL, 
	source TEXT NOT NULL, 
	run_id TEXT, 
	job_id TEXT, 
	state TEXT NOT NULL, 
	outcome TEXT, 
	reason TEXT, 
	worker_id TEXT, 
	claimed_until BIGINT, 
	fence BIGINT DEFAULT '1' NOT NULL, 
	attempts BIGINT DEFAULT '1' NOT NULL, 
	deadline_at BIGINT, 
	cancel_requested_at BIGINT, 
	cancel_reason TEXT, 
	address TEXT, 
	sender_id TEXT, 
	model TEXT NOT NULL, 
	thinking TEXT, 
	prompt TEXT NOT NULL, 
	policy JSON, 
	error TEXT, 
	history TEXT, 
	opening_seq BIGINT, 
	closing_seq BIGINT, 
	input_tokens BIGINT DEFAULT '0' NOT NULL, 
	output_tokens BIGINT DEFAULT '0' NOT NULL, 
	opened_at BIGINT NOT NULL, 
	closed_at BIGINT, 
	CONSTRAINT pk_turn PRIMARY KEY (n), 
	CONSTRAINT ck_turn_run_has_id CHECK ((source = 'run') = (run_id is not null)), 
	CONSTRAINT ck_turn_closed_at CHECK ((state = 'closed') = (closed_at is not null)), 
	CONSTRAINT ck_turn_closed_has_outcome CHECK ((state = 'closed') = (outcome is not null)), 
	CONSTRAINT ck_turn_outcome CHECK (outcome in ('answered', 'empty', 'failed', 'cancelled')), 
	CONSTRAINT ck_turn_source CHECK (source in ('person', 'run', 'report', 'hook', 'agent', 'system')), 
	CONSTRAINT ck_turn_state CHECK (state in ('running', 'closed')), 
	CONSTRAINT fk_turn_lane_id FOREIGN KEY(lane_id) REFERENCES session (id), 
	CONSTRAINT fk_turn_session_id FOREIGN KEY(session_id) REFERENCES session (id), 
	CONSTRAINT fk_turn_user_id FOREIGN KEY(user_id) REFERENCES user (id), 
	CONSTRAINT uq_turn_id UNIQUE (id)
);
INSERT INTO "turn" VALUES(1,'turn_26gev26sdh',1,1,'default','main','person',NULL,NULL,'closed','answered',NULL,NULL,NULL,1,1,1794845806215554,NULL,NULL,'web:kept','default','openai-chat:stub',NULL,'remember apples please',NULL,NULL,'[{"parts":[{"content":"remember apples please","timestamp":"2026-11-16T15:46:46.736096Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"tool_name":"remember","args":"{\"text\": \"The user likes apples\"}","tool_call_id":"c1","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":109,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":9,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.670454Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-134423aabd670a4d","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"remember","content":"Remembered: The user likes apples (mem_xigk2exfyd)","tool_call_id":"c1","tool_kind":null,"metadata":null,"timestamp":"2026-11-16T15:46:46.723192Z","outcome":"success","retry":null,"part_kind":"tool-return"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"I will remember.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":123,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.730581Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-e67b182cadbffe92","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',1,2,232,14,1794844006215554,1794844006737779);
INSERT INTO "turn" VALUES(2,'turn_akijtqsxyh',1,1,'default','main','person',NULL,NULL,'closed','answered',NULL,NULL,NULL,1,1,1794845806804711,NULL,NULL,'web:kept','default','openai-chat:stub',NULL,'every weekday at 8 look at the fruit prices',NULL,NULL,'[{"parts":[{"content":"every weekday at 8 look at the fruit prices","timestamp":"2026-11-16T15:46:46.851105Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"tool_name":"schedule_task","args":"{\"action\": \"add\", \"when\": \"every weekday at 8\", \"message\": \"Look at the fruit prices\", \"name\": \"fruit watch\"}","tool_call_id":"c2","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":139,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":28,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.816820Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-e0644417ea0efc30","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"schedule_task","content":"Added \"fruit watch\" (job_3klep5biup): weekdays at 08:00 Europe/Berlin. Next: Tue 17 Nov 08:00, Wed 18 Nov 08:00, Thu 19 Nov 08:00. To undo: remove.","tool_call_id":"c2","tool_kind":null,"metadata":null,"timestamp":"2026-11-16T15:46:46.835095Z","outcome":"success","retry":null,"part_kind":"tool-return"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"Every weekday at 8.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":177,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":5,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:46.844686Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:46Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-e4486d11c196a6ea","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',3,4,316,33,1794844006804711,1794844006852652);
INSERT INTO "turn" VALUES(3,'turn_y7pglbhp5x',4,4,'default','main','run','job_7qq7wlzenc:1794844007692:m','job_7qq7wlzenc','closed','answered',NULL,NULL,NULL,1,1,1794844307707072,NULL,NULL,NULL,NULL,'openai-chat:stub',NULL,'This is a scheduled turn of this conversation: the automation "dig" (job_7qq7wlzenc) came due.
Due: 2026-11-16 16:46:47 Europe/Berlin. Now: 2026-11-16 16:46:47 Europe/Berlin.
Somebody asked to run it now.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.

The task:
Dig through the archive','{"revision": 1, "trigger": "manual", "quiet": false, "may_schedule": false, "context": "session", "job_name": "dig", "message": "Dig through the archive"}',NULL,'[{"parts":[{"content":"Scheduled cron job triggered: dig\n\nDig through the archive","timestamp":"2026-11-16T15:46:47.729789Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"Found three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":190,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:47.724763Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:47Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-da404b363007bd8d","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',1,2,190,7,1794844007707072,1794844007732449);
INSERT INTO "turn" VALUES(4,'turn_bpq4fydxkz',1,1,'default','main','report',NULL,'job_7qq7wlzenc','closed','answered',NULL,NULL,NULL,1,1,1794845807740713,NULL,NULL,NULL,NULL,'openai-chat:stub',NULL,'An automation of this conversation, "dig" (job_7qq7wlzenc), worked apart and reports its result.
Go on from here: tell the user what matters in it. Do not run the automation again.

The report:
Found three old letters.',NULL,NULL,'[{"parts":[{"content":"Found three old letters.","timestamp":"2026-11-16T15:46:47.763567Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"You said: An automation of this conversation, \"dig\" (job_7qq7wlzenc), worked apart and reports its result.\nGo on from here: tell the user what matters in it. Do not run the automation again.\n\nThe report:\nFound three old letters.","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":237,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":58,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:47.754297Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:47Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-b672bae3675b0b82","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',5,6,237,58,1794844007740713,1794844007764202);
INSERT INTO "turn" VALUES(5,'turn_35pi3bb5uu',1,1,'default','main','run','job_ohjs26s2eu:1794844010744:m','job_ohjs26s2eu','closed','answered','quiet',NULL,NULL,1,1,1794844310753582,NULL,NULL,'web:kept',NULL,'openai-chat:stub',NULL,'This is a scheduled turn of this conversation: the automation "quiet price" (job_ohjs26s2eu) came due.
Due: 2026-11-16 16:46:50 Europe/Berlin. Now: 2026-11-16 16:46:50 Europe/Berlin.
Somebody asked to run it now.
If there is no news, call nothing_to_report and write no answer.
No person is waiting at the other end right now: do what is asked, and write the answer they shall find.

The task:
Tell me only when the price changed','{"revision": 1, "trigger": "manual", "quiet": true, "may_schedule": false, "context": "session", "job_name": "quiet price", "message": "Tell me only when the price changed"}',NULL,'[{"parts":[{"content":"Scheduled cron job triggered: quiet price\n\nTell me only when the price changed","timestamp":"2026-11-16T15:46:50.781649Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"tool_name":"nothing_to_report","args":"{\"note\": \"price is 3.10\"}","tool_call_id":"c3","tool_kind":null,"id":null,"provider_name":null,"provider_details":null,"part_kind":"tool-call"}],"usage":{"input_tokens":358,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:50.765106Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:50Z","finish_reason":"tool_calls"},"provider_response_id":"chatcmpl-47c60a1529b4b37b","finish_reason":"tool_call","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"tool_name":"nothing_to_report","content":"Noted. The user is not disturbed; end now without an answer.","tool_call_id":"c3","tool_kind":null,"metadata":null,"timestamp":"2026-11-16T15:46:50.771479Z","outcome":"success","retry":null,"part_kind":"tool-return"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[],"usage":{"input_tokens":375,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":1,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:50.778109Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:50Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-a934c03fdcb2a4aa","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"},{"parts":[{"content":"(The answer was empty.)","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":0,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":0,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":null,"model_id":null,"timestamp":"2026-11-16T15:46:50.781637Z","kind":"response","provider_name":null,"provider_url":null,"canonical_system":null,"provider_details":null,"provider_response_id":null,"finish_reason":null,"run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',8,9,733,8,1794844010753582,1794844010784540);
INSERT INTO "turn" VALUES(6,'turn_f6rrcmxrmm',1,1,'default','main','hook',NULL,NULL,'closed','answered',NULL,NULL,NULL,1,1,1794845812789550,NULL,NULL,'web:kept',NULL,'openai-chat:stub',NULL,'Build 41 is green',NULL,NULL,'[{"parts":[{"content":"Build 41 is green","timestamp":"2026-11-16T15:46:52.804213Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"You said: Build 41 is green","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":255,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":7,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:52.799969Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:52Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-5f751fa5100ef346","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',10,11,255,7,1794844012789550,1794844012804858);
INSERT INTO "turn" VALUES(7,'turn_3fcr7lkbc6',1,1,'default','main','person',NULL,NULL,'closed','answered',NULL,NULL,NULL,1,1,1794845815657376,NULL,NULL,'web:kept','default','openai-chat:stub',NULL,'hello again',NULL,NULL,'[{"parts":[{"content":"hello again","timestamp":"2026-11-16T15:46:55.678009Z","part_kind":"user-prompt"}],"timestamp":null,"instructions":null,"kind":"request","run_id":null,"conversation_id":null,"metadata":null,"state":"complete"},{"parts":[{"content":"You said: hello again","id":null,"provider_name":null,"provider_details":null,"citations":null,"part_kind":"text"}],"usage":{"input_tokens":265,"cache_write_tokens":0,"cache_write_1h_tokens":0,"cache_read_tokens":0,"output_tokens":6,"output_reasoning_tokens":0,"input_audio_tokens":0,"cache_audio_read_tokens":0,"output_audio_tokens":0,"audio_seconds":0.0,"details":{},"cost":null},"model_name":"stub","model_id":null,"timestamp":"2026-11-16T15:46:55.673037Z","kind":"response","provider_name":"openai","provider_url":"http://127.0.0.1:40495/v1/","canonical_system":"openai","provider_details":{"timestamp":"2026-11-16T15:46:55Z","finish_reason":"stop"},"provider_response_id":"chatcmpl-83d5afc2fb098d32","finish_reason":"stop","run_id":null,"conversation_id":null,"metadata":null,"workspace_ref":null,"history_digest":null,"failed_attempts":null,"state":"complete"}]',12,13,265,6,1794844015657376,1794844015679558);
INSERT INTO "turn" VALUES(8,'turn_acn5p5jdn5',1,1,'default','main','person',NULL,NULL,'running',NULL,NULL,'worker_wla6qnlcss',1794844028992021,1,1,1794845817246002,NULL,NULL,'web:kept','default','openai-chat:stub',NULL,'what do I like?',NULL,NULL,NULL,14,NULL,0,0,1794844017246002,NULL);
CREATE TABLE user (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	role TEXT NOT NULL, 
	timezone TEXT, 
	created_at BIGINT NOT NULL, 
	CONSTRAINT pk_user PRIMARY KEY (id), 
	CONSTRAINT ck_user_role CHECK (role in ('user', 'admin'))
);
INSERT INTO "user" VALUES('default','Owner','admin',NULL,1794844005299780);
INSERT INTO "user" VALUES('ana','ana','user',NULL,1794844006111661);
CREATE TABLE webhook (
	id TEXT NOT NULL, 
	user_id TEXT NOT NULL, 
	url TEXT NOT NULL, 
	secret TEXT NOT NULL, 
	created_at BIGINT NOT NULL, 
	removed_at BIGINT, 
	CONSTRAINT pk_webhook PRIMARY KEY (id), 
	CONSTRAINT fk_webhook_user_id FOREIGN KEY(user_id) REFERENCES user (id)
);
INSERT INTO "webhook" VALUES('wh_uwditxfpyj','default','http://127.0.0.1:1/kept','whsec_H05nV7qQEV/7WUzAJjoZb5Tid1otrIiBBtXeqt1ynNA=',1794844006903958,NULL);
CREATE TABLE worker (
	id TEXT NOT NULL, 
	name TEXT NOT NULL, 
	schedules BOOLEAN DEFAULT 0 NOT NULL, 
	started_at BIGINT NOT NULL, 
	beat_at BIGINT NOT NULL, 
	next_wake_at BIGINT, 
	CONSTRAINT pk_worker PRIMARY KEY (id)
);
INSERT INTO "worker" VALUES('worker_wla6qnlcss','vm:15843',1,1794844005881131,1794844015994853,1794865607004000);
CREATE INDEX ix_idempotency_created ON idempotency (created_at);
CREATE INDEX ix_session_user ON session (user_id, updated_at);
CREATE UNIQUE INDEX ux_session_key ON session ("key") WHERE deleted_at is null;
CREATE INDEX ix_token_user ON token (user_id);
CREATE INDEX ix_webhook_user ON webhook (user_id);
CREATE INDEX ix_hook_session ON hook (session_id);
CREATE INDEX ix_job_due ON job (next_run_at) WHERE next_run_at is not null;
CREATE INDEX ix_job_session ON job (session_id, rev);
CREATE INDEX ix_job_user ON job (user_id, n);
CREATE INDEX ix_job_wakes ON job (disabled_until) WHERE disabled_until is not null;
CREATE UNIQUE INDEX ux_job_dedupe ON job (session_id, dedupe_key) WHERE dedupe_key is not null and removed_at is null;
CREATE INDEX ix_memory_user ON memory (user_id, n);
CREATE INDEX ix_message_lane ON message (lane_id, n);
CREATE INDEX ix_message_rev ON message (session_id, rev);
CREATE INDEX ix_turn_claim ON turn (claimed_until) WHERE state <> 'closed';
CREATE INDEX ix_turn_lane ON turn (lane_id, n);
CREATE UNIQUE INDEX ux_turn_open ON turn (lane_id) WHERE state <> 'closed';
CREATE INDEX ix_outbound_message ON outbound (session_id, seq);
CREATE UNIQUE INDEX ux_outbound_closing ON outbound (turn_id) WHERE cause = 'closing';
CREATE INDEX ix_run_finished ON run (finished_at) WHERE finished_at is not null;
CREATE INDEX ix_run_job ON run (job_id, scheduled_for);
CREATE INDEX ix_run_session ON run (session_id, rev);
CREATE INDEX ix_run_user ON run (user_id, n);
CREATE UNIQUE INDEX ux_run_active ON run (job_id) WHERE state in ('queued', 'running');
CREATE INDEX ix_delivery_dead ON delivery (user_id, n) WHERE state = 'dead';
CREATE INDEX ix_delivery_due ON delivery (next_attempt_at) WHERE state = 'pending';
CREATE INDEX ix_delivery_line ON delivery (address, n) WHERE state = 'pending';
CREATE INDEX ix_delivery_message ON delivery (session_id, seq);
CREATE INDEX ix_delivery_session ON delivery (session_id, rev);
CREATE INDEX ix_inbound_lane ON inbound (lane_id, line, n) WHERE state = 'waiting';
CREATE INDEX ix_inbound_machines ON inbound (user_id, n) WHERE state = 'waiting' and line = 'machines';
CREATE INDEX ix_inbound_people ON inbound (n) WHERE state = 'waiting' and line = 'people';
CREATE INDEX ix_inbound_turn ON inbound (turn_id) WHERE turn_id is not null;
CREATE VIRTUAL TABLE memory_fts using fts5(grams, content='memory', content_rowid='n');
INSERT INTO memory_fts(memory_fts) VALUES('rebuild');
CREATE TRIGGER memory_added after insert on memory begin insert into memory_fts(rowid, grams) values (new.n, new.grams); end;
CREATE TRIGGER memory_removed after delete on memory begin insert into memory_fts(memory_fts, rowid, grams) values ('delete', old.n, old.grams); end;
COMMIT;
