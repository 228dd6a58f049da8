import { useSessionName } from "../api/queries";

/** `title` is what came with the thing that names it; without it, a conversation far down the list is asked for. */
export const SessionName = ({ of, title }: { of: string; title?: string | null }) => useSessionName(of, title);
