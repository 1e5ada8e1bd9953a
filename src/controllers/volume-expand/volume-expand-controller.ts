// Handles claims that request more than they have. This controller expands no volume itself: it
// records an event that names the component which does. It also removes the pre-resize annotation
// of a volume once the file system has been expanded.

import { driverOfPlugin, pluginOfSource } from '#api/groups/core/v1/csi-migration/index.ts';
import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller, ControllerConfig } from '../controller.ts';
import { isOurs } from '../local-provisioner/local-volume.ts';
import { requestedSize, sizeOf } from '../persistent-volume/matching.ts';
import { PRE_RESIZE_CAPACITY, STORAGE_RESIZER } from '../persistent-volume/names.ts';

type ReadClaim = Immutable<PersistentVolumeClaim>;
type ReadVolume = Immutable<PersistentVolume>;

export class VolumeExpandController implements Controller {
  readonly name = 'persistentvolume-expander-controller';
  readonly run: Controller['run'];
  readonly #config: ControllerConfig;
  readonly #claims: SharedInformer<ReadClaim>;
  readonly #recorder: EventRecorder;

  constructor(config: ControllerConfig) {
    this.#config = config;
    const builder = new ControllerBuilder(config, {
      queue: 'volume_expand',
      workers: 5,
      reconcile: (key, signal) => this.#reconcile(key, signal),
    });
    this.#recorder = builder.recorder('volume_expand');
    this.#claims = builder.for(persistentVolumeClaims, {
      predicate: {
        add: wantsMore,
        // Only changes of the sizes count: the event of a waiting claim is recorded once.
        update: (before, claim) =>
          requestedSize(claim).cmp(requestedSize(before)) > 0 ||
          statusSize(claim).cmp(statusSize(before)) !== 0,
        delete: false,
      },
    });
    this.run = builder.complete();
  }

  async #reconcile(key: string, signal: AbortSignal): Promise<ReconcileResult> {
    const claim = this.#claims.lister.getByKey(key);
    if (
      claim === undefined ||
      claim.spec.volumeName === undefined ||
      claim.status.phase !== 'Bound'
    )
      return reconciled;
    const client = this.#config.client.resource(persistentVolumes);
    try {
      const volume = await client.get(claim.spec.volumeName, { signal });
      if (volume.spec.claimRef === undefined || volume.spec.claimRef.uid !== claim.metadata.uid)
        return reconciled;
      const isNoted = volume.metadata.annotations?.[PRE_RESIZE_CAPACITY] !== undefined;
      if (isNoted && isDone(claim, volume)) await client.update(withoutNote(volume), { signal });
      else if (isNoted || wantsMore(claim)) await this.#leave(claim, volume, signal);
    } catch (error) {
      if (apierrors.isConflict(error)) return requeue;
      if (apierrors.isNotFound(error)) return reconciled;
      throw error;
    }
    return reconciled;
  }

  /** Annotates the claim for the component that expands such volumes. */
  async #leave(claim: ReadClaim, volume: ReadVolume, signal: AbortSignal): Promise<void> {
    const plugin = pluginOfSource(volume.spec);
    const driver = plugin === undefined ? undefined : driverOfPlugin(plugin);
    if (driver === undefined) {
      // No component expands volumes of other kinds.
      const isKnown = volume.spec.csi !== undefined || isOurs(volume);
      this.#tell(
        claim,
        isKnown ? 'Normal' : 'Warning',
        'waiting for an external controller to expand this PVC',
      );
      return;
    }
    this.#tell(
      claim,
      'Normal',
      `CSI migration enabled for ${plugin}; waiting for external resizer to expand the pvc`,
    );
    const { name, namespace = '', annotations, resourceVersion } = claim.metadata;
    if (annotations?.[STORAGE_RESIZER] === driver) return;
    const patch = { metadata: { resourceVersion, annotations: { [STORAGE_RESIZER]: driver } } };
    const client = this.#config.client.resource(persistentVolumeClaims).namespace(namespace);
    await client.patch(name, 'application/merge-patch+json', patch, {
      subresource: 'status',
      signal,
    });
  }

  #tell({ metadata }: ReadClaim, type: 'Normal' | 'Warning', message: string): void {
    const regarding = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata };
    this.#recorder.event(regarding, type, 'ExternalExpanding', message);
  }
}

function statusSize({ status }: ReadClaim) {
  return parseQuantity(status.capacity?.['storage'] ?? '0');
}

function wantsMore(claim: ReadClaim): boolean {
  return claim.status.phase === 'Bound' && requestedSize(claim).cmp(statusSize(claim)) > 0;
}

function isDone(claim: ReadClaim, volume: ReadVolume): boolean {
  const has = statusSize(claim);
  return has.cmp(requestedSize(claim)) >= 0 && has.cmp(sizeOf(volume)) >= 0;
}

function withoutNote(volume: ReadVolume): ReadVolume {
  const { annotations: { [PRE_RESIZE_CAPACITY]: _, ...others } = {}, ...metadata } =
    volume.metadata;
  const annotations = Object.keys(others).length > 0 ? { annotations: others } : {};
  return { ...volume, metadata: { ...metadata, ...annotations } };
}
