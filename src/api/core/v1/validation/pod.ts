// Rules of pods: when they are made, changed, and when their status is.

import { deepEqual } from '../../../../machinery/deep.ts';
import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import type { Container, ContainerStatus, Pod, PodSpec, Toleration } from './types.ts';
import { podSpec } from './pod-spec.ts';

const SPEC = new field.FieldPath('spec');

export function validatePod(pod: Pod): FieldErrorList {
  const errors = podSpec(pod.spec, SPEC);
  if ((pod.spec.ephemeralContainers ?? []).length > 0) {
    errors.push(field.forbidden(SPEC.child('ephemeralContainers'), 'cannot be set on create'));
  }
  if ((pod.spec.schedulingGates ?? []).length > 0 && pod.spec.nodeName !== undefined) {
    errors.push(field.forbidden(SPEC.child('nodeName'), 'cannot be set until all schedulingGates have been cleared'));
  }
  return errors;
}

const UPDATE_MESSAGE =
  'pod updates may not change fields other than `spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)';

/** Almost all of a pod's spec is fixed when it is made. */
export function validatePodUpdate(pod: Pod, old: Pod): FieldErrorList {
  const errors: FieldErrorList = [];
  const { spec } = pod;
  errors.push(...sameContainers(spec, old.spec, 'containers'), ...sameContainers(spec, old.spec, 'initContainers'));
  for (const name of ['containers', 'initContainers'] as const) {
    (spec[name] ?? []).forEach((container, index) => {
      const image = container.image ?? '';
      if (image.trim() === '') errors.push(field.required(SPEC.child(name).index(index).child('image')));
    });
  }
  if (errors.length > 0) return errors;
  if (spec.activeDeadlineSeconds !== undefined && (spec.activeDeadlineSeconds < 1 || spec.activeDeadlineSeconds > 2 ** 31 - 1)) {
    errors.push(
      field.invalid(
        SPEC.child('activeDeadlineSeconds'),
        spec.activeDeadlineSeconds,
        'must be between 1 and 2147483647, inclusive',
      ),
    );
    return errors;
  }
  if (old.spec.activeDeadlineSeconds !== undefined) {
    const before = old.spec.activeDeadlineSeconds;
    if (spec.activeDeadlineSeconds === undefined) {
      errors.push(field.invalid(SPEC.child('activeDeadlineSeconds'), '', 'must not update from a positive integer to nil value'));
    } else if (spec.activeDeadlineSeconds > before) {
      errors.push(
        field.invalid(
          SPEC.child('activeDeadlineSeconds'),
          spec.activeDeadlineSeconds,
          `must be less than or equal to previous value`,
        ),
      );
    }
  }
  errors.push(...onlyAddedTolerations(spec.tolerations, old.spec.tolerations, SPEC.child('tolerations')));
  errors.push(...onlyRemovedGates(pod, old));
  const gated = (old.spec.schedulingGates ?? []).length > 0;
  if (!deepEqual(withOldMutable(pod.spec, old.spec, gated), old.spec)) errors.push(field.forbidden(SPEC, UPDATE_MESSAGE));
  return errors;
}

function sameContainers(spec: PodSpec, old: PodSpec, name: 'containers' | 'initContainers'): FieldErrorList {
  return (spec[name] ?? []).length === (old[name] ?? []).length
    ? []
    : [field.forbidden(SPEC.child(name), 'pod updates may not add or remove containers')];
}

/** The new spec with every field that may change put back: what remains must be equal. */
function withOldMutable(spec: PodSpec, old: PodSpec, gated: boolean): PodSpec {
  const put = (list: readonly Container[] | undefined, before: readonly Container[] | undefined): Container[] | undefined =>
    list?.map((container, index) => {
      const { image: _image, ...rest } = container;
      const image = before?.[index]?.image;
      return image === undefined ? rest : { ...rest, image };
    });
  const result: Record<string, unknown> = { ...spec, containers: put(spec.containers, old.containers) };
  const restore = (name: keyof PodSpec, value: unknown): void => {
    if (value === undefined) delete result[name];
    else result[name] = value;
  };
  restore('initContainers', put(spec.initContainers, old.initContainers));
  restore('activeDeadlineSeconds', old.activeDeadlineSeconds);
  restore('tolerations', old.tolerations);
  restore('schedulingGates', old.schedulingGates);
  if (spec.terminationGracePeriodSeconds === 1 && (old.terminationGracePeriodSeconds ?? 0) < 0) {
    restore('terminationGracePeriodSeconds', old.terminationGracePeriodSeconds);
  }
  // While a pod is gated, where it may go can be narrowed.
  if (gated && narrowsNodeSelector(spec, old)) restore('nodeSelector', old.nodeSelector);
  return result as unknown as PodSpec;
}

function narrowsNodeSelector(spec: PodSpec, old: PodSpec): boolean {
  return Object.entries(old.nodeSelector ?? {}).every(([key, value]) => spec.nodeSelector?.[key] === value);
}

function onlyAddedTolerations(
  list: readonly Toleration[] | undefined,
  old: readonly Toleration[] | undefined,
  at: FieldPath,
): FieldErrorList {
  const withoutSeconds = ({ tolerationSeconds: _seconds, ...rest }: Toleration): Omit<Toleration, 'tolerationSeconds'> => rest;
  const kept = (old ?? []).every((before) =>
    (list ?? []).some((after) => deepEqual(withoutSeconds(after), withoutSeconds(before))),
  );
  return kept ? [] : [field.forbidden(at, 'existing toleration can not be modified except its tolerationSeconds')];
}

function onlyRemovedGates(pod: Pod, old: Pod): FieldErrorList {
  const before = new Set((old.spec.schedulingGates ?? []).map((gate) => gate.name));
  const added = (pod.spec.schedulingGates ?? []).map((gate) => gate.name).filter((name) => !before.has(name));
  return added.length === 0
    ? []
    : [field.forbidden(SPEC.child('schedulingGates'), `only deletion is allowed, but found new scheduling gate '${added[0]}'`)];
}

export function validatePodStatusUpdate(pod: Pod, old: Pod): FieldErrorList {
  const at = new field.FieldPath('status');
  const errors: FieldErrorList = [];
  if (pod.spec.nodeName !== old.spec.nodeName) errors.push(field.forbidden(at.child('nodeName'), 'may not be changed directly'));
  if (pod.spec.restartPolicy === 'Never' || pod.spec.restartPolicy === 'OnFailure') {
    for (const name of ['containerStatuses', 'initContainerStatuses'] as const) {
      errors.push(...noResurrection(pod.status[name], old.status[name], pod, at.child(name)));
    }
  }
  return errors;
}

/** A container that has ended for good does not run again. */
function noResurrection(
  list: readonly ContainerStatus[] | undefined,
  old: readonly ContainerStatus[] | undefined,
  pod: Pod,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const before of old ?? []) {
    const terminated = before.state?.terminated;
    if (terminated === undefined) continue;
    if (pod.spec.restartPolicy === 'OnFailure' && terminated.exitCode !== 0) continue;
    const container = [...pod.spec.containers, ...(pod.spec.initContainers ?? [])].find(
      (candidate) => candidate.name === before.name,
    );
    if (container === undefined || container.restartPolicy !== undefined) continue;
    const index = (list ?? []).findIndex((status) => status.name === before.name);
    const after = list?.[index];
    if (after !== undefined && after.state?.terminated === undefined) {
      errors.push(field.forbidden(at.index(index).child('state'), 'may not be transitioned to non-terminated state'));
    }
  }
  return errors;
}
