// Rules of a pod's status: what may be said of it, and what cannot be taken back.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import * as validation from '../../../../machinery/validation.ts';
import type { Container, ContainerStatus, Pod, PodCondition, PodStatus } from './types.ts';
import { podAnnotationsUpdate } from './annotations.ts';
import { immutable, invalidEach, isDualStack, nonNegative, oneOf } from './common.ts';

const STATUS = new field.FieldPath('status');
const METADATA = new field.FieldPath('metadata');

export function validatePodStatusUpdate(pod: Pod, old: Pod): FieldErrorList {
  const { status, spec } = pod;
  const errors = [
    ...podAnnotationsUpdate(pod.metadata.annotations, old.metadata.annotations, METADATA.child('annotations')),
    ...conditions(status.conditions, METADATA.child('conditions')),
    ...nonNegative(status.observedGeneration, STATUS.child('observedGeneration')),
  ];
  if ((spec.nodeName ?? '') !== (old.spec.nodeName ?? '')) {
    errors.push(field.forbidden(STATUS.child('nodeName'), 'may not be changed directly'));
  }
  const nominated = status.nominatedNodeName ?? '';
  if (nominated !== '' && nominated !== old.status.nominatedNodeName) {
    errors.push(...invalidEach(STATUS.child('nominatedNodeName'), nominated, validation.isDNS1123Subdomain(nominated)));
  }
  errors.push(...immutable(status.qosClass, old.status.qosClass, STATUS.child('qosClass'), Object.is));
  for (const name of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const) {
    errors.push(...noResurrection(status[name], old.status[name], old, name));
  }
  errors.push(...resourceClaimStatuses(pod), ...podIPs(status), ...hostIPs(status));
  for (const name of ['containerStatuses', 'initContainerStatuses', 'ephemeralContainerStatuses'] as const) {
    errors.push(...users(status[name], spec.os?.name, STATUS.child(name)));
  }
  errors.push(
    ...allocatedResources(status.containerStatuses, spec.containers, STATUS.child('containerStatuses')),
    ...allocatedResources(status.initContainerStatuses, spec.initContainers ?? [], STATUS.child('initContainerStatuses')),
  );
  (status.ephemeralContainerStatuses ?? []).forEach(({ allocatedResourcesStatus = [] }, index) => {
    if (allocatedResourcesStatus.length === 0) return;
    const path = STATUS.child('ephemeralContainerStatuses').index(index).child('allocatedResourcesStatus');
    errors.push(field.forbidden(path, 'must not be specified in container status'));
  });
  return errors;
}

const OWN_CONDITIONS: ReadonlySet<string> = new Set(['PodScheduled', 'Ready', 'Initialized']);

function conditions(list: readonly PodCondition[] | undefined, at: FieldPath): FieldErrorList {
  return (list ?? []).flatMap(({ type, observedGeneration }, index) => [
    ...nonNegative(observedGeneration, at.index(index).child('observedGeneration')),
    ...(OWN_CONDITIONS.has(type) ? [] : invalidEach(at.index(index).child('Type'), type, validation.isQualifiedName(type))),
  ]);
}

type StatusList = 'containerStatuses' | 'initContainerStatuses' | 'ephemeralContainerStatuses';

/** A container that has ended for good does not run again. */
function noResurrection(
  list: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  pod: Pod,
  name: StatusList,
): FieldErrorList {
  return (old ?? []).flatMap((before, index) => {
    const { terminated } = before.state;
    if (terminated === undefined || mayRestart(pod, before.name, name, terminated.exitCode)) return [];
    return (list ?? [])
      .filter((after) => after.name === before.name && after.state.terminated === undefined)
      .map(() => {
        const path = STATUS.child(name).index(index).child('state');
        return field.forbidden(path, 'may not be transitioned to non-terminated state');
      });
  });
}

function mayRestart({ spec }: Pod, containerName: string, list: StatusList, exitCode: number): boolean {
  if (list === 'ephemeralContainerStatuses') return false;
  if (spec.restartPolicy === 'Always') return true;
  const candidates = (list === 'containerStatuses' ? spec.containers : spec.initContainers) ?? [];
  const container = candidates.find(({ name }) => name === containerName);
  // What the rules say depends on how it ended; the kubelet knows.
  if ((container?.restartPolicyRules ?? []).length > 0) return true;
  const policy = container?.restartPolicy ?? spec.restartPolicy;
  return policy === 'Always' || (policy === 'OnFailure' && exitCode !== 0);
}

function resourceClaimStatuses({ status, spec }: Pod): FieldErrorList {
  const errors: FieldErrorList = [];
  const known = new Set((spec.resourceClaims ?? []).map(({ name }) => name));
  const seen = new Set<string>();
  (status.resourceClaimStatuses ?? []).forEach(({ name, resourceClaimName }, index) => {
    const path = STATUS.child('resourceClaimStatuses').index(index).child('name');
    if (!known.has(name)) errors.push(field.invalid(path, name, 'must match the name of an entry in `spec.resourceClaims`'));
    if (seen.has(name)) errors.push(field.duplicate(path, name));
    seen.add(name);
    if (resourceClaimName !== undefined) {
      errors.push(...invalidEach(path, resourceClaimName, validation.isDNS1123Subdomain(resourceClaimName)));
    }
  });
  return errors;
}

function podIPs({ podIPs: list = [] }: PodStatus): FieldErrorList {
  return addresses(
    list.map(({ ip = '' }) => ip),
    STATUS.child('podIPs'),
  );
}

function hostIPs({ hostIP = '', hostIPs: list = [] }: PodStatus): FieldErrorList {
  const all = list.map(({ ip = '' }) => ip);
  const path = STATUS.child('hostIPs');
  const first = all[0];
  const errors =
    first === undefined || first === hostIP ? [] : [field.invalid(path.index(0).child('ip'), first, 'must be equal to `hostIP`')];
  return [...errors, ...addresses(all, path)];
}

function addresses(list: readonly string[], at: FieldPath): FieldErrorList {
  const errors = list.flatMap((address, index) => invalidEach(at.index(index), address, validation.isValidIP(address)));
  if (list.length < 2) return errors;
  const shown = list.map((IP) => ({ IP }));
  if (!isDualStack(list)) errors.push(field.invalid(at, shown, 'may specify no more than one IP for each IP family'));
  list.forEach((address, index) => {
    if (list.indexOf(address) < index) errors.push(field.duplicate(at.index(index), { IP: address }));
  });
  return errors;
}

function users(list: readonly ContainerStatus[] | undefined, os: string | undefined, at: FieldPath): FieldErrorList {
  return (list ?? []).flatMap(({ user }, index) => {
    const path = at.index(index).child('linux');
    if (user?.linux === undefined) return [];
    if (os === 'windows') return [field.forbidden(path, 'cannot be set for a windows pod')];
    const { uid, gid, supplementalGroups = [] } = user.linux;
    return [
      ...invalidEach(path.child('uid'), uid, validation.isValidUserID(uid)),
      ...invalidEach(path.child('gid'), gid, validation.isValidGroupID(gid)),
      ...supplementalGroups.flatMap((group, groupIndex) =>
        invalidEach(path.child('supplementalGroups').index(groupIndex), group, validation.isValidGroupID(group)),
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
    const container = containers.find((candidate) => candidate.name === name);
    return allocatedResourcesStatus.flatMap((allocated, allocatedIndex) => {
      const path = at.index(index).child('allocatedResourcesStatus').index(allocatedIndex);
      const errors: FieldErrorList = [];
      if (container !== undefined && !asksFor(container, allocated.name)) {
        const message = allocated.name.startsWith(CLAIM)
          ? "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
          : "must match one of the container's resource requests";
        errors.push(field.invalid(path.child('name'), allocated.name, message));
      }
      const ids = new Set<string>();
      (allocated.resources ?? []).forEach(({ resourceID, health = '' }, resourceIndex) => {
        const resourcePath = path.child('resources').index(resourceIndex);
        errors.push(...oneOf(health, HEALTH, resourcePath.child('health')));
        if (ids.has(resourceID)) errors.push(field.duplicate(resourcePath.child('resourceID'), resourceID));
        ids.add(resourceID);
      });
      return errors;
    });
  });
}

function asksFor({ resources }: Container, name: string): boolean {
  if (!name.startsWith(CLAIM)) return Object.hasOwn(resources.requests ?? {}, name);
  return (resources.claims ?? []).some(
    (claim) => name === `${CLAIM}${claim.name}${(claim.request ?? '') === '' ? '' : `/${claim.request}`}`,
  );
}
