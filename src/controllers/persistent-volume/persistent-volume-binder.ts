// Binds claims to volumes: to the volume that the claim names, to the smallest that fits, or to one
// that a provisioner creates on request. Writes the phases of both, and applies the reclaim policy
// to released volumes (recycling/ has the policy Recycle).
//
// Binding writes the volume first, then the claim. A volume that refers to a claim with another
// volume is unbound again.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
  type Pod,
  pods,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type StorageClass, storageClasses } from '#api/groups/storage/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
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
import { isPodTerminal } from '../pod-state.ts';
import {
  boundClaim,
  boundVolume,
  claimInPhase,
  isAnnotated,
  unboundVolume,
  volumeInPhase,
  withProvisioner,
} from './binding.ts';
import { mismatch, refersTo, volumeMode } from './matching.ts';
import {
  isExternal,
  isMigrated,
  migratedClaim,
  migratedVolume,
  provisionerOf,
} from './migration.ts';
import { VolumeMetrics } from './metrics.ts';
import { OperationTimes } from './operation-times.ts';
import { recycledVolume, type RecyclerSettings } from './recycling/recycler-pod.ts';
import { VolumeRecycler } from './recycling/volume-recycler.ts';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, PROVISIONED_BY, SELECTED_NODE } from './names.ts';
import {
  classOfClaim,
  classOfVolume,
  defaultClass,
  isDefaultClass,
  hasUnsetClass,
  waitsForConsumer,
} from './storage-classes.ts';
import { isFree, VolumeIndex } from './volume-index.ts';
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
  readonly #config: PersistentVolumeBinderConfig;
  readonly #claimInformer: SharedInformer<ReadClaim>;
  readonly #volumeInformer: SharedInformer<ReadVolume>;
  readonly #classes: SharedInformer<ReadClass>;
  readonly #pods: SharedInformer<Immutable<Pod>>;
  readonly #claims: NewestObjects<ReadClaim>;
  readonly #volumes: NewestObjects<ReadVolume>;
  readonly #index = new VolumeIndex();
  readonly #waiting = new WaitingClaims();
  readonly #claimQueue: RateLimitingQueue;
  readonly #volumeQueue: RateLimitingQueue;
  /** Storage classes with free volumes that waiting claims may get. */
  readonly #classQueue: RateLimitingQueue;
  readonly #recorder: EventRecorder;
  readonly #metrics: VolumeMetrics;
  readonly #times: OperationTimes;
  readonly #recycler: VolumeRecycler;
  /** By UID: the last recorded reason why a claim waits. */
  readonly #recordedReasons = new Map<string, string>();

  constructor(config: PersistentVolumeBinderConfig) {
    const { client, clock, logger, workers = 5, recycler: settings = {} } = config;
    this.#config = config;
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
    this.#recorder = builder.recorder('persistentvolume-controller');
    this.#claimInformer = builder.informerFor(persistentVolumeClaims);
    this.#claimInformer.addIndexers({
      [BY_VOLUME]: ({ spec }) => (spec.volumeName === undefined ? [] : [spec.volumeName]),
    });
    this.#volumeInformer = builder.informerFor(persistentVolumes);
    const instruments = config.instruments ?? new Instruments();
    this.#times = new OperationTimes(instruments, clock);
    this.#metrics = new VolumeMetrics(instruments, {
      volumes: () => this.#volumeInformer.lister.list(),
      claims: () => this.#claimInformer.lister.list(),
    });
    this.#claims = new NewestObjects(this.#claimInformer, (before, after) =>
      this.#claimChanged(before, after),
    );
    this.#volumes = new NewestObjects(this.#volumeInformer, (before, after) =>
      this.#volumeChanged(before, after),
    );
    this.#classes = builder.watches(storageClasses, (changed) =>
      this.#claimsWaitingForClass(changed),
    );
    // The reason changes with the first and the last pod of the claim.
    this.#pods = builder.watches(
      pods,
      (pod) => byClaim(pod).filter((key) => this.#isWaiting(key)),
      {
        indexers: { [BY_CLAIM]: byClaim },
        predicate: { update: false },
      },
    );
    this.#recycler = new VolumeRecycler({
      client,
      clock,
      logger,
      recorder: this.#recorder,
      settings,
      wakeLater: (name, delayMs) => this.#volumeQueue.addAfter(name, delayMs),
    });
    builder.watches(pods, recycledVolume, {
      predicate: { add: false },
      enqueue: (name) => this.#volumeQueue.add(name),
    });
    this.run = builder.complete();
  }

  #isWaiting(key: string): boolean {
    const claim = this.#claims.get(key);
    return claim !== undefined && isWaiting(claim);
  }

  #claimChanged(before: ReadClaim | undefined, after: ReadClaim | undefined): void {
    const claim = after ?? before;
    if (claim === undefined) return;
    const key = objectKey(claim);
    if (after !== undefined) this.#claimQueue.add(key);
    else {
      this.#recordedReasons.delete(claim.metadata.uid);
      this.#times.forget(key);
    }
    for (const { metadata } of this.#index.referringTo(key)) this.#volumeQueue.add(metadata.name);
    const left = this.#waiting.replace(before, after);
    if (left !== undefined) {
      this.#recordedReasons.delete(claim.metadata.uid);
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
    for (const claim of this.#claimInformer.lister.byIndex(BY_VOLUME, name))
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
      if (this.#index.find(claim, this.#isDelayed(claim)) === undefined) continue;
      this.#claimQueue.add(objectKey(claim));
      left--;
    }
    return await Promise.resolve(reconciled);
  }

  #classOf(claim: ReadClaim): ReadClass | undefined {
    const name = classOfClaim(claim);
    return name === '' ? undefined : this.#classes.lister.get('', name);
  }

  /** Reports whether the scheduler chooses the claim's volume. */
  #isDelayed(claim: ReadClaim): boolean {
    return waitsForConsumer(this.#classOf(claim));
  }

  async #reconcileClaim(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.get(key);
    return claim === undefined ? reconciled : await settled(this.#syncClaim(claim, signal));
  }

  async #syncClaim(found: ReadClaim, signal: AbortSignal): Promise<void> {
    const claim = await this.#updateClaim(migratedClaim(found), signal, found);
    await (isAnnotated(claim, BIND_COMPLETED)
      ? this.#syncBound(claim, signal)
      : this.#syncUnbound(claim, signal));
  }

  async #syncUnbound(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { volumeName } = claim.spec;
    if (volumeName === undefined) {
      const found = this.#index.find(claim, this.#isDelayed(claim));
      if (found !== undefined) return await this.#bind(found, claim, signal);
      return await this.#wait(claim, signal);
    }
    const volume = this.#volumes.get(volumeName);
    if (volume !== undefined) {
      const isFor = refersTo(volume, claim);
      const why = volume.spec.claimRef === undefined ? mismatch(volume, claim) : undefined;
      if (isFor || (volume.spec.claimRef === undefined && why === undefined))
        return await this.#bind(volume, claim, signal);
      if (why !== undefined) {
        this.#recordOnce(
          claim,
          'Warning',
          'VolumeMismatch',
          `Cannot bind to requested volume "${volumeName}": ${why}`,
        );
      } else {
        this.#recordOnce(
          claim,
          'Warning',
          'FailedBinding',
          `volume "${volumeName}" already bound to a different claim.`,
        );
        // Another writer removed the annotation bind-completed: the status stays.
        if (isAnnotated(claim, BOUND_BY_CONTROLLER)) return;
      }
    }
    await this.#setClaimPhase(claim, 'Pending', undefined, signal);
  }

  /** Handles a claim without a matching volume. */
  async #wait(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    if (hasUnsetClass(claim)) {
      const given = defaultClass(this.#classes.lister.list());
      if (given !== undefined) {
        try {
          await this.#updateClaim(
            { ...claim, spec: { ...claim.spec, storageClassName: given.metadata.name } },
            signal,
          );
        } catch (error) {
          this.#metrics.classFailed();
          throw error;
        }
        this.#metrics.classGiven();
        return;
      }
    }
    if (this.#isDelayed(claim) && !isAnnotated(claim, SELECTED_NODE)) this.#tellOfConsumers(claim);
    else if (classOfClaim(claim) !== '') return await this.#askProvisioner(claim, signal);
    else {
      const message = 'no persistent volumes available for this claim and no storage class is set';
      this.#recordOnce(claim, 'Normal', 'FailedBinding', message);
    }
    await this.#setClaimPhase(claim, 'Pending', undefined, signal);
  }

  #tellOfConsumers(claim: ReadClaim): void {
    const waiting = this.#pods.lister
      .byIndex(BY_CLAIM, objectKey(claim))
      .filter((pod) => !isPodTerminal(pod) && pod.spec.nodeName === undefined)
      .map(({ metadata }) => metadata.name)
      .sort();
    if (waiting.length === 0) {
      this.#recordOnce(
        claim,
        'Normal',
        'WaitForFirstConsumer',
        'waiting for first consumer to be created before binding',
      );
    } else {
      const which = waiting.length === 1 ? 'pod' : 'pods';
      this.#recordOnce(
        claim,
        'Normal',
        'WaitForPodScheduled',
        `waiting for ${which} ${waiting.join(',')} to be scheduled`,
      );
    }
  }

  async #askProvisioner(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const storageClass = this.#classOf(claim);
    if (storageClass === undefined) {
      const message = `storageclass.storage.k8s.io "${classOfClaim(claim)}" not found`;
      this.#recordOnce(claim, 'Warning', 'ProvisioningFailed', message);
      return;
    }
    const provisioner = provisionerOf(storageClass.provisioner);
    if (provisioner === undefined) {
      this.#recordOnce(
        claim,
        'Warning',
        'ProvisioningFailed',
        `no volume plugin matched name: ${storageClass.provisioner}`,
      );
      return;
    }
    const key = objectKey(claim);
    this.#times.begin(key, provisioner, 'provision');
    try {
      await this.#updateClaim(withProvisioner(claim, provisioner), signal, claim);
    } catch (error) {
      this.#times.failed(key);
      if (!signal.aborted && !apierrors.isConflict(error) && !apierrors.isNotFound(error)) {
        this.#recordOnce(
          claim,
          'Warning',
          'ProvisioningFailed',
          `Error saving claim: ${(error as Error).message}`,
        );
      }
      throw error;
    }
    const message =
      'Waiting for a volume to be created either by the external provisioner ' +
      `'${provisioner}' or manually by the system ` +
      'administrator. If volume creation is delayed, please verify that the provisioner is ' +
      'running and correctly registered.';
    this.#recordOnce(claim, 'Normal', 'ExternalProvisioning', message);
  }

  async #syncBound(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { volumeName } = claim.spec;
    if (volumeName === undefined) {
      const message =
        'Bound claim has lost reference to PersistentVolume. Data on the volume is lost!';
      return await this.#lose(claim, 'ClaimLost', message, signal);
    }
    // A volume that the cache does not show yet does not make the claim Lost.
    const volume =
      this.#volumes.get(volumeName) ??
      (await apierrors.unlessMissing(
        this.#config.client.resource(persistentVolumes).get(volumeName, { signal }),
      ));
    if (volume === undefined) {
      const message = 'Bound claim has lost its PersistentVolume. Data on the volume is lost!';
      return await this.#lose(claim, 'ClaimLost', message, signal);
    }
    const { claimRef } = volume.spec;
    if (claimRef === undefined || claimRef.uid === claim.metadata.uid)
      return await this.#bind(volume, claim, signal);
    const message = 'Two claims are bound to the same volume, this one is bound incorrectly';
    await this.#lose(claim, 'ClaimMisbound', message, signal);
  }

  async #lose(
    claim: ReadClaim,
    reason: string,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (claim.status.phase === 'Lost') return;
    const lost = await this.#setClaimPhase(claim, 'Lost', undefined, signal);
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: lost.metadata },
      'Warning',
      reason,
      message,
    );
  }

  async #bind(volume: ReadVolume, claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { name } = volume.metadata;
    const release = this.#index.reserve(name);
    try {
      const bound = await this.#updateVolume(boundVolume(volume, claim), signal, volume);
      await this.#setVolumePhase(bound, 'Bound', signal);
      const updated = await this.#updateClaim(boundClaim(claim, bound), signal, claim);
      await this.#setClaimPhase(updated, 'Bound', bound, signal);
      this.#times.done(objectKey(claim));
    } catch (error) {
      this.#times.failed(objectKey(claim));
      throw error;
    } finally {
      release();
      // Waiting claims that were not woken get the volume, if it is still free.
      const now = this.#volumes.get(name);
      if (now !== undefined && isFree(now)) this.#classQueue.add(classOfVolume(now));
    }
  }

  async #reconcileVolume(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const volume = this.#volumes.get(key);
    return await settled(
      volume === undefined ? this.#recycler.forget(key, signal) : this.#syncVolume(volume, signal),
    );
  }

  async #syncVolume(found: ReadVolume, signal: AbortSignal): Promise<void> {
    const volume = await this.#updateVolume(migratedVolume(found), signal, found);
    const { claimRef } = volume.spec;
    const isBound = claimRef !== undefined && (claimRef.uid ?? '') !== '';
    const claim = isBound ? await this.#claimOf(volume, signal) : undefined;
    const isReleased = isBound && claim === undefined;
    if (!isReleased || volume.spec.persistentVolumeReclaimPolicy !== 'Recycle')
      await this.#recycler.forget(volume.metadata.name, signal);
    if (isReleased) return await this.#release(volume, signal);
    if (claim === undefined) {
      await this.#setVolumePhase(volume, 'Available', signal);
      return;
    }
    const { volumeName } = claim.spec;
    if (volumeName === volume.metadata.name) {
      await this.#setVolumePhase(volume, 'Bound', signal);
    } else if (volumeName === undefined) {
      // The claim's own reconcile decides, unless it can never have this volume.
      if (volumeMode(claim) === volumeMode(volume)) this.#claimQueue.add(objectKey(claim));
      else this.#tellOfModes(volume, claim);
    } else if (
      isAnnotated(volume, PROVISIONED_BY) &&
      volume.spec.persistentVolumeReclaimPolicy === 'Delete'
    ) {
      // The volume was provisioned for a claim that has another volume.
      await this.#release(volume, signal);
    } else {
      const unbound = await this.#updateVolume(unboundVolume(volume), signal, volume);
      await this.#setVolumePhase(unbound, 'Available', signal);
    }
  }

  /** Returns the claim that a volume is bound to; undefined if it is certainly gone. */
  async #claimOf(volume: ReadVolume, signal: AbortSignal): Promise<ReadClaim | undefined> {
    const { namespace = '', name = '', uid } = volume.spec.claimRef ?? {};
    const known = this.#claims.get(`${namespace}/${name}`);
    if (known?.metadata.uid === uid) return known;
    if (known === undefined && isGivenBack(volume)) return undefined;
    // The component that bound the volume may have newer information than the cache.
    const live = await apierrors.unlessMissing(
      this.#config.client
        .resource(persistentVolumeClaims)
        .namespace(namespace)
        .get(name, { signal }),
    );
    return live?.metadata.uid === uid ? live : undefined;
  }

  async #release(volume: ReadVolume, signal: AbortSignal): Promise<void> {
    const released = isGivenBack(volume)
      ? volume
      : await this.#setVolumePhase(volume, 'Released', signal);
    if (isMigrated(released)) return;
    switch (released.spec.persistentVolumeReclaimPolicy) {
      case 'Delete':
        this.#times.begin(released.metadata.name, this.#deleterOf(released), 'delete');
        // An external volume is deleted by its provisioner.
        if (!isExternal(released)) {
          const { name } = released.metadata;
          // A failed deletion is recorded once and not retried.
          if (released.status.phase !== 'Failed') this.#times.failed(name);
          const why = `error getting deleter volume plugin for volume "${name}": no deletable volume plugin matched`;
          await this.#fail(released, 'VolumeFailedDelete', why, signal);
        }
        return;
      case 'Recycle':
        return await this.#recycle(released, signal);
      default:
    }
  }

  async #recycle(volume: ReadVolume, signal: AbortSignal): Promise<void> {
    const progress = await this.#recycler.step(volume, this.#usersOf(volume), signal);
    if (progress.is === 'failed')
      return await this.#fail(volume, 'VolumeFailedRecycle', progress.message, signal);
    if (progress.is === 'waiting') return;
    const unbound = await this.#updateVolume(unboundVolume(volume), signal, volume);
    await this.#setVolumePhase(unbound, 'Available', signal);
  }

  /** Returns the keys of running pods with the released volume's claim, unless that claim is new. */
  #usersOf({ spec: { claimRef } }: ReadVolume): readonly string[] {
    const key = `${claimRef?.namespace ?? ''}/${claimRef?.name ?? ''}`;
    if (this.#claims.get(key) !== undefined) return [];
    return this.#pods.lister
      .byIndex(BY_CLAIM, key)
      .filter((pod) => !isPodTerminal(pod))
      .map(objectKey)
      .sort();
  }

  /** Returns the provisioner of the class. */
  #deleterOf(volume: ReadVolume): string {
    if (!isExternal(volume)) return 'N/A';
    const provisioner = this.#classes.lister.get('', classOfVolume(volume))?.provisioner;
    return provisioner === undefined ? 'N/A' : (provisionerOf(provisioner) ?? provisioner);
  }

  async #fail(
    volume: ReadVolume,
    reason: string,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (volume.status.phase === 'Failed') return;
    const failed = await this.#setVolumePhase(volume, 'Failed', signal, message);
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'PersistentVolume', metadata: failed.metadata },
      'Warning',
      reason,
      message,
    );
  }

  #tellOfModes(volume: ReadVolume, claim: ReadClaim): void {
    const regarding = { apiVersion: 'v1', kind: 'PersistentVolume', metadata: volume.metadata };
    const message =
      'Cannot bind PersistentVolume to requested PersistentVolumeClaim ' +
      `"${claim.metadata.name}" due to incompatible volumeMode.`;
    this.#recorder.event(regarding, 'Warning', 'VolumeMismatch', message);
    const { name } = volume.metadata;
    this.#recordOnce(
      claim,
      'Warning',
      'VolumeMismatch',
      `Cannot bind PersistentVolume "${name}" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
    );
  }

  /** Records an event, once as long as the claim waits for the same reason. */
  #recordOnce(
    { metadata }: ReadClaim,
    type: 'Normal' | 'Warning',
    reason: string,
    message: string,
  ): void {
    if (this.#recordedReasons.get(metadata.uid) === message) return;
    this.#recordedReasons.set(metadata.uid, message);
    this.#recorder.event(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata },
      type,
      reason,
      message,
    );
  }

  async #updateClaim(
    claim: ReadClaim,
    signal: AbortSignal,
    before?: ReadClaim,
  ): Promise<ReadClaim> {
    if (claim === before) return claim;
    const { namespace = '' } = claim.metadata;
    const updated = await this.#config.client
      .resource(persistentVolumeClaims)
      .namespace(namespace)
      .update(claim, { signal });
    this.#claims.wrote(updated);
    return updated;
  }

  async #setClaimPhase(
    claim: ReadClaim,
    phase: 'Pending' | 'Bound' | 'Lost',
    volume: ReadVolume | undefined,
    signal: AbortSignal,
  ): Promise<ReadClaim> {
    const wanted = claimInPhase(claim, phase, volume);
    if (wanted === claim) return claim;
    const { namespace = '' } = claim.metadata;
    const client = this.#config.client.resource(persistentVolumeClaims).namespace(namespace);
    const updated = await client.updateStatus(wanted, { signal });
    this.#claims.wrote(updated);
    return updated;
  }

  async #updateVolume(
    volume: ReadVolume,
    signal: AbortSignal,
    before: ReadVolume,
  ): Promise<ReadVolume> {
    if (volume === before) return volume;
    const updated = await this.#config.client
      .resource(persistentVolumes)
      .update(volume, { signal });
    this.#volumes.wrote(updated);
    return updated;
  }

  async #setVolumePhase(
    volume: ReadVolume,
    phase: 'Available' | 'Bound' | 'Released' | 'Failed',
    signal: AbortSignal,
    message?: string,
  ): Promise<ReadVolume> {
    const wanted = volumeInPhase(volume, phase, message);
    if (wanted === volume) return volume;
    const updated = await this.#config.client
      .resource(persistentVolumes)
      .updateStatus(wanted, { signal });
    this.#volumes.wrote(updated);
    return updated;
  }
}

/**
 * Reports whether the volume is released. A volume that could not be reclaimed stays Failed, so
 * that an administrator sees it.
 */
function isGivenBack({ status }: ReadVolume): boolean {
  return status.phase === 'Released' || status.phase === 'Failed';
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
