// Extenders: external servers that take part in scheduling. They are called after the plugins, with
// the nodes that the plugins leave.

import type { Node, Pod } from './objects.ts';
import type { PodInfo } from './pod-info.ts';

/** Represents extenders among the plugins that rejected a pod. Every event retries such a pod. */
export const EXTENDERS = '(extenders)';

/** The extender cannot be reached, or its response is invalid. */
export class ExtenderError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'ExtenderError';
  }
}

export interface FilterAnswer {
  /** The names of the nodes that pass. */
  readonly passing: readonly string[];
  /** The reasons why other nodes fail, by name: removing pods from the node may help. */
  readonly failed: Readonly<Record<string, string>>;
  /** The reasons why other nodes fail, by name: removing pods does not help. */
  readonly unresolvable: Readonly<Record<string, string>>;
}

/** The victims on a node. */
export interface ExtenderVictims {
  readonly pods: readonly PodInfo[];
  readonly violations: number;
}

/** The common interface of all extenders for preemption. */
export interface PreemptionExtenders {
  /** Reports whether an extender must be called about victims of this pod. */
  preempts(pod: PodInfo): boolean;
  /**
   * Returns the candidates that the extenders leave, with their victims. `podsOn`: returns the pods
   * on a node.
   */
  preempt(
    pod: PodInfo,
    candidates: ReadonlyMap<string, ExtenderVictims>,
    podsOn: (node: string) => Iterable<PodInfo> | undefined,
  ): Promise<ReadonlyMap<string, ExtenderVictims>>;
}

/** An extender. All methods throw ExtenderError. Unsupported methods are absent. */
export interface Extender {
  /** The name for logs. */
  readonly name: string;
  /** Whether scheduling continues if the extender fails. */
  readonly ignorable: boolean;
  /** Reports whether the extender must be called for this pod. */
  isInterested(pod: Pod): boolean;
  readonly filter?: (
    pod: Pod,
    nodes: readonly Node[],
    signal: AbortSignal,
  ) => Promise<FilterAnswer>;
  /**
   * Returns scores by node, from 0 to 10, which are multiplied by `weight` and added to the
   * plugins' scores.
   */
  readonly prioritize?: (
    pod: Pod,
    nodes: readonly Node[],
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, number>>;
  readonly weight: number;
  /**
   * Excludes candidates, or changes their victims. `podsOn`: returns the pods on a node, to resolve
   * the victims that the extender names.
   */
  readonly preempt?: (
    pod: Pod,
    candidates: ReadonlyMap<string, ExtenderVictims>,
    podsOn: (node: string) => Iterable<PodInfo> | undefined,
    signal: AbortSignal,
  ) => Promise<ReadonlyMap<string, ExtenderVictims>>;
  readonly bind?: (pod: Pod, node: string, signal: AbortSignal) => Promise<void>;
}
