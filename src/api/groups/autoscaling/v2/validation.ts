// Validation of autoscalers in their second version. Messages and paths are upstream's
// (pkg/apis/autoscaling/validation).

import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import { parseQuantity } from '#machinery/text/quantity.ts';
import { invalidEach, nonNegative } from '#api/groups/core/v1/validation/common.ts';
import { containerResourceName } from '#api/groups/core/v1/validation/resources.ts';
import * as validation from '#machinery/validation/validation.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as autoscaling from './types.ts';

type HorizontalPodAutoscaler = Immutable<autoscaling.HorizontalPodAutoscaler>;
type Metric = Immutable<autoscaling.MetricSpec>;
type Target = Immutable<autoscaling.MetricTarget>;
type Rules = Immutable<autoscaling.HPAScalingRules>;
type Reference = Immutable<autoscaling.CrossVersionObjectReference>;

const METRIC_TYPES = ['ContainerResource', 'External', 'Object', 'Pods', 'Resource'];
const SELECT_POLICIES = ['Disabled', 'Max', 'Min'];
const POLICY_TYPES = ['Percent', 'Pods'];
const MAX_WINDOW_SECONDS = 3600;
const MAX_PERIOD_SECONDS = 1800;

/** `pathSegmentProblems`: returns the problems of a name that becomes a part of a path. */
export interface NameRules {
  readonly pathSegmentProblems: (name: string) => readonly string[];
}

export function validateHorizontalPodAutoscaler(
  { spec }: HorizontalPodAutoscaler,
  old: HorizontalPodAutoscaler | undefined,
  names: NameRules,
): FieldErrorList {
  const at = field.path('spec');
  const { minReplicas, maxReplicas, metrics = [], behavior = {} } = spec;
  const errors: FieldErrorList = [];
  // An object that had 0 replicas may keep them.
  const lowest = old?.spec.minReplicas === 0 ? 0 : 1;
  if (minReplicas !== undefined && minReplicas < lowest) {
    errors.push(
      field.invalid(
        at.child('minReplicas'),
        minReplicas,
        `must be greater than or equal to ${lowest}`,
      ),
    );
  }
  if (maxReplicas === 0)
    errors.push(field.required(at.child('maxReplicas'), 'must be set and greater than 0'));
  if (maxReplicas < 0)
    errors.push(
      field.invalid(at.child('maxReplicas'), maxReplicas, 'must be greater than or equal to 1'),
    );
  if (minReplicas !== undefined && maxReplicas < minReplicas) {
    errors.push(
      field.invalid(
        at.child('maxReplicas'),
        maxReplicas,
        'must be greater than or equal to `minReplicas`',
      ),
    );
  }
  const target = spec.scaleTargetRef;
  // Kinds of the core group can be scaled and need no group. An existing error is accepted.
  const groupless = target.kind === 'ReplicationController';
  const checked =
    old === undefined || versionProblem(old.spec.scaleTargetRef, groupless) === undefined;
  errors.push(...reference(target, at.child('scaleTargetRef'), { groupless, checked }, names));
  metrics.forEach((metric, index) =>
    errors.push(...metricSpec(metric, at.child('metrics').index(index), old, names)),
  );
  if (minReplicas === 0 && !metrics.some(({ type }) => type === 'Object' || type === 'External')) {
    const why =
      'must specify at least one Object or External metric to support scaling to zero replicas';
    errors.push(field.forbidden(at.child('metrics'), why));
  }
  const inBehavior = at.child('behavior');
  return [
    ...errors,
    ...rules(behavior.scaleUp, inBehavior.child('scaleUp')),
    ...rules(behavior.scaleDown, inBehavior.child('scaleDown')),
  ];
}

export function validateHorizontalPodAutoscalerStatus({
  status,
}: HorizontalPodAutoscaler): FieldErrorList {
  const at = field.path('status');
  return [
    ...nonNegative(status.currentReplicas ?? 0, at.child('currentReplicas')),
    ...nonNegative(status.desiredReplicas, at.child('desiredReplicas')),
  ];
}

interface VersionRules {
  /** Accept the core group, or a missing version. */
  readonly groupless: boolean;
  readonly checked: boolean;
}

function reference(
  { kind, name, apiVersion = '', ...more }: Reference,
  at: FieldPath,
  { groupless, checked }: VersionRules,
  { pathSegmentProblems }: NameRules,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (kind === '') errors.push(field.required(at.child('kind')));
  else errors.push(...invalidEach(at.child('kind'), kind, pathSegmentProblems(kind)));
  if (name === '') errors.push(field.required(at.child('name')));
  else errors.push(...invalidEach(at.child('name'), name, pathSegmentProblems(name)));
  const problem = checked
    ? versionProblem({ kind, name, apiVersion, ...more }, groupless)
    : undefined;
  if (problem !== undefined)
    errors.push(field.invalid(at.child('apiVersion'), apiVersion, problem));
  return errors;
}

function versionProblem({ apiVersion = '' }: Reference, groupless: boolean): string | undefined {
  const parts = apiVersion === '/' ? [''] : apiVersion.split('/');
  if (parts.length > 2) return `unexpected GroupVersion string: ${apiVersion}`;
  const group = parts.length === 2 ? parts[0] : '';
  return group === '' && !groupless ? 'apiVersion must specify API group' : undefined;
}

function metricSpec(
  metric: Metric,
  at: FieldPath,
  old: HorizontalPodAutoscaler | undefined,
  names: NameRules,
): FieldErrorList {
  const { type } = metric;
  const errors: FieldErrorList = [];
  if (type === '')
    errors.push(field.required(at.child('type'), 'must specify a metric source type'));
  if (!METRIC_TYPES.includes(type))
    errors.push(field.notSupported(at.child('type'), type, METRIC_TYPES));
  const checks = {
    object: () => objectSource(metric.object, at.child('object'), old, names),
    external: () => externalSource(metric.external, at.child('external'), names),
    pods: () => podsSource(metric.pods, at.child('pods'), names),
    resource: () => resourceSource(metric.resource, at.child('resource')),
    containerResource: () =>
      containerResourceSource(metric.containerResource, at.child('containerResource')),
  } as const;
  const present = (Object.keys(checks) as (keyof typeof checks)[]).filter(
    (name) => metric[name] !== undefined,
  );
  const [first] = present;
  if (first !== undefined) errors.push(...checks[first]());
  const expected = METRIC_TYPES.includes(type)
    ? `${type[0]?.toLowerCase()}${type.slice(1)}`
    : undefined;
  if (expected !== undefined && !present.some((name) => name === expected)) {
    errors.push(
      field.required(at.child(expected), 'must populate information for the given metric source'),
    );
  }
  if (present.length !== 1) {
    for (const name of present) {
      if (name !== expected)
        errors.push(field.forbidden(at.child(name), 'must populate the given metric source only'));
    }
  }
  return errors;
}

function objectSource(
  source: Metric['object'],
  at: FieldPath,
  old: HorizontalPodAutoscaler | undefined,
  names: NameRules,
): FieldErrorList {
  if (source === undefined) return [];
  const before = old?.spec.metrics ?? [];
  const checked = before.every(
    ({ object }) =>
      object === undefined || versionProblem(object.describedObject, true) === undefined,
  );
  const errors = [
    ...reference(
      source.describedObject,
      at.child('describedObject'),
      { groupless: true, checked },
      names,
    ),
    ...identifier(source.metric, at.child('metric'), names),
    ...metricTarget(source.target, at.child('target')),
  ];
  if (source.target.value === undefined && source.target.averageValue === undefined) {
    errors.push(
      field.required(
        at.child('target', 'averageValue'),
        'must set either a target value or averageValue',
      ),
    );
  }
  return errors;
}

function externalSource(
  source: Metric['external'],
  at: FieldPath,
  names: NameRules,
): FieldErrorList {
  if (source === undefined) return [];
  const { value, averageValue } = source.target;
  const target = at.child('target');
  const errors = [
    ...identifier(source.metric, at.child('metric'), names),
    ...metricTarget(source.target, target),
  ];
  if (value === undefined && averageValue === undefined) {
    const why = 'must set either a target value for metric or a per-pod target';
    errors.push(field.required(target.child('averageValue'), why));
  }
  if (value !== undefined && averageValue !== undefined) {
    const why = 'may not set both a target value for metric and a per-pod target';
    errors.push(field.forbidden(target.child('value'), why));
  }
  return errors;
}

function podsSource(source: Metric['pods'], at: FieldPath, names: NameRules): FieldErrorList {
  if (source === undefined) return [];
  const target = at.child('target');
  const errors = [
    ...identifier(source.metric, at.child('metric'), names),
    ...metricTarget(source.target, target),
  ];
  if (source.target.averageValue === undefined) {
    errors.push(
      field.required(target.child('averageValue'), 'must specify a positive target averageValue'),
    );
  }
  return errors;
}

function resourceSource(source: Metric['resource'], at: FieldPath): FieldErrorList {
  if (source === undefined) return [];
  const errors: FieldErrorList = [];
  if (source.name === '')
    errors.push(field.required(at.child('name'), 'must specify a resource name'));
  return [...errors, ...resourceTarget(source.target, at.child('target'))];
}

function containerResourceSource(
  source: Metric['containerResource'],
  at: FieldPath,
): FieldErrorList {
  if (source === undefined) return [];
  const errors: FieldErrorList = [];
  if (source.name === '')
    errors.push(field.required(at.child('name'), 'must specify a resource name'));
  else errors.push(...containerResourceName(source.name, at.child('name')));
  if (source.container === '')
    errors.push(field.required(at.child('container'), 'must specify a container'));
  else
    errors.push(
      ...invalidEach(
        at.child('container'),
        source.container,
        validation.isDNS1123Label(source.container),
      ),
    );
  return [...errors, ...resourceTarget(source.target, at.child('target'))];
}

function resourceTarget(target: Target, at: FieldPath): FieldErrorList {
  const errors = metricTarget(target, at);
  const { averageUtilization, averageValue } = target;
  if (averageUtilization === undefined && averageValue === undefined) {
    errors.push(
      field.required(
        at.child('averageUtilization'),
        'must set either a target raw value or a target utilization',
      ),
    );
  }
  if (averageUtilization !== undefined && averageValue !== undefined) {
    errors.push(
      field.forbidden(
        at.child('averageValue'),
        'may not set both a target raw value and a target utilization',
      ),
    );
  }
  return errors;
}

function metricTarget(
  { type, value, averageValue, averageUtilization }: Target,
  at: FieldPath,
): FieldErrorList {
  const errors: FieldErrorList = [];
  if (type === '')
    errors.push(field.required(at.child('type'), 'must specify a metric target type'));
  if (!['Utilization', 'Value', 'AverageValue'].includes(type)) {
    errors.push(
      field.invalid(at.child('type'), type, 'must be either Utilization, Value, or AverageValue'),
    );
  }
  if (value !== undefined && quantitySign(value) !== 1) {
    errors.push(field.invalid(at.child('value'), value, 'must be positive'));
  }
  if (averageValue !== undefined && quantitySign(averageValue) !== 1) {
    errors.push(field.invalid(at.child('averageValue'), averageValue, 'must be positive'));
  }
  if (averageUtilization !== undefined && averageUtilization < 1) {
    errors.push(
      field.invalid(at.child('averageUtilization'), averageUtilization, 'must be greater than 0'),
    );
  }
  return errors;
}

function identifier(
  { name }: Immutable<autoscaling.MetricIdentifier>,
  at: FieldPath,
  { pathSegmentProblems }: NameRules,
): FieldErrorList {
  if (name === '') return [field.required(at.child('name'), 'must specify a metric name')];
  return invalidEach(at.child('name'), name, pathSegmentProblems(name));
}

function rules(given: Rules | undefined, at: FieldPath): FieldErrorList {
  if (given === undefined) return [];
  const { stabilizationWindowSeconds: window, selectPolicy, policies = [], tolerance } = given;
  const errors: FieldErrorList = [];
  if (window !== undefined && window < 0) {
    errors.push(
      field.invalid(
        at.child('stabilizationWindowSeconds'),
        window,
        'must be greater than or equal to zero',
      ),
    );
  }
  if (window !== undefined && window > MAX_WINDOW_SECONDS) {
    const why = `must be less than or equal to ${MAX_WINDOW_SECONDS}`;
    errors.push(field.invalid(at.child('stabilizationWindowSeconds'), window, why));
  }
  if (selectPolicy !== undefined && !SELECT_POLICIES.includes(selectPolicy)) {
    errors.push(field.notSupported(at.child('selectPolicy'), selectPolicy, SELECT_POLICIES));
  }
  if (policies.length === 0)
    errors.push(field.required(at.child('policies'), 'must specify at least one Policy'));
  policies.forEach(({ type, value, periodSeconds }, index) => {
    const policy = at.child('policies').index(index);
    if (!POLICY_TYPES.includes(type))
      errors.push(field.notSupported(policy.child('type'), type, POLICY_TYPES));
    if (value <= 0)
      errors.push(field.invalid(policy.child('value'), value, 'must be greater than zero'));
    if (periodSeconds <= 0) {
      errors.push(
        field.invalid(policy.child('periodSeconds'), periodSeconds, 'must be greater than zero'),
      );
    }
    if (periodSeconds > MAX_PERIOD_SECONDS) {
      const why = `must be less than or equal to ${MAX_PERIOD_SECONDS}`;
      errors.push(field.invalid(policy.child('periodSeconds'), periodSeconds, why));
    }
  });
  if (tolerance !== undefined && quantitySign(tolerance) < 0) {
    errors.push(
      field.invalid(at.child('tolerance'), tolerance, 'must be greater than or equal to 0'),
    );
  }
  return errors;
}

/** Returns -1, 0 or 1. The decoder has checked that the text is a quantity. */
function quantitySign(quantity: string): number {
  return parseQuantity(quantity).sign();
}
