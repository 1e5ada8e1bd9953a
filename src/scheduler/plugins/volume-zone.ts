// VolumeZone: a volume whose labels name a zone or region can only be used by nodes in it.

import { persistentVolumeClaims, persistentVolumes } from '#api/groups/core/v1/index.ts';
import { storageClasses } from '#api/groups/storage/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { type StateKey, stateKey } from '../framework/cycle-state.ts';
import { ActionType, clusterEvent, type QueueingHint, UPDATE } from '../framework/events.ts';
import type { PluginRegistration } from '../framework/handle.ts';
import type { Node } from '../framework/objects.ts';
import type { FilterPlugin, PreFilterPlugin } from '../framework/plugin.ts';
import type { PodInfo } from '../framework/pod-info.ts';
import { Status } from '../framework/status.ts';
import { noArgs } from './args.ts';
import {
  classOfClaim,
  concernsClaimOf,
  notFoundMessage,
  type PersistentVolume,
  type StorageClass,
} from './volumes/claims.ts';

const NAME = 'VolumeZone';
const SKIP = new Status('Skip', [], NAME);
const CONFLICT = new Status(
  'UnschedulableAndUnresolvable',
  ['node(s) had no available volume zone'],
  NAME,
);

/** Deprecated labels → their current names. */
const RENAMED: Readonly<Record<string, string>> = {
  'failure-domain.beta.kubernetes.io/zone': 'topology.kubernetes.io/zone',
  'failure-domain.beta.kubernetes.io/region': 'topology.kubernetes.io/region',
};
const LABELS: readonly string[] = [...Object.keys(RENAMED), ...Object.values(RENAMED)];

/** A label of a volume: the zones or regions from which it can be used. */
interface Topology {
  readonly key: string;
  readonly values: readonly string[];
}

const TOPOLOGIES: StateKey<readonly Topology[]> = stateKey(`${NAME}/topologies`);

export const volumeZone: PluginRegistration = {
  name: NAME,
  create(args, { informers }) {
    noArgs(NAME, args);
    const claims = informers.informerFor(persistentVolumeClaims).lister;
    const volumes = informers.informerFor(persistentVolumes).lister;
    const classes = informers.informerFor(storageClasses).lister;

    /**
     * Returns the topologies of the volumes of the pod's claims, or why the pod cannot run
     * anywhere.
     */
    const topologiesOf = ({ pod, claims: uses }: PodInfo): readonly Topology[] | string => {
      const topologies: Topology[] = [];
      for (const { name, ephemeral } of uses) {
        if (ephemeral) continue;
        if (name === '') return 'PersistentVolumeClaim had no name';
        const claim = claims.get(pod.metadata.namespace ?? '', name);
        if (claim === undefined) return notFoundMessage('persistentvolumeclaim', name);
        const { volumeName } = claim.spec;
        if (volumeName) {
          const volume = volumes.get('', volumeName);
          if (volume === undefined) return notFoundMessage('persistentvolume', volumeName);
          topologies.push(...topologiesOfVolume(volume));
          continue;
        }
        const className = classOfClaim(claim);
        if (className === '') return 'PersistentVolumeClaim had no pv name and storageClass name';
        const storageClass = classes.get('', className);
        if (storageClass === undefined) return notFoundMessage('storageclass', className);
        const { volumeBindingMode } = storageClass;
        if (volumeBindingMode === undefined)
          return `VolumeBindingMode not set for StorageClass ${quote(className)}`;
        if (volumeBindingMode !== 'WaitForFirstConsumer') return 'PersistentVolume had no name';
      }
      return topologies;
    };

    return {
      name: NAME,
      preFilter(state, pod) {
        if (pod.claims.length === 0) return SKIP;
        const topologies = topologiesOf(pod);
        if (typeof topologies === 'string')
          return new Status('UnschedulableAndUnresolvable', [topologies], NAME);
        if (topologies.length === 0) return SKIP;
        state.write(TOPOLOGIES, topologies);
        return undefined;
      },
      filter(state, _pod, { node }) {
        return node === undefined || isWithin(node, state.read(TOPOLOGIES) ?? [])
          ? undefined
          : CONFLICT;
      },
      filterTemplate: (pod) => (pod.claims.length === 0 ? '' : undefined),
      eventsToRegister: () => [
        { event: clusterEvent('StorageClass', ActionType.Add, 'StorageClassAdd'), hint: bindsLate },
        { event: clusterEvent('Node', ActionType.Add | ActionType.UpdateNodeLabel, 'Node') },
        {
          event: clusterEvent(
            'PersistentVolumeClaim',
            ActionType.Add | UPDATE,
            'PersistentVolumeClaim',
          ),
          hint: concernsClaimOf((use) => !use.ephemeral),
        },
        {
          event: clusterEvent('PersistentVolume', ActionType.Add | UPDATE, 'PersistentVolume'),
          hint: elsewhere,
        },
      ],
    } satisfies PreFilterPlugin & FilterPlugin;
  },
};

/** Returns true if the class does not bind claims before a pod has a node. */
const bindsLate: QueueingHint = (_pod, { after }) =>
  (after as StorageClass | undefined)?.volumeBindingMode === 'WaitForFirstConsumer';

/** Returns true if the volume is new, or its labels have changed. */
const elsewhere: QueueingHint = (_pod, { before, after }) =>
  before === undefined ||
  !semanticEqual(
    topologiesOfVolume(before as PersistentVolume),
    topologiesOfVolume(after as PersistentVolume),
  );

/**
 * Reports whether the node is in the volume's zone. Nodes without any such label can use all
 * volumes.
 */
function isWithin(node: Node, topologies: readonly Topology[]): boolean {
  const labels = node.metadata.labels ?? {};
  if (!LABELS.some((key) => labels[key] !== undefined)) return true;
  return topologies.every(({ key, values }) => {
    const value = labels[key] ?? labels[RENAMED[key] ?? key];
    return value !== undefined && values.includes(value);
  });
}

/**
 * Returns the topologies of a volume. A label separates several zones with `__`; an invalid one is
 * ignored.
 */
function topologiesOfVolume({ metadata }: PersistentVolume): readonly Topology[] {
  return LABELS.flatMap((key) => {
    const text = metadata.labels?.[key];
    const values = text?.split('__').map((value) => value.trim());
    return values === undefined || values.includes('') ? [] : [{ key, values }];
  });
}
