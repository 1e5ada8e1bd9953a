// The records of sandboxes and containers of our runtimes (process, simulated), as plain JSON, and
// the CRI responses and filters that are derived from them. Pure: records in, messages out.

import {
  complete,
  type Container,
  type ContainerConfig,
  type ContainerFilter,
  type ContainerState,
  type ContainerStatus,
  CriError,
  type Input,
  type PodSandbox,
  type PodSandboxConfig,
  type PodSandboxFilter,
  type PodSandboxState,
  type PodSandboxStatus,
} from '#cri/index.ts';
import type { ProcessIdentity } from './process-identity.ts';

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** Nanoseconds since the epoch, as all times in this file. */
  readonly createdAt: number;
  /** Empty in the host's network. */
  readonly ip: string;
  state: PodSandboxState;
  /** The process that keeps its namespaces, in runtimes that have them. */
  holder?: ProcessIdentity;
}

export interface ContainerRecord {
  readonly id: string;
  readonly podSandboxId: string;
  /** Replaced when its resources are updated. */
  config: ContainerConfig;
  readonly imageRef: string;
  /** The absolute path of the log file, or empty. */
  readonly logPath: string;
  readonly createdAt: number;
  state: ContainerState;
  /** 0 before the start. */
  startedAt: number;
  /** 0 before the exit. */
  finishedAt: number;
  exitCode: number;
  reason: string;
  message: string;
  /** The user of its first process, in runtimes that know it. */
  user?: Input<'LinuxContainerUser'>;
}

/** The initial state of a container. */
export const notStarted = {
  state: 'CONTAINER_CREATED',
  startedAt: 0,
  finishedAt: 0,
  exitCode: 0,
  reason: '',
  message: '',
} as const;

/** Returns the identity of a sandbox, which is unique at a time. */
export function sandboxKey(config: PodSandboxConfig): string {
  const metadata = config.metadata;
  if (!metadata?.name || !metadata.namespace || !metadata.uid) {
    throw new CriError('InvalidArgument', 'sandbox metadata must have name, namespace and uid');
  }
  return [metadata.name, metadata.namespace, metadata.uid, metadata.attempt ?? 0].join('_');
}

/** Returns the identity of a container, which is unique in its sandbox at a time. */
export function containerKey(podSandboxId: string, config: ContainerConfig): string {
  if (!config.metadata?.name)
    throw new CriError('InvalidArgument', 'container metadata must have a name');
  return [podSandboxId, config.metadata.name, config.metadata.attempt ?? 0].join('_');
}

/** Returns the absolute path of a container's log; '' if it has none. */
export function containerLogPath(sandbox: PodSandboxConfig, config: ContainerConfig): string {
  if (!sandbox.logDirectory || !config.logPath) return '';
  return `${sandbox.logDirectory.replace(/\/+$/, '')}/${config.logPath.replace(/^\/+/, '')}`;
}

/** Returns upstream's reason for an exit code. */
export function exitReason(exitCode: number): string {
  return exitCode === 0 ? 'Completed' : 'Error';
}

export function toPodSandbox(record: SandboxRecord): PodSandbox {
  const { id, config, state, createdAt, runtimeHandler } = record;
  return complete('PodSandbox', {
    id,
    metadata: config.metadata,
    state,
    createdAt,
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler,
  });
}

export function toPodSandboxStatus(record: SandboxRecord): PodSandboxStatus {
  const { id, config, state, createdAt, runtimeHandler, ip } = record;
  return complete('PodSandboxStatus', {
    id,
    metadata: config.metadata,
    state,
    createdAt,
    network: { ip },
    linux: { namespaces: { options: config.linux?.securityContext?.namespaceOptions ?? {} } },
    labels: config.labels,
    annotations: config.annotations,
    runtimeHandler,
  });
}

export function toContainer(record: ContainerRecord): Container {
  const { id, podSandboxId, config, imageRef, state, createdAt } = record;
  return complete('Container', {
    id,
    podSandboxId,
    metadata: config.metadata,
    image: config.image,
    imageRef,
    imageId: imageRef,
    state,
    createdAt,
    labels: config.labels,
    annotations: config.annotations,
  });
}

export function toContainerStatus(record: ContainerRecord): ContainerStatus {
  const {
    id,
    config,
    imageRef,
    state,
    logPath,
    createdAt,
    startedAt,
    finishedAt,
    exitCode,
    reason,
    message,
    user,
  } = record;
  return complete('ContainerStatus', {
    id,
    metadata: config.metadata,
    state,
    createdAt,
    startedAt,
    finishedAt,
    exitCode,
    image: config.image,
    imageRef,
    imageId: imageRef,
    reason,
    message,
    labels: config.labels,
    annotations: config.annotations,
    mounts: config.mounts,
    logPath,
    resources: config.linux?.resources && { linux: config.linux.resources },
    stopSignal: config.stopSignal,
    user: user && { linux: user },
  });
}

function matchesId(id: string, wanted: string | undefined): boolean {
  return !wanted || id.startsWith(wanted);
}

function matchesLabels(
  labels: Readonly<Record<string, string>> | undefined,
  selector: Readonly<Record<string, string>> | undefined,
): boolean {
  return Object.entries(selector ?? {}).every(([key, value]) => labels?.[key] === value);
}

export function matchesSandbox(record: SandboxRecord, filter: PodSandboxFilter = {}): boolean {
  return (
    matchesId(record.id, filter.id) &&
    (filter.state === undefined || record.state === (filter.state.state ?? 'SANDBOX_READY')) &&
    matchesLabels(record.config.labels, filter.labelSelector)
  );
}

export function matchesContainer(record: ContainerRecord, filter: ContainerFilter = {}): boolean {
  return (
    matchesId(record.id, filter.id) &&
    matchesId(record.podSandboxId, filter.podSandboxId) &&
    (filter.state === undefined || record.state === (filter.state.state ?? 'CONTAINER_CREATED')) &&
    matchesLabels(record.config.labels, filter.labelSelector)
  );
}
