// The accounts of chat platforms that this server has: whether each works, as whom, and why not.
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { sentenceOf } from "../api/client";
import { listChannels, removeChannel, testChannel } from "../api/operations";
import { useMe, useMyZone } from "../api/queries";
import type { Channel } from "../api/types";
import { ConfirmButton } from "../parts/ConfirmButton";
import { Loading } from "../parts/EmptyState";
import { ServerText } from "../parts/ServerText";
import { toast, toastError } from "../parts/toasts";
import { Relative } from "../time/Time";
import { ChannelForm } from "./ChannelForm";

const STATES = {
  off: "off: nobody listens at the moment",
  listening: "listening",
  sending: "sends only",
  failing: "does not work",
} as const;

export function Channels() {
  const list = useQuery({ queryKey: ["channels"], queryFn: listChannels });
  const channels = list.data?.items ?? [];
  const admin = useMe().data?.role === "admin";
  const [adding, setAdding] = useState(false);
  return (
    <>
      {list.isPending && <Loading rows={1} />}
      {list.isError && <p className="text-bad">{sentenceOf(list.error)}</p>}
      {list.isSuccess && channels.length === 0 && (
        <p className="text-mute">
          {admin
            ? "No channels yet. Add one to talk to your agents from Telegram, mail, Slack, Discord or Matrix."
            : "No channels yet. An administrator can add one here."}
        </p>
      )}
      <ul className="border-t empty:hidden">
        {channels.map((channel) => (
          <Row key={channel.name} channel={channel} admin={admin} />
        ))}
      </ul>
      {admin && list.isSuccess && !adding && (
        <button type="button" className="button mt-3" onClick={() => setAdding(true)}>
          Add a channel
        </button>
      )}
      {adding && <ChannelForm done={() => setAdding(false)} />}
    </>
  );
}

function Row({ channel, admin }: { channel: Channel; admin: boolean }) {
  const client = useQueryClient();
  const zone = useMyZone();
  const [busy, setBusy] = useState(false);
  const [changing, setChanging] = useState(false);
  const { strangers } = channel;

  async function remove() {
    try {
      await removeChannel(channel.name);
      toast({ text: `Removed the channel ${channel.name}` });
      await client.invalidateQueries({ queryKey: ["channels"] });
    } catch (error) {
      toastError(error);
    }
  }

  async function test() {
    setBusy(true);
    try {
      const tried = await testChannel(channel.name);
      toast({ text: tried.ok ? `${channel.name} works as ${tried.account}` : `${channel.name}: ${tried.error}` });
      await client.invalidateQueries({ queryKey: ["channels"] });
    } catch (error) {
      toastError(error);
    }
    setBusy(false);
  }

  return (
    <li className="border-b py-1.5">
      <div className="flex flex-wrap items-baseline gap-x-3">
        <span className="font-semibold">{channel.name}</span>
        {channel.kind !== channel.name && <span className="text-mute">{channel.kind}</span>}
        {channel.account && <span className="[overflow-wrap:anywhere]">{channel.account}</span>}
        <span className={channel.state === "failing" ? "text-bad" : "text-mute"}>{STATES[channel.state]}</span>
        <span className="ml-auto flex items-baseline gap-x-3">
          <button type="button" className="link" disabled={busy} onClick={() => void test()}>
            Test
          </button>
          {admin && channel.added && (
            <>
              <button
                type="button"
                className="link text-small"
                aria-label={`Change ${channel.name}`}
                onClick={() => setChanging(true)}
              >
                Change
              </button>
              <ConfirmButton
                label={`Remove ${channel.name}`}
                text="Remove"
                question="Remove?"
                onConfirm={() => void remove()}
              />
            </>
          )}
        </span>
      </div>
      {channel.error && (
        <p className="text-small text-bad [overflow-wrap:anywhere]">
          <ServerText text={channel.error} />
        </p>
      )}
      {changing && <ChannelForm channel={channel} done={() => setChanging(false)} />}
      {strangers.last_at && (
        <p className="text-small text-mute">
          {strangers.count} {strangers.count === 1 ? "message" : "messages"} from people who are not linked, the last{" "}
          <Relative at={strangers.last_at} zone={zone} />
        </p>
      )}
    </li>
  );
}
