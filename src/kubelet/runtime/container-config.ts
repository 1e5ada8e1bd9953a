// Builds the runtime's configuration of a container.

import type { ContainerConfig, Device, LinuxContainerResources, Mount } from '#cri/index.ts';
import type { ContainerDevices } from '../devices/container-devices.ts';
import { limitedExpand } from '../env/expand.ts';
import type { Environment } from '../env/make-environment.ts';
import type { Container, Pod } from '../types.ts';
import { containerAnnotations, containerLabels } from './labels.ts';
import { containerSecurityContext, type PodSecurity, stopSignal } from './security-context.ts';

export interface ContainerConfigInput {
  readonly pod: Pod;
  readonly container: Container;
  readonly restartCount: number;
  /** The runtime's reference to the image. */
  readonly imageRef: string;
  readonly environment: Environment;
  readonly mounts: readonly Mount[];
  /** Block volumes. */
  readonly devices: readonly Device[];
  /** The devices of device plugins and ResourceClaims. */
  readonly assigned?: ContainerDevices;
  readonly security: PodSecurity;
  readonly resources: LinuxContainerResources;
  /** The target of an ephemeral container: the container whose processes it sees. */
  readonly targetId?: string;
}

const encoder = new TextEncoder();

export function makeContainerConfig(input: ContainerConfigInput): ContainerConfig {
  const { pod, container, environment } = input;
  const expand = limitedExpand();
  const expanded = (words: readonly string[] | undefined): readonly string[] =>
    (words ?? []).map((word) => expand(word, (name) => environment.get(name)));
  const signal = stopSignal(container);
  return {
    metadata: { name: container.name, attempt: input.restartCount },
    image: { image: input.imageRef, userSpecifiedImage: container.image ?? '' },
    command: expanded(container.command),
    args: expanded(container.args),
    workingDir: container.workingDir ?? '',
    envs: [...environment].map(([key, value]) => ({ key, value: encoder.encode(value) })),
    mounts: [...(input.assigned?.mounts ?? []), ...input.mounts].map((mount) =>
      withMappings(mount, input.security),
    ),
    devices: [...(input.assigned?.devices ?? []), ...input.devices],
    CDIDevices: (input.assigned?.cdiDevices ?? []).map((name) => ({ name })),
    labels: containerLabels(pod, container),
    annotations: {
      ...input.assigned?.annotations,
      ...containerAnnotations(pod, container, input.restartCount),
    },
    logPath: `${container.name}/${input.restartCount}.log`,
    stdin: container.stdin === true,
    stdinOnce: container.stdinOnce === true,
    tty: container.tty === true,
    linux: {
      resources: input.resources,
      securityContext: containerSecurityContext(pod, container, input.security, input.targetId),
    },
    ...(signal !== undefined ? { stopSignal: signal } : {}),
  };
}

/** In a user namespace of its own, a container sees the owners of files as outside of it. */
function withMappings(mount: Mount, { userNamespace }: PodSecurity): Mount {
  const { mode, uids, gids } = userNamespace;
  if (mode !== 'POD' || uids === undefined || gids === undefined) return mount;
  return { ...mount, uidMappings: uids, gidMappings: gids };
}
