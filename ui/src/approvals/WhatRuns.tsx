// Everything that will run. A known request has a form of its own, with the whole of it beside; any other is its arguments.
// All of it is text: nothing that an agent wrote is drawn as Markdown or HTML.
import type { ReactNode } from "react";
import type { Approval } from "../api/types";
import { Fact, Facts } from "../parts/Facts";
import { plural, sizeOf } from "../parts/words";
import { nowMs } from "../time/clock";
import { relativeOf } from "../time/format";
import {
  type Arguments,
  type Package,
  type Packages,
  readArguments,
  readPackages,
  sizeWords,
  valueText,
} from "./readArguments";

export function WhatRuns({ approval }: { approval: Approval }) {
  const form = formOf(approval.tool, readArguments(approval.shown));
  const label = approval.finished_at ? "Everything that was asked for" : "Everything that will run";
  const warnings =
    approval.finished_at === null && approval.warnings.map((warning) => <Warning key={warning} text={warning} />);
  if (!form)
    return (
      <>
        {warnings}
        <Exact label={label} text={approval.shown} />
      </>
    );
  return (
    <>
      {warnings}
      {form}
      <details className="mt-2 text-small">
        <summary className="text-mute hover:text-ink">{label}, exactly as it is stored</summary>
        <div className="mt-1.5">
          <Exact label={label} text={approval.shown} />
        </div>
      </details>
    </>
  );
}

function Warning({ text }: { text: string }) {
  return <p className="text-wait [overflow-wrap:anywhere]">{text}</p>;
}

function formOf(tool: string, args: Arguments | null): ReactNode {
  if (args === null) return null;
  if (tool === "install_packages") {
    const found = readPackages(args);
    return found && <PackageTable {...found} />;
  }
  // Whatever fields there are: one that a later version adds is shown as well.
  if (tool === "add_mcp_server" || tool === "request_access") return <Fields args={args} />;
  return null;
}

/** As long as it is: what a box of its own scrolled away would be approved unseen. */
function Exact({ label, text }: { label: string; text: string }) {
  return (
    <pre
      aria-label={label}
      className="rounded-md border bg-tint px-3 py-2 font-mono text-fine whitespace-pre-wrap [overflow-wrap:anywhere]"
      dir="ltr"
    >
      {text}
    </pre>
  );
}

function Fields({ args }: { args: Arguments }) {
  return (
    <Facts label="What is asked for">
      {Object.entries(args).map(([name, value]) => (
        <Fact key={name} name={name}>
          <pre className="font-mono text-[0.93em] whitespace-pre-wrap [overflow-wrap:anywhere]">{valueText(value)}</pre>
        </Fact>
      ))}
    </Facts>
  );
}

function PackageTable({ packages, warnings, byHand, removed }: Packages) {
  const fresh = packages.filter((one) => one.fresh);
  const there = packages.length - fresh.length;
  return (
    <>
      {fresh.length > 0 && (
        <p>
          {plural(fresh.length, "package")} to install, {sizeWords(fresh)}
          {there > 0 && `; ${there} ${there === 1 ? "is" : "are"} there already`}.
        </p>
      )}
      {removed.length > 0 && <p className="[overflow-wrap:anywhere]">No longer wanted: {removed.join(", ")}.</p>}
      {warnings.map((warning) => (
        <Warning key={warning} text={warning} />
      ))}
      {packages.length > 0 && (
        <div className="mt-2 overflow-x-auto" role="region" aria-label="Packages" tabIndex={0}>
          <table className="w-full text-left text-small">
            <thead className="text-mute">
              <tr className="border-b *:py-1 *:pr-4 *:font-normal">
                <th scope="col">Package</th>
                <th scope="col">Version</th>
                <th scope="col">Size</th>
                <th scope="col">Published</th>
                <th scope="col">Why</th>
              </tr>
            </thead>
            <tbody>
              {packages.map((one) => (
                <PackageRow key={`${one.manager} ${one.name} ${one.version}`} one={one} />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {byHand !== null && (
        <p className="mt-2 text-small">
          Homing does not install packages of the system. Run this yourself on the server:{" "}
          <code className="font-mono [overflow-wrap:anywhere]">{byHand}</code>
        </p>
      )}
    </>
  );
}

function PackageRow({ one }: { one: Package }) {
  return (
    <tr className="border-b align-baseline *:py-1 *:pr-4 *:whitespace-nowrap">
      <th scope="row" className="font-mono text-[0.93em] font-normal">
        {one.name} {one.manager !== "pip" && <span className="text-mute">{one.manager}</span>}
      </th>
      <td className="font-mono text-[0.93em]">{one.version}</td>
      <td>{sizeOf(one.bytes)}</td>
      <td>{one.published === null ? "unknown" : <Published on={one.published} />}</td>
      <td className="text-mute">
        {one.asked ? "asked for" : "needed by others"}
        {one.fresh ? "" : ", there already"}
      </td>
    </tr>
  );
}

/** The day, and how long ago that is. */
function Published({ on }: { on: string }) {
  return (
    <>
      {on} <span className="text-mute">({relativeOf(Date.parse(on), nowMs())})</span>
    </>
  );
}
