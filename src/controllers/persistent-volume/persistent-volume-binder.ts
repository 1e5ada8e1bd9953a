// Binds claims to volumes (claim-reconciler.ts), and reclaims the volumes of claims that are gone
// (volume-reconciler.ts). Here is what wakes them.
//
// Binding writes the volume first, then the claim. A volume that refers to a claim with another
// volume is unbound again.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  pods,
} from '#api/groups/core/v1/index.ts';
import { type StorageClass, storageClasses } from '#api/groups/storage/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import {
  type RateLimitingQueue,
  reconciled,
  type ReconcileResult,
  requeue,
} from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { Instruments } from '#machinery/metrics/instruments.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { NewestObjects } from '../newest-objects.ts';
import { BY_CLAIM, byClaim } from '../pod-claims.ts';
import { ClaimEvents } from './claim-events.ts';
import { ClaimReconciler } from './claim-reconciler.ts';
import { VolumeMetrics } from './metrics.ts';
import { OperationTimes } from './operation-times.ts';
import { recycledVolume, type RecyclerSettings } from './recycling/recycler-pod.ts';
import { VolumeRecycler } from './recycling/volume-recycler.ts';
import { classOfVolume, hasUnsetClass, isDefaultClass } from './storage-classes.ts';
import { isFree, VolumeIndex } from './volume-index.ts';
import { VolumeObjects } from './volume-objects.ts';
import { VolumeReconciler } from './volume-reconciler.ts';
import { isWaiting, WaitingClaims } from './waiting-claims.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadClass = Immutable<StorageClass>;

export interface PersistentVolumeBinderConfig extends ControllerConfig {
  /** The number of claims, and of volumes, that are reconciled at once. Default: 5. */
  readonly workers?: number;
  /** How released volumes with the policy Recycle are recycled. Default: as upstream does. */
  readonly recycler?: RecyclerSettings;
}

const BY_VOLUME = 'volume-name';

export class PersistentVolumeBinder implements Controller {
  readonly name = 'persistentvolume-binder-controller';
  readonly run: Controller['run'];
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #objects: VolumeObjects;
  readonly #index = new VolumeIndex();
  readonly #waiting = new WaitingClaims();
  readonly #claimQueue: RateLimitingQueue;
  readonly #volumeQueue: RateLimitingQueue;
  /** Storage classes with free volumes that waiting claims may get. */
  readonly #classQueue: RateLimitingQueue;
  readonly #events: ClaimEvents;
  readonly #times: OperationTimes;
  readonly #recycler: VolumeRecycler;
  readonly #claimReconciler: ClaimReconciler;
  readonly #volumeReconciler: VolumeReconciler;

  constructor(config: PersistentVolumeBinderConfig) {
    const { client, clock, logger, workers = 5, recycler: settings = {} } = config;
    const builder = new ControllerBuilder(config, {
      queue: 'claims',
      workers,
      reconcile: (key, signal) => this.#reconcileClaim(key, signal),
    });
    this.#claimQueue = builder.queue;
    this.#volumeQueue = builder.addQueue({
      queue: 'volumes',
      workers,
      reconcile: (name, signal) => this.#reconcileVolume(name, signal),
    });
    this.#classQueue = builder.addQueue({
      queue: 'volume_classes',
      workers: 1,
      reconcile: (name) => this.#wakeClaims(name),
    });
    this.#claims = builder.informerFor(persistentVolumeClaims);
    this.#claims.addIndexers({
      [BY_VOLUME]: ({ spec }) => (spec.volumeName === undefined ? [] : [spec.volumeName]),
    });
    const volumes = builder.informerFor(persistentVolumes);
    this.#objects = new VolumeObjects({
      client,
      claims: new NewestObjects(this.#claims, (before, after) => this.#claimChanged(before, after)),
      volumes: new NewestObjects(volumes, (before, after) => this.#volumeChanged(before, after)),
      classes: builder.watches(storageClasses, (changed) => this.#claimsWaitingForClass(changed)),
    });
    // The reason why a claim waits changes with its first and its last pod.
    const podsByClaim = builder.watches(
      pods,
      (pod) => byClaim(pod).filter((key) => this.#isWaiting(key)),
      { indexers: { [BY_CLAIM]: byClaim }, predicate: { update: false } },
    );
    const recorder = builder.recorder('persistentvolume-controller');
    this.#recycler = new VolumeRecycler({
      client,
      clock,
      logger,
      recorder,
      settings,
      wakeLater: (name, delayMs) => this.#volumeQueue.addAfter(name, delayMs),
    });
    builder.watches(pods, recycledVolume, {
      predicate: { add: false },
      enqueue: (name) => this.#volumeQueue.add(name),
    });
    const instruments = config.instruments ?? new Instruments();
    this.#times = new OperationTimes(instruments, clock);
    this.#events = new ClaimEvents(recorder);
    const common = {
      client,
      objects: this.#objects,
      pods: podsByClaim,
      recorder,
      events: this.#events,
      times: this.#times,
    };
    this.#claimReconciler = new ClaimReconciler({
      ...common,
      index: this.#index,
      metrics: new VolumeMetrics(instruments, {
        volumes: () => volumes.lister.list(),
        claims: () => this.#claims.lister.list(),
      }),
      wakeClaims: (storageClass) => this.#classQueue.add(storageClass),
    });
    this.#volumeReconciler = new VolumeReconciler({
      ...common,
      recycler: this.#recycler,
      wakeClaim: (key) => this.#claimQueue.add(key),
    });
    this.run = builder.complete();
  }

  #isWaiting(key: string): boolean {
    const claim = this.#objects.claims.get(key);
    return claim !== undefined && isWaiting(claim);
  }

  #claimChanged(before: ReadClaim | undefined, after: ReadClaim | undefined): void {
    const claim = after ?? before;
    if (claim === undefined) return;
    const key = objectKey(claim);
    if (after !== undefined) this.#claimQueue.add(key);
    else {
      this.#events.forget(claim);
      this.#times.forget(key);
    }
    for (const { metadata } of this.#index.referringTo(key)) this.#volumeQueue.add(metadata.name);
    const left = this.#waiting.replace(before, after);
    if (left !== undefined) {
      this.#events.forget(claim);
      if (this.#index.free(left) > 0) this.#classQueue.add(left);
    }
  }

  #volumeChanged(before: ReadVolume | undefined, after: ReadVolume | undefined): void {
    this.#index.replace(before, after);
    const volume = after ?? before;
    if (volume === undefined) return;
    const { name } = volume.metadata;
    if (after !== undefined) {
      this.#volumeQueue.add(name);
      if (isFree(after)) this.#classQueue.add(classOfVolume(after));
    } else {
      this.#times.done(name);
      if (this.#recycler.knows(name)) this.#volumeQueue.add(name);
    }
    for (const claim of this.#claims.lister.byIndex(BY_VOLUME, name))
      this.#claimQueue.add(objectKey(claim));
    const reference = after?.spec.claimRef ?? before?.spec.claimRef;
    if (reference !== undefined)
      this.#claimQueue.add(`${reference.namespace ?? ''}/${reference.name ?? ''}`);
  }

  #claimsWaitingForClass(changed: ReadClass): readonly string[] {
    const waiting = this.#waiting.ofClass(changed.metadata.name);
    const classless = isDefaultClass(changed)
      ? this.#waiting.ofClass('').filter(hasUnsetClass)
      : [];
    return [...waiting, ...classless].map(objectKey);
  }

  /** Wakes claims of a storage class with free volumes: as many as there are free volumes. */
  async #wakeClaims(storageClass: string): Promise<ReconcileResult> {
    let left = this.#index.free(storageClass);
    for (const claim of this.#waiting.ofClass(storageClass)) {
      if (left === 0) break;
      if (this.#index.find(claim, this.#objects.isDelayed(claim)) === undefined) continue;
      this.#claimQueue.add(objectKey(claim));
      left--;
    }
    return await Promise.resolve(reconciled);
  }

  async #reconcileClaim(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#objects.claims.get(key);
    return claim === undefined
      ? reconciled
      : await settled(this.#claimReconciler.reconcile(claim, signal));
  }

  async #reconcileVolume(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const volume = this.#objects.volumes.get(key);
    return await settled(
      volume === undefined
        ? this.#recycler.forget(key, signal)
        : this.#volumeReconciler.reconcile(volume, signal),
    );
  }
}

/**
 * Handles write errors: a conflict is retried with the new state, and an object that is gone needs
 * nothing.
 */
async function settled(work: Promise<void>): Promise<ReconcileResult> {
  try {
    await work;
    return reconciled;
  } catch (error) {
    if (apierrors.isConflict(error)) return requeue;
    if (apierrors.isNotFound(error)) return reconciled;
    throw error;
  }
}
