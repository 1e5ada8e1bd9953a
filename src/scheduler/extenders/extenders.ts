// All extenders of a scheduler, and the combination of their responses.

import type { Logger } from '#machinery/log.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { NodeToStatus } from '../framework/node-to-status.ts';
import type { Node, Pod } from '../framework/objects.ts';
import { MAX_NODE_SCORE } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import {
  EXTENDERS,
  type Extender,
  ExtenderError,
  type ExtenderVictims,
  type FilterAnswer,
  type PreemptionExtenders,
} from '../framework/extender.ts';

/** The maximum score of an extender; the minimum is 0. */
const MAX_EXTENDER_SCORE = 10;

export interface ExtendersConfig {
  /** The extenders, in the order of their calls. */
  readonly extenders: readonly Extender[];
  readonly logger: Logger;
  /** Aborts calls in flight. */
  readonly signal: AbortSignal;
}

export class Extenders implements PreemptionExtenders {
  readonly #config: ExtendersConfig;
  /** Whether an extender filters or scores, so that more than one feasible node is needed. */
  readonly narrow: boolean;

  constructor(config: ExtendersConfig) {
    this.#config = config;
    this.narrow = config.extenders.some(
      ({ filter, prioritize }) => filter !== undefined || prioritize !== undefined,
    );
  }

  get none(): boolean {
    return this.#config.extenders.length === 0;
  }

  /**
   * Returns the nodes that all extenders leave; the reasons for the others are added to `statuses`.
   */
  async filter(
    pod: PodInfo,
    nodes: readonly NodeInfo[],
    statuses: NodeToStatus,
  ): Promise<readonly NodeInfo[]> {
    let left = nodes;
    for (const extender of this.#interested(pod.pod)) {
      if (left.length === 0) break;
      const { filter } = extender;
      if (filter === undefined) continue;
      const answer = await this.#orIgnore(extender, 'filter', () =>
        filter(pod.pod, objectsOf(left), this.#config.signal),
      );
      if (answer === undefined) continue;
      const passing = new Set(answer.passing);
      for (const node of left) {
        const status = passing.has(node.name) ? undefined : refusal(node.name, answer);
        if (status !== undefined) statuses.set(node, status);
      }
      left = left.filter(({ name }) => passing.has(name));
    }
    return left;
  }

  /**
   * Adds the extenders' scores to the plugins' scores, in place. A failed extender adds nothing.
   */
  async addScores(pod: PodInfo, nodes: readonly NodeInfo[], scores: number[]): Promise<void> {
    const { logger, signal } = this.#config;
    const objects = objectsOf(nodes);
    const all = this.#interested(pod.pod).map(async ({ name, prioritize, weight }) => {
      try {
        return { weight, byNode: await prioritize?.(pod.pod, objects, signal) };
      } catch (error) {
        logger.warn('an extender could not be asked for scores', {
          extender: name,
          pod: pod.key,
          err: error,
        });
        return { weight, byNode: undefined };
      }
    });
    for (const { weight, byNode } of await Promise.all(all)) {
      if (byNode === undefined) continue;
      nodes.forEach(({ name }, i) => {
        scores[i] =
          scores[i]! + (byNode.get(name) ?? 0) * weight * (MAX_NODE_SCORE / MAX_EXTENDER_SCORE);
      });
    }
  }

  /** Reports whether an extender must be called about victims of this pod. */
  preempts(pod: PodInfo): boolean {
    return this.#interested(pod.pod).some(({ preempt }) => preempt !== undefined);
  }

  /** Returns the candidates that the extenders leave, with their victims. */
  async preempt(
    pod: PodInfo,
    candidates: ReadonlyMap<string, ExtenderVictims>,
    podsOn: (node: string) => Iterable<PodInfo> | undefined,
  ): Promise<ReadonlyMap<string, ExtenderVictims>> {
    let left = candidates;
    for (const extender of this.#interested(pod.pod)) {
      const { preempt } = extender;
      if (preempt === undefined || left.size === 0) continue;
      const asked = left;
      const answer = await this.#orIgnore(extender, 'preemption', () =>
        preempt(pod.pod, asked, podsOn, this.#config.signal),
      );
      if (answer === undefined) continue;
      const valid = [...answer].filter(([node, { pods }]) => {
        if (pods.length > 0) return true;
        if (extender.ignorable) return false;
        throw new ExtenderError(`expected at least one victim pod on node "${node}"`);
      });
      left = new Map(valid);
    }
    return left;
  }

  /** Returns whether an extender has bound the pod. Throws if the responsible extender fails. */
  async bind(pod: Pod, node: string): Promise<boolean> {
    for (const extender of this.#interested(pod)) {
      const { bind } = extender;
      if (bind === undefined) continue;
      const bound = await this.#orIgnore(extender, 'bind', async () => {
        await bind(pod, node, this.#config.signal);
        return true;
      });
      if (bound === true) return true;
    }
    return false;
  }

  /** Reports whether an extender binds this pod. */
  binds(pod: Pod): boolean {
    return this.#interested(pod).some(({ bind }) => bind !== undefined);
  }

  #interested(pod: Pod): readonly Extender[] {
    return this.#config.extenders.filter((extender) => extender.isInterested(pod));
  }

  /** Runs a call. Returns undefined if an ignorable extender failed. */
  async #orIgnore<T>(
    { name, ignorable }: Extender,
    what: string,
    call: () => Promise<T>,
  ): Promise<T | undefined> {
    try {
      return await call();
    } catch (error) {
      if (!ignorable) throw error;
      this.#config.logger.warn('an extender failed; scheduling goes on without it', {
        extender: name,
        what,
        err: error,
      });
      return undefined;
    }
  }
}

/** Returns the status of a rejected node; undefined without a reason. */
function refusal(node: string, { failed, unresolvable }: FilterAnswer): Status | undefined {
  const hopeless = Object.hasOwn(unresolvable, node) ? unresolvable[node] : undefined;
  if (hopeless !== undefined)
    return new Status('UnschedulableAndUnresolvable', [hopeless], EXTENDERS);
  const why = Object.hasOwn(failed, node) ? failed[node] : undefined;
  return why === undefined ? undefined : new Status('Unschedulable', [why], EXTENDERS);
}

function objectsOf(nodes: readonly NodeInfo[]): readonly Node[] {
  return nodes.flatMap(({ node }) => node ?? []);
}
