// The last net: a page that broke says so and offers to begin again, instead of leaving white paper.
import { Component, type ReactNode } from "react";
import { Blank } from "./Blank";

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
          <p>That is a fault of ours. Nothing of yours is lost.</p>
          <button type="button" className="button mt-4" onClick={() => location.reload()}>
            Load it again
          </button>
        </Blank>
      </div>
    );
  }
}
