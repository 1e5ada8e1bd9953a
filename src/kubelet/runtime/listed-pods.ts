// The pods in the runtime as its lists show them: two calls for all pods of the node. The lists lack
// the addresses of sandboxes, and when and how a container was started and has ended.

import type { Container as CriContainer, PodSandbox, RuntimeOutline } from '#cri/index.ts';
import {
  type ContainerRecord,
  EMPTY_CONTAINER,
  emptyPodStatus,
  fingerprintOf,
  type RuntimePodStatus,
  type SandboxRecord,
} from '../pod/pod-status.ts';
import { fromNanoseconds } from '../time.ts';
import {
  CONTAINER_NAME_LABEL,
  POD_NAME_LABEL,
  POD_NAMESPACE_LABEL,
  POD_UID_LABEL,
  readContainerAnnotations,
} from './labels.ts';
import { toContainerState } from './read-status.ts';

/** The sandboxes and containers of one pod. */
export interface ListedPod {
  readonly sandboxes: readonly PodSandbox[];
  readonly containers: readonly CriContainer[];
}

/** Returns the pods by their UIDs. Containers that no kubelet has created are left out. */
export function groupByPod(
  sandboxes: readonly PodSandbox[],
  containers: readonly CriContainer[],
): ReadonlyMap<string, ListedPod> {
  const pods = new Map<string, { sandboxes: PodSandbox[]; containers: CriContainer[] }>();
  const podOf = (labels: Readonly<Record<string, string>>) => {
    const uid = labels[POD_UID_LABEL] ?? '';
    if (uid === '') return undefined;
    let pod = pods.get(uid);
    if (pod === undefined) {
      pod = { sandboxes: [], containers: [] };
      pods.set(uid, pod);
    }
    return pod;
  };
  for (const sandbox of sandboxes) podOf(sandbox.labels)?.sandboxes.push(sandbox);
  for (const container of containers) podOf(container.labels)?.containers.push(container);
  return pods;
}

type Outlined<K extends keyof RuntimeOutline> = RuntimeOutline[K][number];

/** The sandboxes and containers of one pod, in short. */
export interface OutlinedPod {
  readonly sandboxes: readonly Outlined<'sandboxes'>[];
  readonly containers: readonly Outlined<'containers'>[];
}

/** Returns the pods of an outline by their UIDs. */
export function groupOutline({
  sandboxes,
  containers,
}: RuntimeOutline): ReadonlyMap<string, OutlinedPod> {
  interface Open {
    readonly sandboxes: Outlined<'sandboxes'>[];
    readonly containers: Outlined<'containers'>[];
  }
  const pods = new Map<string, Open>();
  const bySandbox = new Map<string, Open>();
  for (const sandbox of sandboxes) {
    const pod = pods.get(sandbox.uid) ?? { sandboxes: [], containers: [] };
    pods.set(sandbox.uid, pod);
    pod.sandboxes.push(sandbox);
    bySandbox.set(sandbox.id, pod);
  }
  for (const container of containers)
    bySandbox.get(container.podSandboxId)?.containers.push(container);
  return pods;
}

/** Returns the fingerprint of the pod's status. */
export function listedFingerprint({ sandboxes, containers }: ListedPod): string {
  return fingerprintOf(
    sandboxes.map(({ id, state }) => ({ id, ready: isReady(state) })),
    containers.map(({ id, state }) => ({ id, state: toContainerState(state) })),
  );
}

/** Reports whether all sandboxes and containers run, and there is a sandbox. */
export function runsEntirely({
  sandboxes,
  containers,
}: {
  readonly sandboxes: readonly Pick<PodSandbox, 'state'>[];
  readonly containers: readonly Pick<CriContainer, 'state'>[];
}): boolean {
  return (
    sandboxes.length > 0 &&
    sandboxes.every(({ state }) => isReady(state)) &&
    containers.every(({ state }) => state === 'CONTAINER_RUNNING')
  );
}

/**
 * Returns the status of the pod as far as the lists show it: IDs, names and states. Everything else
 * about sandboxes and containers is empty.
 */
export function listedStatus(uid: string, pod: ListedPod): RuntimePodStatus {
  return podStatusOf(uid, pod, pod.sandboxes.map(sandboxOf), pod.containers.map(containerOf));
}

/** Returns the status of the pod as far as an outline shows it: IDs and states, without names. */
export function outlinedStatus(uid: string, pod: OutlinedPod): RuntimePodStatus {
  const sandboxes = pod.sandboxes.map(({ id, state }) => ({
    ...EMPTY_SANDBOX,
    id,
    ready: isReady(state),
  }));
  const containers = pod.containers.map(({ id, podSandboxId, state }) => ({
    ...EMPTY_CONTAINER,
    id,
    sandboxId: podSandboxId,
    state: toContainerState(state),
  }));
  const fingerprint = fingerprintOf(sandboxes, containers);
  return { ...emptyPodStatus(uid, '', ''), sandboxes, containers, fingerprint };
}

/** Returns the status of the pod with these sandboxes and containers. */
export function podStatusOf(
  uid: string,
  listed: ListedPod,
  sandboxes: readonly SandboxRecord[],
  containers: readonly ContainerRecord[],
): RuntimePodStatus {
  const labels = listed.sandboxes[0]?.labels ?? listed.containers[0]?.labels ?? {};
  return {
    ...emptyPodStatus(uid, labels[POD_NAME_LABEL] ?? '', labels[POD_NAMESPACE_LABEL] ?? ''),
    sandboxes: sandboxes.toSorted((a, b) => b.attempt - a.attempt || b.createdAt - a.createdAt),
    containers: containers.toSorted(
      (a, b) => b.restartCount - a.restartCount || b.createdAt - a.createdAt,
    ),
    fingerprint: fingerprintOf(sandboxes, containers),
  };
}

const EMPTY_SANDBOX: SandboxRecord = {
  id: '',
  attempt: 0,
  ready: false,
  createdAt: 0,
  ips: [],
  hostNetwork: false,
};

function sandboxOf({ id, metadata, state, createdAt }: PodSandbox): SandboxRecord {
  return {
    ...EMPTY_SANDBOX,
    id,
    attempt: metadata?.attempt ?? 0,
    ready: isReady(state),
    createdAt: fromNanoseconds(createdAt),
  };
}

function containerOf(listed: CriContainer): ContainerRecord {
  const { id, podSandboxId, metadata, image, imageRef, state, createdAt, labels } = listed;
  const { hash, restartCount, gracePeriodSeconds } = readContainerAnnotations(listed.annotations);
  return {
    ...EMPTY_CONTAINER,
    id,
    name: labels[CONTAINER_NAME_LABEL] ?? metadata?.name ?? '',
    sandboxId: podSandboxId,
    state: toContainerState(state),
    createdAt: fromNanoseconds(createdAt),
    image: image?.image ?? '',
    imageRef,
    hash,
    restartCount,
    gracePeriodSeconds,
  };
}

function isReady(state: PodSandbox['state']): boolean {
  return state === 'SANDBOX_READY';
}
