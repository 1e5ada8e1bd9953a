// Validation of pods on create and update.

import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  Affinity,
  Container,
  NodeAffinity,
  NodeSelectorTerm,
  Pod,
  PodSpec,
  Toleration,
} from './types.ts';
import { isMirrorPod, podAnnotations, podAnnotationsUpdate } from './annotations.ts';
import { invalidEach, MAX_INT32 } from './common.ts';
import { containersOfPod, image } from './containers.ts';
import { podSpec, storedExceptions } from './pod-spec.ts';
import { profilesMatch } from './profile-annotations.ts';
import { asksForImpossibleValues, tolerations } from './scheduling.ts';

const SPEC = new field.FieldPath('spec');
const ANNOTATIONS = new field.FieldPath('metadata', 'annotations');

export function validatePod(pod: Pod): FieldErrorList {
  const errors = validateAnyPod(pod);
  const { spec } = pod;
  if ((spec.ephemeralContainers ?? []).length > 0) {
    errors.push(field.forbidden(SPEC.child('ephemeralContainers'), 'cannot be set on create'));
  }
  if ((spec.schedulingGates ?? []).length > 0 && (spec.nodeName ?? '') !== '') {
    errors.push(
      field.forbidden(
        SPEC.child('nodeName'),
        'cannot be set until all schedulingGates have been cleared',
      ),
    );
  }
  return [...errors, ...profilesMatch(pod.metadata.annotations, spec, SPEC)];
}

/** Validates rules that hold on create and update. `old`: absent on create. */
export function validateAnyPod({ metadata, spec }: Pod, old?: Pod): FieldErrorList {
  const required = old?.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return [
    ...podAnnotations(metadata.annotations, spec, ANNOTATIONS),
    ...podSpec(spec, SPEC, {
      podName: metadata.name ?? '',
      isPod: true,
      isMirror: isMirrorPod(metadata.annotations),
      anyNodeValues: asksForImpossibleValues(required),
      ...(old !== undefined && storedExceptions(old.spec)),
    }),
    ...tokensWithoutAccount(spec),
    ...containersOfPod(spec.containers, SPEC.child('containers')),
    ...containersOfPod(spec.initContainers, SPEC.child('initContainers')),
  ];
}

function tokensWithoutAccount({ serviceAccountName = '', volumes = [] }: PodSpec): FieldErrorList {
  if (serviceAccountName !== '') return [];
  return volumes.flatMap(({ projected }, index) =>
    (projected?.sources ?? []).flatMap((source, sourceIndex) => {
      if (source.serviceAccountToken === undefined) return [];
      const path = SPEC.child('volumes')
        .index(index)
        .child('projected', 'sources')
        .index(sourceIndex);
      return [
        field.forbidden(
          path.child('serviceAccountToken'),
          'must not be specified when serviceAccountName is not set',
        ),
      ];
    }),
  );
}

const UPDATE_MESSAGE =
  'pod updates may not change fields other than ' +
  '`spec.containers[*].image`,`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,' +
  '`spec.tolerations` (only additions to existing ' +
  'tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was ' +
  'previously negative)';

/** Validates an update: almost all of a pod's spec is immutable. */
export function validatePodUpdate(pod: Pod, old: Pod): FieldErrorList {
  const { spec } = pod;
  const errors = [
    ...validateAnyPod(pod, old),
    // Repeats their errors, so that there is a cause for each.
    ...podAnnotationsUpdate(pod.metadata.annotations, old.metadata.annotations, spec, ANNOTATIONS),
  ];
  for (const name of ['containers', 'initContainers'] as const) {
    const path = SPEC.child(name);
    const list = spec[name] ?? [];
    if (list.length !== (old.spec[name] ?? []).length) {
      return [...errors, field.forbidden(path, 'pod updates may not add or remove containers')];
    }
    list.forEach((container, index) => {
      if ((container.image ?? '') === '')
        errors.push(field.required(path.index(index).child('image')));
      errors.push(...image(container, path.index(index)));
    });
  }
  const deadline = activeDeadlineUpdate(spec.activeDeadlineSeconds, old.spec.activeDeadlineSeconds);
  errors.push(...deadline.errors);
  if (deadline.stop) return errors;
  errors.push(
    ...onlyAddedTolerations(spec.tolerations, old.spec.tolerations, SPEC.child('tolerations')),
    ...onlyRemovedGates(pod, old),
  );
  const gated = (old.spec.schedulingGates ?? []).length > 0;
  if (gated) errors.push(...narrowing(spec, old.spec));
  if (!semanticEqual(withOldMutable(spec, old.spec, gated), old.spec))
    errors.push(field.forbidden(SPEC, UPDATE_MESSAGE));
  return errors;
}

/** Validates the deadline: it can be set, and decrease. */
function activeDeadlineUpdate(
  seconds: number | undefined,
  old: number | undefined,
): { errors: FieldErrorList; stop: boolean } {
  const path = SPEC.child('activeDeadlineSeconds');
  if (seconds === undefined) {
    if (old === undefined) return { errors: [], stop: false };
    const message = 'must not update from a positive integer to nil value';
    return { errors: [field.invalid(path, null, message)], stop: false };
  }
  const problems = validation.isInRange(seconds, 0, MAX_INT32);
  if (problems.length > 0) return { errors: invalidEach(path, seconds, problems), stop: true };
  if (old === undefined || old >= seconds) return { errors: [], stop: false };
  return {
    errors: [field.invalid(path, seconds, 'must be less than or equal to previous value')],
    stop: true,
  };
}

function onlyAddedTolerations(
  list: readonly Toleration[] | undefined,
  old: readonly Toleration[] | undefined,
  at: FieldPath,
): FieldErrorList {
  const withoutSeconds = ({
    tolerationSeconds: _seconds,
    ...rest
  }: Toleration): Omit<Toleration, 'tolerationSeconds'> => rest;
  const kept = (old ?? []).every((before) =>
    (list ?? []).some((after) => semanticEqual(withoutSeconds(after), withoutSeconds(before))),
  );
  if (!kept)
    return [
      field.forbidden(at, 'existing toleration can not be modified except its tolerationSeconds'),
    ];
  return tolerations(list, at);
}

function onlyRemovedGates(pod: Pod, old: Pod): FieldErrorList {
  const before = new Set((old.spec.schedulingGates ?? []).map((gate) => gate.name));
  return (pod.spec.schedulingGates ?? []).flatMap(({ name }, index) => {
    if (before.has(name)) return [];
    const path = SPEC.child('schedulingGates').index(index).child('name');
    return [
      field.forbidden(path, `only deletion is allowed, but found new scheduling gate '${name}'`),
    ];
  });
}

/** Validates that the node selection of a gated pod becomes narrower, never wider. */
function narrowing(spec: PodSpec, old: PodSpec): FieldErrorList {
  const errors: FieldErrorList = [];
  const selector = spec.nodeSelector ?? {};
  if (!Object.entries(old.nodeSelector ?? {}).every(([key, value]) => selector[key] === value)) {
    const message = 'only additions to spec.nodeSelector are allowed (no mutations or deletions)';
    errors.push(field.invalid(SPEC.child('nodeSelector'), selector, message));
  }
  errors.push(...nodeAffinityNarrowing(spec.affinity?.nodeAffinity, old.affinity?.nodeAffinity));
  return errors;
}

function nodeAffinityNarrowing(
  affinity: NodeAffinity | undefined,
  old: NodeAffinity | undefined,
): FieldErrorList {
  const before = old?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const after = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (before.length === 0) return [];
  const path = SPEC.child(
    'affinity',
    'nodeAffinity',
    'requiredDuringSchedulingIgnoredDuringExecution',
    'nodeSelectorTerms',
  );
  if (before.length !== after.length) {
    const message = 'no additions/deletions to non-empty NodeSelectorTerms list are allowed';
    return [field.invalid(path, after, message)];
  }
  return before.flatMap((term, index) => {
    const changed = after[index]!;
    if (onlyAdds(changed, term)) return [];
    return [
      field.invalid(
        path.index(index),
        changed,
        'only additions are allowed (no mutations or deletions)',
      ),
    ];
  });
}

function onlyAdds(term: NodeSelectorTerm, old: NodeSelectorTerm): boolean {
  const lists = ['matchExpressions', 'matchFields'] as const;
  const sizeOf = (of: NodeSelectorTerm): number =>
    lists.reduce((sum, name) => sum + (of[name] ?? []).length, 0);
  // An empty term matches nothing: any addition widens it.
  if (sizeOf(old) === 0 && sizeOf(term) > 0) return false;
  return lists.every((name) => {
    const before = old[name] ?? [];
    return semanticEqual((term[name] ?? []).slice(0, before.length), before);
  });
}

/**
 * Returns the new spec with the old values of all mutable fields: everything else must be
 * unchanged.
 */
function withOldMutable(spec: PodSpec, old: PodSpec, gated: boolean): PodSpec {
  const put = (
    list: readonly Container[] | undefined,
    before: readonly Container[] | undefined,
  ): Container[] | undefined =>
    list?.map((container, index) => withField(container, 'image', before?.[index]?.image));
  let result = withField(
    { ...spec, containers: put(spec.containers, old.containers) ?? [] },
    'initContainers',
    put(spec.initContainers, old.initContainers),
  );
  for (const name of ['activeDeadlineSeconds', 'tolerations', 'schedulingGates'] as const) {
    result = withField(result, name, old[name]);
  }
  if (spec.terminationGracePeriodSeconds === 1 && (old.terminationGracePeriodSeconds ?? 0) < 0) {
    result = withField(result, 'terminationGracePeriodSeconds', old.terminationGracePeriodSeconds);
  }
  if (!gated) return result;
  return withField(
    withField(result, 'nodeSelector', old.nodeSelector),
    'affinity',
    withOldNodeAffinity(spec.affinity, old.affinity),
  );
}

function withOldNodeAffinity(
  affinity: Affinity | undefined,
  old: Affinity | undefined,
): Affinity | undefined {
  if (semanticEqual(affinity?.nodeAffinity, old?.nodeAffinity)) return affinity;
  const result = withField(affinity ?? {}, 'nodeAffinity', old?.nodeAffinity);
  return old === undefined && Object.keys(result).length === 0 ? undefined : result;
}

/** Returns a copy with another value; without the field if the value is undefined. */
function withField<T extends object, K extends keyof T>(
  object: T,
  name: K,
  value: T[K] | undefined,
): T {
  const { [name]: _old, ...rest } = object;
  return (value === undefined ? rest : { ...rest, [name]: value }) as T;
}
