// Writes the phase of a volume, and applies its reclaim policy when its claim is gone (recycling/ has
// the policy Recycle).

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  type Pod,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { BY_CLAIM } from '../pod-claims.ts';
import { isPodTerminal } from '../pod-state.ts';
import { isAnnotated, unboundVolume } from './binding.ts';
import type { ClaimEvents } from './claim-events.ts';
import { volumeMode } from './matching.ts';
import { isExternal, isMigrated, migratedVolume, provisionerOf } from './migration.ts';
import { PROVISIONED_BY } from './names.ts';
import type { OperationTimes } from './operation-times.ts';
import type { VolumeRecycler } from './recycling/volume-recycler.ts';
import { classOfVolume } from './storage-classes.ts';
import type { VolumeObjects } from './volume-objects.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

export interface VolumeReconcilerConfig {
  readonly client: Client;
  readonly objects: VolumeObjects;
  readonly recycler: VolumeRecycler;
  /** All pods, by claim. */
  readonly pods: SharedInformer<Immutable<Pod>>;
  readonly recorder: EventRecorder;
  readonly events: ClaimEvents;
  readonly times: OperationTimes;
  /** Wakes the claim with this key. */
  readonly wakeClaim: (key: string) => void;
}

export class VolumeReconciler {
  readonly #config: VolumeReconcilerConfig;
  readonly #objects: VolumeObjects;

  constructor(config: VolumeReconcilerConfig) {
    this.#config = config;
    this.#objects = config.objects;
  }

  /** Takes the next step for a volume. Throws StatusError if a write fails. */
  async reconcile(found: ReadVolume, signal: AbortSignal): Promise<void> {
    const volume = await this.#objects.updateVolume(migratedVolume(found), signal, found);
    const { claimRef } = volume.spec;
    const isBound = claimRef !== undefined && (claimRef.uid ?? '') !== '';
    const claim = isBound ? await this.#claimOf(volume, signal) : undefined;
    const isReleased = isBound && claim === undefined;
    if (!isReleased || volume.spec.persistentVolumeReclaimPolicy !== 'Recycle')
      await this.#config.recycler.forget(volume.metadata.name, signal);
    if (isReleased) return await this.#release(volume, signal);
    if (claim === undefined) {
      await this.#objects.setVolumePhase(volume, 'Available', signal);
      return;
    }
    const { volumeName } = claim.spec;
    if (volumeName === volume.metadata.name) {
      await this.#objects.setVolumePhase(volume, 'Bound', signal);
    } else if (volumeName === undefined) {
      // The claim's own reconcile decides, unless it can never have this volume.
      if (volumeMode(claim) === volumeMode(volume)) this.#config.wakeClaim(objectKey(claim));
      else this.#tellOfModes(volume, claim);
    } else if (
      isAnnotated(volume, PROVISIONED_BY) &&
      volume.spec.persistentVolumeReclaimPolicy === 'Delete'
    ) {
      // The volume was provisioned for a claim that has another volume.
      await this.#release(volume, signal);
    } else {
      const unbound = await this.#objects.updateVolume(unboundVolume(volume), signal, volume);
      await this.#objects.setVolumePhase(unbound, 'Available', signal);
    }
  }

  /** Returns the claim that a volume is bound to; undefined if it is certainly gone. */
  async #claimOf(volume: ReadVolume, signal: AbortSignal): Promise<ReadClaim | undefined> {
    const { namespace = '', name = '', uid } = volume.spec.claimRef ?? {};
    const known = this.#objects.claims.get(`${namespace}/${name}`);
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
      : await this.#objects.setVolumePhase(volume, 'Released', signal);
    if (isMigrated(released)) return;
    switch (released.spec.persistentVolumeReclaimPolicy) {
      case 'Delete':
        this.#config.times.begin(released.metadata.name, this.#deleterOf(released), 'delete');
        // An external volume is deleted by its provisioner.
        if (!isExternal(released)) {
          const { name } = released.metadata;
          // A failed deletion is recorded once and not retried.
          if (released.status.phase !== 'Failed') this.#config.times.failed(name);
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
    const progress = await this.#config.recycler.step(volume, this.#usersOf(volume), signal);
    if (progress.is === 'failed')
      return await this.#fail(volume, 'VolumeFailedRecycle', progress.message, signal);
    if (progress.is === 'waiting') return;
    const unbound = await this.#objects.updateVolume(unboundVolume(volume), signal, volume);
    await this.#objects.setVolumePhase(unbound, 'Available', signal);
  }

  /** Returns the keys of running pods with the released volume's claim, unless that claim is new. */
  #usersOf({ spec: { claimRef } }: ReadVolume): readonly string[] {
    const key = `${claimRef?.namespace ?? ''}/${claimRef?.name ?? ''}`;
    if (this.#objects.claims.get(key) !== undefined) return [];
    return this.#config.pods.lister
      .byIndex(BY_CLAIM, key)
      .filter((pod) => !isPodTerminal(pod))
      .map(objectKey)
      .sort();
  }

  /** Returns the provisioner of the class. */
  #deleterOf(volume: ReadVolume): string {
    if (!isExternal(volume)) return 'N/A';
    const provisioner = this.#objects.classes.lister.get('', classOfVolume(volume))?.provisioner;
    return provisioner === undefined ? 'N/A' : (provisionerOf(provisioner) ?? provisioner);
  }

  async #fail(
    volume: ReadVolume,
    reason: string,
    message: string,
    signal: AbortSignal,
  ): Promise<void> {
    if (volume.status.phase === 'Failed') return;
    const failed = await this.#objects.setVolumePhase(volume, 'Failed', signal, message);
    this.#config.recorder.event(
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
    this.#config.recorder.event(regarding, 'Warning', 'VolumeMismatch', message);
    const { name } = volume.metadata;
    this.#config.events.once(
      claim,
      'Warning',
      'VolumeMismatch',
      `Cannot bind PersistentVolume "${name}" to requested PersistentVolumeClaim due to incompatible volumeMode.`,
    );
  }
}

/**
 * Reports whether the volume is released. A volume that could not be reclaimed stays Failed, so
 * that an administrator sees it.
 */
function isGivenBack({ status }: ReadVolume): boolean {
  return status.phase === 'Released' || status.phase === 'Failed';
}
