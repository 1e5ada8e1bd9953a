// Controls of the user that a container runs as, and of privilege escalation.

import {
  containersOf,
  containersWhere,
  type Control,
  named,
  type PodToCheck,
  quoted,
  saidBy,
  sorted,
  unlessInUserNamespace,
  unlessWindows,
  type Violation,
} from '../control.ts';

export const privileged: Control = {
  id: 'privileged',
  level: 'baseline',
  versions: [{ since: 0, check: checkPrivileged }],
};

export const allowPrivilegeEscalation: Control = {
  id: 'allowPrivilegeEscalation',
  level: 'restricted',
  versions: [
    { since: 8, check: checkPrivilegeEscalation },
    { since: 25, check: unlessWindows(checkPrivilegeEscalation) },
  ],
};

export const runAsNonRoot: Control = {
  id: 'runAsNonRoot',
  level: 'restricted',
  versions: [
    { since: 0, check: checkRunAsNonRoot },
    { since: 35, check: unlessInUserNamespace(checkRunAsNonRoot) },
  ],
};

export const runAsUser: Control = {
  id: 'runAsUser',
  level: 'restricted',
  versions: [
    { since: 23, check: checkRunAsUser },
    { since: 35, check: unlessInUserNamespace(checkRunAsUser) },
  ],
};

export const procMount: Control = {
  id: 'procMount',
  level: 'baseline',
  versions: [
    { since: 0, check: checkProcMount },
    { since: 35, check: unlessInUserNamespace(checkProcMount) },
  ],
};

/** Restricted still requires this in user namespaces, where baseline does not. */
export const procMountRestricted: Control = {
  id: 'procMount_restricted',
  level: 'restricted',
  replaces: procMount.id,
  versions: [{ since: 35, check: checkProcMount }],
};

function checkPrivileged(pod: PodToCheck): Violation | undefined {
  const containers = containersWhere(
    pod,
    ({ securityContext }) => securityContext?.privileged === true,
  );
  if (containers.length === 0) return undefined;
  return {
    reason: 'privileged',
    detail: `${named('container', containers)} must not set securityContext.privileged=true`,
  };
}

function checkPrivilegeEscalation(pod: PodToCheck): Violation | undefined {
  const containers = containersWhere(
    pod,
    ({ securityContext }) => securityContext?.allowPrivilegeEscalation !== false,
  );
  if (containers.length === 0) return undefined;
  return {
    reason: 'allowPrivilegeEscalation != false',
    detail: `${named('container', containers)} must set securityContext.allowPrivilegeEscalation=false`,
  };
}

/** Checks runAsNonRoot. A container's own value overrides the pod's. */
function checkRunAsNonRoot(pod: PodToCheck): Violation | undefined {
  const reason = 'runAsNonRoot != true';
  const ofPod = pod.spec.securityContext?.runAsNonRoot;
  const who = saidBy(
    ofPod === false,
    containersWhere(pod, ({ securityContext }) => securityContext?.runAsNonRoot === false),
  );
  if (who !== '')
    return { reason, detail: `${who} must not set securityContext.runAsNonRoot=false` };
  if (ofPod === true) return undefined;
  const silent = containersWhere(
    pod,
    ({ securityContext }) => securityContext?.runAsNonRoot === undefined,
  );
  if (silent.length === 0) return undefined;
  return {
    reason,
    detail: `pod or ${named('container', silent)} must set securityContext.runAsNonRoot=true`,
  };
}

function checkRunAsUser(pod: PodToCheck): Violation | undefined {
  const who = saidBy(
    pod.spec.securityContext?.runAsUser === 0,
    containersWhere(pod, ({ securityContext }) => securityContext?.runAsUser === 0),
  );
  return who === ''
    ? undefined
    : { reason: 'runAsUser=0', detail: `${who} must not set runAsUser=0` };
}

function checkProcMount(pod: PodToCheck): Violation | undefined {
  const containers = containersOf(pod.spec).flatMap(({ name, securityContext }) => {
    const mount = securityContext?.procMount;
    return mount === undefined || mount === 'Default' ? [] : [{ name, mount }];
  });
  if (containers.length === 0) return undefined;
  const names = containers.map(({ name }) => name);
  const mounts = sorted(containers.map(({ mount }) => mount));
  return {
    reason: 'procMount',
    detail: `${named('container', names)} must not set securityContext.procMount to ${quoted(mounts)}`,
  };
}
