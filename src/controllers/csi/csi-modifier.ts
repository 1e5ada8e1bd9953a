// Changes volumes of a CSI driver whose claims name another VolumeAttributesClass: the part of the
// external-resizer sidecar. The step is in the claim's status, so a restart repeats what has begun.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type VolumeAttributesClass,
  volumeAttributesClasses,
} from '#api/groups/storage/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import { objectKey, type SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import { formatTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller } from '../controller.ts';
import { type Attempt, ClaimAttempts } from './claim-attempts.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import { DriverNodes } from './driver-nodes.ts';
import { MERGE_PATCH, writeClaimStatus } from './patches.ts';
import { secretValues } from './secrets.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;
type ReadClass = Immutable<VolumeAttributesClass>;
type ClaimStatus = ReadClaim['status'];
type Condition = NonNullable<ClaimStatus['conditions']>[number];

const BY_CLASS = 'volume-attributes-class';

export class CsiModifier implements Controller {
  readonly name = 'csi-modifier';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #classes: SharedInformer<ReadClass>;
  readonly #recorder: EventRecorder;
  readonly #nodes: DriverNodes;
  readonly #attempts: ClaimAttempts;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    this.#attempts = new ClaimAttempts(config.clock);
    const builder = new ControllerBuilder(config, {
      queue: 'csi_modifier',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(`external-resizer ${config.driver}`);
    this.#claims = builder.for(persistentVolumeClaims, {
      indexers: { [BY_CLASS]: (claim) => [claim.spec.volumeAttributesClassName ?? ''] },
      predicate: { delete: false },
      onGone: ({ metadata }) => this.#attempts.forget(metadata.uid),
    });
    this.#volumes = builder.informerFor(persistentVolumes);
    // A claim may name a class that is created later.
    this.#classes = builder.watches(
      volumeAttributesClasses,
      ({ metadata }) => this.#claims.lister.byIndex(BY_CLASS, metadata.name).map(objectKey),
      { predicate: { delete: false } },
    );
    this.#nodes = new DriverNodes(builder, config);
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.lister.getByKey(key);
    const volume = this.#volumes.lister.get('', claim?.spec.volumeName ?? '');
    if (claim === undefined || volume === undefined || !this.#needsChange(claim, volume))
      return reconciled;
    if (!(await this.#config.service.capabilities()).has('MODIFY_VOLUME')) return reconciled;
    const className = claim.spec.volumeAttributesClassName ?? '';
    const attempt: Attempt = {
      wanted: className,
      run: () => this.#change(claim, volume, className, signal),
      onFailed: (message) => this.#record(claim, 'Warning', 'VolumeModifyFailed', message),
      isInfeasible,
    };
    return await this.#attempts.make(claim, attempt, signal);
  }

  #needsChange(claim: ReadClaim, volume: ReadVolume): boolean {
    const wanted = claim.spec.volumeAttributesClassName ?? '';
    return (
      wanted !== '' &&
      wanted !== claim.status.currentVolumeAttributesClassName &&
      claim.status.phase === 'Bound' &&
      volume.spec.claimRef?.uid === claim.metadata.uid &&
      this.#nodes.hasVolume(volume)
    );
  }

  async #change(
    claim: ReadClaim,
    volume: ReadVolume,
    className: string,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, driver, service } = this.#config;
    const target = { targetVolumeAttributesClassName: className };
    const attributes = this.#classes.lister.get('', className);
    if (attributes === undefined) {
      const modifyVolumeStatus = { ...target, status: 'Pending' as const };
      await this.#setStatus(claim, { ...claim.status, modifyVolumeStatus }, signal);
      return;
    }
    if (attributes.driverName !== driver)
      throw new Error(
        `VAC ${className} referenced in PVC is for driver ${attributes.driverName} which does not ` +
          `match driver name ${driver}`,
      );
    const begun = await this.#begin(claim, className, signal);
    const what = `volume ${claim.metadata.name} with vac ${className}`;
    if (begun !== claim)
      this.#record(claim, 'Normal', 'VolumeModify', `external resizer is modifying ${what}`);
    const { csi } = volume.spec;
    try {
      await service.modify({
        volumeId: csi?.volumeHandle ?? '',
        secrets: await secretValues(client, csi?.controllerExpandSecretRef, signal),
        mutableParameters: attributes.parameters ?? {},
      });
    } catch (error) {
      await this.#failed(begun, className, error, signal);
      throw error;
    }
    // The volume first: the claim says when all is done.
    if (volume.spec.volumeAttributesClassName !== className) {
      const { name, resourceVersion } = volume.metadata;
      const patch = {
        metadata: { resourceVersion },
        spec: { volumeAttributesClassName: className },
      };
      await client.resource(persistentVolumes).patch(name, MERGE_PATCH, patch, { signal });
    }
    const { modifyVolumeStatus: _, ...rest } = begun.status;
    await this.#setStatus(
      begun,
      {
        ...rest,
        currentVolumeAttributesClassName: className,
        conditions: withCondition(begun.status, undefined),
      },
      signal,
    );
    const done = `external resizer modified ${what} successfully`;
    this.#record(claim, 'Normal', 'VolumeModifySuccessful', done);
  }

  /**
   * Records that the change is in progress. An attempt that repeats a failed one writes nothing: each
   * write would start another attempt.
   */
  async #begin(claim: ReadClaim, className: string, signal: AbortSignal): Promise<ReadClaim> {
    const { modifyVolumeStatus: present } = claim.status;
    if (present?.status === 'InProgress' && present.targetVolumeAttributesClassName === className)
      return claim;
    const condition = this.#condition('ModifyingVolume', 'ModifyVolume operation in progress.');
    return await this.#setStatus(
      claim,
      {
        ...claim.status,
        modifyVolumeStatus: { targetVolumeAttributesClassName: className, status: 'InProgress' },
        conditions: withCondition(claim.status, condition),
      },
      signal,
    );
  }

  async #failed(
    claim: ReadClaim,
    className: string,
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const message = `ModifyVolume failed with error: ${errorMessage(error)}. Waiting for retry.`;
    const status = isInfeasible(error) ? ('Infeasible' as const) : ('InProgress' as const);
    await this.#setStatus(
      claim,
      {
        ...claim.status,
        modifyVolumeStatus: { targetVolumeAttributesClassName: className, status },
        conditions: withCondition(claim.status, this.#condition('ModifyVolumeError', message)),
      },
      signal,
    );
  }

  #condition(type: string, message: string): Condition {
    const now = formatTime(this.#config.clock.now());
    return { type, status: 'True', message, lastProbeTime: null, lastTransitionTime: now };
  }

  #setStatus(claim: ReadClaim, status: ClaimStatus, signal: AbortSignal): Promise<ReadClaim> {
    return writeClaimStatus(this.#config.client, claim, status, signal);
  }

  #record(claim: ReadClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { metadata } = claim;
    const regarding = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata };
    this.#recorder.event(regarding, type, reason, message);
  }
}

/** Reports whether another attempt would fail, too. */
const isInfeasible = (error: unknown): boolean => isRpcError(error, 'INVALID_ARGUMENT');

/**
 * Returns the conditions with this one in place of any other about a change. One with the same
 * message is kept, so that a repeated attempt writes nothing.
 */
function withCondition(
  { conditions = [] }: ClaimStatus,
  condition: Condition | undefined,
): ClaimStatus['conditions'] {
  const present = conditions.find(
    ({ type, message }) => type === condition?.type && message === condition.message,
  );
  const others = conditions.filter(
    ({ type }) => type !== 'ModifyingVolume' && type !== 'ModifyVolumeError',
  );
  return condition === undefined ? others : [...others, present ?? condition];
}
