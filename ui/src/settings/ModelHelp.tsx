// Which model answers, why that one, and who can choose another.
import { useMe } from "../api/queries";
import type { Status } from "../api/types";
import { Link } from "../router";

export function ModelHelp({ status }: { status: Status }) {
  const { name, offline, why } = status.model;
  const admin = useMe().data?.role === "admin";
  return (
    <div className="space-y-3">
      <p>
        {offline
          ? "No model is chosen, so a small built-in program answers. It understands a few phrases about time and calls the same real tools."
          : `Answers come from ${name}.`}{" "}
        {why && <span className="text-mute">{why}</span>}
      </p>
      {admin ? (
        <p>
          <Link to="/settings" className="link">
            Choose a model in Settings
          </Link>
          : paste a key, or use a server on your machine. Your automations stay as they are.
        </p>
      ) : (
        <p className="text-mute">An admin of this Homing can choose a model.</p>
      )}
    </div>
  );
}
