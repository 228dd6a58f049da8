// Error boundaries: a part that fails to render says so, and the rest of the screen stays.
import { Component, type ReactNode } from "react";
import { EmptyState } from "./EmptyState";

/** Shows `fallback` in place of a part that failed to render. */
export class ErrorBoundary extends Component<{ children: ReactNode; fallback: ReactNode }, { broken: boolean }> {
  override state = { broken: false };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  override render() {
    return this.state.broken ? this.props.fallback : this.props.children;
  }
}

/** A page that failed to render offers to load again. */
export class PageErrorBoundary extends Component<
  { children: ReactNode; path: string },
  { broken: boolean; path: string }
> {
  override state = { broken: false, path: this.props.path };

  static getDerivedStateFromError() {
    return { broken: true };
  }

  /** Another address starts without the error. */
  static getDerivedStateFromProps(props: { path: string }, state: { path: string }) {
    return props.path === state.path ? null : { broken: false, path: props.path };
  }

  override render() {
    if (!this.state.broken) return this.props.children;
    return (
      <div role="alert">
        <EmptyState icon="note" title="This page broke">
          <p>This is a bug in Homing. Nothing you wrote is lost.</p>
          <button type="button" className="button mt-4" onClick={() => location.reload()}>
            Load it again
          </button>
        </EmptyState>
      </div>
    );
  }
}
