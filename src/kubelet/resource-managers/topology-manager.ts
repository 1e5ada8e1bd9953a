// The topology manager: admits a pod if its CPUs, memory and devices can be allocated on suitable
// NUMA nodes, and allocates them there.

import type { Clock } from '#machinery/clock.ts';
import type { Container, Pod } from '../types.ts';
import type { Hint, Hints } from './hints/hint.ts';
import {
  type Merged,
  mergeHints,
  type NumaInfo,
  type TopologyPolicy,
} from './hints/merge-hints.ts';
import { containersOf } from './requests.ts';

export type TopologyScope = 'container' | 'pod';

/** A manager of one kind of resources. */
export interface HintProvider {
  hints(pod: Pod, container: Container): Hints;
  /** Returns hints for all containers of the pod together. */
  podHints(pod: Pod): Hints;
  /**
   * Allocates the container's resources, on the nodes of the hint if possible. Throws, or rejects
   * with, the reason for which the pod cannot run. A provider that does not wait returns undefined.
   */
  allocate(
    pod: Pod,
    container: Container,
    hint: Hint,
    signal: AbortSignal,
  ): Promise<void> | undefined;
}

/** The policy does not admit the pod on the NUMA nodes that are left. */
export class TopologyAffinityError extends Error {
  constructor() {
    super('Resources cannot be allocated with Topology locality');
    this.name = 'TopologyAffinityError';
  }
}

export interface TopologyMetrics {
  topologyRequested(): void;
  topologyRejected(): void;
  /** Records how long the admission of a pod took. */
  topologyDecided(milliseconds: number): void;
  /** Records whether the resources of a pod or container are on one NUMA node. */
  topologyAligned(scope: TopologyScope, isAligned: boolean): void;
}

export interface TopologyManagerConfig {
  readonly policy: TopologyPolicy;
  readonly scope: TopologyScope;
  readonly numa: NumaInfo;
  readonly clock: Clock;
  readonly metrics?: TopologyMetrics;
}

const NO_HINT: Hint = { preferred: false };

export class TopologyManager {
  readonly #config: TopologyManagerConfig;

  constructor(config: TopologyManagerConfig) {
    this.#config = config;
  }

  get policy(): TopologyPolicy {
    return this.#config.policy;
  }

  /**
   * Allocates the resources of all containers of the pod. Rejects with the reason for which the pod
   * cannot run; what its containers have got until then is released when the pod is not active any
   * more. Between a decision and the allocations that do not wait, nothing else happens.
   */
  async admit(pod: Pod, providers: readonly HintProvider[], signal: AbortSignal): Promise<void> {
    const done = this.#measure();
    try {
      for (const step of this.#allocations(pod, providers, signal))
        if (step !== undefined) await step;
    } catch (error) {
      done(false);
      throw error;
    }
    done(true);
  }

  /** Does the same with providers that do not wait. Throws the reason. */
  admitNow(pod: Pod, providers: readonly HintProvider[], signal: AbortSignal): void {
    const done = this.#measure();
    try {
      for (const step of this.#allocations(pod, providers, signal))
        if (step !== undefined) throw new TypeError('a provider waits');
    } catch (error) {
      done(false);
      throw error;
    }
    done(true);
  }

  /** Starts the measurement of an admission. Returns the function that ends it. */
  #measure(): (isAdmitted: boolean) => void {
    const { clock, metrics } = this.#config;
    const start = clock.monotonic();
    metrics?.topologyRequested();
    return (isAdmitted) => {
      metrics?.topologyDecided(clock.monotonic() - start);
      if (!isAdmitted && this.policy !== 'none') metrics?.topologyRejected();
    };
  }

  *#allocations(
    pod: Pod,
    providers: readonly HintProvider[],
    signal: AbortSignal,
  ): Generator<Promise<void> | undefined, void> {
    const { policy, scope } = this.#config;
    const ofPod =
      policy !== 'none' && scope === 'pod'
        ? this.#accept('pod', this.#merge(providers.map((provider) => provider.podHints(pod))))
        : undefined;
    for (const container of containersOf(pod)) {
      const hint = ofPod ?? this.#containerHint(pod, container, providers);
      for (const provider of providers) yield provider.allocate(pod, container, hint, signal);
      if (scope === 'container') this.#count('container', true);
    }
    if (scope === 'pod') this.#count('pod', true);
  }

  #containerHint(pod: Pod, container: Container, providers: readonly HintProvider[]): Hint {
    if (this.#config.policy === 'none') return NO_HINT;
    const hints = providers.map((provider) => provider.hints(pod, container));
    return this.#accept('container', this.#merge(hints));
  }

  #merge(hints: readonly Hints[]): Merged {
    return mergeHints(this.#config.policy, this.#config.numa, hints);
  }

  #accept(scope: TopologyScope, { hint, admit }: Merged): Hint {
    if (admit) return hint;
    this.#count(scope, false);
    throw new TopologyAffinityError();
  }

  #count(scope: TopologyScope, isAligned: boolean): void {
    const { policy, metrics } = this.#config;
    // Only this policy guarantees that resources are on one node.
    if (policy === 'single-numa-node') metrics?.topologyAligned(scope, isAligned);
  }
}
