// Validation of a pod's scheduling fields: affinity, tolerations, topology spread, gates.

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { validateLabelSelector } from '#machinery/selectors/labels.ts';
import * as validation from '#machinery/validation/validation.ts';
import type {
  Affinity,
  NodeAffinity,
  NodeSelector,
  NodeSelectorRequirement,
  NodeSelectorTerm,
  PodAffinityTerm,
  PodSchedulingGate,
  Taint,
  Toleration,
  TopologySpreadConstraint,
} from './types.ts';
import { invalidEach, oneOf, optionalOneOf } from './common.ts';

const TAINT_EFFECTS = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

export function affinity(
  value: Affinity | undefined,
  at: FieldPath,
  rules = STRICT,
): FieldErrorList {
  if (value === undefined) return [];
  const errors: FieldErrorList = [];
  if (value.nodeAffinity !== undefined)
    errors.push(...nodeAffinity(value.nodeAffinity, at.child('nodeAffinity'), rules));
  for (const name of ['podAffinity', 'podAntiAffinity'] as const) {
    const pods = value[name];
    const path = at.child(name);
    (pods?.requiredDuringSchedulingIgnoredDuringExecution ?? []).forEach((term, index) => {
      errors.push(
        ...podAffinityTerm(
          term,
          path.child('requiredDuringSchedulingIgnoredDuringExecution').index(index),
        ),
      );
    });
    (pods?.preferredDuringSchedulingIgnoredDuringExecution ?? []).forEach((term, index) => {
      const termPath = path.child('preferredDuringSchedulingIgnoredDuringExecution').index(index);
      errors.push(
        ...weight(term.weight, termPath.child('weight')),
        ...podAffinityTerm(term.podAffinityTerm, termPath.child('podAffinityTerm')),
      );
    });
  }
  return errors;
}

function nodeAffinity(value: NodeAffinity, at: FieldPath, rules: ValueRules): FieldErrorList {
  const required = value.requiredDuringSchedulingIgnoredDuringExecution;
  const preferredPath = at.child('preferredDuringSchedulingIgnoredDuringExecution');
  return [
    ...(required === undefined
      ? []
      : nodeSelector(required, at.child('requiredDuringSchedulingIgnoredDuringExecution'), rules)),
    ...(value.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap((term, index) => [
      ...weight(term.weight, preferredPath.index(index).child('weight')),
      // A preference for an impossible label value is harmless.
      ...nodeSelectorTerm(term.preference, preferredPath.index(index).child('preference'), {
        anyValues: true,
      }),
    ]),
  ];
}

function weight(value: number, at: FieldPath): FieldErrorList {
  return value < 1 || value > 100 ? [field.invalid(at, value, 'must be in the range 1-100')] : [];
}

export function nodeSelector(
  selector: NodeSelector,
  at: FieldPath,
  { anyValues }: ValueRules = STRICT,
): FieldErrorList {
  const terms = selector.nodeSelectorTerms ?? [];
  const path = at.child('nodeSelectorTerms');
  if (terms.length === 0)
    return [field.required(path, 'must have at least one node selector term')];
  return terms.flatMap((term, index) => nodeSelectorTerm(term, path.index(index), { anyValues }));
}

/** Reports whether a term requires values that no label can have. */
export function asksForImpossibleValues(selector: NodeSelector | undefined): boolean {
  return (selector?.nodeSelectorTerms ?? []).some(({ matchExpressions = [] }) =>
    matchExpressions.some(({ values = [] }) =>
      values.some((value) => validation.isValidLabelValue(value).length > 0),
    ),
  );
}

interface ValueRules {
  /** Values need not be valid in labels. */
  readonly anyValues: boolean;
}

const STRICT: ValueRules = { anyValues: false };

function nodeSelectorTerm(
  term: NodeSelectorTerm,
  at: FieldPath,
  rules: ValueRules,
): FieldErrorList {
  return [
    ...(term.matchExpressions ?? []).flatMap((requirement, index) =>
      nodeSelectorRequirement(requirement, at.child('matchExpressions').index(index), rules),
    ),
    ...(term.matchFields ?? []).flatMap((requirement, index) =>
      nodeFieldRequirement(requirement, at.child('matchFields').index(index)),
    ),
  ];
}

const NOT_AN_OPERATOR = 'not a valid selector operator';

function nodeSelectorRequirement(
  requirement: NodeSelectorRequirement,
  at: FieldPath,
  rules: ValueRules,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const { key, operator, values = [] } = requirement;
  const path = at.child('values');
  switch (operator) {
    case 'In':
    case 'NotIn':
      if (values.length === 0)
        errors.push(field.required(path, "must be specified when `operator` is 'In' or 'NotIn'"));
      break;
    case 'Exists':
    case 'DoesNotExist':
      if (values.length > 0) {
        errors.push(
          field.forbidden(
            path,
            "may not be specified when `operator` is 'Exists' or 'DoesNotExist'",
          ),
        );
      }
      break;
    case 'Gt':
    case 'Lt':
      if (values.length !== 1) {
        errors.push(
          field.required(path, "must be specified single value when `operator` is 'Lt' or 'Gt'"),
        );
      }
      break;
    default:
      errors.push(field.invalid(at.child('operator'), operator, NOT_AN_OPERATOR));
  }
  errors.push(...validation.validateLabelName(key, at.child('key')));
  if (!rules.anyValues) {
    values.forEach((value, index) =>
      errors.push(...invalidEach(path.index(index), value, validation.isValidLabelValue(value))),
    );
  }
  return errors;
}

/** Validates a requirement of node fields: only the name is supported. */
function nodeFieldRequirement(
  { key, operator, values = [] }: NodeSelectorRequirement,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const path = at.child('values');
  if (operator === 'In' || operator === 'NotIn') {
    if (values.length !== 1) {
      const message =
        "must be only one value when `operator` is 'In' or 'NotIn' for node field selector";
      errors.push(field.required(path, message));
    }
  } else errors.push(field.invalid(at.child('operator'), operator, NOT_AN_OPERATOR));
  if (key !== 'metadata.name')
    errors.push(field.invalid(at.child('key'), key, 'not a valid field selector key'));
  else {
    values.forEach((value, index) =>
      errors.push(...invalidEach(path.index(index), value, validation.isDNS1123Subdomain(value))),
    );
  }
  return errors;
}

function podAffinityTerm(term: PodAffinityTerm, at: FieldPath): FieldErrorList {
  return [
    ...validateLabelSelector(term.labelSelector, at.child('labelSelector')),
    ...validateLabelSelector(term.namespaceSelector, at.child('namespaceSelector')),
    ...(term.namespaces ?? []).flatMap((name) =>
      invalidEach(at.child('namespace'), name, validation.isDNS1123Label(name)),
    ),
    ...labelKeys(term, at),
    ...(term.topologyKey === ''
      ? [field.required(at.child('topologyKey'), 'can not be empty')]
      : []),
    ...validation.validateLabelName(term.topologyKey, at.child('topologyKey')),
  ];
}

type Keyed = Pick<PodAffinityTerm, 'labelSelector' | 'matchLabelKeys' | 'mismatchLabelKeys'>;

/**
 * Validates the keys of labels whose values come from the pod itself. The selector of a stored pod
 * already contains them.
 */
function labelKeys(
  { labelSelector, matchLabelKeys = [], mismatchLabelKeys = [] }: Keyed,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  for (const [name, keys] of [
    ['matchLabelKeys', matchLabelKeys],
    ['mismatchLabelKeys', mismatchLabelKeys],
  ] as const) {
    if (keys.length === 0) continue;
    const path = at.child(name);
    if (labelSelector === undefined) {
      errors.push(field.forbidden(path, 'must not be specified when labelSelector is not set'));
    } else
      keys.forEach((key, index) =>
        errors.push(...validation.validateLabelName(key, path.index(index))),
      );
  }
  const selected = new Set(Object.keys(labelSelector?.matchLabels ?? {}));
  for (const { key } of labelSelector?.matchExpressions ?? []) {
    const index = matchLabelKeys.lastIndexOf(key);
    if (index >= 0 && selected.has(key)) {
      errors.push(
        field.invalid(at.index(index), key, 'exists in both matchLabelKeys and labelSelector'),
      );
    }
    selected.add(key);
  }
  matchLabelKeys.forEach((key, index) => {
    if (!mismatchLabelKeys.includes(key)) return;
    const message = 'exists in both matchLabelKeys and mismatchLabelKeys';
    errors.push(field.invalid(at.child('matchLabelKeys').index(index), key, message));
  });
  return errors;
}

/**
 * Returns the operators in the message. Numeric operators are off and are listed only in the error
 * of a pod that uses them.
 */
const operatorsBeside = (operator: string): readonly string[] =>
  operator === 'Lt' || operator === 'Gt' ? ['Equal', 'Exists', 'Lt', 'Gt'] : ['Equal', 'Exists'];

export function tolerations(
  list: readonly Toleration[] | undefined,
  at: FieldPath,
): FieldErrorList {
  return (list ?? []).flatMap((toleration, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    const { key = '', operator = '', value = '', effect = '' } = toleration;
    if (key !== '') errors.push(...validation.validateLabelName(key, path.child('key')));
    if (key === '' && operator !== 'Exists') {
      const message =
        'operator must be Exists when `key` is empty, which means "match all values and all keys"';
      errors.push(field.invalid(path.child('operator'), operator, message));
    }
    if (toleration.tolerationSeconds !== undefined && effect !== 'NoExecute') {
      errors.push(
        field.invalid(
          path.child('effect'),
          effect,
          "effect must be 'NoExecute' when `tolerationSeconds` is set",
        ),
      );
    }
    if (operator === '' || operator === 'Equal')
      errors.push(...labelValue(value, path.child('operator')));
    else if (operator !== 'Exists')
      errors.push(field.notSupported(path.child('operator'), operator, operatorsBeside(operator)));
    else if (value !== '') {
      errors.push(
        field.invalid(
          path.child('operator'),
          value,
          "value must be empty when `operator` is 'Exists'",
        ),
      );
    }
    if (effect !== '') errors.push(...oneOf(effect, TAINT_EFFECTS, path.child('effect')));
    return errors;
  });
}

/** Validates a label value. All problems form one error. */
function labelValue(value: string, at: FieldPath): FieldErrorList {
  const problems = validation.isValidLabelValue(value);
  return problems.length === 0 ? [] : [field.invalid(at, value, problems.join(';'))];
}

export function taints(list: readonly Taint[] | undefined, at: FieldPath): FieldErrorList {
  const errors: FieldErrorList = [];
  const seen = new Set<string>();
  (list ?? []).forEach((taint, index) => {
    const path = at.index(index);
    const { key, value = '', effect, timeAdded = null } = taint;
    errors.push(
      ...validation.validateLabelName(key, path.child('key')),
      ...labelValue(value, path.child('value')),
      ...oneOf(effect, TAINT_EFFECTS, path.child('effect')),
    );
    const identity = `${key}:${effect}`;
    if (seen.has(identity)) {
      const shown = { Key: key, Value: value, Effect: effect, TimeAdded: timeAdded };
      const { type } = field.duplicate(path, shown);
      errors.push(
        new field.FieldError(type, path, shown, 'taints must be unique by key and effect pair'),
      );
    }
    seen.add(identity);
  });
  return errors;
}

export function topologySpreadConstraints(
  list: readonly TopologySpreadConstraint[] | undefined,
  at: FieldPath,
): FieldErrorList {
  const constraints = list ?? [];
  return constraints.flatMap((constraint, index) => {
    const path = at.index(index);
    const errors: FieldErrorList = [];
    const { maxSkew, topologyKey, whenUnsatisfiable, minDomains } = constraint;
    if (maxSkew <= 0)
      errors.push(field.invalid(path.child('maxSkew'), maxSkew, 'must be greater than zero'));
    if (topologyKey === '')
      errors.push(field.required(path.child('topologyKey'), 'can not be empty'));
    errors.push(
      ...optionalOneOf(
        whenUnsatisfiable ?? '',
        ['DoNotSchedule', 'ScheduleAnyway'],
        path.child('whenUnsatisfiable'),
      ),
    );
    const isSame = (other: TopologySpreadConstraint): boolean =>
      other.topologyKey === topologyKey && other.whenUnsatisfiable === whenUnsatisfiable;
    if (constraints.slice(index + 1).some(isSame)) {
      const where = path.child('{topologyKey, whenUnsatisfiable}');
      errors.push(field.duplicate(where, `{${topologyKey}, ${whenUnsatisfiable}}`));
    }
    if (minDomains !== undefined) {
      const where = path.child('minDomains');
      if (minDomains <= 0)
        errors.push(field.invalid(where, minDomains, 'must be greater than zero'));
      if (whenUnsatisfiable !== 'DoNotSchedule') {
        const message = `can only use minDomains if whenUnsatisfiable=DoNotSchedule, not ${whenUnsatisfiable}`;
        errors.push(field.invalid(where, minDomains, message));
      }
    }
    for (const name of ['nodeAffinityPolicy', 'nodeTaintsPolicy'] as const) {
      errors.push(...optionalOneOf(constraint[name], ['Honor', 'Ignore'], path.child(name)));
    }
    errors.push(...labelKeys(constraint, path));
    errors.push(...validateLabelSelector(constraint.labelSelector, path.child('labelSelector')));
    return errors;
  });
}

export function schedulingGates(
  list: readonly PodSchedulingGate[] | undefined,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  const names = new Set<string>();
  (list ?? []).forEach(({ name }, index) => {
    errors.push(...invalidEach(at.index(index), name, validation.isQualifiedName(name)));
    if (names.has(name)) errors.push(field.duplicate(at.index(index), name));
    names.add(name);
  });
  return errors;
}
