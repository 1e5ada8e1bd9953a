// Expands volumes of a CSI driver whose claims request more: the part of the external-resizer sidecar.
// The steps are in the claim's status, so that a node can finish the expansion.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult } from '#client/workqueue/index.ts';
import { csiAccessMode } from '#csi/access-modes.ts';
import type { CsiMessage } from '#csi/schema.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import { newQuantity, parseQuantity } from '#machinery/text/quantity.ts';
import { formatTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller } from '../controller.ts';
import { requestedSize, sizeOf } from '../persistent-volume/matching.ts';
import { type Attempt, ClaimAttempts } from './claim-attempts.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import { DriverNodes } from './driver-nodes.ts';
import { MERGE_PATCH, writeClaimStatus } from './patches.ts';
import { secretValues } from './secrets.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;
type ClaimStatus = ReadClaim['status'];

const ON_THE_NODE: ReadonlySet<string> = new Set(['NodeResizePending', 'NodeResizeInProgress']);

export class CsiResizer implements Controller {
  readonly name = 'csi-resizer';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #volumes: SharedInformer<ReadVolume>;
  readonly #recorder: EventRecorder;
  readonly #attempts: ClaimAttempts;
  readonly #nodes: DriverNodes;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    this.#attempts = new ClaimAttempts(config.clock);
    const builder = new ControllerBuilder(config, {
      queue: 'csi_resizer',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder(`external-resizer ${config.driver}`);
    this.#claims = builder.for(persistentVolumeClaims, {
      predicate: { delete: false },
      onGone: ({ metadata }) => this.#attempts.forget(metadata.uid),
    });
    this.#volumes = builder.informerFor(persistentVolumes);
    this.#nodes = new DriverNodes(builder, config);
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.lister.getByKey(key);
    const volume = this.#volumes.lister.get('', claim?.spec.volumeName ?? '');
    if (claim === undefined || volume === undefined || !this.#needsExpansion(claim, volume))
      return reconciled;
    const attempt: Attempt = {
      wanted: requestedSize(claim).toString(),
      run: () => this.#expand(claim, volume, signal),
      onFailed: (message) => {
        const what = `resize volume "${volume.metadata.name}" by resizer "${this.#config.driver}"`;
        this.#record(claim, 'Warning', 'VolumeResizeFailed', `${what} failed: ${message}`);
      },
      isInfeasible,
    };
    return await this.#attempts.make(claim, attempt, signal);
  }

  #needsExpansion(claim: ReadClaim, volume: ReadVolume): boolean {
    if (!this.#nodes.hasVolume(volume)) return false;
    if (claim.status.phase !== 'Bound' || volume.spec.claimRef?.uid !== claim.metadata.uid)
      return false;
    const step = claim.status.allocatedResourceStatuses?.['storage'];
    // The node finishes what has begun.
    if (step !== undefined && ON_THE_NODE.has(step)) return false;
    return requestedSize(claim).cmp(parseQuantity(claim.status.capacity?.['storage'] ?? '0')) > 0;
  }

  async #expand(claim: ReadClaim, volume: ReadVolume, signal: AbortSignal): Promise<void> {
    const { client, clock, service } = this.#config;
    const { csi, accessModes = [] } = volume.spec;
    if (csi === undefined) return;
    const now = formatTime(clock.now());
    const storage = claim.spec.resources.requests?.['storage'] ?? '0';
    let current = claim;
    // Written once: each write would start another attempt.
    const step = claim.status.allocatedResourceStatuses?.['storage'];
    if (step !== 'ControllerResizeInProgress' || !isAllocated(claim)) {
      current = await this.#setStatus(
        claim,
        {
          allocatedResources: { ...claim.status.allocatedResources, storage },
          allocatedResourceStatuses: {
            ...claim.status.allocatedResourceStatuses,
            storage: 'ControllerResizeInProgress',
          },
          conditions: withCondition(claim.status, 'Resizing', now),
        },
        signal,
      );
      const message = `External resizer is resizing volume ${volume.metadata.name}`;
      this.#record(claim, 'Normal', 'Resizing', message);
    }
    const capabilities = await service.capabilities();
    const mode = csiAccessMode(
      accessModes[0] ?? 'ReadWriteOnce',
      capabilities.has('SINGLE_NODE_MULTI_WRITER'),
    );
    let response: CsiMessage<'ControllerExpandVolumeResponse'>;
    try {
      // A driver without the capability expands on the node only.
      response = capabilities.has('EXPAND_VOLUME')
        ? await service.expand({
            volumeId: csi.volumeHandle,
            capacityRange: { requiredBytes: parseQuantity(storage).value() },
            secrets: await secretValues(client, csi.controllerExpandSecretRef, signal),
            volumeCapability: {
              accessMode: { mode },
              ...(volume.spec.volumeMode === 'Block'
                ? { block: {} }
                : { mount: { fsType: csi.fsType ?? '' } }),
            },
          })
        : { capacityBytes: parseQuantity(storage).value(), nodeExpansionRequired: true };
    } catch (error) {
      if (isInfeasible(error)) {
        await this.#setStatus(
          current,
          {
            allocatedResourceStatuses: {
              ...current.status.allocatedResourceStatuses,
              storage: 'ControllerResizeInfeasible',
            },
          },
          signal,
        );
      }
      throw error;
    }
    const size = newQuantity(response.capacityBytes, 'BinarySI');
    const grown = size.cmp(requestedSize(claim)) >= 0 ? size.toString() : storage;
    if (sizeOf(volume).cmp(parseQuantity(grown)) < 0) {
      const { name, resourceVersion } = volume.metadata;
      await client
        .resource(persistentVolumes)
        .patch(
          name,
          MERGE_PATCH,
          { metadata: { resourceVersion }, spec: { capacity: { storage: grown } } },
          { signal },
        );
    }
    const { storage: _, ...statuses } = current.status.allocatedResourceStatuses ?? {};
    if (response.nodeExpansionRequired) {
      current = await this.#setStatus(
        current,
        {
          allocatedResourceStatuses: { ...statuses, storage: 'NodeResizePending' },
          conditions: withCondition(current.status, 'FileSystemResizePending', now),
        },
        signal,
      );
      const onNode = 'Require file system resize of volume on node';
      this.#record(claim, 'Normal', 'FileSystemResizeRequired', onNode);
      return;
    }
    await this.#setStatus(
      current,
      {
        capacity: { ...current.status.capacity, storage: grown },
        allocatedResourceStatuses: statuses,
        conditions: withCondition(current.status, undefined, now),
      },
      signal,
    );
    this.#record(claim, 'Normal', 'VolumeResizeSuccessful', 'Resize volume succeeded');
  }

  #setStatus(
    claim: ReadClaim,
    changes: Partial<ClaimStatus>,
    signal: AbortSignal,
  ): Promise<ReadClaim> {
    return writeClaimStatus(this.#config.client, claim, { ...claim.status, ...changes }, signal);
  }

  #record(claim: ReadClaim, type: 'Normal' | 'Warning', reason: string, message: string): void {
    const { metadata } = claim;
    const regarding = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata };
    this.#recorder.event(regarding, type, reason, message);
  }
}

/** Reports whether another attempt would fail, too. */
function isInfeasible(error: unknown): boolean {
  return isRpcError(error, 'INVALID_ARGUMENT', 'OUT_OF_RANGE', 'NOT_FOUND');
}

/** Reports whether the expansion that has begun is to the size that the claim requests now. */
function isAllocated(claim: ReadClaim): boolean {
  const allocated = claim.status.allocatedResources?.['storage'];
  return allocated !== undefined && parseQuantity(allocated).cmp(requestedSize(claim)) === 0;
}

/** Returns the conditions, with this one in place of any other about an expansion. */
function withCondition(
  { conditions = [] }: ClaimStatus,
  type: 'Resizing' | 'FileSystemResizePending' | undefined,
  now: string,
): ClaimStatus['conditions'] {
  const others = conditions.filter(
    (each) => each.type !== 'Resizing' && each.type !== 'FileSystemResizePending',
  );
  if (type === undefined) return others;
  const message =
    type === 'FileSystemResizePending'
      ? 'Waiting for user to (re-)start a pod to finish file system resize of volume on node.'
      : undefined;
  return [
    ...others,
    {
      type,
      status: 'True',
      lastProbeTime: null,
      lastTransitionTime: now,
      ...(message !== undefined && { message }),
    },
  ];
}
