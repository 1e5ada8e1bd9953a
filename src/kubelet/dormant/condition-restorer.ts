// Writes conditions of pods again that another client has changed, at nodes without a kubelet that
// has begun. The node lifecycle controller does so to all pods of a node that is late; a kubelet for
// each such node would make more nodes late.

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { deepEqual } from '#machinery/deep.ts';
import type { Logger } from '#machinery/log.ts';
import { formatTime } from '#machinery/text/time.ts';
import { OWNED_CONDITIONS } from '../status/conditions.ts';
import { statusPatch } from '../status/status-diff.ts';
import type { PodWriter } from '../status/status-manager.ts';
import { describePod, podUid, type Pod, type PodCondition, type PodStatus } from '../types.ts';
import { isPodAtRest } from './at-rest.ts';

export interface ConditionRestorerConfig {
  readonly clock: Clock;
  readonly logger: Logger;
  /** Ends all writes. */
  readonly signal: AbortSignal;
  /** Returns the writer with the rights of the node's kubelet. */
  readonly writerOf: (nodeName: string) => Pick<PodWriter, 'patchStatus'>;
  /** Called if a status was not written: a kubelet has to do it. */
  readonly onFailure: (nodeName: string) => void;
}

export class ConditionRestorer {
  readonly #config: ConditionRestorerConfig;
  /** By UID: the statuses that are being written. */
  readonly #written = new Map<string, PodStatus>();

  constructor(config: ConditionRestorerConfig) {
    this.#config = config;
  }

  /**
   * Takes a change of a pod that was at rest, if a kubelet would do nothing but write its conditions
   * again. Returns false for every other change.
   */
  takes(before: Pod, after: Pod): boolean {
    const uid = podUid(after);
    const written = this.#written.get(uid);
    const own = written ?? (isPodAtRest(before) ? before.status : undefined);
    this.#written.delete(uid);
    if (own === undefined || !sameBesidesStatus(before, after)) return false;
    if (written !== undefined && deepEqual(after.status, written)) return true;
    const restored = restoredStatus(own, after.status, formatTime(this.#config.clock.now()));
    if (restored === undefined || !isPodAtRest({ ...after, status: restored })) return false;
    const patch = statusPatch(after.status, restored);
    if (patch === undefined) return true;
    this.#written.set(uid, restored);
    void this.#write(after, patch);
    return true;
  }

  /** Forgets a pod that is gone, or whose node has a kubelet. */
  forget(pod: Pod): void {
    this.#written.delete(podUid(pod));
  }

  async #write(pod: Pod, patch: Readonly<Record<string, unknown>>): Promise<void> {
    const { writerOf, signal, logger, onFailure } = this.#config;
    const { nodeName = '' } = pod.spec;
    try {
      await writerOf(nodeName).patchStatus(pod, patch, signal);
    } catch (error) {
      this.forget(pod);
      if (signal.aborted || apierrors.isNotFound(error)) return;
      logger.warn('conditions not written again', { pod: describePod(pod), err: error });
      onFailure(nodeName);
    }
  }
}

function sameBesidesStatus(before: Pod, after: Pod): boolean {
  return deepEqual(comparable(before), comparable(after)) && deepEqual(before.spec, after.spec);
}

function comparable({ metadata }: Pod): object {
  return { ...metadata, resourceVersion: '', managedFields: [] };
}

/**
 * Returns the changed status with the kubelet's own conditions as they were, with their transition
 * times as the status manager sets them. Undefined: anything else has changed.
 */
function restoredStatus(own: PodStatus, changed: PodStatus, now: string): PodStatus | undefined {
  const conditions = changed.conditions ?? [];
  const before = new Map((own.conditions ?? []).map((condition) => [condition.type, condition]));
  if (
    before.size !== conditions.length ||
    !deepEqual({ ...own, conditions: [] }, { ...changed, conditions: [] })
  )
    return undefined;
  const restored: PodCondition[] = [];
  for (const condition of conditions) {
    const last = before.get(condition.type);
    if (last === undefined) return undefined;
    if (!OWNED_CONDITIONS.includes(condition.type)) {
      if (!deepEqual(last, condition)) return undefined;
      restored.push(condition);
      continue;
    }
    const since = last.status === condition.status ? condition.lastTransitionTime : null;
    restored.push({ ...last, lastTransitionTime: since ?? now });
  }
  return { ...changed, conditions: restored };
}
