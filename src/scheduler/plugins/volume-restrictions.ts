// VolumeRestrictions: disks in pod specs that can only be attached once, and claims that only one
// pod may use.

import { persistentVolumeClaims, type Volume } from '#api/groups/core/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { ActionType, clusterEvent, type QueueingHint } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { NodeInfo } from '../framework/node-info.ts';
import type { Pod } from '../framework/objects.ts';
import type { FilterPlugin, PreFilterPlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { claimsOf, isExclusiveDisk } from '../framework/pod-volumes.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import { podsOf } from './hints.ts';
import { concernsClaimOf, notFoundMessage } from './volumes/claims.ts';

const NAME = 'VolumeRestrictions';
const SKIP = new Status('Skip', [], NAME);
const DISK_CONFLICT = new Status('Unschedulable', ['node(s) had no available disk'], NAME);
const CLAIM_CONFLICT = new Status(
  'Unschedulable',
  [
    'node(s) unavailable due to PersistentVolumeClaim with ReadWriteOncePod access mode already in-use by another pod',
  ],
  NAME,
);

/** Claims that only one pod may use, and the number of uses by other pods. */
interface SinglePodClaims {
  readonly names: ReadonlySet<string>;
  uses: number;
}

const CLAIMS: StateKey<SinglePodClaims> = stateKey(`${NAME}/claims`, (claims) => ({ ...claims }));

export const volumeRestrictions: PluginRegistration = {
  name: NAME,
  create(args, { informers, snapshot }) {
    noArgs(NAME, args);
    const claims = informers.informerFor(persistentVolumeClaims).lister;

    /**
     * Returns the names of the pod's claims with ReadWriteOncePod, or the name of a missing claim.
     */
    const singlePodClaims = ({ pod, claims: uses }: PodInfo): ReadonlySet<string> | string => {
      const names = new Set<string>();
      for (const { name, ephemeral } of uses) {
        if (ephemeral) continue;
        const claim = claims.get(pod.metadata.namespace ?? '', name);
        if (claim === undefined) return name;
        if (claim.spec.accessModes?.includes('ReadWriteOncePod') === true) names.add(name);
      }
      return names;
    };
    const count = (
      state: SinglePodClaims | undefined,
      pod: PodInfo,
      other: PodInfo,
      change: number,
    ): void => {
      if (state !== undefined && uses(other, pod.pod.metadata.namespace, state.names))
        state.uses += change;
    };

    return {
      name: NAME,
      preFilter(state, pod) {
        if (!pod.hasVolumes) return SKIP;
        const names = singlePodClaims(pod);
        if (typeof names === 'string') {
          return new Status(
            'UnschedulableAndUnresolvable',
            [notFoundMessage('persistentvolumeclaim', names)],
            NAME,
          );
        }
        const { namespace } = pod.pod.metadata;
        let used = 0;
        if (names.size > 0) {
          for (const node of snapshot.nodes)
            for (const other of node.podsWithVolumes) if (uses(other, namespace, names)) used++;
        }
        if (used === 0 && !(pod.pod.spec.volumes?.some(isExclusiveDisk) ?? false)) return SKIP;
        state.write(CLAIMS, { names, uses: used });
        return undefined;
      },
      addPod(state, pod, added) {
        count(state.read(CLAIMS), pod, added, 1);
        return undefined;
      },
      removePod(state, pod, removed) {
        count(state.read(CLAIMS), pod, removed, -1);
        return undefined;
      },
      filter(state, { pod }, node) {
        if (hasDiskConflict(pod, node)) return DISK_CONFLICT;
        return (state.read(CLAIMS)?.uses ?? 0) > 0 ? CLAIM_CONFLICT : undefined;
      },
      /** A pod without volumes fits every node. */
      filterTemplate: (pod) => (pod.hasVolumes ? undefined : ''),
      eventsToRegister: () => [
        {
          event: clusterEvent('AssignedPod', ActionType.Delete, 'AssignedPodDelete'),
          hint: freedVolume,
        },
        { event: clusterEvent('Node', ActionType.Add, 'NodeAdd') },
        {
          event: clusterEvent('PersistentVolumeClaim', ActionType.Add, 'PersistentVolumeClaimAdd'),
          hint: concernsClaimOf((use) => !use.ephemeral),
        },
      ],
    } satisfies PreFilterPlugin & FilterPlugin;
  },
};

function uses(pod: PodInfo, namespace: string | undefined, names: ReadonlySet<string>): boolean {
  return (
    pod.pod.metadata.namespace === namespace &&
    pod.claims.some(({ name, ephemeral }) => !ephemeral && names.has(name))
  );
}

/** Reports whether the deleted pod used a disk or a claim that this pod needs. */
const freedVolume: QueueingHint = (pod, objects) => {
  const gone = podsOf(objects).before;
  if (gone === undefined || gone.metadata.namespace !== pod.metadata.namespace) return false;
  if (disksConflict(pod, gone)) return true;
  const wanted = new Set(claimsOf(pod).flatMap(({ name, ephemeral }) => (ephemeral ? [] : [name])));
  return claimsOf(gone).some(({ name, ephemeral }) => !ephemeral && wanted.has(name));
};

function hasDiskConflict(pod: Pod, node: NodeInfo): boolean {
  return node.podsWithVolumes.some((other) => disksConflict(pod, other.pod));
}

function disksConflict(a: Pod, b: Pod): boolean {
  for (const volume of a.spec.volumes ?? []) {
    if (!isExclusiveDisk(volume)) continue;
    if (b.spec.volumes?.some((other) => sameDisk(volume, other)) === true) return true;
  }
  return false;
}

/**
 * Reports whether two volumes conflict: the same disk, unless both only read it (if it supports
 * several readers).
 */
function sameDisk(a: Immutable<Volume>, b: Immutable<Volume>): boolean {
  const bothRead = (
    x?: { readonly readOnly?: boolean },
    y?: { readonly readOnly?: boolean },
  ): boolean => x?.readOnly === true && y?.readOnly === true;
  const [gceA, gceB] = [a.gcePersistentDisk, b.gcePersistentDisk];
  if (
    gceA !== undefined &&
    gceB !== undefined &&
    gceA.pdName === gceB.pdName &&
    !bothRead(gceA, gceB)
  )
    return true;
  const [awsA, awsB] = [a.awsElasticBlockStore, b.awsElasticBlockStore];
  if (awsA !== undefined && awsB !== undefined && awsA.volumeID === awsB.volumeID) return true;
  if (
    a.iscsi !== undefined &&
    b.iscsi !== undefined &&
    a.iscsi.iqn === b.iscsi.iqn &&
    !bothRead(a.iscsi, b.iscsi)
  )
    return true;
  const [rbdA, rbdB] = [a.rbd, b.rbd];
  if (
    rbdA === undefined ||
    rbdB === undefined ||
    rbdA.pool !== rbdB.pool ||
    rbdA.image !== rbdB.image
  )
    return false;
  return rbdA.monitors.some((monitor) => rbdB.monitors.includes(monitor)) && !bothRead(rbdA, rbdB);
}
