// Binds a claim: to the volume that it names, to the smallest that fits, or to one that a provisioner
// creates on request.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumes,
  type Pod,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { Client } from '#client/client.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { BY_CLAIM } from '../pod-claims.ts';
import { isPodTerminal } from '../pod-state.ts';
import { boundClaim, boundVolume, isAnnotated, withProvisioner } from './binding.ts';
import type { ClaimEvents } from './claim-events.ts';
import { mismatch, refersTo } from './matching.ts';
import type { VolumeMetrics } from './metrics.ts';
import { migratedClaim, provisionerOf } from './migration.ts';
import { BIND_COMPLETED, BOUND_BY_CONTROLLER, SELECTED_NODE } from './names.ts';
import type { OperationTimes } from './operation-times.ts';
import { classOfClaim, classOfVolume, defaultClass, hasUnsetClass } from './storage-classes.ts';
import { isFree, type VolumeIndex } from './volume-index.ts';
import type { VolumeObjects } from './volume-objects.ts';

type ReadVolume = Immutable<PersistentVolume>;
type ReadClaim = Immutable<PersistentVolumeClaim>;

export interface ClaimReconcilerConfig {
  readonly client: Client;
  readonly objects: VolumeObjects;
  readonly index: VolumeIndex;
  /** All pods, by claim. */
  readonly pods: SharedInformer<Immutable<Pod>>;
  readonly recorder: EventRecorder;
  readonly events: ClaimEvents;
  readonly metrics: VolumeMetrics;
  readonly times: OperationTimes;
  /** Wakes claims that wait for a free volume of a storage class. */
  readonly wakeClaims: (storageClass: string) => void;
}

export class ClaimReconciler {
  readonly #config: ClaimReconcilerConfig;
  readonly #objects: VolumeObjects;

  constructor(config: ClaimReconcilerConfig) {
    this.#config = config;
    this.#objects = config.objects;
  }

  /** Takes the next step for a claim. Throws StatusError if a write fails. */
  async reconcile(found: ReadClaim, signal: AbortSignal): Promise<void> {
    const claim = await this.#objects.updateClaim(migratedClaim(found), signal, found);
    await (isAnnotated(claim, BIND_COMPLETED)
      ? this.#syncBound(claim, signal)
      : this.#syncUnbound(claim, signal));
  }

  async #syncUnbound(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { volumeName } = claim.spec;
    if (volumeName === undefined) {
      const found = this.#config.index.find(claim, this.#objects.isDelayed(claim));
      if (found !== undefined) return await this.#bind(found, claim, signal);
      return await this.#wait(claim, signal);
    }
    const volume = this.#objects.volumes.get(volumeName);
    if (volume !== undefined) {
      const isFor = refersTo(volume, claim);
      const why = volume.spec.claimRef === undefined ? mismatch(volume, claim) : undefined;
      if (isFor || (volume.spec.claimRef === undefined && why === undefined))
        return await this.#bind(volume, claim, signal);
      if (why !== undefined) {
        this.#config.events.once(
          claim,
          'Warning',
          'VolumeMismatch',
          `Cannot bind to requested volume "${volumeName}": ${why}`,
        );
      } else {
        this.#config.events.once(
          claim,
          'Warning',
          'FailedBinding',
          `volume "${volumeName}" already bound to a different claim.`,
        );
        // Another writer removed the annotation bind-completed: the status stays.
        if (isAnnotated(claim, BOUND_BY_CONTROLLER)) return;
      }
    }
    await this.#objects.setClaimPhase(claim, 'Pending', undefined, signal);
  }

  /** Handles a claim without a matching volume. */
  async #wait(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    if (hasUnsetClass(claim)) {
      const given = defaultClass(this.#objects.classes.lister.list());
      if (given !== undefined) {
        try {
          await this.#objects.updateClaim(
            { ...claim, spec: { ...claim.spec, storageClassName: given.metadata.name } },
            signal,
          );
        } catch (error) {
          this.#config.metrics.classFailed();
          throw error;
        }
        this.#config.metrics.classGiven();
        return;
      }
    }
    if (this.#objects.isDelayed(claim) && !isAnnotated(claim, SELECTED_NODE))
      this.#tellOfConsumers(claim);
    else if (classOfClaim(claim) !== '') return await this.#askProvisioner(claim, signal);
    else {
      const message = 'no persistent volumes available for this claim and no storage class is set';
      this.#config.events.once(claim, 'Normal', 'FailedBinding', message);
    }
    await this.#objects.setClaimPhase(claim, 'Pending', undefined, signal);
  }

  #tellOfConsumers(claim: ReadClaim): void {
    const waiting = this.#config.pods.lister
      .byIndex(BY_CLAIM, objectKey(claim))
      .filter((pod) => !isPodTerminal(pod) && pod.spec.nodeName === undefined)
      .map(({ metadata }) => metadata.name)
      .sort();
    if (waiting.length === 0) {
      this.#config.events.once(
        claim,
        'Normal',
        'WaitForFirstConsumer',
        'waiting for first consumer to be created before binding',
      );
    } else {
      const which = waiting.length === 1 ? 'pod' : 'pods';
      this.#config.events.once(
        claim,
        'Normal',
        'WaitForPodScheduled',
        `waiting for ${which} ${waiting.join(',')} to be scheduled`,
      );
    }
  }

  async #askProvisioner(claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const storageClass = this.#objects.classOf(claim);
    if (storageClass === undefined) {
      const message = `storageclass.storage.k8s.io "${classOfClaim(claim)}" not found`;
      this.#config.events.once(claim, 'Warning', 'ProvisioningFailed', message);
      return;
    }
    const provisioner = provisionerOf(storageClass.provisioner);
    if (provisioner === undefined) {
      this.#config.events.once(
        claim,
        'Warning',
        'ProvisioningFailed',
        `no volume plugin matched name: ${storageClass.provisioner}`,
      );
      return;
    }
    const key = objectKey(claim);
    this.#config.times.begin(key, provisioner, 'provision');
    try {
      await this.#objects.updateClaim(withProvisioner(claim, provisioner), signal, claim);
    } catch (error) {
      this.#config.times.failed(key);
      if (!signal.aborted && !apierrors.isConflict(error) && !apierrors.isNotFound(error)) {
        this.#config.events.once(
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
    this.#config.events.once(claim, 'Normal', 'ExternalProvisioning', message);
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
      this.#objects.volumes.get(volumeName) ??
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
    const lost = await this.#objects.setClaimPhase(claim, 'Lost', undefined, signal);
    this.#config.recorder.event(
      { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata: lost.metadata },
      'Warning',
      reason,
      message,
    );
  }

  async #bind(volume: ReadVolume, claim: ReadClaim, signal: AbortSignal): Promise<void> {
    const { name } = volume.metadata;
    const release = this.#config.index.reserve(name);
    try {
      const bound = await this.#objects.updateVolume(boundVolume(volume, claim), signal, volume);
      await this.#objects.setVolumePhase(bound, 'Bound', signal);
      const updated = await this.#objects.updateClaim(boundClaim(claim, bound), signal, claim);
      await this.#objects.setClaimPhase(updated, 'Bound', bound, signal);
      this.#config.times.done(objectKey(claim));
    } catch (error) {
      this.#config.times.failed(objectKey(claim));
      throw error;
    } finally {
      release();
      // Waiting claims that were not woken get the volume, if it is still free.
      const now = this.#objects.volumes.get(name);
      if (now !== undefined && isFree(now)) this.#config.wakeClaims(classOfVolume(now));
    }
  }
}
