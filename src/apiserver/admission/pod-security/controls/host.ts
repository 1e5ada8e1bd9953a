// Controls of a pod's access to its host.

import {
  type Container,
  containersOf,
  containersWhere,
  type Control,
  named,
  plural,
  type PodToCheck,
  quoted,
  saidBy,
  sorted,
  type Violation,
} from '../control.ts';

export const hostNamespaces: Control = {
  id: 'hostNamespaces',
  level: 'baseline',
  versions: [{ since: 0, check: checkHostNamespaces }],
};

export const hostPathVolumes: Control = {
  id: 'hostPathVolumes',
  level: 'baseline',
  versions: [{ since: 0, check: checkHostPathVolumes }],
};

export const hostPorts: Control = {
  id: 'hostPorts',
  level: 'baseline',
  versions: [{ since: 0, check: checkHostPorts }],
};

/**
 * Restricts the hosts of probes and hooks: kubelets connect from the host's network to any address
 * that a pod names.
 */
export const hostsOfProbesAndHooks: Control = {
  id: 'hostProbesAndHostLifecycle',
  level: 'baseline',
  versions: [{ since: 34, check: checkHostsOfProbesAndHooks }],
};

export const windowsHostProcess: Control = {
  id: 'windowsHostProcess',
  level: 'baseline',
  versions: [{ since: 0, check: checkWindowsHostProcess }],
};

function checkHostNamespaces({ spec }: PodToCheck): Violation | undefined {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter(
    (each) => spec[each] === true,
  );
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((each) => `${each}=true`).join(', ') };
}

function checkHostPathVolumes({ spec }: PodToCheck): Violation | undefined {
  const names = (spec.volumes ?? []).flatMap(({ name, hostPath }) =>
    hostPath === undefined ? [] : [name],
  );
  return names.length === 0
    ? undefined
    : { reason: 'hostPath volumes', detail: named('volume', names) };
}

function checkHostPorts(pod: PodToCheck): Violation | undefined {
  const hostPortsOf = ({ ports = [] }: Container) =>
    (ports ?? []).flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : [hostPort]));
  const containers = containersWhere(pod, (container) => hostPortsOf(container).length > 0);
  if (containers.length === 0) return undefined;
  const ports = sorted(containersOf(pod.spec).flatMap(hostPortsOf).map(String));
  const use = containers.length === 1 ? 'uses' : 'use';
  return {
    reason: 'hostPort',
    detail: `${named('container', containers)} ${use} ${plural('hostPort', ports.length)} ${ports.join(', ')}`,
  };
}

function checkHostsOfProbesAndHooks(pod: PodToCheck): Violation | undefined {
  const containers = sorted(containersWhere(pod, (container) => askedHosts(container).length > 0));
  if (containers.length === 0) return undefined;
  const hosts = sorted(containersOf(pod.spec).flatMap(askedHosts));
  const use = containers.length === 1 ? 'uses' : 'use';
  return {
    reason: 'probe or lifecycle host',
    detail:
      `${named('container', containers)} ${use} ` +
      `${plural('probe or lifecycle host', hosts.length)} ${quoted(hosts)}`,
  };
}

function askedHosts({
  livenessProbe,
  readinessProbe,
  startupProbe,
  lifecycle,
}: Container): readonly string[] {
  const handlers = [
    livenessProbe,
    readinessProbe,
    startupProbe,
    lifecycle?.postStart,
    lifecycle?.preStop,
  ];
  return handlers
    .flatMap((handler) => [handler?.httpGet?.host, handler?.tcpSocket?.host])
    .filter((host): host is string => host !== undefined && host !== '');
}

function checkWindowsHostProcess(pod: PodToCheck): Violation | undefined {
  const who = saidBy(
    pod.spec.securityContext?.windowsOptions?.hostProcess === true,
    containersWhere(
      pod,
      ({ securityContext }) => securityContext?.windowsOptions?.hostProcess === true,
    ),
  );
  if (who === '') return undefined;
  return {
    reason: 'hostProcess',
    detail: `${who} must not set securityContext.windowsOptions.hostProcess=true`,
  };
}
