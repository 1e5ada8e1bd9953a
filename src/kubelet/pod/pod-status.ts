// The runtime's view of a pod, in the kubelet's own terms. A RuntimePodStatus is an immutable
// value: a newer one replaces it.

export type RuntimeContainerState = 'created' | 'running' | 'exited' | 'unknown';

/** An instance of a container. Times are wall-clock milliseconds; 0 is "not yet". */
export interface ContainerRecord {
  readonly id: string;
  readonly name: string;
  readonly sandboxId: string;
  readonly state: RuntimeContainerState;
  readonly createdAt: number;
  readonly startedAt: number;
  readonly finishedAt: number;
  readonly exitCode: number;
  readonly reason: string;
  readonly message: string;
  /** The image's name, as resolved by the runtime. */
  readonly image: string;
  /** The image's digested reference, for status.imageID. */
  readonly imageRef: string;
  readonly hash: string;
  readonly restartCount: number;
  readonly logPath: string;
  readonly gracePeriodSeconds: number | undefined;
  readonly user:
    | { readonly uid: number; readonly gid: number; readonly supplementalGroups: readonly number[] }
    | undefined;
  readonly stopSignal: string | undefined;
}

/** A container of which nothing is known, for records that are filled in part. */
export const EMPTY_CONTAINER: ContainerRecord = {
  id: '',
  name: '',
  sandboxId: '',
  state: 'unknown',
  createdAt: 0,
  startedAt: 0,
  finishedAt: 0,
  exitCode: 0,
  reason: '',
  message: '',
  image: '',
  imageRef: '',
  hash: '',
  restartCount: 0,
  logPath: '',
  gracePeriodSeconds: undefined,
  user: undefined,
  stopSignal: undefined,
};

export interface SandboxRecord {
  readonly id: string;
  readonly attempt: number;
  readonly ready: boolean;
  readonly createdAt: number;
  /**
   * The addresses of the sandbox's network, the primary one first; none for a pod in the host's
   * network.
   */
  readonly ips: readonly string[];
  /** The sandbox uses the host's network namespace. */
  readonly hostNetwork: boolean;
}

export interface RuntimePodStatus {
  readonly uid: string;
  readonly name: string;
  readonly namespace: string;
  /** Newest first. */
  readonly sandboxes: readonly SandboxRecord[];
  /** Newest first. */
  readonly containers: readonly ContainerRecord[];
  /**
   * Equal fingerprints mean that nothing has changed on which the kubelet acts, so no sync is
   * needed.
   */
  readonly fingerprint: string;
}

/** Why a container could not be started, for its `waiting` state. */
export interface StartFailure {
  readonly reason: string;
  readonly message: string;
}

export function emptyPodStatus(uid: string, name: string, namespace: string): RuntimePodStatus {
  return { uid, name, namespace, sandboxes: [], containers: [], fingerprint: '' };
}

/** Returns the newest instance of a container. */
export function findContainer(status: RuntimePodStatus, name: string): ContainerRecord | undefined {
  return status.containers.find((container) => container.name === name);
}

export function findContainerById(
  status: RuntimePodStatus,
  id: string,
): ContainerRecord | undefined {
  return status.containers.find((container) => container.id === id);
}

/** Returns the addresses of the pod's newest sandbox, if it is ready. */
export function podIPs(status: RuntimePodStatus): readonly string[] {
  const newest = status.sandboxes[0];
  return newest?.ready === true ? newest.ips : [];
}

export function runningContainers(status: RuntimePodStatus): readonly ContainerRecord[] {
  return status.containers.filter(
    (container) => container.state === 'running' || container.state === 'unknown',
  );
}

/** Reports whether the pod has a running container, or a sandbox that holds its network. */
export function isRunning(status: RuntimePodStatus): boolean {
  return status.sandboxes.some((sandbox) => sandbox.ready) || runningContainers(status).length > 0;
}

export function fingerprintOf(
  sandboxes: readonly { readonly id: string; readonly ready: boolean }[],
  containers: readonly { readonly id: string; readonly state: RuntimeContainerState }[],
): string {
  const parts = [
    ...sandboxes.map((sandbox) => `${sandbox.id}=${sandbox.ready ? 'r' : 'n'}`),
    ...containers.map((container) => `${container.id}=${container.state[0]}`),
  ];
  return parts.sort().join(' ');
}

/** Returns the ID of a container status without the runtime's name; '' if there is none. */
export function parseContainerId(containerId: string | undefined): string {
  const at = containerId?.indexOf('://') ?? -1;
  return containerId === undefined ? '' : at < 0 ? containerId : containerId.slice(at + 3);
}
