// NodeVolumeLimits: limits the number of attached volumes per CSI driver on a node, by its CSINode.

import { CsiMigrationError } from '#api/groups/core/v1/csi-migration/index.ts';
import {
  persistentVolumeClaims,
  persistentVolumes,
  type Volume,
} from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  type CSINode,
  csiNodes,
  storageClasses,
  type VolumeAttachment,
  volumeAttachments,
} from '#api/groups/storage/v1/index.ts';
import type { EventHandler } from '#client/informers/index.ts';
import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { ActionType, clusterEvent, type QueueingHint, UPDATE } from '../framework/events.ts';
import type { Handle, PluginRegistration } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Pod } from '../framework/objects.ts';
import type { FilterPlugin, PreFilterPlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { claimsOf, type ClaimUse, disksOf } from '../framework/pod-volumes.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { podsOf } from './hints.ts';
import {
  classOfClaim,
  concernsClaimOf,
  notFoundMessage,
  notOwnedBy,
  type PersistentVolumeClaim,
} from './volumes/claims.ts';
import {
  type Attachable,
  attachableOf,
  attachableOfInline,
  driverOf,
} from './volumes/migration.ts';
import { type RoomOnNodes, VolumeRoom } from './volumes/room.ts';

const NAME = 'NodeVolumeLimits';
const SKIP = new Status('Skip', [], NAME);
const TOO_MANY = new Status('Unschedulable', ['node(s) exceed max volume count'], NAME);
const BY_NODE = 'scheduler/nodeName';
const byNode = { [BY_NODE]: ({ spec }: Immutable<VolumeAttachment>) => [spec.nodeName] };

/** Volumes by unique name, each with its driver. A volume counts once per node. */
type Volumes = ReadonlyMap<string, string>;

interface Wanted {
  readonly volumes: Volumes;
  readonly room: RoomOnNodes;
}

/** The wanted volumes, or the status of a pod that cannot be scheduled. */
const WANTED: StateKey<Wanted | Status> = stateKey(`${NAME}/wanted`);

export const nodeVolumeLimits: PluginRegistration = {
  name: NAME,
  create(args, handle) {
    noArgs(NAME, args);
    const { informers, snapshot, ended } = handle;
    const nodes = informers.informerFor(csiNodes);
    const find = new VolumeFinder(handle);
    const limitsFor = ({ name }: NodeInfo): Limits => limitsOf(nodes.lister.get('', name));
    const room = new VolumeRoom(
      snapshot,
      (node, driver) => (limitsFor(node).get(driver) ?? Infinity) - find.mostAttachedTo(node),
    );
    const registrations = [
      nodes.addEventHandler(forEach(({ metadata: { name } }) => room.forget(name))),
      informers
        .informerFor(volumeAttachments)
        .addEventHandler(forEach(({ spec }) => room.forget(spec.nodeName))),
    ];
    ended.addEventListener('abort', () =>
      registrations.forEach((registration) => registration.remove()),
    );

    return {
      name: NAME,
      preFilter(state, pod) {
        if (!mayNeedVolumes(pod)) return SKIP;
        const wanted = find.wantedBy(pod.pod, pod.claims, pod.disks);
        if (!(wanted instanceof Status) && wanted.size === 0) return SKIP;
        state.write(
          WANTED,
          wanted instanceof Status
            ? wanted
            : { volumes: wanted, room: room.of(new Set(wanted.values())) },
        );
        return undefined;
      },
      filter(state, _pod, node, position) {
        const wanted = state.read(WANTED);
        if (wanted === undefined || wanted instanceof Status) return wanted;
        // There is room for all of them, even if none is attached already.
        if (wanted.volumes.size <= wanted.room.least(node, position)) return undefined;
        const limits = limitsFor(node);
        const counts = new Map<string, number>();
        const add = (driver: string): void =>
          void counts.set(driver, (counts.get(driver) ?? 0) + 1);
        const attached = find.attachedTo(node);
        for (const driver of attached.values()) add(driver);
        const more = new Set<string>();
        for (const [volume, driver] of wanted.volumes) {
          if (attached.has(volume)) continue;
          add(driver);
          more.add(driver);
        }
        for (const driver of more) {
          const limit = limits.get(driver);
          if (limit !== undefined && (counts.get(driver) ?? 0) > limit) return TOO_MANY;
        }
        return undefined;
      },
      filterTemplate: (pod) => (mayNeedVolumes(pod) ? undefined : ''),
      eventsToRegister: () => [
        // Without a CSINode there is no limit.
        { event: clusterEvent('CSINode', ActionType.Add | ActionType.Delete, 'CSINode') },
        { event: clusterEvent('CSINode', UPDATE, 'CSINodeUpdate'), hint: raisedLimit },
        {
          event: clusterEvent('AssignedPod', ActionType.Delete, 'AssignedPodDelete'),
          hint: hadVolumes,
        },
        {
          event: clusterEvent('PersistentVolumeClaim', ActionType.Add, 'PersistentVolumeClaimAdd'),
          hint: concernsClaimOf(),
        },
        {
          event: clusterEvent('VolumeAttachment', ActionType.Delete, 'VolumeAttachmentDelete'),
          hint: (pod, { before }) => {
            const wanted = find.wantedBy(pod, claimsOf(pod), disksOf(pod));
            const { attacher } = (before as Immutable<VolumeAttachment>).spec;
            return wanted instanceof Status || [...wanted.values()].includes(attacher);
          },
        },
      ],
    } satisfies PreFilterPlugin & FilterPlugin;
  },
};

function mayNeedVolumes({ claims, disks }: PodInfo): boolean {
  return claims.length > 0 || disks.length > 0;
}

/** Finds the CSI volumes of claims, including migrated in-tree volumes. */
class VolumeFinder {
  readonly #claims;
  readonly #volumes;
  readonly #classes;
  readonly #attachments;

  constructor({ informers }: Handle) {
    this.#claims = informers.informerFor(persistentVolumeClaims).lister;
    this.#volumes = informers.informerFor(persistentVolumes).lister;
    this.#classes = informers.informerFor(storageClasses).lister;
    const attachments = informers.informerFor(volumeAttachments);
    attachments.addIndexers(byNode);
    this.#attachments = attachments.lister;
  }

  /** Returns the volumes that the pod needs attached, or why it cannot be scheduled. */
  wantedBy(
    pod: Pod,
    uses: readonly ClaimUse[],
    disks: readonly Immutable<Volume>[],
  ): Volumes | Status {
    const volumes = new Map<string, string>();
    const { namespace = '' } = pod.metadata;
    for (const { name, ephemeral } of uses) {
      if (name === '') return new Status('Error', ['PersistentVolumeClaim had no name'], NAME);
      const claim = this.#claims.get(namespace, name);
      if (claim === undefined) {
        const why = `looking up PVC ${namespace}/${name}: ${notFoundMessage('persistentvolumeclaim', name)}`;
        return new Status('UnschedulableAndUnresolvable', [why], NAME);
      }
      const foreign = ephemeral ? notOwnedBy(pod, claim) : undefined;
      if (foreign !== undefined) return new Status('Error', [foreign], NAME);
      this.#add(claim, volumes);
    }
    for (const disk of disks) {
      try {
        count(attachableOfInline(disk, namespace), volumes);
      } catch (error) {
        if (!(error instanceof CsiMigrationError)) throw error;
        return new Status(
          'Error',
          [`converting volume(${disk.name}) from inline to csi: ${error.message}`],
          NAME,
        );
      }
    }
    return volumes;
  }

  /** Returns an upper bound of the result of attachedTo, without reading volumes. */
  mostAttachedTo({ name, podsWithVolumes }: NodeInfo): number {
    let most = this.#attachments.size === 0 ? 0 : this.#attachments.byIndex(BY_NODE, name).length;
    for (const { claims, disks } of podsWithVolumes) most += claims.length + disks.length;
    return most;
  }

  /** Returns the volumes of the node's pods, and those that are still attached for other pods. */
  attachedTo({ name, podsWithVolumes }: NodeInfo): Volumes {
    const volumes = new Map<string, string>();
    for (const { pod, claims, disks } of podsWithVolumes) {
      for (const disk of disks) count(attachableOfRunning(disk, pod), volumes);
      for (const use of claims) {
        const claim = this.#claims.get(pod.metadata.namespace ?? '', use.name);
        if (claim !== undefined) this.#add(claim, volumes);
      }
    }
    for (const { spec } of this.#attachments.byIndex(BY_NODE, name)) {
      const { persistentVolumeName } = spec.source;
      const csi =
        persistentVolumeName === undefined
          ? undefined
          : this.#volumes.get('', persistentVolumeName)?.spec.csi;
      if (csi !== undefined) count({ driver: csi.driver, handle: csi.volumeHandle }, volumes);
    }
    return volumes;
  }

  #add(claim: PersistentVolumeClaim, volumes: Map<string, string>): void {
    const { volumeName } = claim.spec;
    const volume = volumeName ? this.#volumes.get('', volumeName) : undefined;
    if (volume !== undefined) {
      count(attachableOf(volume), volumes);
      return;
    }
    // The claim is unbound: its class determines the driver. A claim without a class is bound
    // before its pod can run.
    const { metadata } = claim;
    const provisioner = this.#classes.get('', classOfClaim(claim))?.provisioner;
    const driver = provisioner ? driverOf(provisioner) : undefined;
    // Handles contain no NUL.
    if (driver !== undefined)
      volumes.set(`${driver}/\0${metadata.namespace}/${metadata.name}`, driver);
  }
}

function count(attachable: Attachable | undefined, volumes: Map<string, string>): void {
  if (attachable !== undefined)
    volumes.set(`${attachable.driver}/${attachable.handle}`, attachable.driver);
}

/** Returns the volume; undefined for one that no driver understands, which is not attached. */
function attachableOfRunning(disk: Immutable<Volume>, { metadata }: Pod): Attachable | undefined {
  try {
    return attachableOfInline(disk, metadata.namespace ?? '');
  } catch (error) {
    if (error instanceof CsiMigrationError) return undefined;
    throw error;
  }
}

/**
 * Returns a handler that calls `changed` with the object of each event, for updates with both
 * versions.
 */
function forEach<T>(changed: (object: T) => void): EventHandler<T> {
  return {
    onAdd: changed,
    onUpdate: (before, after) => {
      changed(before);
      changed(after);
    },
    onDelete: changed,
  };
}

type Limits = ReadonlyMap<string, number>;

const UNLIMITED: Limits = new Map();
/** Cached, since limits are read often. */
const knownLimits = new WeakMap<Immutable<CSINode>, Limits>();

/** Returns the limits by driver. */
function limitsOf(node: Immutable<CSINode> | undefined): Limits {
  if (node === undefined) return UNLIMITED;
  const known = knownLimits.get(node);
  if (known !== undefined) return known;
  const limits = new Map<string, number>();
  for (const { name, allocatable } of node.spec.drivers ?? []) {
    if (allocatable?.count !== undefined) limits.set(name, allocatable.count);
  }
  knownLimits.set(node, limits);
  return limits;
}

const raisedLimit: QueueingHint = (_pod, { before, after }) => {
  const [old, now] = [
    limitsOf(before as Immutable<CSINode>),
    limitsOf(after as Immutable<CSINode>),
  ];
  for (const [driver, limit] of old) if ((now.get(driver) ?? Infinity) > limit) return true;
  return false;
};

const hadVolumes: QueueingHint = (_pod, objects) => {
  const { before } = podsOf(objects);
  return before !== undefined && (claimsOf(before).length > 0 || disksOf(before).length > 0);
};
