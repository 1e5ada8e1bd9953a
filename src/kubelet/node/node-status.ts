// Computes the status of a node, as a pure function of the kubelet's facts.

import { isDeepStrictEqual } from 'node:util';
import type { Image, RuntimeFeatures, RuntimeHandler } from '#cri/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import { isExtendedResource } from '../pod/extended-resource.ts';
import type { NodeAddress, NodeCondition, NodeStatus, ResourceList } from '../types.ts';
import type { MachineInfo } from './machine.ts';

/** The resources of device plugins. */
export interface NodeDeviceFacts {
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Resources whose plugin has been gone for too long: the node has none of them. */
  readonly removed: readonly string[];
  /**
   * The node has no record of devices, so extended resources of an existing Node are those of a
   * former machine.
   */
  readonly isNewNode: boolean;
}

export interface NodeFacts {
  readonly addresses: readonly NodeAddress[];
  /** The addresses that the API has are not replaced: a cloud's controller writes them. */
  readonly keepsAddresses?: boolean;
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  /** Absent: the node has no device plugins. */
  readonly devices?: NodeDeviceFacts;
  readonly machine: MachineInfo;
  /** For example 'containerd://1.7.24'. */
  readonly containerRuntimeVersion: string;
  readonly kubeletVersion: string;
  /** The kubelet's port; 0 without a server. */
  readonly port: number;
  readonly images: readonly Image[];
  /** The pressure that the node is under. */
  readonly pressure?: readonly string[];
  /** The reasons why the node is not ready; empty if it is. */
  readonly problems: readonly string[];
  /**
   * Conditions that the runtime reports besides readiness. Their types begin with
   * RUNTIME_CONDITIONS.
   */
  readonly runtimeConditions?: readonly BareCondition[];
  /** The runtime's handlers. Default: it does not report them. */
  readonly runtimeHandlers?: readonly RuntimeHandler[];
  /** Absent: the runtime does not report features. */
  readonly runtimeFeatures?: RuntimeFeatures;
  /** The attachable volumes that pods use. Default: none. */
  readonly volumesInUse?: readonly string[];
}

/**
 * The prefix of conditions of our own runtimes, which the node shows. Conditions of other runtimes
 * are not meant for nodes.
 */
export const RUNTIME_CONDITIONS = 'coxswain.dev/';

/**
 * The optional features of this kubelet, with upstream's names, sorted. The scheduler and the API
 * server look there for what a node can do.
 */
const DECLARED_FEATURES: readonly string[] = [
  'ExtendWebSocketsToKubelet',
  'InPlacePodLevelResourcesVerticalScaling',
  'InPlacePodVerticalScalingInitContainers',
  'RestartAllContainersOnContainerExits',
];

const MAX_IMAGES = 50;
const MAX_NAMES_PER_IMAGE = 5;

/** Returns the status. `previous`: the API's status, for transition times. */
export function makeNodeStatus(
  facts: NodeFacts,
  previous: NodeStatus | undefined,
  nowMs: number,
): NodeStatus {
  const now = formatTime(nowMs);
  return {
    addresses:
      facts.keepsAddresses === true && (previous?.addresses ?? []).length > 0
        ? previous?.addresses
        : facts.addresses,
    allocatable: withExtended(facts, facts.allocatable, previous?.capacity, 'allocatable'),
    capacity: withExtended(facts, facts.capacity, previous?.capacity, 'capacity'),
    conditions: [
      ...nodeConditions(facts.problems, facts.pressure ?? []),
      ...(facts.runtimeConditions ?? []),
    ].map((condition) => withTimes(condition, previous, now)),
    daemonEndpoints: { kubeletEndpoint: { Port: facts.port } },
    nodeInfo: {
      ...facts.machine,
      containerRuntimeVersion: facts.containerRuntimeVersion,
      kubeletVersion: facts.kubeletVersion,
      kubeProxyVersion: '',
    },
    ...(facts.images.length > 0 ? { images: containerImages(facts.images) } : {}),
    ...((facts.volumesInUse ?? []).length > 0 ? { volumesInUse: facts.volumesInUse ?? [] } : {}),
    ...runtimeAbilities(facts),
    declaredFeatures: DECLARED_FEATURES,
  };
}

/** Returns the handlers and features of the runtime, if it reports some. */
function runtimeAbilities({
  runtimeHandlers = [],
  runtimeFeatures,
}: NodeFacts): Pick<NodeStatus, 'runtimeHandlers' | 'features'> {
  return {
    ...(runtimeHandlers.length > 0 && {
      runtimeHandlers: runtimeHandlers.map(({ name, features }) => ({
        name,
        features: {
          recursiveReadOnlyMounts: features?.recursiveReadOnlyMounts ?? false,
          userNamespaces: features?.userNamespaces ?? false,
        },
      })),
    }),
    ...(runtimeFeatures !== undefined && {
      features: { supplementalGroupsPolicy: runtimeFeatures.supplementalGroupsPolicy },
    }),
  };
}

/**
 * Returns the kubelet's own resources and the extended resources: those of device plugins, and
 * those that other clients have added to the Node's capacity, which are all allocatable.
 */
function withExtended(
  { devices }: NodeFacts,
  own: ResourceList,
  previousCapacity: ResourceList | undefined,
  list: 'capacity' | 'allocatable',
): ResourceList {
  const result: Record<string, string> = { ...own };
  for (const [resource, quantity] of Object.entries(previousCapacity ?? {}))
    if (!Object.hasOwn(own, resource) && isExtendedResource(resource))
      result[resource] = devices?.isNewNode === true ? '0' : quantity;
  for (const resource of devices?.removed ?? []) result[resource] = '0';
  return { ...result, ...devices?.[list] };
}

/** Reports whether two capacities have the same extended resources in the same quantities. */
export function sameExtendedResources(
  a: ResourceList | undefined,
  b: ResourceList | undefined,
): boolean {
  const extended = (list: ResourceList | undefined): readonly string[] =>
    Object.entries(list ?? {})
      .filter(([name]) => isExtendedResource(name))
      .map(([name, quantity]) => `${name}=${quantity}`)
      .sort();
  return extended(a).join() === extended(b).join();
}

export type BareCondition = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>;

/** The conditions of pressure, with their reasons, messages and events. */
export const PRESSURE_CONDITIONS = [
  {
    type: 'MemoryPressure',
    under: ['KubeletHasInsufficientMemory', 'kubelet has insufficient memory available'],
    free: ['KubeletHasSufficientMemory', 'kubelet has sufficient memory available'],
    events: ['NodeHasInsufficientMemory', 'NodeHasSufficientMemory'],
  },
  {
    type: 'DiskPressure',
    under: ['KubeletHasDiskPressure', 'kubelet has disk pressure'],
    free: ['KubeletHasNoDiskPressure', 'kubelet has no disk pressure'],
    events: ['NodeHasDiskPressure', 'NodeHasNoDiskPressure'],
  },
  {
    type: 'PIDPressure',
    under: ['KubeletHasInsufficientPID', 'kubelet has insufficient PID available'],
    free: ['KubeletHasSufficientPID', 'kubelet has sufficient PID available'],
    events: ['NodeHasInsufficientPID', 'NodeHasSufficientPID'],
  },
] as const;

function nodeConditions(
  problems: readonly string[],
  pressure: readonly string[],
): readonly BareCondition[] {
  return [
    ...PRESSURE_CONDITIONS.map(({ type, under, free }): BareCondition => {
      const isUnder = pressure.includes(type);
      const [reason, message] = isUnder ? under : free;
      return { type, status: isUnder ? 'True' : 'False', reason, message };
    }),
    problems.length === 0
      ? {
          type: 'Ready',
          status: 'True',
          reason: 'KubeletReady',
          message: 'kubelet is posting ready status',
        }
      : {
          type: 'Ready',
          status: 'False',
          reason: 'KubeletNotReady',
          message: problems.length === 1 ? (problems[0] ?? '') : `[${problems.join(', ')}]`,
        },
  ];
}

function withTimes(
  condition: BareCondition,
  previous: NodeStatus | undefined,
  now: string,
): NodeCondition {
  const before = previous?.conditions?.find((candidate) => candidate.type === condition.type);
  const since = before?.status === condition.status ? before.lastTransitionTime : null;
  return { ...condition, lastHeartbeatTime: now, lastTransitionTime: since ?? now };
}

/**
 * Returns the images, the largest first: for large images it matters most that the scheduler starts
 * pods where they are.
 */
function containerImages(images: readonly Image[]): v1.ContainerImage[] {
  return images
    .toSorted((a, b) => b.size - a.size)
    .slice(0, MAX_IMAGES)
    .map((image) => ({
      names: [...image.repoDigests, ...image.repoTags].slice(0, MAX_NAMES_PER_IMAGE),
      ...(image.size > 0 ? { sizeBytes: image.size } : {}),
    }));
}

/** Reports whether two statuses are equal except for heartbeats. */
export function sameNodeStatus(a: NodeStatus, b: NodeStatus): boolean {
  return isDeepStrictEqual(comparable(a), comparable(b));
}

function comparable(status: NodeStatus): unknown {
  const { addresses, allocatable, capacity, daemonEndpoints, nodeInfo, images, volumesInUse } =
    status;
  const { runtimeHandlers = [], features = null, declaredFeatures = [] } = status;
  const conditions = (status.conditions ?? [])
    .map(({ type, status: value, reason, message }) => ({ type, status: value, reason, message }))
    .filter(({ type }) => isOwned(type))
    .toSorted((x, y) => (x.type < y.type ? -1 : 1));
  return {
    addresses,
    allocatable,
    capacity,
    daemonEndpoints,
    nodeInfo,
    images: images ?? [],
    volumesInUse: volumesInUse ?? [],
    runtimeHandlers,
    features,
    declaredFeatures,
    conditions,
  };
}

const OWNED: ReadonlySet<string> = new Set([
  'MemoryPressure',
  'DiskPressure',
  'PIDPressure',
  'Ready',
]);
const isOwned = (type: string): boolean => OWNED.has(type) || type.startsWith(RUNTIME_CONDITIONS);

/**
 * Returns the `status` of a strategic merge patch that changes the API's status to this one.
 * Conditions and fields of other writers stay.
 */
export function nodeStatusPatch(
  status: NodeStatus,
  previous: NodeStatus | undefined,
): Record<string, unknown> {
  // Conditions of a former runtime of the node.
  const gone = (previous?.conditions ?? []).filter(
    ({ type }) =>
      isOwned(type) && !(status.conditions ?? []).some((condition) => condition.type === type),
  );
  const { addresses, ...others } = status;
  return {
    ...others,
    ...(gone.length > 0 && {
      conditions: [
        ...(status.conditions ?? []),
        ...gone.map(({ type }) => ({ type, $patch: 'delete' })),
      ],
    }),
    // The list is merged by type, so of two addresses with one type (one per family) one would be
    // lost: the list is replaced. Addresses that are kept may have changed in the API.
    ...((addresses === undefined || addresses !== previous?.addresses) && {
      addresses: [...(addresses ?? []), { $patch: 'replace' }],
    }),
    ...(status.volumesInUse === undefined &&
      previous?.volumesInUse !== undefined && { volumesInUse: null }),
    // The runtime is another one now.
    ...(status.runtimeHandlers === undefined &&
      previous?.runtimeHandlers !== undefined && { runtimeHandlers: null }),
    ...(status.features === undefined && previous?.features !== undefined && { features: null }),
    capacity: replaceMap(previous?.capacity, status.capacity),
    allocatable: replaceMap(previous?.allocatable, status.allocatable),
  };
}

function replaceMap(
  before: ResourceList | undefined,
  after: ResourceList | undefined,
): Record<string, string | null> {
  const gone = Object.keys(before ?? {}).filter((key) => !Object.hasOwn(after ?? {}, key));
  return { ...after, ...Object.fromEntries(gone.map((key) => [key, null])) };
}
