// Validation of a pod's status, and of its transitions.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from './types.ts';
import { podAnnotationsUpdate } from './annotations.ts';
import { immutable, invalidEach, isDualStack, optionalOneOf } from './common.ts';
import { legacyIP } from './ip.ts';

const STATUS = new field.FieldPath('status');
const METADATA = new field.FieldPath('metadata');

export function validatePodStatusUpdate(pod: Pod, old: Pod): FieldErrorList {
  const { status, spec } = pod;
  const errors = [
    ...podAnnotationsUpdate(
      pod.metadata.annotations,
      old.metadata.annotations,
      spec,
      METADATA.child('annotations'),
    ),
    ...conditions(status.conditions, STATUS.child('conditions')),
  ];
  if ((spec.nodeName ?? '') !== (old.spec.nodeName ?? '')) {
    errors.push(field.forbidden(STATUS.child('nodeName'), 'may not be changed directly'));
  }
  const nominated = status.nominatedNodeName ?? '';
  if (nominated !== '' && nominated !== old.status.nominatedNodeName) {
    const path = STATUS.child('nominatedNodeName');
    errors.push(...invalidEach(path, nominated, validation.isDNS1123Subdomain(nominated)));
    // A bound pod needs no nomination.
    if ((old.spec.nodeName ?? '') !== '') {
      errors.push(field.forbidden(path, 'may not be set on pods that are already bound to a node'));
    }
  }
  errors.push(
    ...generation(status.observedGeneration, STATUS),
    ...immutable(status.qosClass, old.status.qosClass, STATUS.child('qosClass'), Object.is),
  );
  for (const name of [
    'containerStatuses',
    'initContainerStatuses',
    'ephemeralContainerStatuses',
  ] as const) {
    errors.push(...noResurrection(status[name], old.status[name], old, name));
  }
  errors.push(
    ...resourceClaimStatuses(pod),
    ...extendedResourceClaim(pod, STATUS.child('extendedResourceClaimStatus')),
    ...podIPs(status, old.status),
    ...hostIPs(status, old.status),
  );
  for (const name of [
    'containerStatuses',
    'initContainerStatuses',
    'ephemeralContainerStatuses',
  ] as const) {
    errors.push(...users(status[name], spec.os?.name, STATUS.child(name)));
  }
  errors.push(
    ...allocatedResources(
      status.containerStatuses,
      spec.containers,
      STATUS.child('containerStatuses'),
    ),
    ...allocatedResources(
      status.initContainerStatuses,
      spec.initContainers ?? [],
      STATUS.child('initContainerStatuses'),
    ),
  );
  (status.ephemeralContainerStatuses ?? []).forEach(({ allocatedResourcesStatus = [] }, index) => {
    if (allocatedResourcesStatus.length === 0) return;
    const path = STATUS.child('ephemeralContainerStatuses')
      .index(index)
      .child('allocatedResourcesStatus');
    errors.push(field.forbidden(path, 'must not be specified in container status'));
  });
  return errors;
}

function generation(observed: number | undefined, at: FieldPath): FieldErrorList {
  if ((observed ?? 0) >= 0) return [];
  return [
    field.invalid(at.child('observedGeneration'), observed, 'must be a non-negative integer'),
  ];
}

const OWN_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

function conditions(list: readonly PodCondition[] | undefined, at: FieldPath): FieldErrorList {
  return (list ?? []).flatMap(({ type, observedGeneration }, index) => {
    const problems = OWN_CONDITIONS.has(type) ? [] : validation.isQualifiedName(type);
    // The usual case.
    if (problems.length === 0 && (observedGeneration ?? 0) >= 0) return [];
    const path = at.index(index);
    return [
      ...generation(observedGeneration, path),
      ...invalidEach(path.child('Type'), type, problems),
    ];
  });
}

type StatusList = 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses';

/**
 * Validates that a container which has ended for good does not run again. Two statuses with one
 * name are not distinguished.
 */
function noResurrection(
  list: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  pod: Pod,
  name: StatusList,
): FieldErrorList {
  return (old ?? []).flatMap((before, index) => {
    const { terminated } = before.state;
    if (terminated === undefined || mayRestart(pod, before.name, name, terminated.exitCode))
      return [];
    const path = STATUS.child(name).index(index).child('state');
    const risen = (list ?? []).filter(
      (after) => after.name === before.name && after.state.terminated === undefined,
    );
    return (name === 'ephemeralContainerStatuses' ? risen : risen.slice(0, 1)).map(() =>
      field.forbidden(path, 'may not be transitioned to non-terminated state'),
    );
  });
}

function mayRestart(
  { spec }: Pod,
  containerName: string,
  list: StatusList,
  exitCode: number,
): boolean {
  if (list === 'ephemeralContainerStatuses') return false;
  const all = [...spec.containers, ...(spec.initContainers ?? [])];
  // One of these rules can restart all containers.
  if (
    all.some(({ restartPolicyRules = [] }) =>
      restartPolicyRules.some(({ action }) => action === 'RestartAllContainers'),
    )
  ) {
    return true;
  }
  const candidates = (list === 'containerStatuses' ? spec.containers : spec.initContainers) ?? [];
  const container = candidates.find(({ name }) => name === containerName);
  return (
    container !== undefined && shouldRestart(container, spec.restartPolicy ?? 'Always', exitCode)
  );
}

/**
 * Reports whether the container restarts: by its rules for the exit code, else by its own policy,
 * else by the pod's.
 */
function shouldRestart(container: Container, podPolicy: string, exitCode: number): boolean {
  const { restartPolicy, restartPolicyRules = [] } = container;
  if (
    restartPolicy !== undefined &&
    restartPolicyRules.some((rule) => rule.action === 'Restart' && covers(rule, exitCode))
  ) {
    return true;
  }
  const policy = restartPolicy ?? podPolicy;
  return policy === 'OnFailure' ? exitCode !== 0 : policy !== 'Never';
}

function covers(
  { exitCodes }: NonNullable<Container['restartPolicyRules']>[number],
  exitCode: number,
): boolean {
  const { operator, values = [] } = exitCodes ?? {};
  if (operator === 'In') return values.includes(exitCode);
  return operator === 'NotIn' && !values.includes(exitCode);
}

function resourceClaimStatuses({ status, spec }: Pod): FieldErrorList {
  const errors: FieldErrorList = [];
  const claimNames = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const seen = new Set<string>();
  (status.resourceClaimStatuses ?? []).forEach(({ name, resourceClaimName }, index) => {
    const path = STATUS.child('resourceClaimStatuses').index(index).child('name');
    if (!claimNames.has(name))
      errors.push(
        field.invalid(path, name, 'must match the name of an entry in `spec.resourceClaims`'),
      );
    if (seen.has(name)) errors.push(field.duplicate(path, name));
    seen.add(name);
    if (resourceClaimName !== undefined) {
      errors.push(
        ...invalidEach(path, resourceClaimName, validation.isDNS1123Subdomain(resourceClaimName)),
      );
    }
  });
  return errors;
}

/** Validates the claim that was created for the pod's extended resources. */
function extendedResourceClaim({ spec, status }: Pod, at: FieldPath): FieldErrorList {
  const { extendedResourceClaimStatus: claim } = status;
  if (claim === undefined) return [];
  const containers = new Map(
    [...(spec.initContainers ?? []), ...spec.containers].map((container) => [
      container.name,
      container,
    ]),
  );
  const errors: FieldErrorList = [];
  const path = at.child('requestMappings');
  const mappings = claim.requestMappings ?? [];
  if (mappings.length === 0)
    errors.push(field.required(path, 'at least one request mapping is required'));
  const seen = new Set<string>();
  mappings.forEach(({ containerName, resourceName, requestName }, index) => {
    const where = path.index(index);
    const container = containers.get(containerName);
    if (container === undefined) {
      const message =
        'must match the name of an entry in spec.initContainers.name or spec.containers.name';
      errors.push(field.invalid(where.child('containerName'), containerName, message));
    } else if (!Object.hasOwn(container.resources.requests ?? {}, resourceName)) {
      const message =
        'must match the extended resource name of an entry in ' +
        'spec.initContainers.resources.requests or spec.containers.resources.requests';
      errors.push(field.invalid(where.child('resourceName'), resourceName, message));
    }
    errors.push(
      ...invalidEach(at.child('requestName'), requestName, validation.isDNS1123Label(requestName)),
    );
    const key = JSON.stringify([containerName, resourceName, requestName]);
    if (seen.has(key)) {
      errors.push(
        field.duplicate(where.child('containerName'), containerName),
        field.duplicate(where.child('resourceName'), resourceName),
        field.duplicate(where.child('requestName'), requestName),
      );
    }
    seen.add(key);
  });
  const { resourceClaimName: name } = claim;
  if (name === '') errors.push(field.required(at.child('resourceClaimName')));
  else
    errors.push(
      ...invalidEach(at.child('resourceClaimName'), name, validation.isDNS1123Subdomain(name)),
    );
  return errors;
}

type Addresses = readonly { readonly ip?: string }[] | undefined;
const textOf = (list: Addresses): string[] => (list ?? []).map(({ ip = '' }) => ip);

function podIPs({ podIPs: list }: PodStatus, old: PodStatus): FieldErrorList {
  return addresses(textOf(list), textOf(old.podIPs), STATUS.child('podIPs'));
}

function hostIPs({ hostIP = '', hostIPs: list }: PodStatus, old: PodStatus): FieldErrorList {
  const all = textOf(list);
  const path = STATUS.child('hostIPs');
  const first = all[0];
  const errors =
    first === undefined || first === hostIP
      ? []
      : [field.invalid(path.index(0).child('ip'), first, 'must be equal to `hostIP`')];
  return [...errors, ...addresses(all, textOf(old.hostIPs), path)];
}

function addresses(list: readonly string[], old: readonly string[], at: FieldPath): FieldErrorList {
  const errors = list.flatMap((address, index) => legacyIP(address, at.index(index), old));
  if (list.length < 2 || isDualStack(list)) return errors;
  const shown = list.map((IP) => ({ IP }));
  return [
    ...errors,
    field.invalid(at, shown, 'may specify no more than one IP for each IP family'),
  ];
}

function users(
  list: readonly ContainerStatus[] | undefined,
  os: string | undefined,
  at: FieldPath,
): FieldErrorList {
  return (list ?? []).flatMap(({ user }, index) => {
    if (user?.linux === undefined) return [];
    const path = at.index(index).child('user', 'linux');
    if (os === 'windows') return [field.forbidden(path, 'cannot be set for a windows pod')];
    if (os !== undefined && os !== 'linux') return [];
    const { uid, gid, supplementalGroups = [] } = user.linux;
    return [
      ...invalidEach(path.child('uid'), uid, validation.isValidUserID(uid)),
      ...invalidEach(path.child('gid'), gid, validation.isValidGroupID(gid)),
      ...supplementalGroups.flatMap((group, groupIndex) =>
        invalidEach(
          path.child('supplementalGroups').index(groupIndex),
          group,
          validation.isValidGroupID(group),
        ),
      ),
    ];
  });
}

const HEALTH = ['Healthy', 'Unhealthy', 'Unknown'];
const CLAIM = 'claim:';

function allocatedResources(
  list: readonly ContainerStatus[] | undefined,
  containers: readonly Container[],
  at: FieldPath,
): FieldErrorList {
  return (list ?? []).flatMap(({ name, allocatedResourcesStatus = [] }, index) => {
    if (allocatedResourcesStatus.length === 0) return [];
    const container = containers.find((candidate) => candidate.name === name);
    return allocatedResourcesStatus.flatMap((allocated, allocatedIndex) => {
      const path = at.index(index).child('allocatedResourcesStatus').index(allocatedIndex);
      const errors: FieldErrorList = [];
      if (container !== undefined && !asksFor(container, allocated.name)) {
        const message = allocated.name.startsWith(CLAIM)
          ? "must match one of the container's resource claims in a format " +
            "'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
          : "must match one of the container's resource requests";
        errors.push(field.invalid(path.child('name'), allocated.name, message));
      }
      const ids = new Set<string>();
      (allocated.resources ?? []).forEach(({ resourceID, health = '' }, resourceIndex) => {
        const resourcePath = path.child('resources').index(resourceIndex);
        errors.push(...optionalOneOf(health, HEALTH, resourcePath.child('health')));
        if (ids.has(resourceID))
          errors.push(field.duplicate(resourcePath.child('resourceID'), resourceID));
        ids.add(resourceID);
      });
      return errors;
    });
  });
}

function asksFor({ resources }: Container, name: string): boolean {
  if (!name.startsWith(CLAIM)) return Object.hasOwn(resources.requests ?? {}, name);
  return (resources.claims ?? []).some(
    (claim) =>
      name === `${CLAIM}${claim.name}${(claim.request ?? '') === '' ? '' : `/${claim.request}`}`,
  );
}
