// Names the channels through which a conversation is also held; on the page alone it has none.
import type { Session } from "../api/types";
import { Icon } from "./Icon";

const SCREENS = ["web", "cli", "api", "cron", "webhook"];

/** The channels of a conversation, by the names that their addresses begin with. */
export function channelsOf(session: Pick<Session, "addresses">): string[] {
  const names = session.addresses.map((address) => address.split(":", 1)[0] ?? "");
  return [...new Set(names)].filter((name) => name && !SCREENS.includes(name));
}

export function ChannelMark({ session }: { session: Session }) {
  const names = channelsOf(session);
  if (names.length === 0) return null;
  const said = names.join(", ");
  return (
    <span className="flex flex-none items-center gap-1 text-fine text-mute" title={`Also in ${said}`}>
      <Icon name="delivery" size={13} />
      <span className="sr-only">Also in </span>
      {said}
    </span>
  );
}
