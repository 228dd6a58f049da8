// Error boundaries: what breaks says so, and the rest of the screen goes on.
import { Component, type ReactNode } from "react";
import { Blank } from "./Blank";

/** Draws something else in place of a part that broke. */
export class Fallback extends Component<{ children: ReactNode; to: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    return this.state.broken ? this.props.to : this.props.children;
  }
}

/** A page that broke offers to load again, instead of leaving white paper. */
export class Net extends Component<{ children: ReactNode; on: string }, { broken: boolean; on: string }> {
  override state = { broken: false, on: this.props.on };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  /** Going elsewhere is a new beginning. */
  static getDerivedStateFromProps(props: { on: string }, state: { on: string }) {
    return props.on === state.on ? null : { broken: false, on: props.on };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div role="alert">
        <Blank icon="note" title="This page broke">
          <p>This is a bug in Homing. Nothing you wrote is lost.</p>
          <button type="button" className="button mt-4" onClick={() => location.reload()}>
            Load it again
          </button>
        </Blank>
      </div>
    );
  }
}
