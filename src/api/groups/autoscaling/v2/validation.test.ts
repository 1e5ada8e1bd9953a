// Errors of autoscalers. Each row is a change to a valid object, and the resulting errors.

import { describe, expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as autoscaling from './types.ts';
import {
  validateHorizontalPodAutoscaler,
  validateHorizontalPodAutoscalerStatus,
} from './validation.ts';

const names = {
  pathSegmentProblems: (name: string): string[] =>
    ['/', '%'].filter((part) => name.includes(part)).map((part) => `may not contain '${part}'`),
};
const hpaOf = variation<autoscaling.HorizontalPodAutoscaler>(
  'autoscaling/v2.HorizontalPodAutoscaler',
  {
    metadata: { name: 'myautoscaler', namespace: 'default' },
    spec: {
      scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'mydeployment' },
      minReplicas: 1,
      maxReplicas: 5,
    },
  },
);
const hpa = (spec: object = {}): autoscaling.HorizontalPodAutoscaler => hpaOf({ spec });
const check = (spec: object, old?: object): string[] =>
  messages(validateHorizontalPodAutoscaler(hpa(spec), old && hpa(old), names)).map((message) =>
    message.replace('spec.', ''),
  );

const utilization = (value: number): object => ({ type: 'Utilization', averageUtilization: value });
const average = (value: string): object => ({ type: 'AverageValue', averageValue: value });
const total = (value: string): object => ({ type: 'Value', value });
const described = { apiVersion: 'v1', kind: 'Service', name: 'svc' };
const resource = (change: object): object => ({
  type: 'Resource',
  resource: { name: 'cpu', target: utilization(70), ...change },
});
const container = (change: object): object => ({
  type: 'ContainerResource',
  containerResource: { name: 'cpu', container: 'app', target: utilization(70), ...change },
});
const pods = (change: object): object => ({
  type: 'Pods',
  pods: { metric: { name: 'somemetric' }, target: average('100m'), ...change },
});
const object = (change: object): object => ({
  type: 'Object',
  object: {
    describedObject: described,
    metric: { name: 'somemetric' },
    target: total('100m'),
    ...change,
  },
});
const external = (change: object): object => ({
  type: 'External',
  external: {
    metric: { name: 'somemetric', selector: { matchLabels: { a: 'b' } } },
    target: total('10'),
    ...change,
  },
});
const metrics = (...list: readonly object[]): object => ({ metrics: list });

const SCALE_TO_ZERO =
  'metrics: Forbidden: must specify at least one Object or External metric to support scaling to zero replicas';

describe('replicas and their target', () => {
  const target = (change: object): object => ({ scaleTargetRef: change });
  const NO_GROUP = 'apiVersion must specify API group';
  test.each(
    rows<[spec: object, errors: readonly string[]]>([
      [{}, []],
      [{ minReplicas: 5, maxReplicas: 5 }, []],
      [target({ apiVersion: 'v1', kind: 'ReplicationController' }), []],
      [target({ apiVersion: null, kind: 'ReplicationController' }), []],
      [
        { minReplicas: 0 },
        ['minReplicas: Invalid value: 0: must be greater than or equal to 1', SCALE_TO_ZERO],
      ],
      [{ minReplicas: -1 }, ['minReplicas: Invalid value: -1: must be greater than or equal to 1']],
      [
        { minReplicas: 7 },
        ['maxReplicas: Invalid value: 5: must be greater than or equal to `minReplicas`'],
      ],
      [
        { maxReplicas: 0 },
        [
          'maxReplicas: Required value: must be set and greater than 0',
          'maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`',
        ],
      ],
      [target({ kind: '' }), ['scaleTargetRef.kind: Required value']],
      [target({ kind: '/' }), ['scaleTargetRef.kind: Invalid value: "/": may not contain \'/\'']],
      [target({ name: '' }), ['scaleTargetRef.name: Required value']],
      [target({ name: 'a%' }), ['scaleTargetRef.name: Invalid value: "a%": may not contain \'%\'']],
      [
        target({ apiVersion: 'v1' }),
        [`scaleTargetRef.apiVersion: Invalid value: "v1": ${NO_GROUP}`],
      ],
      [target({ apiVersion: null }), [`scaleTargetRef.apiVersion: Invalid value: "": ${NO_GROUP}`]],
      [
        target({ apiVersion: 'a/b/c' }),
        [
          'scaleTargetRef.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
        ],
      ],
    ]),
  )('%s', (_, spec, errors) => {
    expect(check(spec)).toEqual(errors);
  });

  test.each(
    rows<[now: object, old: object, errors: readonly string[]]>([
      [{ minReplicas: 2 }, {}, []],
      [{ minReplicas: 0, ...metrics(object({})) }, { minReplicas: 0, ...metrics(object({})) }, []],
      [
        { minReplicas: 0, ...metrics(external({})) },
        { minReplicas: 0, ...metrics(object({})) },
        [],
      ],
      [{ minReplicas: 0 }, { minReplicas: 0 }, [SCALE_TO_ZERO]],
      [
        { minReplicas: -1 },
        { minReplicas: 0 },
        ['minReplicas: Invalid value: -1: must be greater than or equal to 0'],
      ],
      [
        { minReplicas: 0, ...metrics(object({})) },
        { minReplicas: 1, ...metrics(object({})) },
        ['minReplicas: Invalid value: 0: must be greater than or equal to 1'],
      ],
      // An existing error is accepted.
      [target({ apiVersion: 'v1' }), target({ apiVersion: 'v1' }), []],
      [
        target({ apiVersion: 'v1' }),
        {},
        [`scaleTargetRef.apiVersion: Invalid value: "v1": ${NO_GROUP}`],
      ],
    ]),
  )('update to %s', (_, now, old, errors) => {
    expect(check(now, old)).toEqual(errors);
  });
});

describe('metrics', () => {
  const AT = 'metrics[0]';
  const POPULATE = 'must populate information for the given metric source';
  const ONLY = 'must populate the given metric source only';
  const POSITIVE = 'must be positive';
  const TARGET_TYPE = 'must be either Utilization, Value, or AverageValue';
  const CHOOSE = 'must set either a target raw value or a target utilization';
  const NOT_BOTH = 'may not set both a target raw value and a target utilization';

  test.each(
    rows<[metric: object]>([
      [resource({})],
      [resource({ target: average('100m') })],
      [container({})],
      [container({ target: average('100m') })],
      [pods({})],
      [pods({ metric: { name: 'somemetric', selector: { matchLabels: { a: 'b' } } } })],
      [object({})],
      [object({ target: average('5') })],
      [
        object({
          describedObject: { ...described, apiVersion: 'networking.k8s.io/v1', kind: 'Ingress' },
        }),
      ],
      [external({})],
      [external({ target: average('10') })],
    ]),
  )('good: %s', (_, metric) => {
    expect(check(metrics(metric))).toEqual([]);
  });

  test.each(
    rows<[metric: object, errors: readonly string[]]>([
      [
        { type: 'InvalidType' },
        [
          `${AT}.type: Unsupported value: "InvalidType": supported values: ` +
            '"ContainerResource", "External", "Object", "Pods", "Resource"',
        ],
      ],
      [
        { type: '' },
        [
          `${AT}.type: Required value: must specify a metric source type`,
          `${AT}.type: Unsupported value: "": supported values: "ContainerResource", ` +
            '"External", "Object", "Pods", "Resource"',
        ],
      ],
      [{ type: 'Resource' }, [`${AT}.resource: Required value: ${POPULATE}`]],
      [{ type: 'ContainerResource' }, [`${AT}.containerResource: Required value: ${POPULATE}`]],
      [{ type: 'Pods' }, [`${AT}.pods: Required value: ${POPULATE}`]],
      [{ type: 'Object' }, [`${AT}.object: Required value: ${POPULATE}`]],
      [{ type: 'External' }, [`${AT}.external: Required value: ${POPULATE}`]],
      [{ ...pods({}), ...resource({}), type: 'Resource' }, [`${AT}.pods: Forbidden: ${ONLY}`]],
      [{ ...external({}), ...object({}), type: 'Object' }, [`${AT}.external: Forbidden: ${ONLY}`]],
      // Resources.
      [
        resource({ name: '' }),
        [`${AT}.resource.name: Required value: must specify a resource name`],
      ],
      [
        resource({ target: utilization(0) }),
        [`${AT}.resource.target.averageUtilization: Invalid value: 0: must be greater than 0`],
      ],
      [
        resource({ target: utilization(-10) }),
        [`${AT}.resource.target.averageUtilization: Invalid value: -10: must be greater than 0`],
      ],
      [
        resource({ target: { type: 'Utilization' } }),
        [`${AT}.resource.target.averageUtilization: Required value: ${CHOOSE}`],
      ],
      [
        resource({ target: { ...utilization(70), averageValue: '100m' } }),
        [`${AT}.resource.target.averageValue: Forbidden: ${NOT_BOTH}`],
      ],
      [
        resource({ target: { ...utilization(70), type: '' } }),
        [
          `${AT}.resource.target.type: Required value: must specify a metric target type`,
          `${AT}.resource.target.type: Invalid value: "": ${TARGET_TYPE}`,
        ],
      ],
      [
        resource({ target: { ...utilization(70), type: 'x' } }),
        [`${AT}.resource.target.type: Invalid value: "x": ${TARGET_TYPE}`],
      ],
      [
        resource({ target: average('0') }),
        [`${AT}.resource.target.averageValue: Invalid value: "0": ${POSITIVE}`],
      ],
      // Container resources.
      [
        container({ name: '' }),
        [`${AT}.containerResource.name: Required value: must specify a resource name`],
      ],
      [
        container({ name: 'pods' }),
        [
          `${AT}.containerResource.name: Invalid value: "pods": must be a standard resource for containers`,
        ],
      ],
      [
        container({ container: '' }),
        [`${AT}.containerResource.container: Required value: must specify a container`],
      ],
      [
        container({ container: 'A' }),
        [`${AT}.containerResource.container: Invalid value: "A": ${NAME_MESSAGES.label}`],
      ],
      [
        container({ target: utilization(-10) }),
        [
          `${AT}.containerResource.target.averageUtilization: Invalid value: -10: must be greater than 0`,
        ],
      ],
      [
        container({ target: { type: 'Utilization' } }),
        [`${AT}.containerResource.target.averageUtilization: Required value: ${CHOOSE}`],
      ],
      [
        container({ target: { ...utilization(70), averageValue: '100m' } }),
        [`${AT}.containerResource.target.averageValue: Forbidden: ${NOT_BOTH}`],
      ],
      // Pod metrics.
      [
        pods({ metric: { name: '' } }),
        [`${AT}.pods.metric.name: Required value: must specify a metric name`],
      ],
      [
        pods({ metric: { name: 'foo/../' } }),
        [`${AT}.pods.metric.name: Invalid value: "foo/../": may not contain '/'`],
      ],
      [
        pods({ target: { type: 'AverageValue' } }),
        [
          `${AT}.pods.target.averageValue: Required value: must specify a positive target averageValue`,
        ],
      ],
      [
        pods({ target: average('0') }),
        [`${AT}.pods.target.averageValue: Invalid value: "0": ${POSITIVE}`],
      ],
      [
        pods({ target: average('-1') }),
        [`${AT}.pods.target.averageValue: Invalid value: "-1": ${POSITIVE}`],
      ],
      // Object metrics.
      [
        object({ describedObject: { ...described, kind: '', name: '' } }),
        [
          `${AT}.object.describedObject.kind: Required value`,
          `${AT}.object.describedObject.name: Required value`,
        ],
      ],
      [
        object({ metric: { name: '' } }),
        [`${AT}.object.metric.name: Required value: must specify a metric name`],
      ],
      [
        object({ metric: { name: 'foo/../' } }),
        [`${AT}.object.metric.name: Invalid value: "foo/../": may not contain '/'`],
      ],
      [
        object({ target: { type: 'Value' } }),
        [
          `${AT}.object.target.averageValue: Required value: must set either a target value or averageValue`,
        ],
      ],
      [
        object({ target: total('0') }),
        [`${AT}.object.target.value: Invalid value: "0": ${POSITIVE}`],
      ],
      [
        object({ target: total('-1') }),
        [`${AT}.object.target.value: Invalid value: "-1": ${POSITIVE}`],
      ],
      [
        object({ target: average('-1') }),
        [`${AT}.object.target.averageValue: Invalid value: "-1": ${POSITIVE}`],
      ],
      // External metrics.
      [
        external({ metric: { name: '' } }),
        [`${AT}.external.metric.name: Required value: must specify a metric name`],
      ],
      [
        external({ metric: { name: 'foo/../' } }),
        [`${AT}.external.metric.name: Invalid value: "foo/../": may not contain '/'`],
      ],
      [
        external({ target: { type: 'Value' } }),
        [
          `${AT}.external.target.averageValue: Required value: must set either a target ` +
            'value for metric or a per-pod target',
        ],
      ],
      [
        external({ target: { ...total('10'), averageValue: '10' } }),
        [
          `${AT}.external.target.value: Forbidden: may not set both a target value for metric and a per-pod target`,
        ],
      ],
      [
        external({ target: total('0') }),
        [`${AT}.external.target.value: Invalid value: "0": ${POSITIVE}`],
      ],
      [
        external({ target: average('-1') }),
        [`${AT}.external.target.averageValue: Invalid value: "-1": ${POSITIVE}`],
      ],
    ]),
  )('bad: %s', (_, metric, errors) => {
    expect(check(metrics(metric))).toEqual(errors);
  });

  test('several metrics are checked separately', () => {
    expect(
      check(metrics(resource({}), pods({ metric: { name: '' } }), resource({ name: '' }))),
    ).toEqual([
      'metrics[1].pods.metric.name: Required value: must specify a metric name',
      'metrics[2].resource.name: Required value: must specify a resource name',
    ]);
  });
});

describe('behavior', () => {
  const policy = (change: object = {}): object => ({
    type: 'Pods',
    value: 1,
    periodSeconds: 1800,
    ...change,
  });
  const good = {
    stabilizationWindowSeconds: 3600,
    selectPolicy: 'Min',
    policies: [policy(), policy({ type: 'Percent', value: 100 })],
  };

  test.each(
    rows<[rules: object, errors: readonly string[]]>([
      [good, []],
      [{ stabilizationWindowSeconds: 0 }, []],
      [{ selectPolicy: 'Disabled' }, []],
      [{ selectPolicy: 'Max' }, []],
      [{ ...good, tolerance: '0' }, []],
      [{ ...good, tolerance: '100m' }, []],
      [{ ...good, tolerance: '1' }, []],
      [
        { tolerance: '-10m' },
        ['tolerance: Invalid value: "-10m": must be greater than or equal to 0'],
      ],
      [
        { ...good, stabilizationWindowSeconds: -1 },
        ['stabilizationWindowSeconds: Invalid value: -1: must be greater than or equal to zero'],
      ],
      [
        { ...good, stabilizationWindowSeconds: 3601 },
        ['stabilizationWindowSeconds: Invalid value: 3601: must be less than or equal to 3600'],
      ],
      [
        { ...good, selectPolicy: 'x' },
        ['selectPolicy: Unsupported value: "x": supported values: "Disabled", "Max", "Min"'],
      ],
      [
        { policies: [{ type: '', value: 0, periodSeconds: 0 }] },
        [
          'policies[0].type: Unsupported value: "": supported values: "Percent", "Pods"',
          'policies[0].value: Invalid value: 0: must be greater than zero',
          'policies[0].periodSeconds: Invalid value: 0: must be greater than zero',
        ],
      ],
      [
        { policies: [policy({ type: 'x' })] },
        ['policies[0].type: Unsupported value: "x": supported values: "Percent", "Pods"'],
      ],
      [
        { policies: [policy(), policy({ value: -1 })] },
        ['policies[1].value: Invalid value: -1: must be greater than zero'],
      ],
      [
        { policies: [policy({ periodSeconds: -1 })] },
        ['policies[0].periodSeconds: Invalid value: -1: must be greater than zero'],
      ],
      [
        { policies: [policy({ periodSeconds: 1801 })] },
        ['policies[0].periodSeconds: Invalid value: 1801: must be less than or equal to 1800'],
      ],
      [{ policies: [] }, ['policies: Required value: must specify at least one Policy']],
    ]),
  )('%s', (_, rules, errors) => {
    for (const direction of ['scaleUp', 'scaleDown']) {
      // An explicit empty list gets no default.
      const found = hpa({ behavior: { [direction]: rules } });
      const { scaleUp, scaleDown } = found.spec.behavior ?? {};
      const given = direction === 'scaleUp' ? scaleUp : scaleDown;
      const bare =
        'policies' in rules && (rules.policies as unknown[]).length === 0
          ? { ...given, policies: [] }
          : given;
      const behavior = { ...found.spec.behavior, [direction]: bare };
      const errorsFound = validateHorizontalPodAutoscaler(
        { ...found, spec: { ...found.spec, behavior } },
        undefined,
        names,
      );
      expect(messages(errorsFound)).toEqual(
        errors.map((error) => `spec.behavior.${direction}.${error}`),
      );
    }
  });
});

test.each(
  rows<[status: object, errors: readonly string[]]>([
    [{ currentReplicas: 3, desiredReplicas: 4 }, []],
    [
      { currentReplicas: -3, desiredReplicas: 1 },
      ['status.currentReplicas: Invalid value: -3: must be greater than or equal to 0'],
    ],
    [
      { currentReplicas: 1, desiredReplicas: -3 },
      ['status.desiredReplicas: Invalid value: -3: must be greater than or equal to 0'],
    ],
  ]),
)('status %s', (_, status, errors) => {
  expect(
    messages(
      validateHorizontalPodAutoscalerStatus(hpaOf({ status: { currentMetrics: [], ...status } })),
    ),
  ).toEqual(errors);
});
