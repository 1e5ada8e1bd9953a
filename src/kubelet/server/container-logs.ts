// Resolves the container instance of a request for logs, and parses the request's options.

import type { LogOptions } from '../logs/read-logs.ts';
import type { LogStream } from '../logs/cri-log.ts';
import {
  findContainerById,
  type ContainerRecord,
  type RuntimePodStatus,
  parseContainerId,
} from '../pod/pod-status.ts';
import type { ContainerStatus, Pod } from '../types.ts';

/** There is no log; the message is for the user. */
export class LogTargetError extends Error {}

/**
 * Parses the options. Invalid values are ignored. `now`: wall-clock milliseconds, for sinceSeconds.
 */
export function parseLogOptions(
  query: URLSearchParams,
  now: number,
): LogOptions & { readonly previous: boolean } {
  const flag = (name: string): boolean => query.get(name) === 'true' || query.get(name) === '1';
  const number = (name: string): number | undefined => {
    const value = query.get(name);
    return value !== null && /^\d+$/.test(value) ? Number(value) : undefined;
  };
  const sinceSeconds = number('sinceSeconds');
  const sinceTime = Date.parse(query.get('sinceTime') ?? '');
  const since =
    sinceSeconds !== undefined
      ? now - sinceSeconds * 1000
      : Number.isNaN(sinceTime)
        ? undefined
        : sinceTime;
  const tailLines = number('tailLines');
  const limitBytes = number('limitBytes');
  const stream = streamOf(query.get('stream'));
  return {
    previous: flag('previous'),
    follow: flag('follow'),
    timestamps: flag('timestamps'),
    ...(tailLines !== undefined ? { tailLines } : {}),
    ...(limitBytes !== undefined ? { limitBytes } : {}),
    ...(since !== undefined ? { since } : {}),
    ...(stream !== undefined ? { stream } : {}),
  };
}

function streamOf(name: string | null): LogStream | undefined {
  if (name === 'Stdout') return 'stdout';
  return name === 'Stderr' ? 'stderr' : undefined;
}

/**
 * Returns the requested instance. Throws LogTargetError, with upstream's message for `kubectl
 * logs`.
 */
export function findLogContainer(
  pod: Pod,
  runtimeStatus: RuntimePodStatus | undefined,
  container: string,
  previous: boolean,
): ContainerRecord {
  const { name } = pod.metadata;
  const all: readonly ContainerStatus[] = [
    ...(pod.status.containerStatuses ?? []),
    ...(pod.status.initContainerStatuses ?? []),
    ...(pod.status.ephemeralContainerStatuses ?? []),
  ];
  const status = all.find((candidate) => candidate.name === container);
  if (status === undefined)
    throw new LogTargetError(`container "${container}" in pod "${name}" is not available`);
  const id = parseContainerId(containerIdFor(status, container, name, previous));
  const record = runtimeStatus === undefined ? undefined : findContainerById(runtimeStatus, id);
  if (record === undefined)
    throw new LogTargetError(
      `unable to retrieve container logs for ${containerIdFor(status, container, name, previous)}`,
    );
  return record;
}

function containerIdFor(
  status: ContainerStatus,
  container: string,
  pod: string,
  previous: boolean,
): string {
  const { state, lastState } = status;
  const place = `container "${container}" in pod "${pod}"`;
  const last = lastState.terminated?.containerID;
  if (previous) {
    if (last === undefined) throw new LogTargetError(`previous terminated ${place} not found`);
    return last;
  }
  if (state.running !== undefined) return status.containerID ?? '';
  if (state.terminated !== undefined) {
    const id = state.terminated.containerID ?? last;
    if (id === undefined) throw new LogTargetError(`${place} is terminated`);
    return id;
  }
  if (lastState.terminated !== undefined) {
    if (last === undefined) throw new LogTargetError(`${place} is terminated`);
    return last;
  }
  const reason = state.waiting?.reason;
  if (reason === 'ErrImagePull')
    throw new LogTargetError(`${place} is waiting to start: image can't be pulled`);
  if (reason === 'ImagePullBackOff')
    throw new LogTargetError(`${place} is waiting to start: trying and failing to pull image`);
  throw new LogTargetError(`${place} is waiting to start: ${reason ?? 'no logs yet'}`);
}
