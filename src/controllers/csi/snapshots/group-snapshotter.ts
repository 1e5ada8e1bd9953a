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
import { reconciled, type ReconcileResult, requeue } from '#client/workqueue/index.ts';
import type { CsiMessage } from '#csi/schema.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { isRpcError } from '#machinery/grpc/rpc-error.ts';
import * as labels from '#machinery/selectors/labels.ts';
import { formatTime } from '#machinery/text/time.ts';
import { ControllerBuilder } from '../../builder.ts';
import type { Controller } from '../../controller.ts';
import type { CsiControllerConfig } from '../csi-config.ts';
import { DriverNodes } from '../driver-nodes.ts';
import { MERGE_PATCH, statusPatch } from '../patches.ts';
import { secretValues } from '../secrets.ts';
import { SECRET_NAME, SECRET_NAMESPACE, secretOf, SNAPSHOT_NODE } from './csi-snapshotter.ts';
import { Finalizers } from './finalizers.ts';
import { GROUP_HANDLE, groupOf, IN_GROUP, memberNames } from './group-members.ts';
import {
  GROUP_SNAPSHOT_GROUP,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  volumeGroupSnapshotClasses,
  type VolumeGroupSnapshotContent,
  volumeGroupSnapshotContents,
  volumeGroupSnapshots,
} from './group-resources.ts';
import { type VolumeSnapshot, volumeSnapshotContents, volumeSnapshots } from './resources.ts';

type Group = Immutable<VolumeGroupSnapshot>;
type Content = Immutable<VolumeGroupSnapshotContent>;
type GroupClass = Immutable<VolumeGroupSnapshotClass>;
type Volume = Immutable<PersistentVolume>;
type SnapshotInfo = NonNullable<NonNullable<Content['status']>['volumeSnapshotInfoList']>[number];

const PREFIX = 'groupsnapshot.storage.kubernetes.io/';
const BOUND_PROTECTION = `${PREFIX}volumegroupsnapshot-bound-protection`;
const CONTENT_PROTECTION = `${PREFIX}volumegroupsnapshotcontent-bound-protection`;
const BEING_DELETED = `${PREFIX}volumegroupsnapshot-being-deleted`;
const DEFAULT_CLASS = `${PREFIX}is-default-class`;
const GROUP_SECRET_NAME = `${PREFIX}deletion-secret-name`;
const GROUP_SECRET_NAMESPACE = `${PREFIX}deletion-secret-namespace`;
const RESERVED = 'csi.storage.k8s.io/';
const BY_HANDLE = 'volume-handle';

export class GroupSnapshotter implements Controller {
  readonly name = 'csi-group-snapshotter';
  readonly run: Controller['run'];
  readonly #config: CsiControllerConfig;
  readonly #groups: SharedInformer<Group>;
  readonly #contents: SharedInformer<Content>;
  readonly #classes: SharedInformer<GroupClass>;
  readonly #snapshots: SharedInformer<Immutable<VolumeSnapshot>>;
  readonly #claims: SharedInformer<Immutable<PersistentVolumeClaim>>;
  readonly #volumes: SharedInformer<Volume>;
  readonly #nodes: DriverNodes;
  readonly #recorder: EventRecorder;
  readonly #finalizers: Finalizers;

  constructor(config: CsiControllerConfig) {
    this.#config = config;
    this.#finalizers = new Finalizers(config.client);
    const builder = new ControllerBuilder(config, {
      queue: 'csi_snapshotter_groups',
      workers: 2,
      reconcile: (key, signal) => retrying(this.#reconcileGroup(key, signal)),
    });
    const contentQueue = builder.addQueue({
      queue: 'csi_snapshotter_group_contents',
      workers: 2,
      reconcile: (name, signal) => retrying(this.#reconcileContent(name, signal)),
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
    this.#snapshots = builder.watches(
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
    this.#volumes.addIndexers({
      [BY_HANDLE]: ({ spec }) => (spec.csi === undefined ? [] : [spec.csi.volumeHandle]),
    });
    this.#nodes = new DriverNodes(builder, config);
    this.run = builder.complete();
  }

  async #reconcileGroup(key: string, signal: AbortSignal): Promise<void> {
    const group = this.#groups.lister.getByKey(key);
    if (group === undefined) return await this.#releaseOrphans(key, signal);
    const content = this.#contents.lister.get('', contentName(group));
    const isDeleted = group.metadata.deletionTimestamp !== undefined;
    if (content === undefined) {
      if (!isDeleted) return await this.#createContent(group, signal);
      await this.#releaseMembers(group, signal);
      return await this.#finalizers.remove(volumeGroupSnapshots, group, BOUND_PROTECTION, signal);
    }
    if (!(await this.#isOurs(content))) return;
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
    const { client, nodeName } = this.#config;
    const { namespace = '', name, uid, resourceVersion } = group.metadata;
    const { parameters = {} } = chosen;
    const secretName = parameters[`${RESERVED}group-snapshotter-secret-name`];
    const secretNamespace = parameters[`${RESERVED}group-snapshotter-secret-namespace`] ?? '';
    await apierrors.unlessExists(
      client.resource(volumeGroupSnapshotContents).create(
        {
          metadata: {
            name: contentName(group),
            finalizers: [CONTENT_PROTECTION],
            annotations: {
              ...(nodeName !== undefined && { [SNAPSHOT_NODE]: nodeName }),
              ...(secretName !== undefined && {
                [GROUP_SECRET_NAME]: secretName,
                [GROUP_SECRET_NAMESPACE]: secretNamespace,
              }),
            },
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
      await this.#createMember(group, content, info, signal);
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

  /** Creates the snapshot of one volume, and its content, unless they exist. */
  async #createMember(
    group: Group,
    content: Content,
    info: SnapshotInfo,
    signal: AbortSignal,
  ): Promise<void> {
    const { client } = this.#config;
    const { namespace = '', name, uid } = group.metadata;
    const { driver, deletionPolicy } = content.spec;
    const { volumeHandle = '', snapshotHandle, creationTime, restoreSize, readyToUse } = info;
    const names = memberNames(uid, volumeHandle);
    if (this.#snapshots.lister.get(namespace, names.snapshot) !== undefined) return;
    const groupHandle = content.status?.volumeGroupSnapshotHandle ?? '';
    const [volume] = this.#volumes.lister
      .byIndex(BY_HANDLE, volumeHandle)
      .filter(({ spec }) => spec.csi?.driver === driver);
    const annotations = content.metadata.annotations ?? {};
    const { [GROUP_SECRET_NAME]: secretName, [GROUP_SECRET_NAMESPACE]: secretNamespace } =
      annotations;
    const node = annotations[SNAPSHOT_NODE];
    await apierrors.unlessExists(
      client.resource(volumeSnapshotContents).create(
        {
          metadata: {
            name: names.content,
            annotations: {
              [GROUP_HANDLE]: groupHandle,
              ...(node !== undefined && { [SNAPSHOT_NODE]: node }),
              ...(secretName !== undefined && {
                [SECRET_NAME]: secretName,
                [SECRET_NAMESPACE]: secretNamespace ?? '',
              }),
            },
          },
          spec: {
            driver,
            deletionPolicy,
            source: { volumeHandle },
            volumeSnapshotRef: { kind: 'VolumeSnapshot', name: names.snapshot, namespace },
            ...(volume !== undefined && {
              sourceVolumeMode: volume.spec.volumeMode ?? 'Filesystem',
            }),
          },
        },
        { signal },
      ),
    );
    const status = {
      snapshotHandle,
      volumeGroupSnapshotHandle: groupHandle,
      creationTime,
      restoreSize,
      readyToUse,
    };
    await client
      .resource(volumeSnapshotContents)
      .patch(names.content, MERGE_PATCH, { status }, { subresource: 'status', signal });
    await apierrors.unlessExists(
      client
        .resource(volumeSnapshots)
        .namespace(namespace)
        .create(
          {
            metadata: {
              name: names.snapshot,
              finalizers: [IN_GROUP],
              ownerReferences: [
                {
                  apiVersion: `${GROUP_SNAPSHOT_GROUP}/v1beta2`,
                  kind: 'VolumeGroupSnapshot',
                  name,
                  uid,
                },
              ],
            },
            spec: {
              source: { persistentVolumeClaimName: volume?.spec.claimRef?.name ?? '' },
            },
          },
          { signal },
        ),
    );
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
    await this.#releaseMembers(group, signal);
    await this.#finalizers.remove(volumeGroupSnapshots, group, BOUND_PROTECTION, signal);
  }

  async #annotate({ metadata }: Content, signal: AbortSignal): Promise<void> {
    if (metadata.annotations?.[BEING_DELETED] !== undefined) return;
    const patch = { metadata: { annotations: { [BEING_DELETED]: 'yes' } } };
    await this.#config.client
      .resource(volumeGroupSnapshotContents)
      .patch(metadata.name, MERGE_PATCH, patch, { signal });
  }

  /** Deletes the snapshots of a deleted group. */
  async #releaseMembers({ metadata }: Group, signal: AbortSignal): Promise<void> {
    const { uid, namespace = '' } = metadata;
    for (const snapshot of this.#snapshots.lister.list(namespace))
      if (groupOf(snapshot)?.uid === uid) await this.#release(snapshot, signal);
  }

  /** Deletes the snapshots whose group is gone. */
  async #releaseOrphans(key: string, signal: AbortSignal): Promise<void> {
    const [namespace = '', name = ''] = key.split('/');
    const members = this.#snapshots.lister
      .list(namespace)
      .filter((snapshot) => groupOf(snapshot)?.name === name);
    if (members.length === 0) return;
    // The cache may not have the group yet.
    const uid = await this.#uidOf(namespace, name, signal);
    for (const snapshot of members)
      if (groupOf(snapshot)?.uid !== uid) await this.#release(snapshot, signal);
  }

  async #uidOf(namespace: string, name: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      const resource = this.#config.client.resource(volumeGroupSnapshots).namespace(namespace);
      return (await resource.get(name, { signal })).metadata.uid;
    } catch (error) {
      if (apierrors.isNotFound(error)) return undefined;
      throw error;
    }
  }

  async #release(snapshot: Immutable<VolumeSnapshot>, signal: AbortSignal): Promise<void> {
    const { name, namespace = '', deletionTimestamp, finalizers = [] } = snapshot.metadata;
    if (!finalizers.includes(IN_GROUP)) return;
    if (deletionTimestamp === undefined)
      await this.#config.client
        .resource(volumeSnapshots)
        .namespace(namespace)
        .delete(name, { signal });
    else await this.#finalizers.remove(volumeSnapshots, snapshot, IN_GROUP, signal);
  }

  async #reconcileContent(name: string, signal: AbortSignal): Promise<void> {
    const content = this.#contents.lister.get('', name);
    if (content === undefined || !(await this.#isOurs(content))) return;
    if (content.metadata.deletionTimestamp !== undefined)
      return await this.#deleteContent(content, signal);
    // A content that was given is bound first.
    if (content.spec.volumeGroupSnapshotRef.uid === undefined) return;
    await this.#finalizers.add(volumeGroupSnapshotContents, content, CONTENT_PROTECTION, signal);
    if (content.status?.readyToUse === true) return;
    try {
      await this.#fill(content, signal);
    } catch (error) {
      if (signal.aborted || apierrors.isConflict(error)) throw error;
      const isGiven = content.spec.source.groupSnapshotHandles !== undefined;
      const message = isGiven
        ? `Failed to check and update group snapshot content: ${errorMessage(error)}`
        : `Failed to create group snapshot: ${errorMessage(error)}`;
      const reason = isGiven
        ? 'GroupSnapshotContentCheckandUpdateFailed'
        : 'GroupSnapshotCreationFailed';
      this.#recorder.event(content, 'Warning', reason, message);
      const failed = { message, time: formatTime(this.#config.clock.now()) };
      // The same error is not written again: each write would start another attempt.
      if (content.status?.error?.message !== message)
        await this.#setContentStatus(
          content,
          { ...content.status, readyToUse: false, error: failed },
          signal,
        );
      throw error;
    }
  }

  /** Takes the snapshots, or finds those that the content names. */
  async #fill(content: Content, signal: AbortSignal): Promise<void> {
    const { client, service, clock } = this.#config;
    const { source, volumeGroupSnapshotRef: ref } = content.spec;
    const secrets = await secretValues(
      client,
      secretOf(content, GROUP_SECRET_NAME, GROUP_SECRET_NAMESPACE),
      signal,
    );
    let taken: CsiMessage<'VolumeGroupSnapshot'> | undefined;
    if (source.volumeHandles !== undefined) {
      const className = content.spec.volumeGroupSnapshotClassName ?? '';
      const { parameters = {} } = this.#classes.lister.get('', className) ?? {};
      const own = Object.entries(parameters).filter(([key]) => !key.startsWith(RESERVED));
      const response = await service.createGroupSnapshot({
        name: `groupsnapshot-${ref.uid ?? ''}`,
        sourceVolumeIds: source.volumeHandles,
        parameters: Object.fromEntries(own),
        secrets,
      });
      taken = response.groupSnapshot;
    } else {
      const response = await service.getGroupSnapshot({
        groupSnapshotId: source.groupSnapshotHandles?.volumeGroupSnapshotHandle ?? '',
        snapshotIds: source.groupSnapshotHandles?.volumeSnapshotHandles ?? [],
        secrets,
      });
      taken = response.groupSnapshot;
    }
    if (taken === undefined || taken.groupSnapshotId === '')
      throw new Error('the driver has no such group snapshot');
    const ms = Math.floor(nanoseconds(taken.creationTime) / 1e6);
    const infos = taken.snapshots.map((each) => ({
      volumeHandle: each.sourceVolumeId,
      snapshotHandle: each.snapshotId,
      creationTime: nanoseconds(each.creationTime),
      readyToUse: each.readyToUse,
      restoreSize: each.sizeBytes,
    }));
    await this.#setContentStatus(
      content,
      {
        volumeGroupSnapshotHandle: taken.groupSnapshotId,
        creationTime: formatTime(ms === 0 ? clock.now() : ms),
        readyToUse: taken.readyToUse,
        // The members of a given content are created with it.
        ...(source.volumeHandles !== undefined && { volumeSnapshotInfoList: infos }),
      },
      signal,
    );
    // A driver may upload the snapshots before they can be used.
    if (!taken.readyToUse) throw new Error('the group snapshot is not ready yet');
  }

  async #deleteContent(content: Content, signal: AbortSignal): Promise<void> {
    const { client, service } = this.#config;
    const { deletionPolicy, source, volumeGroupSnapshotRef: ref } = content.spec;
    const group = this.#groups.lister.get(ref.namespace ?? '', ref.name ?? '');
    // A content that was deleted by hand stays until its group goes.
    if (
      group !== undefined &&
      group.metadata.uid === ref.uid &&
      group.metadata.deletionTimestamp === undefined
    )
      return;
    const { volumeGroupSnapshotHandle: own, volumeSnapshotInfoList: infos = [] } =
      content.status ?? {};
    const given = source.groupSnapshotHandles;
    const handle = own ?? given?.volumeGroupSnapshotHandle;
    if (deletionPolicy === 'Delete' && handle !== undefined) {
      try {
        await service.deleteGroupSnapshot({
          groupSnapshotId: handle,
          snapshotIds:
            given?.volumeSnapshotHandles ??
            infos.flatMap(({ snapshotHandle }) => snapshotHandle ?? []),
          secrets: await secretValues(
            client,
            secretOf(content, GROUP_SECRET_NAME, GROUP_SECRET_NAMESPACE),
            signal,
          ),
        });
      } catch (error) {
        if (!signal.aborted)
          this.#recorder.event(
            content,
            'Warning',
            'GroupSnapshotDeleteError',
            'Failed to delete group snapshot',
          );
        throw error;
      }
    }
    await this.#finalizers.remove(volumeGroupSnapshotContents, content, CONTENT_PROTECTION, signal);
  }

  /** Reports whether the content is a group of this driver, on this node. */
  async #isOurs({ metadata, spec }: Content): Promise<boolean> {
    const { driver, nodeName, service } = this.#config;
    if (spec.driver !== driver) return false;
    const node = metadata.annotations?.[SNAPSHOT_NODE];
    if (nodeName === undefined || node === nodeName) return true;
    const given = spec.source.groupSnapshotHandles;
    if (node !== undefined || given === undefined) return false;
    try {
      await service.getGroupSnapshot({ groupSnapshotId: given.volumeGroupSnapshotHandle });
      return true;
    } catch (error) {
      if (isRpcError(error, 'NOT_FOUND')) return false;
      throw error;
    }
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

  async #setContentStatus(content: Content, status: object, signal: AbortSignal): Promise<void> {
    await this.#config.client
      .resource(volumeGroupSnapshotContents)
      .patch(content.metadata.name, MERGE_PATCH, statusPatch(content.status, status), {
        subresource: 'status',
        signal,
      });
  }
}

async function retrying(work: Promise<void>): Promise<ReconcileResult> {
  try {
    await work;
  } catch (error) {
    if (apierrors.isConflict(error)) return requeue;
    if (!apierrors.isNotFound(error)) throw error;
  }
  return reconciled;
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

const nanoseconds = (time: CsiMessage<'Timestamp'> | undefined): number =>
  (time?.seconds ?? 0) * 1e9 + (time?.nanos ?? 0);
