// Reads one sandbox or container from the runtime into the kubelet's own types.

import {
  isNotFound,
  type Container,
  type ContainerState,
  type ContainerStatus,
  type PodSandbox,
  type RuntimeService,
} from '#cri/index.ts';
import { fromNanoseconds } from '../time.ts';
import {
  CONTAINER_NAME_LABEL,
  readContainerAnnotations,
  type ContainerAnnotations,
} from './labels.ts';
import type { ContainerRecord, RuntimeContainerState, SandboxRecord } from '../pod/pod-status.ts';

/** Returns the termination message of a container; '' if there is none. */
export type TerminationMessageReader = (
  status: ContainerStatus,
  annotations: ContainerAnnotations,
) => Promise<string>;

export function toContainerState(state: ContainerState): RuntimeContainerState {
  switch (state) {
    case 'CONTAINER_CREATED':
      return 'created';
    case 'CONTAINER_RUNNING':
      return 'running';
    case 'CONTAINER_EXITED':
      return 'exited';
    case 'CONTAINER_UNKNOWN':
      return 'unknown';
  }
}

/** Reads a sandbox. Returns undefined if it was removed meanwhile. */
export async function readSandbox(
  runtime: RuntimeService,
  listed: PodSandbox,
): Promise<SandboxRecord | undefined> {
  try {
    const { status } = await runtime.podSandboxStatus(listed.id);
    const network = status?.network;
    const hostNetwork = status?.linux?.namespaces?.options?.network === 'NODE';
    const ips = [
      network?.ip ?? '',
      ...(network?.additionalIps ?? []).map((entry) => entry.ip),
    ].filter((ip) => ip !== '');
    return {
      id: listed.id,
      attempt: listed.metadata?.attempt ?? 0,
      ready: (status?.state ?? listed.state) === 'SANDBOX_READY',
      createdAt: fromNanoseconds(listed.createdAt),
      ips: hostNetwork ? [] : ips,
      hostNetwork,
    };
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Reads a container. Returns undefined if it was removed meanwhile. */
export async function readContainer(
  runtime: RuntimeService,
  listed: Container,
  readTerminationMessage: TerminationMessageReader,
): Promise<ContainerRecord | undefined> {
  let status: ContainerStatus | undefined;
  try {
    status = (await runtime.containerStatus(listed.id)).status;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
  if (status === undefined) return undefined;
  const state = toContainerState(status.state);
  const annotations = readContainerAnnotations(status.annotations);
  let message = status.message;
  let reason = status.reason;
  if (state === 'exited') {
    // The container's own message takes precedence over the runtime's.
    message = (await readTerminationMessage(status, annotations)) || message;
    if (reason === '') reason = status.exitCode === 0 ? 'Completed' : 'Error';
  }
  const user = status.user?.linux;
  return {
    id: listed.id,
    sandboxId: listed.podSandboxId,
    name: status.labels[CONTAINER_NAME_LABEL] ?? status.metadata?.name ?? '',
    state,
    createdAt: fromNanoseconds(status.createdAt),
    startedAt: fromNanoseconds(status.startedAt),
    finishedAt: fromNanoseconds(status.finishedAt),
    exitCode: status.exitCode,
    reason,
    message,
    image: imageName(status),
    imageRef: status.imageRef,
    hash: annotations.hash,
    restartCount: annotations.restartCount,
    logPath: status.logPath,
    gracePeriodSeconds: annotations.gracePeriodSeconds,
    user:
      user === undefined
        ? undefined
        : { uid: user.uid, gid: user.gid, supplementalGroups: user.supplementalGroups },
    stopSignal: status.stopSignal === 'RUNTIME_DEFAULT' ? undefined : status.stopSignal,
  };
}

/**
 * Returns the image's name. If the runtime has only an ID, the user's name for the image is used.
 */
function imageName(status: ContainerStatus): string {
  const image = status.image?.image ?? '';
  return /^sha256:[0-9a-f]{64}$/.test(image) ? status.image?.userSpecifiedImage || image : image;
}
