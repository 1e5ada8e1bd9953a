// Keeps an error in one page from taking the frame with it.

import { Component, type ReactNode } from 'react';
import { ErrorBox } from './basics.tsx';

interface Props {
  /** Another key shows the children again. */
  readonly resetKey: string;
  readonly children: ReactNode;
}

interface State {
  readonly error?: unknown;
  readonly key: string;
}

export class ErrorBoundary extends Component<Props, State> {
  override state: State = { key: this.props.resetKey };

  static getDerivedStateFromError(error: unknown): Partial<State> {
    return { error };
  }

  static getDerivedStateFromProps(props: Props, state: State): State | null {
    return props.resetKey === state.key ? null : { key: props.resetKey, error: undefined };
  }

  override render(): ReactNode {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return (
      <ErrorBox
        title="This page has an error"
        error={error}
        onRetry={() => this.setState({ error: undefined })}
      />
    );
  }
}
