// Keeps the number of pods of every ReplicaSet, or of every ReplicationController, at what it says.
//
// A key is reconciled from the informers' caches alone, which run behind this controller's own writes: expectations
// (client/expectations.ts) keep it from deciding before they have caught up. Keys do not wait for each other.

import { pods } from '#api/groups/core/v1/index.ts';
import type { Pod } from '#api/groups/core/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { EventRecorder } from '#client/events/index.ts';
import { ControllerExpectations } from '#client/expectations.ts';
import { objectKey } from '#client/informers/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { RateLimitingQueue, reconciled, requeueAfter, runWorkers } from '#client/workqueue/index.ts';
import type { ReconcileResult } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { exponentialBuckets, Instruments } from '#machinery/metrics/instruments.ts';
import type { Counter, Histogram } from '#machinery/metrics/instruments.ts';
import { claim, decideClaims } from '../claim.ts';
import type { ClaimConfig } from '../claim.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { BY_CONTROLLER, byController, controllerOf, newControllerRef, orphansOf } from '../controller-ref.ts';
import { staleSyncSkips } from '../own-writes.ts';
import { PodControl, isNamespaceTerminating } from '../pod-control.ts';
import { isPodActive, isPodTerminating } from '../pod-state.ts';
import { slowStartBatch } from '../slow-start.ts';
import { ageRatios, choosePodsToDelete } from './deletion-ranking.ts';
import type { ReplicaKind, ReplicaOwner } from './replica-owner.ts';
import { calculateStatus, nextAvailability, sameStatus } from './status.ts';

type ReadPod = Immutable<Pod>;

export interface ReplicaManagerConfig<T extends KubeObject> extends ControllerConfig {
  readonly kind: ReplicaKind<T>;
  /** Keys that are reconciled at once. Default: 32: each waits for the disk several times, and is no work while it waits. */
  readonly workers?: number;
  /** Pods that one reconcile creates or deletes at most. Default: 500. */
  readonly burstReplicas?: number;
}

/** The size of the first batch of creations, see slowStartBatch. */
const INITIAL_BATCH = 1;

/**
 * A reconcile looks at all pods of its owner, so with one for every change of a pod the work would grow with the square of
 * their number. Changes are collected for so long for each pod that the owner has, but not longer than the limit: the more
 * there is to look at, the less often it is.
 */
const COLLECT_MS_PER_POD = 0.1;
const COLLECT_MAX_MS = 200;
/** Less than this is no time. */
const COLLECT_MIN_MS = 1;

export class ReplicaManager<T extends KubeObject> implements Controller {
  readonly name: string;
  readonly #config: ReplicaManagerConfig<T>;
  readonly #kind: ReplicaKind<T>;
  readonly #burstReplicas: number;
  readonly #owners: SharedInformer<Immutable<T>>;
  readonly #pods: SharedInformer<ReadPod>;
  readonly #queue: RateLimitingQueue;
  readonly #expectations: ControllerExpectations;
  readonly #recorder: EventRecorder;
  readonly #podControl: PodControl;
  readonly #claims: ClaimConfig<T, Pod>;
  /** Looks at an owner that had to leave its pods alone, because the cache lacked some of what was done to them. */
  readonly #skips: Counter;
  readonly #ageRatios: Histogram;
  /** By key: how many pods the owner had when it was last reconciled. */
  readonly #podCounts = new Map<string, number>();

  constructor(config: ReplicaManagerConfig<T>) {
    const { client, clock, random, informers, kind } = config;
    this.name = kind.component;
    this.#config = config;
    this.#kind = kind;
    this.#burstReplicas = config.burstReplicas ?? 500;
    this.#queue = new RateLimitingQueue({ clock, metrics: config.queueMetrics?.(kind.queueName) });
    this.#expectations = new ControllerExpectations({ clock });
    this.#recorder = new EventRecorder({ client, clock, random, logger: config.logger, component: kind.component });
    this.#podControl = new PodControl({ client, recorder: this.#recorder });
    this.#claims = { client, ownerType: kind.type, type: pods };
    const instruments = config.instruments ?? new Instruments();
    this.#skips = staleSyncSkips(instruments, 'replicaset_controller').with('', 'pods');
    const help = 'How many times as old as the youngest pod those are that are deleted for a smaller number, ready ones only.';
    const ratio = { name: 'replicaset_controller_sorting_deletion_age_ratio', help };
    this.#ageRatios = instruments.histogram(ratio, exponentialBuckets(0.25, 2, 6)).with();
    this.#owners = informers.informerFor(kind.type);
    this.#pods = informers.informerFor(pods);
    // Siblings are those that share a controller (the ReplicaSets of a Deployment).
    this.#owners.addIndexers({ [BY_CONTROLLER]: byController });
    this.#pods.addIndexers({ [BY_CONTROLLER]: byController });
    this.#owners.addEventHandler({
      onAdd: (owner) => this.#queue.add(objectKey(owner)),
      onUpdate: (before, owner) => {
        // Deleted and made again between two events: nothing of the old one is expected of the new one.
        if (before.metadata.uid !== owner.metadata.uid) this.#expectations.deleteExpectations(objectKey(owner));
        this.#queue.add(objectKey(owner));
      },
      onDelete: (owner) => {
        this.#expectations.deleteExpectations(objectKey(owner));
        this.#queue.add(objectKey(owner));
      },
    });
    this.#pods.addEventHandler({
      onAdd: (pod) => this.#podAdded(pod),
      onUpdate: (before, pod) => this.#podUpdated(before, pod),
      onDelete: (pod) => this.#podDeleted(pod),
    });
  }

  async run(signal: AbortSignal): Promise<void> {
    const { workers = 32, logger } = this.#config;
    await Promise.all([this.#owners.waitForSync(signal), this.#pods.waitForSync(signal)]);
    await runWorkers(this.#queue, workers, (key, stop) => this.#reconcile(key, stop), signal, { logger });
    this.#recorder.stop();
  }

  #podAdded(pod: ReadPod): void {
    // After a restart a pod may be new here and on its way out: then it is no creation that somebody waits for.
    if (pod.metadata.deletionTimestamp !== undefined) {
      this.#podDeleted(pod);
      return;
    }
    const owner = this.#ownerOf(pod);
    if (owner === undefined) {
      if (controllerOf(pod) === undefined) this.#wakeAdopters(pod);
      return;
    }
    this.#expectations.creationObserved(objectKey(owner));
    this.#wake(owner);
  }

  #podUpdated(before: ReadPod, pod: ReadPod): void {
    if (before.metadata.uid !== pod.metadata.uid) {
      this.#podDeleted(before);
      this.#podAdded(pod);
      return;
    }
    if (pod.metadata.deletionTimestamp !== undefined) {
      // Its controller replaces it now and does not wait until it is gone.
      this.#podDeleted(pod);
      if (controllerOf(before)?.uid !== controllerOf(pod)?.uid) this.#podDeleted(before);
      return;
    }
    const previous = controllerOf(before);
    const current = controllerOf(pod);
    const changedHands = previous?.uid !== current?.uid;
    if (changedHands) this.#wake(this.#ownerOf(before));
    if (current !== undefined) this.#wake(this.#ownerOf(pod));
    else if (changedHands || !sameLabels(before, pod)) this.#wakeAdopters(pod);
  }

  #podDeleted(pod: ReadPod): void {
    const owner = this.#ownerOf(pod);
    if (owner === undefined) return;
    this.#expectations.deletionObserved(objectKey(owner), pod.metadata.uid);
    this.#wake(owner);
  }

  /** Something happened to a pod of the owner, or that might be. */
  #wake(owner: Immutable<T> | undefined): void {
    if (owner === undefined) return;
    const key = objectKey(owner);
    const collectMs = Math.min((this.#podCounts.get(key) ?? 0) * COLLECT_MS_PER_POD, COLLECT_MAX_MS);
    this.#queue.addAfter(key, collectMs < COLLECT_MIN_MS ? 0 : collectMs);
  }

  /** Those that might want a pod that nobody controls. */
  #wakeAdopters(pod: ReadPod): void {
    for (const owner of this.#owners.lister.list(pod.metadata.namespace ?? '')) {
      if (this.#kind.view(owner).selector.matches(pod.metadata.labels)) this.#wake(owner);
    }
  }

  /** The object of this kind that controls the pod, if the cache has that very object. */
  #ownerOf(pod: ReadPod): Immutable<T> | undefined {
    const reference = controllerOf(pod);
    if (reference === undefined || reference.kind !== this.#kind.type.kind) return undefined;
    const owner = this.#owners.lister.get(pod.metadata.namespace ?? '', reference.name);
    return owner?.metadata.uid === reference.uid ? owner : undefined;
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const object = this.#owners.lister.getByKey(key);
    if (object === undefined) {
      this.#expectations.deleteExpectations(key);
      this.#podCounts.delete(key);
      return reconciled;
    }
    const owner = this.#kind.view(object);
    const isCaughtUp = this.#expectations.satisfiedExpectations(key);
    if (!isCaughtUp) this.#skips.value++;
    const mayManage = isCaughtUp && owner.metadata.deletionTimestamp === undefined;
    const related = this.#podsNear(owner);
    this.#podCounts.set(key, related.length);
    const active = await claim(this.#claims, owner, owner.selector, related.filter(isPodActive), signal);
    const terminating = decideClaims(owner, owner.selector, related.filter(isPodTerminating)).owned.length;
    const failure = mayManage ? await this.#manage(key, owner, active, signal) : undefined;
    const nowMs = this.#config.clock.now();
    const status = calculateStatus({ owner, active, terminating, failure, nowMs });
    await this.#writeStatus(object, owner, status, signal);
    if (failure !== undefined) throw failure;
    return this.#next(key, owner, active, nowMs);
  }

  /** When to look again if nothing happens until then. */
  #next(key: string, owner: ReplicaOwner, active: readonly ReadPod[], nowMs: number): ReconcileResult {
    const delays: number[] = [];
    const availability = nextAvailability(active, owner.minReadySeconds, nowMs);
    if (availability !== undefined) delays.push(availability);
    if (!this.#expectations.satisfiedExpectations(key)) delays.push(this.#expectations.remainingMs(key));
    return delays.length === 0 ? reconciled : requeueAfter(Math.min(...delays));
  }

  /** Pods that the owner controls, and those in its namespace that nobody does. */
  #podsNear(owner: ReplicaOwner): readonly ReadPod[] {
    const { uid, namespace = '' } = owner.metadata;
    const { lister } = this.#pods;
    return [...lister.byIndex(BY_CONTROLLER, uid), ...lister.byIndex(BY_CONTROLLER, orphansOf(namespace))];
  }

  /** Creates or deletes what is missing or too much. Answers what that failed with; undefined if all went well. */
  async #manage(key: string, owner: ReplicaOwner, active: readonly ReadPod[], signal: AbortSignal): Promise<unknown> {
    const missing = owner.replicas - active.length;
    if (missing > 0) return this.#create(key, owner, Math.min(missing, this.#burstReplicas), signal);
    if (missing < 0) return this.#delete(key, owner, active, Math.min(-missing, this.#burstReplicas), signal);
    return undefined;
  }

  async #create(key: string, owner: ReplicaOwner, count: number, signal: AbortSignal): Promise<unknown> {
    const reference = newControllerRef(owner.metadata, owner);
    this.#expectations.expectCreations(key, count);
    const { successes, failure } = await slowStartBatch(count, INITIAL_BATCH, () =>
      this.#podControl.create(owner, owner.template, reference, signal),
    );
    // What failed or was not tried will not be seen.
    for (let i = successes; i < count; i++) this.#expectations.creationObserved(key);
    // Nothing can be created in a namespace that goes away, and trying again would not help.
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
    if (chosen.length < active.length) for (const ratio of ageRatios(active, chosen, nowMs)) this.#ageRatios.observe(ratio);
    this.#expectations.expectDeletions(
      key,
      chosen.map((pod) => pod.metadata.uid),
    );
    const results = await Promise.allSettled(
      chosen.map(async (pod) => {
        try {
          await this.#podControl.delete(owner, pod, signal);
        } catch (err) {
          // No event of this deletion will come.
          this.#expectations.deletionObserved(key, pod.metadata.uid);
          // Gone already, or another pod has its name: that is what was wanted.
          if (!apierrors.isNotFound(err) && !apierrors.isConflict(err)) throw err;
        }
      }),
    );
    return results.find((result) => result.status === 'rejected')?.reason;
  }

  /** The pods that count when pods are crowded on a node: also those of the other ReplicaSets of the same Deployment. */
  #siblingPods(owner: ReplicaOwner, active: readonly ReadPod[]): readonly ReadPod[] {
    const controller = controllerOf(owner);
    if (controller === undefined) return active;
    const found = new Map(active.map((pod) => [pod.metadata.uid, pod]));
    for (const sibling of this.#owners.lister.byIndex(BY_CONTROLLER, controller.uid)) {
      for (const pod of this.#pods.lister.byIndex(BY_CONTROLLER, sibling.metadata.uid)) found.set(pod.metadata.uid, pod);
    }
    return [...found.values()];
  }

  /** Writes what has changed; if somebody else wrote meanwhile, once more on top of that. */
  async #writeStatus(
    object: Immutable<T>,
    owner: ReplicaOwner,
    status: ReplicaOwner['status'],
    signal: AbortSignal,
  ): Promise<void> {
    const wanted = this.#kind.view(this.#kind.withStatus(object, status)).status;
    if (sameStatus(owner.status, wanted)) return;
    const client = this.#config.client.resource(this.#kind.type).namespace(owner.metadata.namespace ?? '');
    try {
      await client.updateStatus(this.#kind.withStatus(object, status), { signal });
    } catch (err) {
      if (apierrors.isNotFound(err)) return;
      if (!apierrors.isConflict(err)) throw err;
      let fresh: Immutable<T>;
      try {
        fresh = await client.get(owner.metadata.name, { signal });
      } catch (readError) {
        if (apierrors.isNotFound(readError)) return;
        throw readError;
      }
      if (fresh.metadata.uid !== owner.metadata.uid) return;
      // observedGeneration stays that of the object that was acted on.
      await client.updateStatus(this.#kind.withStatus(fresh, status), { signal });
    }
  }
}

function sameLabels(a: ReadPod, b: ReadPod): boolean {
  return JSON.stringify(a.metadata.labels) === JSON.stringify(b.metadata.labels);
}
