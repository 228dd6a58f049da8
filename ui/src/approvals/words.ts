// Words of approvals that only this page needs. How one stands comes with the server's answer.
import type { Approval, ApprovalState, Me } from "../api/types";
import type { Shape } from "../parts/Glyph";

const shapes: Record<ApprovalState, Shape> = {
  pending: "waiting",
  approved: "waiting",
  running: "running",
  done: "ok",
  failed: "error",
  unknown: "error",
  denied: "cancelled",
  expired: "skipped",
};
export const shapeOfApproval = (state: ApprovalState): Shape => shapes[state];

const does: Record<string, string> = {
  install_packages: "Approve and install",
  add_mcp_server: "Approve and add",
  request_access: "Approve access",
};
/** What the button does, in its own words. */
export const approveWord = (tool: string) => does[tool] ?? "Approve and run";

/** Why this person cannot answer, or null where they can. */
export function whyNotYours(approval: Approval, me: Me): string | null {
  if (approval.audience === "admin" && me.role !== "admin") return "An administrator answers this.";
  if (!me.approve)
    return "This sign-in may not answer approvals. Open the page with `homing open`, or sign in with a token that was created with --approve.";
  return null;
}

/** Who answered, from where this person sits. */
export const answererOf = (approval: Approval, me: Me | undefined): string | null =>
  approval.answered_by && (approval.answered_by === me?.user_id ? "you" : approval.answered_by);
