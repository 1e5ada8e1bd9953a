// Controls of the Linux capabilities of containers.

import {
  type Container,
  containersOf,
  containersWhere,
  type Control,
  named,
  type PodToCheck,
  quoted,
  sorted,
  unlessWindows,
  type Violation,
} from '../control.ts';

/** The capabilities that container runtimes give to containers by default. */
const DEFAULT_CAPABILITIES: ReadonlySet<string> = new Set([
  'AUDIT_WRITE',
  'CHOWN',
  'DAC_OVERRIDE',
  'FOWNER',
  'FSETID',
  'KILL',
  'MKNOD',
  'NET_BIND_SERVICE',
  'SETFCAP',
  'SETGID',
  'SETPCAP',
  'SETUID',
  'SYS_CHROOT',
]);

const ONE_CAPABILITY: ReadonlySet<string> = new Set(['NET_BIND_SERVICE']);

export const capabilities: Control = {
  id: 'capabilities_baseline',
  level: 'baseline',
  versions: [{ since: 0, check: checkBaseline }],
};

export const capabilitiesRestricted: Control = {
  id: 'capabilities_restricted',
  level: 'restricted',
  replaces: capabilities.id,
  versions: [
    { since: 22, check: checkRestricted },
    { since: 25, check: unlessWindows(checkRestricted) },
  ],
};

function checkBaseline(pod: PodToCheck): Violation | undefined {
  const detail = added(pod, DEFAULT_CAPABILITIES);
  return detail === undefined ? undefined : { reason: 'non-default capabilities', detail };
}

function checkRestricted(pod: PodToCheck): Violation | undefined {
  const keeping = containersWhere(
    pod,
    ({ securityContext }) => !(securityContext?.capabilities?.drop ?? []).includes('ALL'),
  );
  const adding = added(pod, ONE_CAPABILITY);
  const details = [
    ...(keeping.length > 0
      ? [`${named('container', keeping)} must set securityContext.capabilities.drop=["ALL"]`]
      : []),
    ...(adding !== undefined ? [adding] : []),
  ];
  return details.length === 0
    ? undefined
    : { reason: 'unrestricted capabilities', detail: details.join('; ') };
}

function added(pod: PodToCheck, allowed: ReadonlySet<string>): string | undefined {
  const beyond = ({ securityContext }: Container) =>
    (securityContext?.capabilities?.add ?? []).filter((each) => !allowed.has(each));
  const containers = containersWhere(pod, (container) => beyond(container).length > 0);
  if (containers.length === 0) return undefined;
  const names = sorted(containersOf(pod.spec).flatMap(beyond));
  return `${named('container', containers)} must not include ${quoted(names)} in securityContext.capabilities.add`;
}
