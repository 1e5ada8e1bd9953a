// Takes and deletes snapshots of several volumes of a CSI driver at one moment: the parts of the
// snapshot controller and of the external-snapshotter sidecar that concern one driver.
//
// A VolumeGroupSnapshot selects claims by their labels. It gets a VolumeGroupSnapshotContent with the
// volumes of these claims, which the driver then fills. Of each volume's snapshot a VolumeSnapshot
// and its content are made, which live as long as the group. A content that exists already is bound
// to the VolumeGroupSnapshot that names it.

import {
  type PersistentVolume,
  type PersistentVolumeClaim,
  persistentVolumeClaims,
  persistentVolumes,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type { EventRecorder } from '#client/events/index.ts';
import type { SharedInformer } from '#client/informers/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { formatTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../../builder.ts';
import type { Controller } from '../../controller.ts';
import { retriedOnConflict } from '../../retried-on-conflict.ts';
import type { CsiControllerConfig } from '../csi-config.ts';
import { DriverNodes } from '../driver-nodes.ts';
import { MERGE_PATCH, statusPatch } from '../patches.ts';
import { contentAnnotations, reservedParameter } from './content-parts.ts';
import { ContentReconciler } from './content-reconciler.ts';
import { Finalizers } from './finalizers.ts';
import { GROUP_CONTENT_PROTECTION, GROUP_SECRET, GroupContents } from './group-contents.ts';
import { GroupMembers } from './group-members.ts';
import { groupOf } from './group-names.ts';
import {
  GROUP_SNAPSHOT_GROUP,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  volumeGroupSnapshotClasses,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
} from './group-resources.ts';
import { volumeSnapshots } from './resources.ts';

type Group = Immutable<VolumeGroupSnapshot>;
type Content = Immutable<VolumeGroupSnapshotContent>;
type GroupClass = Immutable<VolumeGroupSnapshotClass>;
type Volume = Immutable<PersistentVolume>;
const PREFIX = 'groupsnapshot.storage.kubernetes.io/';
const BOUND_PROTECTION = `${PREFIX}volumegroupsnapshot-bound-protection`;
const BEING_DELETED = `${PREFIX}volumegroupsnapshot-being-deleted`;
const DEFAULT_CLASS = `${PREFIX}is-default-class`;

export class GroupSnapshotter implements Controller {
  readonly name = 'csi-group-snapshotter';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #groups: SharedInformer<Group>;
  readonly #contents: SharedInformer<Content>;
  readonly #classes: SharedInformer<GroupClass>;
  readonly #claims: SharedInformer<Immutable<PersistentVolumeClaim>>;
  readonly #volumes: SharedInformer<Volume>;
  readonly #nodes: DriverNodes;
  readonly #recorder: EventRecorder;
  readonly #finalizers: Finalizers;
  readonly #members: GroupMembers;
  readonly #reconciler: ContentReconciler<Content>;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    this.#finalizers = new Finalizers(config.client);
    const builder = new ControllerBuilder(config, {
      queue: 'csi_snapshotter_groups',
      workers: 2,
      reconcile: (key, signal) => retriedOnConflict(this.#reconcileGroup(key, signal)),
    });
    const contentQueue = builder.addQueue({
      queue: 'csi_snapshotter_group_contents',
      workers: 2,
      reconcile: (name, signal) => retriedOnConflict(this.#reconcileContent(name, signal)),
    });
    const enqueue = (name: string): void => contentQueue.add(name);
    this.#recorder = builder.recorder(`external-snapshotter ${config.driver}`);
    this.#groups = builder.for(volumeGroupSnapshots);
    builder.watches(volumeGroupSnapshots, (group) => contentName(group), { enqueue });
    this.#contents = builder.watches(volumeGroupSnapshotContents, ({ spec }) => refKey(spec));
    builder.watches(volumeGroupSnapshotContents, ({ metadata }) => metadata.name, {
      enqueue,
      predicate: { delete: false },
    });
    // A member that is deleted with its group.
    const snapshots = builder.watches(
      volumeSnapshots,
      (snapshot) => {
        const group = groupOf(snapshot);
        return group === undefined ? undefined : `${snapshot.metadata.namespace}/${group.name}`;
      },
      { predicate: { delete: false } },
    );
    this.#classes = builder.informerFor(volumeGroupSnapshotClasses);
    this.#claims = builder.informerFor(persistentVolumeClaims);
    this.#volumes = builder.informerFor(persistentVolumes);
    this.#nodes = new DriverNodes(builder, config);
    this.#members = new GroupMembers(config.client, snapshots, this.#volumes);
    this.#reconciler = new ContentReconciler(
      config,
      new GroupContents(config, this.#groups.lister, this.#classes.lister),
      this.#recorder,
    );
    this.run = builder.complete();
  }

  async #reconcileGroup(key: string, signal: AbortSignal): Promise<void> {
    const group = this.#groups.lister.getByKey(key);
    if (group === undefined) return await this.#members.releaseOrphans(key, signal);
    const content = this.#contents.lister.get('', contentName(group));
    const isDeleted = group.metadata.deletionTimestamp !== undefined;
    if (content === undefined) {
      if (!isDeleted) return await this.#createContent(group, signal);
      await this.#members.release(group, signal);
      return await this.#finalizers.remove(volumeGroupSnapshots, group, BOUND_PROTECTION, signal);
    }
    if (!(await this.#reconciler.isOurs(content))) return;
    if (isDeleted) return await this.#deleteGroup(group, content, signal);
    await this.#finalizers.add(volumeGroupSnapshots, group, BOUND_PROTECTION, signal);
    await this.#bind(group, content, signal);
  }

  /** Creates the content for the claims of the group, if this driver has their volumes. */
  async #createContent(group: Group, signal: AbortSignal): Promise<void> {
    const { source } = group.spec;
    if (source.selector === undefined) return;
    const { namespace = '' } = group.metadata;
    const selector = labels.labelSelectorAsSelector(source.selector);
    const claims = this.#claims.lister
      .list(namespace)
      .filter(({ metadata }) => selector.matches(metadata.labels));
    const volumes = claims.map(({ spec }) => this.#volumes.lister.get('', spec.volumeName ?? ''));
    const own = volumes.filter((volume) => volume !== undefined && this.#nodes.hasVolume(volume));
    if (own.length === 0) {
      // There may be some later.
      if (volumes.some((volume) => volume === undefined)) throw new Error('a claim is not bound');
      return;
    }
    try {
      const chosen = this.#classOf(group);
      if (group.spec.volumeGroupSnapshotClassName === undefined)
        return await this.#recordClass(group, chosen, signal);
      const handles: string[] = [];
      for (const [index, claim] of claims.entries())
        handles.push(this.#handleOf(group, claim, volumes[index], chosen));
      await this.#writeContent(group, chosen, handles, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (apierrors.isConflict(error)) throw error;
      const message = `failed to create group snapshot content with error ${errorMessage(error)}`;
      await this.#fail(group, 'GroupSnapshotContentCreationFailed', message, signal);
      throw error;
    }
  }

  /** Returns the group's class, or the default one of this driver. Throws if there is none. */
  #classOf({ spec, metadata }: Group): GroupClass {
    const { volumeGroupSnapshotClassName: name } = spec;
    const what = `failed to get input parameters to create group snapshot ${metadata.name}`;
    if (name !== undefined) {
      const found = this.#classes.lister.get('', name);
      if (found !== undefined) return found;
      throw new Error(
        `${what}: "volumegroupsnapshotclass.${GROUP_SNAPSHOT_GROUP} \\"${name}\\" not found"`,
      );
    }
    const defaults = this.#classes.lister
      .list()
      .filter(
        (each) =>
          each.driver === this.#config.driver &&
          each.metadata.annotations?.[DEFAULT_CLASS] === 'true',
      );
    if (defaults.length === 0) throw new Error('cannot find default group snapshot class');
    if (defaults.length > 1)
      throw new Error(`${defaults.length} default snapshot classes were found`);
    return defaults[0]!;
  }

  /** Writes a default class into the group, whose change is reconciled with it. */
  async #recordClass(group: Group, { metadata }: GroupClass, signal: AbortSignal): Promise<void> {
    const { namespace = '', name, resourceVersion } = group.metadata;
    const spec = { volumeGroupSnapshotClassName: metadata.name };
    await this.#config.client
      .resource(volumeGroupSnapshots)
      .namespace(namespace)
      .patch(name, MERGE_PATCH, { metadata: { resourceVersion }, spec }, { signal });
  }

  /** Returns the handle of a claim's volume. Throws if it cannot be a part of the group. */
  #handleOf(
    group: Group,
    { metadata, status }: Immutable<PersistentVolumeClaim>,
    volume: Volume | undefined,
    { driver, metadata: { name: className } }: GroupClass,
  ): string {
    if (status.phase !== 'Bound' || volume === undefined)
      throw new Error(
        `the PVC ${metadata.name} is not yet bound to a PV, will not attempt to take a group snapshot`,
      );
    const { csi } = volume.spec;
    const { name, namespace = '' } = group.metadata;
    const failure =
      csi === undefined
        ? `Cannot snapshot a non-CSI volume: ${volume.metadata.name}`
        : csi.driver !== driver
          ? `Volume CSI driver (${csi.driver}) mismatch with VolumeGroupSnapshotClass ` +
            `(${className}) ${namespace}/${name}: ${volume.metadata.name}`
          : undefined;
    if (failure !== undefined) {
      this.#recorder.event(group, 'Warning', 'CreateGroupSnapshotContentFailed', failure);
      throw new Error(failure);
    }
    if (!this.#nodes.hasVolume(volume))
      throw new Error(
        `the volumes of a group snapshot of driver ${driver} have to be on one node: ` +
          `${volume.metadata.name} is on another one`,
      );
    return csi?.volumeHandle ?? '';
  }

  async #writeContent(
    group: Group,
    chosen: GroupClass,
    volumeHandles: readonly string[],
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#config;
    const { namespace = '', name, uid, resourceVersion } = group.metadata;
    const { parameters } = chosen;
    await apierrors.unlessExists(
      client.resource(volumeGroupSnapshotContents).create(
        {
          metadata: {
            name: contentName(group),
            finalizers: [GROUP_CONTENT_PROTECTION],
            annotations: contentAnnotations(this.#config, GROUP_SECRET, {
              name: reservedParameter(parameters, 'group-snapshotter-secret-name'),
              namespace: reservedParameter(parameters, 'group-snapshotter-secret-namespace'),
            }),
          },
          spec: {
            driver: chosen.driver,
            deletionPolicy: chosen.deletionPolicy,
            source: { volumeHandles },
            volumeGroupSnapshotClassName: chosen.metadata.name,
            volumeGroupSnapshotRef: {
              apiVersion: `${GROUP_SNAPSHOT_GROUP}/v1beta2`,
              kind: 'VolumeGroupSnapshot',
              name,
              namespace,
              uid,
              resourceVersion,
            },
          },
        },
        { signal },
      ),
    );
    const message = `Waiting for a group snapshot ${namespace}/${name} to be created by the CSI driver.`;
    this.#recorder.event(group, 'Normal', 'CreatingGroupSnapshot', message);
  }

  /** Brings the state of the content to the group: its members, and its status. */
  async #bind(group: Group, content: Content, signal: AbortSignal): Promise<void> {
    const { client } = this.#config;
    const { namespace = '', name, uid } = group.metadata;
    const { volumeGroupSnapshotRef: ref, source } = content.spec;
    if (ref.name !== name || ref.namespace !== namespace || (ref.uid ?? uid) !== uid) {
      const what = `VolumeGroupSnapshotContent [${content.metadata.name}]`;
      const message = `${what} is bound to a different group snapshot`;
      return await this.#fail(group, 'GroupSnapshotContentMisbound', message, signal);
    }
    const isGiven = group.spec.source.volumeGroupSnapshotContentName !== undefined;
    if (isGiven !== (source.groupSnapshotHandles !== undefined)) {
      const message = isGiven
        ? 'VolumeGroupSnapshotContent is dynamically provisioned while expecting a pre-provisioned one'
        : `VolumeGroupSnapshotContent ${content.metadata.name} is pre-provisioned while expecting a ` +
          'dynamically provisioned one';
      return await this.#fail(group, 'GroupSnapshotContentMismatch', message, signal);
    }
    if (ref.uid === undefined) {
      const { resourceVersion } = content.metadata;
      const spec = { volumeGroupSnapshotRef: { ...ref, uid } };
      await client
        .resource(volumeGroupSnapshotContents)
        .patch(
          content.metadata.name,
          MERGE_PATCH,
          { metadata: { resourceVersion }, spec },
          { signal },
        );
      return;
    }
    for (const info of content.status?.volumeSnapshotInfoList ?? [])
      await this.#members.create(group, content, info, signal);
    const { creationTime, readyToUse = false, error } = content.status ?? {};
    const before = group.status;
    await this.#setStatus(
      group,
      {
        boundVolumeGroupSnapshotContentName: content.metadata.name,
        readyToUse,
        ...(creationTime !== undefined && { creationTime }),
        ...(error !== undefined && { error }),
      },
      signal,
    );
    const what = `GroupSnapshot ${namespace}/${name}`;
    if (creationTime !== undefined && before?.creationTime === undefined) {
      const message = `${what} was successfully created by the CSI driver.`;
      this.#recorder.event(group, 'Normal', 'GroupSnapshotCreated', message);
    }
    if (readyToUse && before?.readyToUse !== true)
      this.#recorder.event(group, 'Normal', 'GroupSnapshotReady', `${what} is ready to use.`);
  }

  /** Deletes the members, and the content if its policy says so; then the group may go. */
  async #deleteGroup(group: Group, content: Content, signal: AbortSignal): Promise<void> {
    const { client } = this.#config;
    const isBound = content.spec.volumeGroupSnapshotRef.uid === group.metadata.uid;
    if (isBound) {
      await this.#annotate(content, signal);
      if (content.spec.deletionPolicy === 'Delete') {
        if (content.metadata.deletionTimestamp === undefined)
          await client
            .resource(volumeGroupSnapshotContents)
            .delete(content.metadata.name, { signal });
        // The group goes when its content is gone.
        return;
      }
    }
    await this.#members.release(group, signal);
    await this.#finalizers.remove(volumeGroupSnapshots, group, BOUND_PROTECTION, signal);
  }

  async #annotate({ metadata }: Content, signal: AbortSignal): Promise<void> {
    if (metadata.annotations?.[BEING_DELETED] !== undefined) return;
    const patch = { metadata: { annotations: { [BEING_DELETED]: 'yes' } } };
    await this.#config.client
      .resource(volumeGroupSnapshotContents)
      .patch(metadata.name, MERGE_PATCH, patch, { signal });
  }

  async #fail(group: Group, reason: string, message: string, signal: AbortSignal): Promise<void> {
    if (group.status?.error?.message === message) return;
    this.#recorder.event(group, 'Warning', reason, message);
    const error = { message, time: formatTime(this.#config.clock.now()) };
    await this.#setStatus(group, { ...group.status, readyToUse: false, error }, signal);
  }

  async #setStatus(group: Group, status: object, signal: AbortSignal): Promise<void> {
    if (semanticEqual(status, group.status)) return;
    const { namespace = '', name, resourceVersion } = group.metadata;
    await this.#config.client
      .resource(volumeGroupSnapshots)
      .namespace(namespace)
      .patch(
        name,
        MERGE_PATCH,
        { metadata: { resourceVersion }, ...statusPatch(group.status, status) },
        { subresource: 'status', signal },
      );
  }

  async #reconcileContent(name: string, signal: AbortSignal): Promise<void> {
    const content = this.#contents.lister.get('', name);
    if (content !== undefined) await this.#reconciler.reconcile(content, signal);
  }
}

/** Returns the name of the group's content: of the bound one, the given one, or the one to create. */
function contentName({ metadata, spec, status }: Group): string {
  return (
    spec.source.volumeGroupSnapshotContentName ??
    status?.boundVolumeGroupSnapshotContentName ??
    `groupsnapcontent-${metadata.uid}`
  );
}

const refKey = ({ volumeGroupSnapshotRef: { namespace = '', name = '' } }: Content['spec']) =>
  `${namespace}/${name}`;
