// The status of a node, as a pure function of the kubelet's information.

import { isDeepStrictEqual } from 'node:util';
import type { Image } from '#cri/index.ts';
import { formatTime } from '#machinery/text/time.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type { NodeAddress, NodeCondition, NodeStatus, ResourceList } from '../types.ts';
import type { MachineInfo } from './machine.ts';

export interface NodeFacts {
  readonly addresses: readonly NodeAddress[];
  readonly capacity: ResourceList;
  readonly allocatable: ResourceList;
  readonly machine: MachineInfo;
  /** 'containerd://1.7.24'. */
  readonly containerRuntimeVersion: string;
  readonly kubeletVersion: string;
  /** The kubelet's port; 0: none is open. */
  readonly port: number;
  readonly images: readonly Image[];
  /** Why the node is not ready; none: it is. */
  readonly problems: readonly string[];
  /** Conditions that the runtime reports besides readiness. Types begin with RUNTIME_CONDITIONS. */
  readonly runtimeConditions?: readonly BareCondition[];
}

/**
 * Conditions of our own runtimes that the node shows. Other runtimes have conditions, too, which
 * are not for nodes.
 */
export const RUNTIME_CONDITIONS = 'coxswain.dev/';

const MAX_IMAGES = 50;
const MAX_NAMES_PER_IMAGE = 5;

/** `previous`: what the API has, for the times of transitions. */
export function makeNodeStatus(
  facts: NodeFacts,
  previous: NodeStatus | undefined,
  nowMs: number,
): NodeStatus {
  const now = formatTime(nowMs);
  return {
    addresses: facts.addresses,
    allocatable: facts.allocatable,
    capacity: facts.capacity,
    conditions: [...nodeConditions(facts.problems), ...(facts.runtimeConditions ?? [])].map(
      (condition) => withTimes(condition, previous, now),
    ),
    daemonEndpoints: { kubeletEndpoint: { Port: facts.port } },
    nodeInfo: {
      ...facts.machine,
      containerRuntimeVersion: facts.containerRuntimeVersion,
      kubeletVersion: facts.kubeletVersion,
      kubeProxyVersion: '',
    },
    ...(facts.images.length > 0 ? { images: containerImages(facts.images) } : {}),
  };
}

export type BareCondition = Pick<NodeCondition, 'type' | 'status' | 'reason' | 'message'>;

function nodeConditions(problems: readonly string[]): readonly BareCondition[] {
  return [
    {
      type: 'MemoryPressure',
      status: 'False',
      reason: 'KubeletHasSufficientMemory',
      message: 'kubelet has sufficient memory available',
    },
    {
      type: 'DiskPressure',
      status: 'False',
      reason: 'KubeletHasNoDiskPressure',
      message: 'kubelet has no disk pressure',
    },
    {
      type: 'PIDPressure',
      status: 'False',
      reason: 'KubeletHasSufficientPID',
      message: 'kubelet has sufficient PID available',
    },
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

/** The largest first: it is those that make it worth while to start a pod where its image is. */
function containerImages(images: readonly Image[]): v1.ContainerImage[] {
  return images
    .toSorted((a, b) => b.size - a.size)
    .slice(0, MAX_IMAGES)
    .map((image) => ({
      names: [...image.repoDigests, ...image.repoTags].slice(0, MAX_NAMES_PER_IMAGE),
      ...(image.size > 0 ? { sizeBytes: image.size } : {}),
    }));
}

/** Whether two statuses say the same, heartbeats aside. */
export function sameNodeStatus(a: NodeStatus, b: NodeStatus): boolean {
  return isDeepStrictEqual(comparable(a), comparable(b));
}

function comparable(status: NodeStatus): unknown {
  const { addresses, allocatable, capacity, daemonEndpoints, nodeInfo, images } = status;
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
 * The `status` of a strategic merge patch that makes the API's status this one: others' conditions
 * and fields stay.
 */
export function nodeStatusPatch(
  status: NodeStatus,
  previous: NodeStatus | undefined,
): Record<string, unknown> {
  // A condition of another runtime that the node had before.
  const gone = (previous?.conditions ?? []).filter(
    ({ type }) =>
      isOwned(type) && !(status.conditions ?? []).some((condition) => condition.type === type),
  );
  return {
    ...status,
    ...(gone.length > 0 && {
      conditions: [
        ...(status.conditions ?? []),
        ...gone.map(({ type }) => ({ type, $patch: 'delete' })),
      ],
    }),
    // Merged by type, a list with two addresses of one type (one of each family) would lose one: it
    // is replaced.
    addresses: [...(status.addresses ?? []), { $patch: 'replace' }],
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
