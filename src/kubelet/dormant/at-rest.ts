// Decides whether the pods of a node need a kubelet: whether one that began now would find that
// nothing is to be done and nothing is to be reported. It decides by what a kubelet has reported
// and what the runtime has, and calls everything else work, so that a kubelet begins in doubt.

import type {
  Container as CriContainer,
  PodSandbox,
  RuntimeOutline,
  RuntimeService,
} from '#cri/index.ts';
import { deepEqual } from '#machinery/deep.ts';
import { findContainerById, type RuntimePodStatus } from '../pod/pod-status.ts';
import { isMirrorPod } from '../static-pods/mirror-pods.ts';
import { ALL_CONTAINERS_RESTARTING } from '../status/conditions.ts';
import { RESIZE_CONDITIONS } from '../status/resize-conditions.ts';
import { podUid, type Container, type Pod } from '../types.ts';

export interface NodeContent {
  /** The pods of the API that are bound to the node. */
  readonly pods: readonly Pod[];
  readonly running: RuntimeOutline;
  /** As in the IDs of containers. */
  readonly runtimeName: string;
  /** The primary address of the node. */
  readonly hostIP: string | undefined;
}

/** Volumes whose sources never need the kubelet again, except when an object changes. */
const QUIET_VOLUMES: ReadonlySet<string> = new Set([
  'name',
  'emptyDir',
  'hostPath',
  'configMap',
  'secret',
  'downwardAPI',
  'projected',
]);
const QUIET_SOURCES: ReadonlySet<string> = new Set([
  'configMap',
  'secret',
  'downwardAPI',
  'serviceAccountToken',
]);
type Volume = NonNullable<Pod['spec']['volumes']>[number];

/** Conditions of a status that the kubelet goes on working on. */
const UNSETTLED: ReadonlySet<string> = new Set([...RESIZE_CONDITIONS, ALL_CONTAINERS_RESTARTING]);

/** Lists a runtime, in short. Rejects with CriError. */
export async function listOutline(runtime: RuntimeService): Promise<RuntimeOutline> {
  const [sandboxes, containers] = await Promise.all([
    runtime.listPodSandbox({}),
    runtime.listContainers({}),
  ]);
  return outlineOf(sandboxes, containers);
}

export function outlineOf(
  sandboxes: readonly PodSandbox[],
  containers: readonly CriContainer[],
): RuntimeOutline {
  return {
    sandboxes: sandboxes.map(({ id, metadata, state }) => ({
      id,
      uid: metadata?.uid ?? '',
      state,
    })),
    containers,
  };
}

/** Reports whether every pod is at rest, and the runtime has these pods and no others. */
export function isAtRest({
  pods,
  running: { sandboxes, containers },
  runtimeName,
  hostIP,
}: NodeContent): boolean {
  if (sandboxes.length !== pods.length) return false;
  const ready = new Set<string>();
  /** By ID of the sandbox: the pod's UID. */
  const uids = new Map<string, string>();
  for (const { id, uid, state } of sandboxes) {
    if (state === 'SANDBOX_READY') ready.add(uid);
    uids.set(id, uid);
  }
  /** By ID: the pod's UID. */
  const running = new Map<string, string>();
  for (const { id, podSandboxId, state } of containers) {
    if (state !== 'CONTAINER_RUNNING') return false;
    running.set(id, uids.get(podSandboxId) ?? '');
  }
  let expected = 0;
  for (const pod of pods) {
    if (!ready.has(podUid(pod)) || pod.status.hostIP !== hostIP || !isPodAtRest(pod)) return false;
    for (const { containerID } of pod.status.containerStatuses ?? []) {
      const id = idIn(containerID, runtimeName);
      if (id === undefined || running.get(id) !== podUid(pod)) return false;
      expected++;
    }
  }
  return expected === running.size;
}

/**
 * Reports whether a kubelet would find nothing to do with this pod: it is at rest, and the runtime
 * has just its containers.
 */
export function isSettled(
  pod: Pod,
  observed: RuntimePodStatus | undefined,
  runtimeName: string,
  hostIP: string | undefined,
): boolean {
  const statuses = pod.status.containerStatuses ?? [];
  return (
    observed?.sandboxes.length === 1 &&
    observed.sandboxes[0]?.ready === true &&
    observed.containers.length === statuses.length &&
    pod.status.hostIP === hostIP &&
    isPodAtRest(pod) &&
    statuses.every(({ containerID }) => {
      const id = idIn(containerID, runtimeName);
      return id !== undefined && findContainerById(observed, id)?.state === 'running';
    })
  );
}

/** Reports whether the runtime has a sandbox for each of so many pods, and all containers run. */
export function hasOnlyRunning(pods: number, { sandboxes, containers }: RuntimeOutline): boolean {
  return (
    sandboxes.length === pods &&
    sandboxes.every(({ state }) => state === 'SANDBOX_READY') &&
    containers.every(({ state }) => state === 'CONTAINER_RUNNING')
  );
}

/**
 * Reports whether the pod itself gives a kubelet nothing to do, if the runtime has the containers
 * of its status: it runs, it was reported in its present generation, and nothing about it depends
 * on the time, on probes, or on a storage driver.
 */
export function isPodAtRest(pod: Pod): boolean {
  const { metadata, spec, status } = pod;
  const statuses = status.containerStatuses ?? [];
  return (
    metadata.deletionTimestamp === undefined &&
    !isMirrorPod(pod) &&
    status.phase === 'Running' &&
    status.observedGeneration === metadata.generation &&
    spec.activeDeadlineSeconds === undefined &&
    isEmpty(spec.initContainers) &&
    isEmpty(spec.ephemeralContainers) &&
    isEmpty(spec.readinessGates) &&
    isEmpty(spec.resourceClaims) &&
    spec.containers.every(hasNoProbe) &&
    (spec.volumes ?? []).every(isQuietVolume) &&
    hasSettled(status) &&
    statuses.length === spec.containers.length &&
    statuses.every(
      ({ state, ready, started }) => state.running !== undefined && ready && started === true,
    )
  );
}

/**
 * Reports whether a kubelet would have nothing to do about this change of a pod: the pod is at rest,
 * and only metadata has changed that no container can see.
 */
export function isQuietChange(before: Pod, after: Pod): boolean {
  return (
    before.metadata.uid === after.metadata.uid &&
    isPodAtRest(after) &&
    !(after.spec.volumes ?? []).some(showsPod) &&
    deepEqual(before.spec, after.spec) &&
    deepEqual(before.status, after.status)
  );
}

/** Reports whether files in the volume may contain the pod's labels and annotations. */
function showsPod({ downwardAPI, projected }: Volume): boolean {
  return (
    downwardAPI !== undefined ||
    (projected?.sources ?? []).some((source) => source.downwardAPI !== undefined)
  );
}

function hasSettled({ conditions = [] }: Pod['status']): boolean {
  return (
    conditions.every(({ type }) => !UNSETTLED.has(type)) &&
    conditions.some(({ type, status }) => type === 'Ready' && status === 'True') &&
    conditions.some(({ type, status }) => type === 'ContainersReady' && status === 'True')
  );
}

function hasNoProbe({ livenessProbe, readinessProbe, startupProbe }: Container): boolean {
  return livenessProbe === undefined && readinessProbe === undefined && startupProbe === undefined;
}

function isQuietVolume(volume: Volume): boolean {
  const sources = volume.projected?.sources ?? [];
  return (
    Object.keys(volume).every((field) => QUIET_VOLUMES.has(field)) &&
    sources.every((source) => Object.keys(source).every((field) => QUIET_SOURCES.has(field)))
  );
}

function isEmpty(list: readonly unknown[] | undefined): boolean {
  return list === undefined || list.length === 0;
}

/** Returns the runtime's ID in a container ID of the API; undefined if it is another runtime's. */
function idIn(containerID: string | undefined, runtimeName: string): string | undefined {
  const prefix = `${runtimeName}://`;
  return containerID?.startsWith(prefix) === true ? containerID.slice(prefix.length) : undefined;
}
