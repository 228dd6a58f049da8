// "Why didn't it run?", answered by the server in plain words.
import { useState } from "react";
import { sentenceOf } from "../api/client";
import { useWhy } from "../api/queries";
import { Glyph, shapeOfRun } from "../parts/Glyph";
import { Said } from "../parts/Said";
import { Link, pathTo } from "../router";
import { instantOf } from "../time/format";
import { Stamp, Zone } from "../time/Time";

export function Why({ jobId, zone }: { jobId: string; zone: string }) {
  const [wall, setWall] = useState("");
  const [date, clock] = wall.split("T");
  const at = date && clock ? new Date(instantOf(date, clock, zone)).toISOString() : undefined;
  const { data, error, isPending } = useWhy(jobId, at);
  return (
    <div className="border-t pt-3">
      {isPending ? <div className="skeleton h-5 w-3/4" role="status" aria-label="Loading" /> : error ? <p className="text-bad">{sentenceOf(error)}</p> : <p className="max-w-[44rem] whitespace-pre-line"><Said text={data.answer} /></p>}
      {data && data.runs.length > 0 && (
        <ul className="mt-2 space-y-1 text-[0.93rem]">
          {data.runs.map((run) => (
            <li key={run.id} className="flex flex-wrap items-baseline gap-x-2.5">
              <Glyph shape={shapeOfRun(run.state)} size={11} />
              <Link to={pathTo.run(run.id)} className="hover:underline">
                <Stamp at={run.scheduled_for} zone={zone} />
              </Link>
              <span className="text-mute"><Said text={run.sentence} /></span>
            </li>
          ))}
        </ul>
      )}
      <label className="mt-3 flex flex-wrap items-center gap-x-2 gap-y-1 text-[0.9rem] text-mute">
        Ask about another time
        <input type="datetime-local" className="field !w-auto !min-h-8 !py-0.5" value={wall} onChange={(event) => setWall(event.target.value)} />
        <Zone name={zone} />
      </label>
    </div>
  );
}
