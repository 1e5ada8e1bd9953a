// Compares all scopes with all operators with the API's documentation. The oracle does not see an
// object, only the properties from which it was created.

import { describe, expect, test } from 'vitest';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import type * as core from '../types.ts';
import { validateResourceQuota } from '../validation/resource-quota.ts';
import { isInScopes } from './index.ts';

interface Properties {
  readonly resource: 'pods' | 'persistentvolumeclaims' | 'configmaps';
  readonly hasDeadline: boolean;
  readonly asksForNothing: boolean;
  /** The priority class of the pod, or all attributes classes in the claim. */
  readonly classes: readonly string[];
  readonly looksAcross: boolean;
}

const BASE: Properties = {
  resource: 'pods',
  hasDeadline: false,
  asksForNothing: true,
  classes: [],
  looksAcross: false,
};
const booleans = [false, true];

const term = { topologyKey: 'zone' };
const affinities: Readonly<Record<string, readonly object[]>> = {
  false: [
    {},
    { affinity: { podAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [term] } } },
  ],
  true: [
    {
      affinity: {
        podAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [{ ...term, namespaces: ['other'] }],
        },
      },
    },
    {
      affinity: {
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: [
            { weight: 1, podAffinityTerm: { ...term, namespaceSelector: {} } },
          ],
        },
      },
    },
  ],
};
const resources: Readonly<Record<string, readonly object[]>> = {
  true: [{}],
  false: [
    { requests: { cpu: '1' } },
    { limits: { cpu: '1', memory: '1Gi' }, requests: { cpu: '1', memory: '1Gi' } },
  ],
};

/** Yields objects with their properties. Several objects may have the same ones. */
function* samples(): Generator<readonly [Properties, object]> {
  for (const hasDeadline of booleans) {
    for (const asksForNothing of booleans) {
      for (const classes of [[], ['a'], ['b']]) {
        for (const looksAcross of booleans) {
          for (const affinity of affinities[String(looksAcross)] ?? []) {
            for (const resource of resources[String(asksForNothing)] ?? []) {
              const spec = {
                containers: [{ name: 'c', resources: resource }],
                ...(hasDeadline && { activeDeadlineSeconds: 60 }),
                ...(classes[0] !== undefined && { priorityClassName: classes[0] }),
                ...affinity,
              };
              yield [
                { ...BASE, hasDeadline, asksForNothing, classes, looksAcross },
                { metadata: {}, spec, status: {} },
              ];
            }
          }
        }
      }
    }
  }
  const claim = (
    classes: readonly string[],
    spec: object,
    status: object,
  ): readonly [Properties, object] => [
    { ...BASE, resource: 'persistentvolumeclaims', classes },
    { metadata: {}, spec, status },
  ];
  yield claim([], {}, {});
  yield claim([], { volumeAttributesClassName: '' }, {});
  yield claim(['a'], { volumeAttributesClassName: 'a' }, {});
  yield claim(
    ['a', 'b'],
    { volumeAttributesClassName: 'a' },
    { currentVolumeAttributesClassName: 'b' },
  );
  yield claim(
    ['b'],
    {},
    { modifyVolumeStatus: { targetVolumeAttributesClassName: 'b', status: 'Pending' } },
  );
  yield [{ ...BASE, resource: 'configmaps' }, { metadata: {} }];
}

const OPERATORS = ['Exists', 'DoesNotExist', 'In', 'NotIn'] as const;
const SCOPES = [
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
  'VolumeAttributesClass',
] as const;
type Requirement = core.ScopedResourceSelectorRequirement;

/** Reports the membership that the documentation defines. */
function isMember(
  properties: Properties,
  { scopeName, operator, values = [] }: Requirement,
): boolean {
  const { resource, classes } = properties;
  const ofClass = (): boolean => {
    switch (operator) {
      case 'Exists':
        return classes.length > 0;
      case 'DoesNotExist':
        return classes.length === 0;
      case 'In':
        return classes.some((name) => values.includes(name));
      default:
        return classes.length === 0 || classes.some((name) => !values.includes(name));
    }
  };
  if (resource === 'persistentvolumeclaims')
    return scopeName === 'VolumeAttributesClass' && ofClass();
  if (resource !== 'pods') return false;
  switch (scopeName) {
    case 'Terminating':
      return properties.hasDeadline;
    case 'NotTerminating':
      return !properties.hasDeadline;
    case 'BestEffort':
      return properties.asksForNothing;
    case 'NotBestEffort':
      return !properties.asksForNothing;
    case 'PriorityClass':
      return ofClass();
    case 'CrossNamespacePodAffinity':
      return properties.looksAcross;
    default:
      return false;
  }
}

const requirements = SCOPES.flatMap((scopeName) =>
  OPERATORS.flatMap((operator): Requirement[] =>
    operator === 'In' || operator === 'NotIn'
      ? [['a'], ['a', 'b'], ['c']].map((values) => ({ scopeName, operator, values }))
      : [{ scopeName, operator }],
  ),
);
/** The valid scopes of a quota. */
const valid = requirements.filter((requirement) => {
  const spec = { hard: { 'count/pods': '1' }, scopeSelector: { matchExpressions: [requirement] } };
  const problems = validateResourceQuota({
    metadata: {},
    spec,
    status: {},
  } as unknown as Immutable<core.ResourceQuota>);
  return !problems.some((problem) => String(problem).includes('operator'));
});

describe('scopes', () => {
  test('for one property accept the operator Exists only', () => {
    const operators = (name: string) =>
      valid.filter(({ scopeName }) => scopeName === name).map(({ operator }) => operator);
    for (const name of SCOPES) {
      const expected =
        name === 'PriorityClass' || name === 'VolumeAttributesClass' ? [...OPERATORS] : ['Exists'];
      expect([...new Set(operators(name))], name).toEqual(expected);
    }
  });

  test.each(valid)('%j contains the documented objects', (requirement) => {
    for (const [properties, object] of samples()) {
      const spec = { scopeSelector: { matchExpressions: [requirement] } };
      const what = JSON.stringify(object);
      expect(isInScopes(spec, { group: '', resource: properties.resource }, object), what).toBe(
        isMember(properties, requirement),
      );
      if (requirement.operator !== 'Exists') continue;
      const named = isInScopes(
        { scopes: [requirement.scopeName] },
        { group: '', resource: properties.resource },
        object,
      );
      expect(named, `by name: ${what}`).toBe(isMember(properties, requirement));
    }
  });

  test('of both fields must all contain the object', () => {
    const all = [...samples()];
    for (const first of valid.filter(({ operator }) => operator === 'Exists')) {
      for (const second of valid) {
        const spec = { scopes: [first.scopeName], scopeSelector: { matchExpressions: [second] } };
        const wrong = all.filter(
          ([properties, object]) =>
            isInScopes(spec, { group: '', resource: properties.resource }, object) !==
            (isMember(properties, first) && isMember(properties, second)),
        );
        expect(wrong, JSON.stringify(spec)).toEqual([]);
      }
    }
  });

  test('of another group contain nothing', () => {
    expect(
      isInScopes({ scopes: ['NotTerminating'] }, { group: 'apps', resource: 'pods' }, { spec: {} }),
    ).toBe(false);
  });
});
