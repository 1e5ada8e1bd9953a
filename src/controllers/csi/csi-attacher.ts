// Attaches volumes of a CSI driver to nodes, as VolumeAttachments ask for it: the part of the
// external-attacher sidecar.

import { type PersistentVolume, persistentVolumes } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type CSINode,
  csiNodes,
  type VolumeAttachment,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import { csiAccessMode } from '#csi/access-modes.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import { formatTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../builder.ts';
import type { Controller } from '../controller.ts';
import type { CsiControllerConfig } from './csi-config.ts';
import { finalizersPatch, MERGE_PATCH } from './patches.ts';
import { secretValues } from './secrets.ts';

type ReadAttachment = Immutable<VolumeAttachment>;
type ReadVolume = Immutable<PersistentVolume>;

export class CsiAttacher implements Controller {
  readonly name = 'csi-attacher';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #attachments: SharedInformer<ReadAttachment>;
  readonly #csiNodes: SharedInformer<Immutable<CSINode>>;
  readonly #finalizer: string;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    this.#finalizer = `external-attacher/${config.driver.replaceAll('.', '-')}`;
    const builder = new ControllerBuilder(config, {
      queue: 'csi_attacher',
      workers: 10,
      reconcile: (name, signal) => this.#reconcile(name, signal),
    });
    this.#attachments = builder.for(volumeAttachments, {
      predicate: {
        // An error that this controller has recorded must not start the next attempt.
        update: (before, after) =>
          before.status.attached !== after.status.attached ||
          before.metadata.deletionTimestamp !== after.metadata.deletionTimestamp,
        delete: false,
      },
    });
    this.#csiNodes = builder.informerFor(csiNodes);
    this.run = builder.complete();
  }

  async #reconcile(name: string, signal: AbortSignal): Promise<ReconcileResult> {
    const attachment = this.#attachments.lister.get('', name);
    const { driver, nodeName } = this.#config;
    if (attachment === undefined || attachment.spec.attacher !== driver) return reconciled;
    if (nodeName !== undefined && attachment.spec.nodeName !== nodeName) return reconciled;
    const isDeleted = attachment.metadata.deletionTimestamp !== undefined;
    if (!isDeleted && attachment.status.attached) return reconciled;
    if (isDeleted && attachment.metadata.finalizers?.includes(this.#finalizer) !== true)
      return reconciled;
    try {
      if (isDeleted) await this.#detach(attachment, signal);
      else await this.#attach(attachment, signal);
    } catch (error) {
      if (signal.aborted) throw error;
      if (apierrors.isConflict(error)) return requeue;
      await this.#recordError(attachment, isDeleted ? 'detachError' : 'attachError', error, signal);
      throw error;
    }
    return reconciled;
  }

  async #attach(attachment: ReadAttachment, signal: AbortSignal): Promise<void> {
    const { client, service } = this.#config;
    const resource = client.resource(volumeAttachments);
    const capabilities = await service.capabilities();
    let attachmentMetadata: Readonly<Record<string, string>> = {};
    let current = attachment;
    if (capabilities.has('PUBLISH_UNPUBLISH_VOLUME')) {
      const volume = await this.#volumeOf(attachment, signal);
      const { csi, accessModes = [], mountOptions = [], volumeMode } = volume.spec;
      if (csi === undefined)
        throw new Error(`volume ${volume.metadata.name} is not of a CSI driver`);
      const finalizers = attachment.metadata.finalizers ?? [];
      if (!finalizers.includes(this.#finalizer)) {
        const patch = finalizersPatch(attachment, [...finalizers, this.#finalizer]);
        current = await resource.patch(attachment.metadata.name, MERGE_PATCH, patch, { signal });
      }
      const mode = csiAccessMode(
        accessModes[0] ?? 'ReadWriteOnce',
        capabilities.has('SINGLE_NODE_MULTI_WRITER'),
      );
      const mount = { fsType: csi.fsType ?? '', mountFlags: mountOptions };
      attachmentMetadata = await service.publish({
        volumeId: csi.volumeHandle,
        nodeId: this.#nodeId(attachment),
        volumeCapability: {
          accessMode: { mode },
          ...(volumeMode === 'Block' ? { block: {} } : { mount }),
        },
        readonly: csi.readOnly === true && capabilities.has('PUBLISH_READONLY'),
        secrets: await secretValues(client, csi.controllerPublishSecretRef, signal),
        volumeContext: csi.volumeAttributes ?? {},
      });
    }
    const { name, resourceVersion } = current.metadata;
    const metadata = Object.keys(attachmentMetadata).length > 0 ? attachmentMetadata : null;
    await resource.patch(
      name,
      MERGE_PATCH,
      {
        metadata: { resourceVersion },
        status: { attached: true, attachError: null, attachmentMetadata: metadata },
      },
      { subresource: 'status', signal },
    );
  }

  async #detach(attachment: ReadAttachment, signal: AbortSignal): Promise<void> {
    const { client, service } = this.#config;
    const { csi } = (await this.#volumeOf(attachment, signal)).spec;
    if (csi !== undefined) {
      await service.unpublish({
        volumeId: csi.volumeHandle,
        nodeId: this.#nodeId(attachment),
        secrets: await secretValues(client, csi.controllerPublishSecretRef, signal),
      });
    }
    const resource = client.resource(volumeAttachments);
    const { name, resourceVersion } = attachment.metadata;
    const detached = await resource.patch(
      name,
      MERGE_PATCH,
      { metadata: { resourceVersion }, status: { attached: false, detachError: null } },
      { subresource: 'status', signal },
    );
    const finalizers = (detached.metadata.finalizers ?? []).filter(
      (each) => each !== this.#finalizer,
    );
    await resource.patch(name, MERGE_PATCH, finalizersPatch(detached, finalizers), { signal });
  }

  /** Returns the node's name in the driver. Throws if the driver is not registered on the node. */
  #nodeId({ spec }: ReadAttachment): string {
    const { driver } = this.#config;
    const entry = this.#csiNodes.lister
      .get('', spec.nodeName)
      ?.spec.drivers?.find(({ name }) => name === driver);
    if (entry === undefined)
      throw new Error(`CSINode ${spec.nodeName} does not contain driver ${driver}`);
    return entry.nodeID;
  }

  async #volumeOf({ spec }: ReadAttachment, signal: AbortSignal): Promise<ReadVolume> {
    const name = spec.source.persistentVolumeName;
    if (name === undefined) throw new Error('inline volumes of migrated drivers are not supported');
    return await this.#config.client.resource(persistentVolumes).get(name, { signal });
  }

  async #recordError(
    attachment: ReadAttachment,
    field: 'attachError' | 'detachError',
    error: unknown,
    signal: AbortSignal,
  ): Promise<void> {
    const { client, clock, logger } = this.#config;
    const what = {
      message: errorMessage(error),
      time: formatTime(clock.now()),
      ...(field === 'attachError' && isRpcError(error) && { errorCode: error.number }),
    };
    try {
      await client
        .resource(volumeAttachments)
        .patch(
          attachment.metadata.name,
          MERGE_PATCH,
          { status: { [field]: what } },
          { subresource: 'status', signal },
        );
    } catch (error_) {
      logger.warn('CSI attacher: error not recorded', {
        attachment: attachment.metadata.name,
        err: error_,
      });
    }
  }
}
