// Which namespaces pods and containers have of their own.

import type { ContainerConfig, PodSandboxConfig } from '#cri/index.ts';

export type NamespaceMode = 'POD' | 'CONTAINER' | 'NODE' | 'TARGET';

export const networkOf = (config: PodSandboxConfig): NamespaceMode =>
  config.linux?.securityContext?.namespaceOptions?.network ?? 'POD';

/** Returns which namespace a container has: its own setting, or else its pod's. */
export function modeOf(
  config: ContainerConfig,
  sandbox: PodSandboxConfig,
  kind: 'pid' | 'ipc',
): NamespaceMode {
  const own = config.linux?.securityContext?.namespaceOptions;
  const pod = sandbox.linux?.securityContext?.namespaceOptions;
  return (own === undefined ? pod?.[kind] : own[kind]) ?? 'POD';
}
