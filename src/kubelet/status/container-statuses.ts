// Converts the runtime's view of a pod's containers to the containerStatuses of its API status.

import type { ContainerRecord, RuntimePodStatus, StartFailure } from '../pod/pod-status.ts';
import { hasAnyContainerCreated } from '../pod/pod-progress.ts';
import { isSidecar, RESTARTING_ALL, shouldContainerBeRestarted } from '../pod/restart-policy.ts';
import { resolveRecursiveReadOnly } from '../pod/recursive-read-only.ts';
import { timeIfKnown } from '../time.ts';
import type * as v1 from '#api/groups/core/v1/index.ts';
import type {
  Container,
  ContainerState,
  ContainerStatus,
  Pod,
  ResourceRequirements,
  VolumeMount,
} from '../types.ts';

export interface ContainerStatusInput {
  readonly pod: Pod;
  readonly runtimeStatus: RuntimePodStatus;
  /** The runtime's name, for container IDs: 'containerd' gives 'containerd://…'. */
  readonly runtimeName: string;
  readonly startFailure: (containerName: string) => StartFailure | undefined;
  /** All containers of the pod are being restarted: missing ones were removed for it. */
  readonly restartingAll?: boolean;
  /** See GenerateStatusInput. */
  readonly recursiveReadOnly?: boolean;
  /** Returns the actual resources of the instance if they differ from the allocated ones. */
  readonly actualResources?: (
    record: ContainerRecord,
    container: Container,
  ) => ResourceRequirements;
}

type Kind = 'regular' | 'init' | 'ephemeral';

const LOST_EXIT_CODE = 137;

/**
 * Returns the statuses: of init containers in the order of the spec, of others by name, as
 * upstream.
 */
export function convertContainerStatuses(
  input: ContainerStatusInput,
  kind: Kind,
  containers: readonly Container[],
  previous: readonly ContainerStatus[],
): ContainerStatus[] {
  const oldByName = new Map(previous.map((status) => [status.name, status]));
  const waitingReason =
    (input.pod.spec.initContainers ?? []).length > 0 ? 'PodInitializing' : 'ContainerCreating';
  const statuses = containers.map((container) =>
    convertOne(input, kind, container, oldByName.get(container.name), waitingReason),
  );
  if (kind !== 'init') statuses.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
  return statuses;
}

function convertOne(
  input: ContainerStatusInput,
  kind: Kind,
  container: Container,
  old: ContainerStatus | undefined,
  waitingReason: string,
): ContainerStatus {
  const { pod, runtimeStatus } = input;
  const instances = runtimeStatus.containers.filter((record) => record.name === container.name);
  const [latest, before] = instances;
  let status: ContainerStatus;
  if (latest === undefined) {
    status =
      input.restartingAll === true && kind !== 'ephemeral' && old?.state.waiting === undefined
        ? removedForRestart(container, old)
        : withoutInstance(pod, container, old, waitingReason);
    if (
      kind === 'init' &&
      !isSidecar(container) &&
      input.restartingAll !== true &&
      status.state.waiting !== undefined &&
      hasAnyContainerCreated(pod, runtimeStatus)
    ) {
      // The runtime no longer has the container, but later ones were created, so it had succeeded.
      return {
        ...status,
        state: {
          terminated: {
            exitCode: 0,
            reason: 'Completed',
            message:
              'Unable to get init container status from container runtime and pod has been ' +
              'initialized, treat it as exited normally',
            startedAt: null,
            finishedAt: null,
          },
        },
      };
    }
  } else {
    status = fromRecord(input, container, latest, old);
    if (before !== undefined)
      status = { ...status, lastState: fromRecord(input, container, before, old).state };
    else status = { ...status, lastState: reportedLastState(status, old) };
  }
  if (
    kind === 'init' &&
    latest?.state === 'exited' &&
    latest.exitCode === 0 &&
    !isSidecar(container)
  )
    return status;
  if (!shouldContainerBeRestarted(container, pod, runtimeStatus)) return status;
  const failure = input.startFailure(container.name);
  // Without a failure the container is about to start: its last state is more informative than
  // "waiting".
  if (failure === undefined) return status;
  return {
    ...status,
    lastState: status.state.terminated !== undefined ? status.state : status.lastState,
    state: { waiting: omitEmpty({ reason: failure.reason, message: failure.message }) },
  };
}

/**
 * Returns the last state of a container whose former instance the runtime no longer has: the state
 * in which it was last reported, or the last state then.
 */
function reportedLastState(
  { containerID }: ContainerStatus,
  old: ContainerStatus | undefined,
): ContainerState {
  const ended = old?.state.terminated;
  if (ended !== undefined && old?.containerID !== containerID) return { terminated: ended };
  return old?.lastState?.terminated === undefined ? {} : { terminated: old.lastState.terminated };
}

/** Returns the status of a container that was removed because the whole pod is restarted. */
function removedForRestart(
  container: Container,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const message = 'The container is removed because RestartAllContainers in place';
  return {
    name: container.name,
    state: { waiting: { reason: RESTARTING_ALL, message } },
    lastState: {
      terminated: {
        exitCode: LOST_EXIT_CODE,
        reason: RESTARTING_ALL,
        message,
        startedAt: null,
        finishedAt: null,
      },
    },
    ready: false,
    restartCount: (old?.restartCount ?? 0) + 1,
    image: container.image ?? '',
    imageID: '',
    ...volumeMountStatuses(container, old, undefined),
  };
}

/** Returns the status of a container without an instance in the runtime. */
function withoutInstance(
  pod: Pod,
  container: Container,
  old: ContainerStatus | undefined,
  waitingReason: string,
): ContainerStatus {
  if (old?.state.terminated !== undefined) return old;
  const status: ContainerStatus = {
    name: container.name,
    state: { waiting: { reason: waitingReason } },
    lastState: old?.lastState ?? {},
    ready: false,
    restartCount: old?.restartCount ?? 0,
    image: container.image ?? '',
    imageID: '',
    ...volumeMountStatuses(container, old, undefined),
  };
  if (old?.state.running === undefined || status.lastState.terminated !== undefined) return status;
  // The container ran when it was last observed and is gone: it has ended, with an unknown result.
  return {
    ...status,
    restartCount:
      pod.metadata.deletionTimestamp === undefined ? status.restartCount + 1 : status.restartCount,
    lastState: {
      terminated: {
        exitCode: LOST_EXIT_CODE,
        reason: 'ContainerStatusUnknown',
        message:
          'The container could not be located when the pod was deleted.  The container used to be Running',
        startedAt: null,
        finishedAt: null,
      },
    },
  };
}

function fromRecord(
  input: ContainerStatusInput,
  container: Container,
  record: ContainerRecord,
  old: ContainerStatus | undefined,
): ContainerStatus {
  const lost = record.state === 'unknown' && old?.state.running !== undefined;
  const requests = container.resources?.requests;
  return {
    name: record.name,
    state: stateOf(input, record, lost),
    lastState: {},
    ready: false,
    restartCount: lost
      ? (old?.restartCount ?? 0) + 1
      : Math.max(record.restartCount, old?.restartCount ?? 0),
    image: record.image,
    imageID: record.imageRef,
    containerID: `${input.runtimeName}://${record.id}`,
    ...(requests !== undefined && Object.keys(requests).length > 0
      ? { allocatedResources: requests }
      : {}),
    resources: input.actualResources?.(record, container) ?? container.resources ?? {},
    ...volumeMountStatuses(container, old, input.recursiveReadOnly),
    ...(record.user !== undefined
      ? {
          user: {
            linux: {
              uid: record.user.uid,
              gid: record.user.gid,
              ...(record.user.supplementalGroups.length > 0
                ? { supplementalGroups: record.user.supplementalGroups }
                : {}),
            },
          },
        }
      : {}),
    ...(record.stopSignal !== undefined ? { stopSignal: record.stopSignal as v1.Signal } : {}),
  };
}

function stateOf(
  input: ContainerStatusInput,
  record: ContainerRecord,
  lost: boolean,
): ContainerState {
  if (lost) {
    return {
      terminated: {
        exitCode: LOST_EXIT_CODE,
        reason: 'ContainerStatusUnknown',
        message: 'The container could not be located when the pod was terminated',
        startedAt: null,
        finishedAt: null,
      },
    };
  }
  switch (record.state) {
    case 'running':
      return { running: { startedAt: timeIfKnown(record.startedAt) } };
    case 'exited':
      return {
        terminated: omitEmpty({
          exitCode: record.exitCode,
          reason: record.reason,
          message: record.message,
          startedAt: timeIfKnown(record.startedAt),
          finishedAt: timeIfKnown(record.finishedAt),
          containerID: `${input.runtimeName}://${record.id}`,
        }),
      };
    case 'created':
    case 'unknown':
      return { waiting: {} };
  }
}

function volumeMountStatuses(
  container: Container,
  old: ContainerStatus | undefined,
  recursiveReadOnly: boolean | undefined,
): Pick<ContainerStatus, 'volumeMounts'> {
  // No container was started since this kubelet began: what its predecessor reported holds.
  if (recursiveReadOnly === undefined && old?.volumeMounts !== undefined)
    return { volumeMounts: old.volumeMounts };
  const mounts: readonly VolumeMount[] = container.volumeMounts ?? [];
  if (mounts.length === 0) return {};
  return {
    volumeMounts: mounts.map((mount) => ({
      name: mount.name,
      mountPath: mount.mountPath,
      ...(mount.readOnly === true
        ? { readOnly: true, recursiveReadOnly: recursiveMode(mount, recursiveReadOnly === true) }
        : {}),
    })),
  };
}

function recursiveMode(mount: VolumeMount, supported: boolean): 'Enabled' | 'Disabled' {
  try {
    return resolveRecursiveReadOnly(mount, supported) ? 'Enabled' : 'Disabled';
  } catch {
    // The container waits, and says why.
    return 'Disabled';
  }
}

/** Returns the value without empty strings: API objects leave them out. */
function omitEmpty<T extends object>(value: T): T {
  const result: Partial<T> = {};
  for (const key of Object.keys(value) as (keyof T)[])
    if (value[key] !== '') result[key] = value[key];
  return result as T;
}
