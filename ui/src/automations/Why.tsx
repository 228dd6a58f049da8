// "Why didn't it run?", answered by the server in plain words.
import { useState } from "react";
import { sentenceOf } from "../api/client";
import { useWhy } from "../api/queries";
import { ClockField } from "../parts/ClockField";
import { Glyph, shapeOfRun } from "../parts/Glyph";
import { ServerText } from "../parts/ServerText";
import { Link, pathTo } from "../router";
import { instantOf } from "../time/format";
import { Zone } from "../time/Time";

export function Why({ jobId, zone }: { jobId: string; zone: string }) {
  const [date, setDate] = useState("");
  const [clock, setClock] = useState("");
  const at = date && clock ? new Date(instantOf(date, clock, zone)).toISOString() : undefined;
  const { data, error, isPending } = useWhy(jobId, at);
  return (
    <div className="border-t pt-3">
      {isPending ? (
        <div className="skeleton h-5 w-3/4" role="status" aria-label="Loading" />
      ) : error ? (
        <p className="text-bad">
          <ServerText text={sentenceOf(error)} />
        </p>
      ) : (
        <p className="max-w-[44rem] whitespace-pre-line">
          <ServerText text={data.answer} />
        </p>
      )}
      {data && data.runs.length > 0 && (
        <ul className="mt-2 max-w-[44rem] space-y-1 text-small">
          {data.runs.map((run) => (
            <li key={run.id} className="grid grid-cols-[auto_minmax(0,1fr)] items-baseline gap-x-2.5">
              <Glyph shape={shapeOfRun(run.state)} size={11} />
              {/* The sentence names its time and zone by itself. */}
              <Link to={pathTo.run(run.id)} className="text-mute hover:text-ink hover:underline">
                <ServerText text={run.sentence} />
              </Link>
            </li>
          ))}
        </ul>
      )}
      <fieldset className="mt-3 flex flex-wrap items-start gap-x-3 gap-y-1">
        <legend className="mb-1 text-small">
          Ask about another time <Zone name={zone} />
        </legend>
        <label className="flex flex-col gap-1 text-small text-mute">
          Date
          <input
            type="date"
            className="field !w-auto text-ink"
            value={date}
            onChange={(event) => setDate(event.target.value)}
          />
        </label>
        <ClockField label="Time" value={clock} onChange={setClock} />
      </fieldset>
    </div>
  );
}
