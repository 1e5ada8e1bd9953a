// What a runtime of our own (process, simulated) remembers of a sandbox and of a container, as
// plain JSON, and the CRI answers and filters that follow from it. Pure: records in, messages out.

import { complete, CriError } from '#cri/index.ts';
import type {
  Container,
  ContainerConfig,
  ContainerFilter,
  ContainerState,
  ContainerStatus,
  PodSandbox,
  PodSandboxConfig,
  PodSandboxFilter,
  PodSandboxState,
  PodSandboxStatus,
} from '#cri/index.ts';

export interface SandboxRecord {
  readonly id: string;
  readonly config: PodSandboxConfig;
  readonly runtimeHandler: string;
  /** Nanoseconds since the epoch, as all times here. */
  readonly createdAt: number;
  /** Empty with the host's network. */
  readonly ip: string;
  state: PodSandboxState;
}

export interface ContainerRecord {
  readonly id: string;
  readonly podSandboxId: string;
  readonly config: ContainerConfig;
  readonly imageRef: string;
  /** Absolute path of the log file, or empty. */
  readonly logPath: string;
  readonly createdAt: number;
  state: ContainerState;
  /** 0 until it was started. */
  startedAt: number;
  /** 0 until it has exited. */
  finishedAt: number;
  exitCode: number;
  reason: string;
  message: string;
}

/** The part of a record that a container begins with. */
export const notStarted = {
  state: 'CONTAINER_CREATED',
  startedAt: 0,
  finishedAt: 0,
  exitCode: 0,
  reason: '',
  message: '',
} as const;

/** The identity that may exist once at a time. */
export function sandboxKey(config: PodSandboxConfig): string {
  const metadata = config.metadata;
  if (!metadata?.name || !metadata.namespace || !metadata.uid) {
    throw new CriError('InvalidArgument', 'sandbox metadata must have name, namespace and uid');
  }
  return [metadata.name, metadata.namespace, metadata.uid, metadata.attempt ?? 0].join('_');
}

/** The identity that may exist once at a time within a sandbox. */
export function containerKey(podSandboxId: string, config: ContainerConfig): string {
  if (!config.metadata?.name)
    throw new CriError('InvalidArgument', 'container metadata must have a name');
  return [podSandboxId, config.metadata.name, config.metadata.attempt ?? 0].join('_');
}

/** The absolute path of a container's log, or empty if it wants none. */
export function containerLogPath(sandbox: PodSandboxConfig, config: ContainerConfig): string {
  if (!sandbox.logDirectory || !config.logPath) return '';
  return `${sandbox.logDirectory.replace(/\/+$/, '')}/${config.logPath.replace(/^\/+/, '')}`;
}

/** Kubernetes' words for how a container ended. */
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
