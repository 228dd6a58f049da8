// A request in a list: how it stands, what was asked, and when.
import { useMe } from "../api/queries";
import type { Approval } from "../api/types";
import { Glyph } from "../parts/Glyph";
import { capital } from "../parts/words";
import { Link, pathTo } from "../router";
import { Stamp } from "../time/Time";
import { answererOf, shapeOfApproval } from "./words";

export function ApprovalRow({ approval, zone }: { approval: Approval; zone: string }) {
  const who = answererOf(approval, useMe().data);
  return (
    <li className="row grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-3 border-b py-2.5">
      <Glyph shape={shapeOfApproval(approval.state)} className="translate-y-px" />
      <div className="min-w-0">
        <Link to={pathTo.approval(approval.id)} className="font-semibold [overflow-wrap:anywhere] hover:underline">
          {approval.title}
        </Link>
        <p className="truncate font-mono text-fine text-mute">{approval.shown.replace(/\s+/g, " ")}</p>
        <p className="text-small text-mute">
          {capital(approval.words)}
          {who && `, answered by ${who}`}. Asked <Stamp at={approval.asked_at} zone={zone} />
        </p>
      </div>
    </li>
  );
}
