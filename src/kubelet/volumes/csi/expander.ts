// Grows the file systems of volumes that have been expanded: the storage system has given the volume
// more space, and the driver must make it usable on the node.

import type * as v1 from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import { isFinalError } from '#csi/final-error.ts';
import type { Logger } from '#machinery/log.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { podUid, type Pod } from '../../types.ts';
import type { ClaimSource, PersistentVolume, PersistentVolumeClaim } from '../claims.ts';
import type { CsiHost, CsiVolume, MountedVolume } from './host.ts';
import type { CsiNodeService } from './node-client.ts';
import { secretValues, volumeCapability } from './request.ts';

type Condition = Immutable<v1.PersistentVolumeClaimCondition>;

export interface ExpanderConfig {
  readonly host: Pick<CsiHost, 'service' | 'secret' | 'nodeName'>;
  readonly claims: ClaimSource;
  readonly logger: Logger;
  /** Returns the present time, for conditions. */
  readonly now: () => string;
  /** Writes the status of a claim; rejects if the claim has changed meanwhile. */
  readonly patchStatus: (
    claim: PersistentVolumeClaim,
    status: object,
  ) => Promise<PersistentVolumeClaim>;
  /** Records an event about the pod and the claim. */
  readonly record: (
    pod: Pod,
    claim: PersistentVolumeClaim,
    type: 'Normal' | 'Warning',
    reason: 'FileSystemResizeSuccessful' | 'FileSystemResizeFailed' | 'VolumeResizeFailed',
    message: string,
  ) => void;
}

/** A persistent volume that is mounted on this node. */
export interface GrowableVolume {
  readonly name: string;
  readonly readOnly: boolean;
  /** Reports whether the node takes part in the volume's expansion. */
  isSupported(): Promise<boolean>;
  /** Makes the volume as large as its storage. Rejects with the reason. */
  grow(bytes: number): Promise<void>;
}

/** The conditions of a claim that are about its expansion. */
const RESIZE_CONDITIONS: ReadonlySet<string> = new Set([
  'FileSystemResizePending',
  'Resizing',
  'ControllerResizeError',
  'NodeResizeError',
]);

export class CsiExpander {
  readonly #config: ExpanderConfig;
  /**
   * Pods with claims (by UIDs) whose volumes the driver cannot expand while they are in use: only a
   * later pod is tried again.
   */
  readonly #notInUse = new Set<string>();
  /** The same keys, of expansions whose last failure was final. */
  readonly #failed = new Set<string>();

  constructor(config: ExpanderConfig) {
    this.#config = config;
  }

  /** Forgets all pods but these. */
  retain(uids: ReadonlySet<string>): void {
    for (const keys of [this.#notInUse, this.#failed])
      for (const key of keys) if (!uids.has(key.slice(0, key.indexOf(' ')))) keys.delete(key);
  }

  /** Expands the volume if its claim waits for that. Rejects if the driver fails. */
  async expand(pod: Pod, volume: CsiVolume, mounted: MountedVolume): Promise<void> {
    if (volume.isInline) return;
    const { host } = this.#config;
    const { name, readOnly } = volume;
    // Called only if there is something to expand: the driver may not be registered.
    const service = (): CsiNodeService => host.service(volume.driver);
    await this.grow(pod, {
      name,
      readOnly,
      isSupported: async () => (await service().capabilities()).has('EXPAND_VOLUME'),
      grow: async (bytes) =>
        await service().expand({
          volumeId: volume.handle,
          volumePath: mounted.path,
          stagingTargetPath: mounted.stagingPath,
          capacityRange: { requiredBytes: bytes },
          volumeCapability: volumeCapability(volume, await service().capabilities(), undefined),
          secrets: await secretValues(host, 'NodeExpandSecretRef', volume.expandSecret),
        }),
    });
  }

  /** Grows a volume of any type if its claim waits for that. Rejects with the volume's error. */
  async grow(pod: Pod, volume: GrowableVolume): Promise<void> {
    const { claims, record, host, patchStatus } = this.#config;
    const persistent = await claims.volume(volume.name);
    const { claimRef } = persistent.spec;
    if (claimRef?.name === undefined) return;
    let claim = await claims.claim(claimRef.namespace ?? '', claimRef.name);
    const plan = planExpansion(persistent, claim);
    const key = `${podUid(pod)} ${claim.metadata.uid}`;
    if (plan === undefined || this.#notInUse.has(key)) return;
    const named = `for volume "${volume.name}"`;
    if (volume.readOnly) {
      const message = `MountVolume.NodeExpandVolume failed ${named} requested read-only file system`;
      record(pod, claim, 'Warning', 'FileSystemResizeFailed', message);
      return;
    }
    if (!(await volume.isSupported())) return;
    if (plan.recovers) {
      claim = await patchStatus(claim, {
        allocatedResourceStatuses: { storage: 'NodeResizeInProgress' },
      });
    }
    try {
      await volume.grow(plan.bytes);
    } catch (error) {
      if (isRpcError(error, 'FAILED_PRECONDITION')) {
        this.#notInUse.add(key);
        this.#config.logger.error('MountVolume.NodeExpandVolume failed', {
          volume: volume.name,
          err: error,
        });
        return;
      }
      // The claim has been changed to another size meanwhile: its controller has to act first.
      const isAbandoned = this.#failed.has(key) && !isOfSize(claim, plan.size);
      if (isFinalError(error)) this.#failed.add(key);
      await this.#recordFailure(pod, claim, volume, { ...plan, isAbandoned }, error);
      throw error;
    }
    this.#failed.delete(key);
    const message = `MountVolume.NodeExpandVolume succeeded ${named} ${host.nodeName}`;
    record(pod, claim, 'Normal', 'FileSystemResizeSuccessful', message);
    await patchStatus(claim, {
      capacity: { storage: plan.size },
      allocatedResourceStatuses: null,
      conditions: withoutResize(claim),
    });
  }

  async #recordFailure(
    pod: Pod,
    claim: PersistentVolumeClaim,
    volume: GrowableVolume,
    { recovers, isAbandoned }: { readonly recovers: boolean; readonly isAbandoned: boolean },
    error: unknown,
  ): Promise<void> {
    const { record, patchStatus } = this.#config;
    const what = `NodeExpandVolume.NodeExpandVolume failed for volume "${volume.name}"`;
    const message = `${what} : Expander.NodeExpand failed to expand the volume : ${errorMessage(error)}`;
    record(pod, claim, 'Warning', 'VolumeResizeFailed', message);
    if (!recovers || !isFinalError(error)) return;
    const isInfeasible =
      isAbandoned || isRpcError(error, 'INVALID_ARGUMENT', 'OUT_OF_RANGE', 'NOT_FOUND');
    await patchStatus(claim, {
      ...(isInfeasible && { allocatedResourceStatuses: { storage: 'NodeResizeInfeasible' } }),
      conditions: [
        ...withoutResize(claim),
        {
          type: 'NodeResizeError',
          status: 'True',
          lastProbeTime: null,
          lastTransitionTime: this.#config.now(),
          message: `failed to expand pvc with ${errorMessage(error)}`,
        },
      ],
    });
  }
}

interface ExpansionPlan {
  readonly bytes: number;
  readonly size: string;
  /** The controller records the steps of the expansion in the claim's status. */
  readonly recovers: boolean;
}

/** Returns the expansion that the claim waits for on the node, if any. */
function planExpansion(
  { spec }: PersistentVolume,
  { status }: PersistentVolumeClaim,
): ExpansionPlan | undefined {
  const present = status.capacity?.['storage'] ?? '0';
  const wanted = spec.capacity?.['storage'] ?? '0';
  if (parseQuantity(present).cmp(parseQuantity(wanted)) >= 0) return undefined;
  const step = status.allocatedResourceStatuses?.['storage'];
  const allocated = status.allocatedResources?.['storage'];
  const recovers = step !== undefined || allocated !== undefined;
  if (recovers && step !== 'NodeResizePending' && step !== 'NodeResizeInProgress') return undefined;
  const size = recovers ? (allocated ?? wanted) : wanted;
  return { bytes: parseQuantity(size).value(), size, recovers };
}

/** Reports whether the claim asks for this size. */
function isOfSize({ spec }: PersistentVolumeClaim, size: string): boolean {
  const wanted = spec.resources?.requests?.['storage'] ?? '0';
  return parseQuantity(wanted).cmp(parseQuantity(size)) === 0;
}

function withoutResize({ status }: PersistentVolumeClaim): readonly Condition[] {
  return (status.conditions ?? []).filter(({ type }) => !RESIZE_CONDITIONS.has(type));
}
