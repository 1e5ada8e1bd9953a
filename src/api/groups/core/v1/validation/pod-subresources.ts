// Validation of the two subresources that change the spec of a running pod: ephemeralcontainers and
// resize.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { podQosClass } from '../qos.ts';
import { isMirrorPod, podAnnotationsUpdate } from './annotations.ts';
import { WHOLE } from './common.ts';
import { validateAnyPod } from './pod.ts';
import type { Container, Pod, PodSpec, ResourceList, ResourceRequirements } from './types.ts';

const SPEC = new field.FieldPath('spec');
const ANNOTATIONS = new field.FieldPath('metadata', 'annotations');

/**
 * Validates ephemeral containers: they may be added, but not changed or removed. `pod` differs from
 * `old` only in them.
 */
export function validatePodEphemeralContainersUpdate(pod: Pod, old: Pod): FieldErrorList {
  if (isMirrorPod(old.metadata.annotations))
    return [field.forbidden(WHOLE, 'static pods do not support ephemeral containers')];
  const path = SPEC.child('ephemeralContainers');
  // A patch does not preserve their order.
  const now = new Map(
    (pod.spec.ephemeralContainers ?? []).map((container) => [container.name, container]),
  );
  return [
    ...validateAnyPod(pod, old),
    ...podAnnotationsUpdate(
      pod.metadata.annotations,
      old.metadata.annotations,
      pod.spec,
      ANNOTATIONS,
    ),
    ...(old.spec.ephemeralContainers ?? []).flatMap((before) => {
      const name = JSON.stringify(before.name);
      const after = now.get(before.name);
      if (after === undefined)
        return [
          field.forbidden(path, `existing ephemeral containers ${name} may not be removed\n`),
        ];
      if (semanticEqual(before, after)) return [];
      const message =
        `existing ephemeral containers ${name} may not be changed\n` +
        `- ${JSON.stringify(before)}\n+ ${JSON.stringify(after)}\n`;
      return [field.forbidden(path, message)];
    }),
  ];
}

const ONLY_CPU_AND_MEMORY = 'only cpu and memory resources are mutable';

/**
 * Validates a resize: CPU and memory of a pod and its containers may change, but not appear or
 * disappear, and the QoS class stays.
 */
export function validatePodResize(pod: Pod, old: Pod): FieldErrorList {
  if (isMirrorPod(old.metadata.annotations))
    return [field.forbidden(WHOLE, 'static pods cannot be resized')];
  if (old.spec.os?.name === 'windows')
    return [field.forbidden(WHOLE, 'windows pods cannot be resized')];
  const errors = validateAnyPod(pod, old);
  if ((old.status.qosClass ?? podQosClass(old.spec)) !== podQosClass(pod.spec)) {
    errors.push(
      field.invalid(
        SPEC,
        pod.status.qosClass ?? '',
        'Pod QOS Class may not change as a result of resizing',
      ),
    );
  }
  if (!isResizeSupported(old))
    errors.push(field.forbidden(SPEC, 'Pod running on node without support for resize'));
  errors.push(...podLevelResize(pod.spec, old.spec));
  if ((old.status.nodeAllocatableResourceClaimStatuses ?? []).length > 0) {
    errors.push(
      field.forbidden(SPEC, 'pods with node allocatable resource claims cannot be resized'),
    );
  }
  const moved = [
    ...sameContainers(pod.spec, old.spec, 'containers'),
    ...sameContainers(pod.spec, old.spec, 'initContainers'),
  ];
  if (moved.length > 0) return [...errors, ...moved];
  errors.push(...containersResize(pod.spec, old.spec));
  if (errors.length > 0 || semanticEqual(withOldAmounts(pod.spec, old.spec), old.spec))
    return errors;
  return [field.forbidden(SPEC, ONLY_CPU_AND_MEMORY)];
}

/**
 * Reports whether the node supports resizes: it reports the resources of running containers.
 * Unknown while no container runs, which counts as supported.
 */
function isResizeSupported({ status }: Pod): boolean {
  const running = (status.containerStatuses ?? []).find(({ state }) => state.running !== undefined);
  return running === undefined || running.resources !== undefined;
}

function podLevelResize({ resources }: PodSpec, { resources: before }: PodSpec): FieldErrorList {
  const at = SPEC.child('resources');
  if (before !== undefined && resources === undefined)
    return [field.forbidden(at, 'pod-level resources cannot be removed')];
  if (resources === undefined) return [];
  const errors = before === undefined ? [] : removals(resources, before, at, 'pod-level resource');
  if (!semanticEqual(withAmountsOf(resources, before ?? {}), before ?? {})) {
    errors.push(field.forbidden(SPEC, `${ONLY_CPU_AND_MEMORY} at pod-level`));
  }
  return errors;
}

/** Reports whether the containers are the same, in the same order. */
function sameContainers(
  spec: PodSpec,
  old: PodSpec,
  list: 'containers' | 'initContainers',
): FieldErrorList {
  const [now, before] = [spec[list] ?? [], old[list] ?? []];
  if (now.length !== before.length)
    return [field.forbidden(SPEC.child(list), `${list} may not be added or removed on resize`)];
  return before.flatMap(({ name }, index) => {
    if (now[index]?.name === name) return [];
    const path = SPEC.child(list).index(index).child('name');
    return [field.forbidden(path, `${list} may not be renamed or reordered on resize`)];
  });
}

function containersResize(spec: PodSpec, old: PodSpec): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const list of ['initContainers', 'containers'] as const) {
    (old[list] ?? []).forEach((before, index) => {
      const at = SPEC.child(list).index(index).child('resources');
      errors.push(
        ...removals(spec[list]?.[index]?.resources ?? {}, before.resources, at, 'resource'),
      );
    });
  }
  spec.containers.forEach((container, index) => {
    const before = old.containers[index]!;
    if (!semanticEqual(withOldResources(container, before), before))
      errors.push(field.forbidden(SPEC, ONLY_CPU_AND_MEMORY));
  });
  (spec.initContainers ?? []).forEach((container, index) => {
    const path = SPEC.child('initContainers').index(index);
    const before = (old.initContainers ?? [])[index]!;
    if (!semanticEqual(withOldResources(container, before), before)) {
      errors.push(
        field.forbidden(
          path,
          'only cpu and memory resources for init or sidecar containers are mutable',
        ),
      );
    }
    const restarts = (container.resizePolicy ?? []).some(
      ({ restartPolicy }) => restartPolicy === 'RestartContainer',
    );
    if (restarts && container.restartPolicy !== 'Always' && !semanticEqual(container, before)) {
      const message =
        'non-sidecar init containers with a resize policy of RestartContainer cannot be resized';
      errors.push(field.forbidden(path, message));
    }
  });
  return errors;
}

/** Returns errors for removed requests and limits. */
function removals(
  now: ResourceRequirements,
  before: ResourceRequirements,
  at: FieldPath,
  what: string,
): FieldErrorList {
  return (['requests', 'limits'] as const).flatMap((list) => {
    const kept = Object.keys(before[list] ?? {}).every((name) =>
      Object.hasOwn(now[list] ?? {}, name),
    );
    return kept ? [] : [field.forbidden(at.child(list), `${what} ${list} cannot be removed`)];
  });
}

/**
 * Returns the new spec with the old amounts of CPU and memory: everything else must be unchanged.
 */
function withOldAmounts(spec: PodSpec, old: PodSpec): PodSpec {
  const list = (now: readonly Container[], before: readonly Container[] = []): Container[] =>
    now.map((container, index) => withOldResources(container, before[index]!));
  const { resources, ...others } = spec;
  return {
    ...others,
    containers: list(spec.containers, old.containers),
    ...(spec.initContainers !== undefined && {
      initContainers: list(spec.initContainers, old.initContainers),
    }),
    ...wholeWithOldAmounts(resources, old.resources),
  };
}

/** Returns pod-level resources with the old amounts; none if the pod had none. */
function wholeWithOldAmounts(
  resources: PodSpec['resources'],
  old: PodSpec['resources'],
): Pick<PodSpec, 'resources'> {
  if (resources === undefined) return {};
  const whole = withAmountsOf(resources, old ?? {});
  return old === undefined && Object.keys(whole).length === 0 ? {} : { resources: whole };
}

function withOldResources(container: Container, old: Container): Container {
  return { ...container, resources: withAmountsOf(container.resources, old.resources) };
}

function withAmountsOf(
  resources: ResourceRequirements,
  old: ResourceRequirements,
): ResourceRequirements {
  const { requests, limits, ...others } = resources;
  return {
    ...others,
    ...withAmounts('requests', requests, old.requests),
    ...withAmounts('limits', limits, old.limits),
  };
}

/** An absent list differs from an empty one. */
function withAmounts(
  name: 'requests' | 'limits',
  now: ResourceList = {},
  before: ResourceList = {},
): ResourceRequirements {
  const { cpu: _cpu, memory: _memory, ...others } = now;
  const { cpu, memory } = before;
  const amounts = {
    ...others,
    ...(cpu !== undefined && { cpu }),
    ...(memory !== undefined && { memory }),
  };
  return Object.keys(amounts).length === 0 ? {} : { [name]: amounts };
}
