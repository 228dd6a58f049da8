import { useSessionName } from "../api/queries";

export const SessionName = ({ of }: { of: string }) => useSessionName(of);
