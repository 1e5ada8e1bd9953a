// Extenders: servers outside that have a say in scheduling. They are asked after the plugins, and
// only about what those leave.

import type { Node, Pod } from './objects.ts';
import type { PodInfo } from './pod-info.ts';

/** Stands for extenders among the plugins that rejected a pod. Every event retries such a pod. */
export const EXTENDERS = '(extenders)';

/** An extender was not reached, or its answer makes no sense. */
export class ExtenderError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'ExtenderError';
  }
}

export interface FilterAnswer {
  /** The names of those that pass, among those that were asked about. */
  readonly passing: readonly string[];
  /** Why others do not, by name: removing pods from the node may help, … */
  readonly failed: Readonly<Record<string, string>>;
  /** … or will not. */
  readonly unresolvable: Readonly<Record<string, string>>;
}

/** The pods that would have to go from a node. */
export interface ExtenderVictims {
  readonly pods: readonly PodInfo[];
  readonly violations: number;
}

/** The interface of all extenders together for preemption. */
export interface PreemptionExtenders {
  /** Reports whether an extender has to be asked about victims of this pod. */
  preempts(pod: PodInfo): boolean;
  /**
   * Returns the candidates that the extenders leave, with the victims that they want. `podsOn`: the
   * pods on a node.
   */
  preempt(
    pod: PodInfo,
    candidates: ReadonlyMap<string, ExtenderVictims>,
    podsOn: (node: string) => Iterable<PodInfo> | undefined,
  ): Promise<ReadonlyMap<string, ExtenderVictims>>;
}

/** All calls throw ExtenderError. What it does not do is absent. */
export interface Extender {
  /** For logs. */
  readonly name: string;
  /** Scheduling goes on without it if it fails. */
  readonly ignorable: boolean;
  /** Whether it has a say about this pod. */
  isInterested(pod: Pod): boolean;
  readonly filter?: (
    pod: Pod,
    nodes: readonly Node[],
    signal: AbortSignal,
  ) => Promise<FilterAnswer>;
  /**
   * Scores by node, to be multiplied by `weight` and added to those of the plugins: from 0 to 10.
   */
  readonly prioritize?: (
    pod: Pod,
    nodes: readonly Node[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, number>>;
  readonly weight: number;
  /**
   * Leaves candidates out, or changes their victims. `podsOn`: the pods on a node, to find those
   * that it names.
   */
  readonly preempt?: (
    pod: Pod,
    candidates: ReadonlyMap<string, ExtenderVictims>,
    podsOn: (node: string) => Iterable<PodInfo> | undefined,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, ExtenderVictims>>;
  readonly bind?: (pod: Pod, node: string, signal: AbortSignal) => Promise<void>;
}
