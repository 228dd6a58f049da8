export default function P(_: Record<string, unknown>) { return null; }
