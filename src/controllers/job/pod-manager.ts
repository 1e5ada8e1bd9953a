// Creates and deletes the pods of jobs.

import { type Job, jobs } from '#api/groups/batch/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { ControllerExpectations } from '#client/expectations.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { claimantOf } from '../claim.ts';
import { newControllerRef } from '../controller-ref.ts';
import { isNamespaceTerminating, type PodControl } from '../pod-control.ts';
import { isPodReady } from '../pod-state.ts';
import { slowStartBatch } from '../slow-start.ts';
import type { JobBackoff } from './backoff.ts';
import type { Facts } from './facts.ts';
import { nextIndexes } from './indexes.ts';
import { indexOf, replacesOnlyFailed, templateFor } from './job-pods.ts';
import type { JobMetrics, SyncAction } from './metrics.ts';
import { indexWaitMs, surplusPods, wantedPods } from './sizes.ts';
import type { Verdict } from './verdict.ts';

type ReadJob = Immutable<Job>;
type ReadPod = Immutable<Pod>;

/** The maximum number of pods that one reconcile creates, or deletes. */
const BURST = 500;

/** The pods of a job after some were created or deleted. */
export interface ManagedPods {
  readonly action: SyncAction;
  readonly active: number;
  readonly ready: number;
  readonly terminating: number;
  /** In how many milliseconds delayed pods may be created. */
  readonly againInMs?: number;
  readonly failure?: unknown;
}

export interface PodManagerConfig {
  readonly clock: Clock;
  readonly podControl: PodControl;
  readonly expectations: ControllerExpectations;
  readonly backoff: JobBackoff;
  readonly metrics: JobMetrics;
}

export class PodManager {
  readonly #clock: Clock;
  readonly #podControl: PodControl;
  readonly #expectations: ControllerExpectations;
  readonly #backoff: JobBackoff;
  readonly #metrics: JobMetrics;

  constructor({ clock, podControl, expectations, backoff, metrics }: PodManagerConfig) {
    this.#clock = clock;
    this.#podControl = podControl;
    this.#expectations = expectations;
    this.#backoff = backoff;
    this.#metrics = metrics;
  }

  /** Creates and deletes pods. If the job has ended or is suspended, deletes all active pods. */
  async manage(
    key: string,
    job: ReadJob,
    facts: Facts,
    verdict: Verdict | undefined,
    signal: AbortSignal,
  ): Promise<ManagedPods> {
    const { active } = facts;
    const idle: ManagedPods = {
      action: 'tracking',
      active: active.length,
      ready: active.filter(isPodReady).length,
      terminating: facts.terminating,
    };
    if (
      !this.#expectations.satisfiedExpectations(key) ||
      job.metadata.deletionTimestamp !== undefined
    )
      return idle;
    if (verdict !== undefined || job.spec.suspend === true)
      return this.#delete(key, job, facts, active, signal);
    const counted = active.length + (replacesOnlyFailed(job) ? facts.terminating : 0);
    const wanted = wantedPods(job, facts, counted);
    const surplus = surplusPods(job, active, counted - wanted, this.#clock.now());
    if (surplus.length > 0) return this.#delete(key, job, facts, surplus, signal);
    if (counted >= wanted) return idle;
    const nowMs = this.#clock.now();
    const waitMs =
      facts.indexes?.failed === undefined ? this.#backoff.remainingMs(job.metadata.uid, nowMs) : 0;
    if (waitMs > 0) return { ...idle, againInMs: waitMs };
    return this.#create(key, job, facts, Math.min(wanted - counted, BURST), idle, signal);
  }

  async #create(
    key: string,
    job: ReadJob,
    facts: Facts,
    count: number,
    idle: ManagedPods,
    signal: AbortSignal,
  ): Promise<ManagedPods> {
    const { indexes } = facts;
    const nowMs = this.#clock.now();
    let againInMs: number | undefined;
    let slots: readonly (number | undefined)[] = Array.from({ length: count }, () => undefined);
    if (indexes !== undefined) {
      const taken = new Set(facts.holding.flatMap((pod) => indexOf(pod) ?? []));
      slots = nextIndexes(job, indexes, taken, count).filter((index) => {
        const waitMs = indexWaitMs(job, indexes, index, nowMs);
        if (waitMs > 0) againInMs = Math.min(againInMs ?? Number.POSITIVE_INFINITY, waitMs);
        return waitMs === 0;
      });
    }
    const owner = claimantOf(jobs, job);
    const reference = newControllerRef(job.metadata, owner);
    const pending = slots.values();
    this.#expectations.expectCreations(key, slots.length);
    let refused = 0;
    const { successes, failure } = await slowStartBatch(slots.length, 1, async () => {
      const { value: index } = pending.next();
      const failures = (index === undefined ? undefined : indexes?.failures.get(index)) ?? {
        counted: 0,
        ignored: 0,
      };
      const baseName = index === undefined ? job.metadata.name : `${job.metadata.name}-${index}`;
      const made = this.#podControl.create(
        owner,
        templateFor(job, index, failures),
        reference,
        signal,
        baseName,
      );
      await made.catch((error: unknown) => {
        refused++;
        throw error;
      });
    });
    for (let i = successes; i < slots.length; i++) this.#expectations.creationObserved(key);
    this.#metrics.created(job, facts, successes, refused);
    return {
      ...idle,
      action: 'pods_created',
      active: idle.active + successes,
      ...(againInMs !== undefined && { againInMs }),
      ...(failure !== undefined && !isNamespaceTerminating(failure) && { failure }),
    };
  }

  async #delete(
    key: string,
    job: ReadJob,
    facts: Facts,
    doomed: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<ManagedPods> {
    const chosen = doomed.slice(0, BURST);
    this.#expectations.expectDeletions(
      key,
      chosen.map(({ metadata }) => metadata.uid),
    );
    const results = await Promise.allSettled(
      chosen.map(async (pod) => {
        try {
          await this.#podControl.delete(claimantOf(jobs, job), pod, signal);
        } catch (error) {
          this.#expectations.deletionObserved(key, pod.metadata.uid);
          if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
        }
      }),
    );
    const failed = results.filter((result) => result.status === 'rejected');
    const gone = chosen.filter((_, index) => results[index]?.status === 'fulfilled');
    const left = facts.active.filter((pod) => !gone.includes(pod));
    return {
      action: 'pods_deleted',
      active: left.length,
      ready: left.filter(isPodReady).length,
      terminating: facts.terminating + gone.length,
      ...(failed[0] !== undefined && { failure: failed[0].reason }),
    };
  }
}
