// An approval in a conversation: what is asked, by whom and where, everything that will run, and the answer.
import { Refusal, sentenceOf } from "../api/client";
import { useApproval } from "../api/queries";
import type { Approval } from "../api/types";
import { Icon } from "../parts/Icon";
import { Link, pathTo } from "../router";
import { Answer } from "./Answer";
import { Origin } from "./Origin";
import { Reason } from "./Reason";
import { WhatRuns } from "./WhatRuns";

export default function ApprovalCard({ id, sessionKey, zone }: { id: string; sessionKey: string; zone: string }) {
  const { data: approval, error, isPending } = useApproval(id);
  if (approval) return <Card approval={approval} sessionKey={sessionKey} zone={zone} />;
  if (isPending) return <div className="skeleton h-40 max-w-[40rem]" role="status" aria-label="Loading request" />;
  const gone = error instanceof Refusal && error.status === 404;
  return <p className="text-mute">{gone ? "This request is no longer on record." : sentenceOf(error)}</p>;
}

function Card({ approval, sessionKey, zone }: { approval: Approval; sessionKey: string; zone: string }) {
  return (
    <section aria-label={approval.title} className="max-w-[40rem] rounded-lg border" data-approval={approval.id}>
      <div className="flex items-baseline gap-2.5 px-4 pt-3">
        <Icon name="approve" size={16} className="flex-none translate-y-0.5 text-accent" />
        <Link
          to={pathTo.approval(approval.id)}
          className="min-w-0 font-semibold [overflow-wrap:anywhere] hover:underline"
        >
          {approval.title}
        </Link>
      </div>
      <div className="flex flex-col gap-2.5 px-4 pt-1 pb-3.5">
        <p className="text-small text-mute">
          Asked <Origin approval={approval} away={approval.session_key !== sessionKey} />
        </p>
        {approval.reason && <Reason reason={approval.reason} />}
        <div>
          <WhatRuns approval={approval} />
        </div>
        <Answer approval={approval} zone={zone} />
      </div>
    </section>
  );
}
