// Rules of what tells the scheduler where a pod may go: affinity, tolerations, topology spread, gates.

import * as field from '../../../../machinery/field.ts';
import type { FieldErrorList, FieldPath } from '../../../../machinery/field.ts';
import { validateLabelSelector } from '../../../../machinery/labels.ts';
import * as validation from '../../../../machinery/validation.ts';
import type {
  Affinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSchedulingGate,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from './types.ts';
import { invalidEach, oneOf } from './common.ts';

const TAINT_EFFECTS = ['NoExecute', 'NoSchedule', 'PreferNoSchedule'];

export function affinity(value: Affinity | undefined, at: FieldPath): FieldErrorList {
  if (value === undefined) return [];
  const errors: FieldErrorList = [];
  if (value.nodeAffinity !== undefined) {
    const path = at.child('nodeAffinity');
    const required = value.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution;
    if (required !== undefined)
      errors.push(...nodeSelector(required, path.child('requiredDuringSchedulingIgnoredDuringExecution')));
    (value.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution ?? []).forEach((term, index) => {
      const termPath = path.child('preferredDuringSchedulingIgnoredDuringExecution').index(index);
      errors.push(
        ...weight(term.weight, termPath.child('weight')),
        ...nodeSelectorTerm(term.preference, termPath.child('preference')),
      );
    });
  }
  for (const name of ['podAffinity', 'podAntiAffinity'] as const) {
    const pods = value[name];
    if (pods === undefined) continue;
    const path = at.child(name);
    (pods.requiredDuringSchedulingIgnoredDuringExecution ?? []).forEach((term, index) => {
      errors.push(...podAffinityTerm(term, path.child('requiredDuringSchedulingIgnoredDuringExecution').index(index)));
    });
    (pods.preferredDuringSchedulingIgnoredDuringExecution ?? []).forEach((term, index) => {
      const termPath = path.child('preferredDuringSchedulingIgnoredDuringExecution').index(index);
      errors.push(
        ...weight(term.weight, termPath.child('weight')),
        ...podAffinityTerm(term.podAffinityTerm, termPath.child('podAffinityTerm')),
      );
    });
  }
  return errors;
}

function weight(value: number, at: FieldPath): FieldErrorList {
  return value < 1 || value > 100 ? [field.invalid(at, value, 'must be in the range 1-100')] : [];
}

export function nodeSelector(selector: NodeSelector, at: FieldPath): FieldErrorList {
  const terms = selector.nodeSelectorTerms ?? [];
  if (terms.length === 0) return [field.required(at.child('nodeSelectorTerms'), 'must have at least one node selector term')];
  return terms.flatMap((term, index) => nodeSelectorTerm(term, at.child('nodeSelectorTerms').index(index)));
}

function nodeSelectorTerm(term: NodeSelectorTerm, at: FieldPath): FieldErrorList {
  return [
    ...(term.matchExpressions ?? []).flatMap((requirement, index) =>
      nodeSelectorRequirement(requirement, at.child('matchExpressions').index(index)),
    ),
    ...(term.matchFields ?? []).flatMap((requirement, index) =>
      nodeFieldRequirement(requirement, at.child('matchFields').index(index)),
    ),
  ];
}

function nodeSelectorRequirement(requirement: NodeSelectorRequirement, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const values = requirement.values ?? [];
  switch (requirement.operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        errors.push(field.required(at.child('values'), "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0)
        errors.push(field.forbidden(at.child('values'), "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"));
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1)
        errors.push(field.required(at.child('values'), "must be specified single value when `operator` is 'Lt' or 'Gt'"));
      break;
    default:
      errors.push(field.invalid(at.child('operator'), requirement.operator, 'not a valid selector operator'));
  }
  errors.push(...validation.validateLabelName(requirement.key, at.child('key')));
  values.forEach((value, index) =>
    errors.push(...invalidEach(at.child('values').index(index), value, validation.isValidLabelValue(value))),
  );
  return errors;
}

/** Fields of a node: only its name can be asked for. */
function nodeFieldRequirement(requirement: NodeSelectorRequirement, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const values = requirement.values ?? [];
  if (requirement.operator === 'In' || requirement.operator === 'NotIn') {
    if (values.length !== 1) {
      errors.push(
        field.required(at.child('values'), "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"),
      );
    }
  } else errors.push(field.invalid(at.child('operator'), requirement.operator, 'not a valid selector operator'));
  if (requirement.key !== 'metadata.name')
    errors.push(field.invalid(at.child('key'), requirement.key, 'not a valid field selector key'));
  else
    values.forEach((value, index) =>
      errors.push(...invalidEach(at.child('values').index(index), value, validation.isDNS1123Subdomain(value))),
    );
  return errors;
}

function podAffinityTerm(term: PodAffinityTerm, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [
    ...validateLabelSelector(term.labelSelector, at.child('labelSelector')),
    ...validateLabelSelector(term.namespaceSelector, at.child('namespaceSelector')),
  ];
  (term.namespaces ?? []).forEach((namespace) =>
    errors.push(...invalidEach(at.child('namespace'), namespace, validation.isDNS1123Label(namespace))),
  );
  errors.push(...matchLabelKeys(term.matchLabelKeys, term.mismatchLabelKeys, term.labelSelector !== undefined, at));
  if (term.topologyKey === '') errors.push(field.required(at.child('topologyKey'), 'can not be empty'));
  else errors.push(...validation.validateLabelName(term.topologyKey, at.child('topologyKey')));
  return errors;
}

function matchLabelKeys(
  match: readonly string[] | undefined,
  mismatch: readonly string[] | undefined,
  hasSelector: boolean,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const [name, keys] of [
    ['matchLabelKeys', match],
    ['mismatchLabelKeys', mismatch],
  ] as const) {
    if (keys === undefined || keys.length === 0) continue;
    if (!hasSelector) errors.push(field.forbidden(at.child(name), `must not be specified when labelSelector is not set`));
    keys.forEach((key, index) => errors.push(...validation.validateLabelName(key, at.child(name).index(index))));
  }
  (match ?? []).forEach((key, index) => {
    if (mismatch?.includes(key))
      errors.push(
        field.invalid(at.child('matchLabelKeys').index(index), key, 'exists in both matchLabelKeys and mismatchLabelKeys'),
      );
  });
  return errors;
}

export function tolerations(list: readonly Toleration[] | undefined, at: FieldPath): FieldErrorList {
  return (list ?? []).flatMap((toleration, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    const key = toleration.key ?? '';
    if (key !== '') errors.push(...validation.validateLabelName(key, path.child('key')));
    if (key === '' && toleration.operator !== 'Exists') {
      errors.push(
        field.invalid(
          path.child('operator'),
          toleration.operator ?? '',
          'operator must be Exists when `key` is empty, which means "match all values and all keys"',
        ),
      );
    }
    if (toleration.tolerationSeconds !== undefined && toleration.effect !== 'NoExecute') {
      errors.push(
        field.invalid(
          path.child('effect'),
          toleration.effect ?? '',
          "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
      );
    }
    switch (toleration.operator) {
      case undefined:
      case 'Equal':
        errors.push(
          ...invalidEach(path.child('operator'), toleration.value ?? '', validation.isValidLabelValue(toleration.value ?? '')),
        );
        break;
      case 'Exists':
        if ((toleration.value ?? '') !== '')
          errors.push(field.invalid(path.child('operator'), toleration, "value must be empty when `operator` is 'Exists'"));
        break;
      default:
        errors.push(field.notSupported(path.child('operator'), toleration.operator, ['Equal', 'Exists']));
    }
    if (toleration.effect !== undefined) errors.push(...oneOf(toleration.effect, TAINT_EFFECTS, path.child('effect')));
    return errors;
  });
}

export function taints(list: readonly Taint[] | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  (list ?? []).forEach((taint, index) => {
    const path = at.index(index);
    errors.push(
      ...validation.validateLabelName(taint.key, path.child('key')),
      ...invalidEach(path.child('value'), taint.value ?? '', validation.isValidLabelValue(taint.value ?? '')),
      ...oneOf(taint.effect, TAINT_EFFECTS, path.child('effect')),
    );
    const identity = `${taint.key}:${taint.effect}`;
    if (seen.has(identity)) {
      const error = field.duplicate(path, taint);
      errors.push(new field.FieldError(error.type, path, taint, 'taints must be unique by key and effect pair'));
    }
    seen.add(identity);
  });
  return errors;
}

export function topologySpreadConstraints(list: readonly TopologySpreadConstraint[] | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  (list ?? []).forEach((constraint, index) => {
    const path = at.index(index);
    if (constraint.maxSkew <= 0)
      errors.push(field.invalid(path.child('maxSkew'), constraint.maxSkew, 'must be greater than zero'));
    if (constraint.topologyKey === '') errors.push(field.required(path.child('topologyKey'), 'can not be empty'));
    else errors.push(...validation.validateLabelName(constraint.topologyKey, path.child('topologyKey')));
    errors.push(...oneOf(constraint.whenUnsatisfiable, ['DoNotSchedule', 'ScheduleAnyway'], path.child('whenUnsatisfiable')));
    const pair = `{${constraint.topologyKey}, ${constraint.whenUnsatisfiable}}`;
    if (seen.has(pair)) errors.push(field.duplicate(path.child('{topologyKey, whenUnsatisfiable}'), pair));
    seen.add(pair);
    if (constraint.minDomains !== undefined) {
      const at1 = path.child('minDomains');
      if (constraint.minDomains <= 0) errors.push(field.invalid(at1, constraint.minDomains, 'must be greater than zero'));
      if (constraint.whenUnsatisfiable !== 'DoNotSchedule') {
        errors.push(
          field.invalid(
            at1,
            constraint.minDomains,
            `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${constraint.whenUnsatisfiable}`,
          ),
        );
      }
    }
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      if (constraint[name] !== undefined) errors.push(...oneOf(constraint[name], ['Honor', 'Ignore'], path.child(name)));
    }
    errors.push(...validateLabelSelector(constraint.labelSelector, path.child('labelSelector')));
    errors.push(...matchLabelKeys(constraint.matchLabelKeys, undefined, constraint.labelSelector !== undefined, path));
  });
  return errors;
}

export function schedulingGates(list: readonly PodSchedulingGate[] | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  (list ?? []).forEach((gate, index) => {
    const path = at.index(index);
    errors.push(...validation.validateLabelName(gate.name, path.child('name')));
    if (names.has(gate.name)) errors.push(field.duplicate(path.child('name'), gate.name));
    names.add(gate.name);
  });
  return errors;
}
