// The two sides of `npm run versus`, behind one interface: a cluster of ours, and upstream's four
// programs.

import type { Target } from '../built-cluster.ts';

/** A cluster that runs and is ready. */
export interface RunningSide {
  /** The administrator. */
  readonly target: Target;
  /** From the start of its first process until it was ready, in ms. */
  readonly readyMs: number;
  /** By name of the program: the processes that it consists of. */
  readonly pids: Readonly<Record<string, number>>;
  /** Ends its processes and removes its data. */
  stop(): Promise<void>;
}

export interface Side {
  readonly name: 'coxswain' | 'upstream';
  start(): Promise<RunningSide>;
}
