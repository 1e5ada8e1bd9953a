// The last decisions of a scheduler. Scores are kept only while the decisions are being read: a busy
// scheduler makes thousands of decisions a second.

import type { Clock } from '#machinery/clock.ts';

export interface Decision {
  /** When it was made, in ms since the epoch. */
  readonly timeMs: number;
  readonly profile: string;
  readonly namespace: string;
  readonly pod: string;
  readonly uid: string;
  /** The chosen node; '' if the pod fits nowhere. */
  readonly node: string;
  /** The reason that the pod fits nowhere; '' if it has a node. */
  readonly message: string;
  /** The node on which preemption makes room; '' if there is none. */
  readonly nominatedNode: string;
  /** The number of nodes that were evaluated, and of those that were feasible. */
  readonly evaluatedNodes: number;
  readonly feasibleNodes: number;
  /** The feasible nodes with the highest scores, highest first. Empty if they were not kept. */
  readonly scores: readonly NodeScore[];
}

export interface NodeScore {
  readonly node: string;
  readonly score: number;
}

/** The number of decisions that are kept. */
const KEPT = 200;
/** The number of nodes in the scores of a decision. */
const TOP_NODES = 5;
/** Scores are kept for this time after the decisions were read, in ms. */
const WATCHED_MS = 60_000;

export class DecisionLog {
  readonly #clock: Clock;
  /** A ring; #next is the oldest one if it is full. */
  readonly #ring: Decision[] = [];
  #next = 0;
  #readMs = -Infinity;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reports whether scores are wanted. */
  get wantsScores(): boolean {
    return this.#clock.monotonic() - this.#readMs < WATCHED_MS;
  }

  add(decision: Omit<Decision, 'timeMs'>): void {
    this.#ring[this.#next] = { timeMs: this.#clock.now(), ...decision };
    this.#next = (this.#next + 1) % KEPT;
  }

  /** Returns the decisions, latest first. From now on scores are kept for a while. */
  read(): readonly Decision[] {
    this.#readMs = this.#clock.monotonic();
    return [...this.#ring.slice(this.#next), ...this.#ring.slice(0, this.#next)].reverse();
  }
}

/** Returns the nodes with the highest scores, highest first. */
export function topScores(
  nodes: readonly { readonly name: string }[],
  scores: readonly number[],
): readonly NodeScore[] {
  const top: NodeScore[] = [];
  for (let i = 0; i < scores.length; i++) {
    const score = scores[i]!;
    if (top.length === TOP_NODES && score <= top.at(-1)!.score) continue;
    const at = top.findIndex((each) => each.score < score);
    top.splice(at < 0 ? top.length : at, 0, { node: nodes[i]!.name, score });
    if (top.length > TOP_NODES) top.pop();
  }
  return top;
}
