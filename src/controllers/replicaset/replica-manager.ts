// Keeps the number of pods of every ReplicaSet, or of every ReplicationController, at its
// spec.replicas.
//
// A key is reconciled from the informers' caches alone, which lag behind this controller's own
// writes: expectations (client/expectations.ts) delay decisions until the caches have caught up.
// Keys do not wait for each other.

import { type Pod, pods } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeueAfter } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import {
  type Counter,
  exponentialBuckets,
  type Histogram,
  Instruments,
} from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import { decideClaims } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, byController, controllerOf, newControllerRef } from '../controller-ref.ts';
import type { Dependents } from '../dependents.ts';
import { staleSyncSkips } from '../own-writes.ts';
import { PodBatching } from '../pod-batching.ts';
import { PodControl, isNamespaceTerminating } from '../pod-control.ts';
import { isPodActive, isPodTerminating } from '../pod-state.ts';
import { slowStartBatch } from '../slow-start.ts';
import { ageRatios, choosePodsToDelete } from './deletion-ranking.ts';
import type { ReplicaKind, ReplicaOwner } from './replica-owner.ts';
import { calculateStatus, nextAvailability, sameStatus } from './status.ts';

type ReadPod = Immutable<Pod>;

export interface ReplicaManagerConfig<T extends KubeObject> extends ControllerConfig {
  readonly kind: ReplicaKind<T>;
  /**
   * The number of keys that are reconciled at once. Default: 32, because a reconcile spends most of
   * its time waiting for writes.
   */
  readonly workers?: number;
  /** The maximum number of pods that one reconcile creates or deletes. Default: 500. */
  readonly burstReplicas?: number;
}

/** The size of the first batch of creations, see slowStartBatch. */
const INITIAL_BATCH = 1;

export class ReplicaManager<T extends KubeObject> implements Controller {
  readonly name: string;
  readonly run: Controller['run'];
  readonly #config: ReplicaManagerConfig<T>;
  readonly #kind: ReplicaKind<T>;
  readonly #burstReplicas: number;
  readonly #owners: SharedInformer<Immutable<T>>;
  readonly #pods: Dependents<T, Pod>;
  readonly #expectations: ControllerExpectations;
  readonly #podControl: PodControl;
  /** Counts reconciles that changed no pods because the cache lacked own writes. */
  readonly #skips: Counter;
  readonly #ageRatios: Histogram;
  readonly #batching = new PodBatching();

  constructor(config: ReplicaManagerConfig<T>) {
    const { client, clock, kind, workers = 32 } = config;
    this.name = kind.component;
    this.#config = config;
    this.#kind = kind;
    this.#burstReplicas = config.burstReplicas ?? 500;
    const instruments = config.instruments ?? new Instruments();
    this.#skips = staleSyncSkips(instruments, 'replicaset_controller').with('', 'pods');
    const help =
      'How many times as old as the youngest pod those are that are deleted for a smaller number, ready ones only.';
    const ratio = { name: 'replicaset_controller_sorting_deletion_age_ratio', help };
    this.#ageRatios = instruments.histogram(ratio, exponentialBuckets(0.25, 2, 6)).with();
    const expectations = new ControllerExpectations({ clock });
    this.#expectations = expectations;
    const builder = new ControllerBuilder(config, {
      queue: kind.queueName,
      workers,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#podControl = new PodControl({ client, recorder: builder.recorder(kind.component) });
    // Siblings are owners that share a controller: the ReplicaSets of a Deployment.
    this.#owners = builder.for(kind.type, {
      expectations,
      indexers: { [BY_CONTROLLER]: byController },
    });
    this.#pods = builder.owns<T, Pod>(pods, {
      ownerType: kind.type,
      owners: this.#owners.lister,
      selectorOf: (owner) => kind.view(owner).selector,
      expectations,
      enqueue: (key) => builder.queue.addAfter(key, this.#batching.delayMs(key)),
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.#owners.lister.getByKey(key);
    if (object === undefined) {
      this.#expectations.deleteExpectations(key);
      this.#batching.forget(key);
      return reconciled;
    }
    const owner = this.#kind.view(object);
    const isCaughtUp = this.#expectations.satisfiedExpectations(key);
    if (!isCaughtUp) this.#skips.value++;
    const mayManage = isCaughtUp && owner.metadata.deletionTimestamp === undefined;
    const related = this.#pods.candidates(object);
    this.#batching.record(key, related.length);
    const active = await this.#pods.claim(object, signal, related.filter(isPodActive));
    const terminating = decideClaims(owner, owner.selector, related.filter(isPodTerminating)).owned
      .length;
    const failure = mayManage ? await this.#manage(key, owner, active, signal) : undefined;
    const nowMs = this.#config.clock.now();
    const status = calculateStatus({ owner, active, terminating, failure, nowMs });
    await this.#writeStatus(object, owner, status, signal);
    if (failure !== undefined) throw failure;
    return this.#next(key, owner, active, nowMs);
  }

  /** Returns when to reconcile again if no event arrives until then. */
  #next(
    key: string,
    owner: ReplicaOwner,
    active: readonly ReadPod[],
    nowMs: number,
  ): ReconcileResult {
    const delays: number[] = [];
    const availability = nextAvailability(active, owner.minReadySeconds, nowMs);
    if (availability !== undefined) delays.push(availability);
    if (!this.#expectations.satisfiedExpectations(key))
      delays.push(this.#expectations.remainingMs(key));
    return delays.length === 0 ? reconciled : requeueAfter(Math.min(...delays));
  }

  /**
   * Creates missing pods or deletes surplus ones. Returns the first error; undefined on success.
   */
  async #manage(
    key: string,
    owner: ReplicaOwner,
    active: readonly ReadPod[],
    signal: AbortSignal,
  ): Promise<unknown> {
    const missing = owner.replicas - active.length;
    if (missing > 0)
      return this.#create(key, owner, Math.min(missing, this.#burstReplicas), signal);
    if (missing < 0)
      return this.#delete(key, owner, active, Math.min(-missing, this.#burstReplicas), signal);
    return undefined;
  }

  async #create(
    key: string,
    owner: ReplicaOwner,
    count: number,
    signal: AbortSignal,
  ): Promise<unknown> {
    const reference = newControllerRef(owner.metadata, owner);
    this.#expectations.expectCreations(key, count);
    const { successes, failure } = await slowStartBatch(count, INITIAL_BATCH, () =>
      this.#podControl.create(owner, owner.template, reference, signal),
    );
    // Failed or skipped creations will not be observed.
    for (let i = successes; i < count; i++) this.#expectations.creationObserved(key);
    // Nothing can be created in a terminating namespace, so a retry would not help.
    return isNamespaceTerminating(failure) ? undefined : failure;
  }

  async #delete(
    key: string,
    owner: ReplicaOwner,
    active: readonly ReadPod[],
    count: number,
    signal: AbortSignal,
  ): Promise<unknown> {
    const nowMs = this.#config.clock.now();
    const chosen = choosePodsToDelete(active, this.#siblingPods(owner, active), count, nowMs);
    if (chosen.length < active.length)
      for (const ratio of ageRatios(active, chosen, nowMs)) this.#ageRatios.observe(ratio);
    this.#expectations.expectDeletions(
      key,
      chosen.map((pod) => pod.metadata.uid),
    );
    const results = await Promise.allSettled(
      chosen.map(async (pod) => {
        try {
          await this.#podControl.delete(owner, pod, signal);
        } catch (error) {
          // No event of this deletion will come.
          this.#expectations.deletionObserved(key, pod.metadata.uid);
          // The pod is gone, or another pod has its name: the deletion has its effect.
          if (!apierrors.isNotFound(error) && !apierrors.isConflict(error)) throw error;
        }
      }),
    );
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  /**
   * Returns the pods that count for the ranking by node: also the pods of the other ReplicaSets of
   * the same Deployment.
   */
  #siblingPods(owner: ReplicaOwner, active: readonly ReadPod[]): readonly ReadPod[] {
    const controller = controllerOf(owner);
    if (controller === undefined) return active;
    const found = new Map(active.map((pod) => [pod.metadata.uid, pod]));
    for (const sibling of this.#owners.lister.byIndex(BY_CONTROLLER, controller.uid)) {
      for (const pod of this.#pods.controlledBy(sibling)) found.set(pod.metadata.uid, pod);
    }
    return [...found.values()];
  }

  /** Writes a changed status. After a conflict, retries once with the new version. */
  async #writeStatus(
    object: Immutable<T>,
    owner: ReplicaOwner,
    status: ReplicaOwner['status'],
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = this.#kind.view(this.#kind.withStatus(object, status)).status;
    if (sameStatus(owner.status, wanted)) return;
    const client = this.#config.client
      .resource(this.#kind.type)
      .namespace(owner.metadata.namespace ?? '');
    try {
      await client.updateStatus(this.#kind.withStatus(object, status), { signal });
    } catch (error) {
      if (apierrors.isNotFound(error)) return;
      if (!apierrors.isConflict(error)) throw error;
      let fresh: Immutable<T>;
      try {
        fresh = await client.get(owner.metadata.name, { signal });
      } catch (readError) {
        if (apierrors.isNotFound(readError)) return;
        throw readError;
      }
      if (fresh.metadata.uid !== owner.metadata.uid) return;
      // observedGeneration stays the generation that was reconciled.
      await client.updateStatus(this.#kind.withStatus(fresh, status), { signal });
    }
  }
}
