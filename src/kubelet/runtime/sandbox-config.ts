// Builds the runtime's configuration of a pod's sandbox: name, network, DNS, logs, security.

import type { PodSandboxConfig } from '#cri/index.ts';
import type { Input } from '#cri/types.ts';
import { isSidecar } from '../pod/restart-policy.ts';
import type { Pod } from '../types.ts';
import { sandboxLabels } from './labels.ts';
import { type PodSecurity, sandboxSecurityContext, sysctls } from './security-context.ts';

export interface SandboxConfigInput {
  readonly pod: Pod;
  readonly attempt: number;
  readonly hostname: string;
  readonly dnsConfig: Input<'DNSConfig'>;
  /** The directory with the logs of all pods. */
  readonly podLogsDir: string;
  readonly security: PodSecurity;
  readonly cgroupParent: string;
  readonly resources: Input<'LinuxContainerResources'>;
  readonly overhead: Input<'LinuxContainerResources'> | undefined;
}

export function makeSandboxConfig(input: SandboxConfigInput): PodSandboxConfig {
  const { pod } = input;
  const { metadata, spec } = pod;
  return {
    metadata: {
      name: metadata.name,
      namespace: metadata.namespace ?? '',
      uid: metadata.uid,
      attempt: input.attempt,
    },
    // In the host's network, the sandbox has the host's name.
    ...(spec.hostNetwork === true ? {} : { hostname: input.hostname }),
    logDirectory: podLogDirectory(input.podLogsDir, pod),
    dnsConfig: input.dnsConfig,
    portMappings: portMappings(pod),
    labels: sandboxLabels(pod),
    annotations: metadata.annotations ?? {},
    linux: {
      cgroupParent: input.cgroupParent,
      securityContext: sandboxSecurityContext(pod, input.security),
      sysctls: sysctls(pod),
      resources: input.resources,
      ...(input.overhead !== undefined ? { overhead: input.overhead } : {}),
    },
  };
}

export function podLogDirectory(root: string, pod: { readonly metadata: Pod['metadata'] }): string {
  const { namespace, name, uid } = pod.metadata;
  return `${root}/${namespace ?? ''}_${name}_${uid}`;
}

function portMappings(pod: Pod): readonly Input<'PortMapping'>[] {
  const sidecars = (pod.spec.initContainers ?? []).filter(isSidecar);
  const mappings: Input<'PortMapping'>[] = [];
  const seen = new Set<string>();
  for (const container of [...sidecars, ...pod.spec.containers]) {
    for (const port of container.ports ?? []) {
      const protocol = port.protocol ?? 'TCP';
      const hostPort = pod.spec.hostNetwork === true ? 0 : (port.hostPort ?? 0);
      const key = `${protocol}/${port.hostIP ?? ''}/${hostPort}/${port.containerPort}`;
      if (seen.has(key)) continue;
      seen.add(key);
      mappings.push({
        protocol,
        containerPort: port.containerPort,
        hostPort,
        hostIp: port.hostIP ?? '',
      });
    }
  }
  return mappings;
}
