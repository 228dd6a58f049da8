// One request of an agent, whole: everything that will run, why and where it was asked, the answer, and what came of it.
import type { ReactNode } from "react";
import { Refusal } from "../api/client";
import { flat, useAgents, useApproval, useApprovals, useMyZone } from "../api/queries";
import type { Approval } from "../api/types";
import { useSeen } from "../inbox/seen";
import { EmptyState, LoadError, Loading } from "../parts/EmptyState";
import { Fact, Facts } from "../parts/Facts";
import { Icon } from "../parts/Icon";
import { useTitle } from "../parts/useTitle";
import { Link, pathTo } from "../router";
import { Stamp } from "../time/Time";
import { Answer } from "./Answer";
import { ApprovalRow } from "./ApprovalRow";
import { Origin } from "./Origin";
import { Reason } from "./Reason";
import { WhatRuns } from "./WhatRuns";

export default function ApprovalPage({ approvalId }: { approvalId: string }) {
  const { data: approval, error, isPending, refetch } = useApproval(approvalId);
  useTitle(approval?.title);
  useSeen("approval", approvalId);
  if (approval) return <Whole approval={approval} />;
  if (isPending)
    return (
      <div className="page">
        <Loading rows={6} />
      </div>
    );
  if (error instanceof Refusal && error.status === 404)
    return (
      <EmptyState icon="approve" title="There is no such request">
        It is no longer on record, or somebody else answers it.
      </EmptyState>
    );
  return <LoadError error={error} again={() => void refetch()} />;
}

function Whole({ approval }: { approval: Approval }) {
  const zone = useMyZone();
  const { agent_id: agentId } = approval;
  const agent = useAgents().data?.find((one) => one.id === agentId)?.name ?? agentId;
  return (
    <div className="page narrow">
      <Link to="/approvals" className="mb-3 inline-flex items-center gap-1 text-small text-mute hover:text-ink">
        <Icon name="back" size={14} /> Approvals
      </Link>
      <h1 className="[overflow-wrap:anywhere]">{approval.title}</h1>
      <p className="mt-1 text-mute">
        Asked <Origin approval={approval} />, <Stamp at={approval.asked_at} zone={zone} />
      </p>
      {approval.reason && (
        <div className="mt-4">
          <Reason reason={approval.reason} />
        </div>
      )}
      <Part title={ranWord[approval.state]}>
        <WhatRuns approval={approval} />
      </Part>
      <Part title="Answer">
        <Answer approval={approval} zone={zone} />
      </Part>
      {approval.result && (
        <Part title="Result">
          <pre
            tabIndex={0}
            aria-label="Result"
            className="max-h-96 overflow-auto rounded-md border bg-tint px-3 py-2 font-mono text-fine whitespace-pre-wrap [overflow-wrap:anywhere]"
          >
            {approval.result}
          </pre>
        </Part>
      )}
      <Part title="On record">
        <Facts>
          <Fact name="Agent">
            <Link to={pathTo.agent(approval.agent_id)} className="link">
              {agent}
            </Link>
          </Fact>
          <Fact name="Tool">
            <code className="font-mono text-[0.93em]">{approval.tool}</code>
          </Fact>
          <Fact name="Who answers">
            {approval.audience === "admin" ? "an administrator" : "the person whose conversation it is"}
          </Fact>
          {approval.finished_at && (
            <Fact name="Ended">
              <Stamp at={approval.finished_at} zone={zone} />
            </Fact>
          )}
          <Fact name="Digest">
            <code className="font-mono text-[0.93em]">{approval.digest}</code>
          </Fact>
          <Fact name="Id">
            <code className="font-mono text-[0.93em]">{approval.id}</code>
          </Fact>
        </Facts>
      </Part>
      <Earlier approval={approval} agent={agent} zone={zone} />
    </div>
  );
}

const ranWord: Record<Approval["state"], string> = {
  pending: "What will run",
  approved: "What will run",
  running: "What runs",
  done: "What ran",
  failed: "What ran",
  unknown: "What ran, or was to run",
  denied: "What did not run",
  expired: "What did not run",
};

const MOST_EARLIER = 10;

function Earlier({ approval, agent, zone }: { approval: Approval; agent: string; zone: string }) {
  const list = useApprovals({ agent_id: approval.agent_id });
  const others = flat(list.data).filter((other) => other.id !== approval.id);
  if (!list.data) return null;
  return (
    <Part title={`Other requests of ${agent}`}>
      {others.length === 0 ? (
        <p className="text-mute">None.</p>
      ) : (
        <ul aria-label="Other requests" className="border-t">
          {others.slice(0, MOST_EARLIER).map((other) => (
            <ApprovalRow key={other.id} approval={other} zone={zone} />
          ))}
        </ul>
      )}
    </Part>
  );
}

function Part({ title, children }: { title: string; children: ReactNode }) {
  return (
    <section aria-label={title} className="mt-7">
      <h2 className="mb-2">{title}</h2>
      {children}
    </section>
  );
}
