// The two sides of `npm run versus`, behind one interface: a cluster of ours, and upstream's four
// programs.

import type { Target } from '../built-cluster.ts';

/** A cluster that runs and is ready. */
export interface RunningSide {
  /** Credentials of the administrator. */
  readonly target: Target;
  /** The time from the start of its first process until it was ready, in ms. */
  readonly readyMs: number;
  /** Process ids by the program's name. */
  readonly pids: Readonly<Record<string, number>>;
  /** Ends its processes and removes its data. */
  stop(): Promise<void>;
}

export interface Side {
  readonly name: string;
  start(): Promise<RunningSide>;
}
