// Removing an agent takes two steps, and the server says what stands in the way.
import { useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { placeAgent } from "../api/cache";
import { sentenceOf } from "../api/client";
import { removeAgent } from "../api/operations";
import type { Agent } from "../api/types";
import { Icon } from "../parts/Icon";
import { ServerText } from "../parts/ServerText";
import { Sheet } from "../parts/Sheet";
import { toast } from "../parts/toasts";
import { navigate } from "../router";

export function RemoveAgent({ agent }: { agent: Agent }) {
  const client = useQueryClient();
  const [open, setOpen] = useState(false);
  const [busy, setBusy] = useState(false);
  const [refused, setRefused] = useState<string | null>(null);

  async function remove() {
    setBusy(true);
    try {
      await removeAgent(agent.id);
      navigate("/agents", { replace: true });
      placeAgent(client, agent, true);
      toast({ text: `Removed: ${agent.name}` });
    } catch (error) {
      setRefused(sentenceOf(error));
      setBusy(false);
    }
  }

  function close() {
    setOpen(false);
    setRefused(null);
  }

  return (
    <>
      <button type="button" className="button mt-5" data-look="bad" onClick={() => setOpen(true)}>
        <Icon name="trash" size={15} /> Remove agent
      </button>
      {open && (
        <Sheet title={`Remove ${agent.name}?`} onClose={close}>
          {refused ? (
            <p role="alert" className="text-bad">
              <ServerText text={refused} />
            </p>
          ) : (
            <p className="text-mute">Nobody can talk to it any more. What it did stays readable.</p>
          )}
          <div className="mt-5 flex flex-wrap justify-end gap-2">
            <button type="button" className="button" data-first onClick={close}>
              Keep
            </button>
            <button
              type="button"
              className="button"
              data-look="bad"
              disabled={busy || refused !== null}
              onClick={() => void remove()}
            >
              Remove agent
            </button>
          </div>
        </Sheet>
      )}
    </>
  );
}
