// Scheduling of pods: affinities, tolerations, spreading, gates. Valid cases, and the paths and
// types of the errors. pod.test.ts contains the messages.

import { describe, expect, test } from 'vitest';

import { indent, manifest } from '#api/testing/manifest.ts';
import type * as core from '../types.ts';
import { validatePod } from './index.ts';

/** Returns the errors of a pod; paths begin at its spec. */
function errorsOf(spec: string): string[] {
  const pod = manifest<core.Pod>(
    'core/v1.Pod',
    `metadata: {name: p, namespace: default}\nspec:\n${indent(`containers: [{name: c, image: x}]\n${spec}`)}`,
  );
  return validatePod(pod).map(
    ({ field, type }) => `${field.replace('spec.', '')} ${type.replace('FieldValue', '')}`,
  );
}

type Case = [what: string, fields: string, ...errors: string[]];

function table(cases: readonly Case[], specOf: (fields: string) => string): void {
  test.each(cases)('%s', (_what, fields, ...errors) => {
    expect(errorsOf(specOf(fields))).toEqual(errors);
  });
}

describe('required nodes', () => {
  const at =
    'affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms';
  const first = `${at}[0].matchExpressions[0]`;
  const fieldAt = `${at}[0].matchFields[0]`;
  const expression = (fields: string): string => `{matchExpressions: [{${fields}}]}`;
  const fieldOf = (fields: string): string => `{matchFields: [{${fields}}]}`;
  table(
    [
      [
        'labels and fields',
        '{matchExpressions: [{key: a, operator: In, values: [b, c]}], ' +
          'matchFields: [{key: metadata.name, operator: In, values: [n1]}]}',
      ],
      ['any', '{matchExpressions: []}'],
      [
        'two terms',
        `${expression('key: a, operator: Exists')}, ${expression('key: a, operator: DoesNotExist')}`,
      ],
      [
        'numbers',
        `${expression('key: a, operator: Gt, values: ["1"]')}, ${expression('key: a, operator: Lt, values: ["9"]')}`,
      ],
      ['no terms', '', `${at} Required`],
      ['no operator', expression('key: a'), `${first}.operator Invalid`],
      ['no operator, of no value', expression('key: a, operator: ""'), `${first}.operator Invalid`],
      [
        'another operator',
        expression('key: a, operator: Like, values: [b]'),
        `${first}.operator Invalid`,
      ],
      [
        'a bad key',
        expression('key: "invalid key ___@#", operator: Exists'),
        `${first}.key Invalid`,
      ],
      ['no values', expression('key: a, operator: NotIn'), `${first}.values Required`],
      [
        'values of what exists',
        expression('key: a, operator: Exists, values: [b]'),
        `${first}.values Forbidden`,
      ],
      [
        'values of what does not',
        expression('key: a, operator: DoesNotExist, values: [b]'),
        `${first}.values Forbidden`,
      ],
      [
        'two numbers',
        expression('key: a, operator: Lt, values: ["1", "2"]'),
        `${first}.values Required`,
      ],
      [
        'a value that no label has',
        expression('key: a, operator: In, values: ["-1"]'),
        `${first}.values[0] Invalid`,
      ],
      [
        'two names',
        fieldOf('key: metadata.name, operator: In, values: [a, b]'),
        `${fieldAt}.values Required`,
      ],
      ['no names', fieldOf('key: metadata.name, operator: NotIn'), `${fieldAt}.values Required`],
      [
        'a name that exists',
        fieldOf('key: metadata.name, operator: Exists'),
        `${fieldAt}.operator Invalid`,
      ],
      [
        'a bad name',
        fieldOf('key: metadata.name, operator: In, values: [A_]'),
        `${fieldAt}.values[0] Invalid`,
      ],
      [
        'another field',
        fieldOf('key: metadata.namespace, operator: In, values: [a]'),
        `${fieldAt}.key Invalid`,
      ],
    ],
    (terms) =>
      `affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [${terms}]}}}`,
  );
});

describe('preferred nodes', () => {
  const at = 'affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]';
  table(
    [
      [
        'a label',
        'weight: 10, preference: {matchExpressions: [{key: a, operator: In, values: [b]}]}',
      ],
      ['any', 'weight: 10, preference: {matchExpressions: []}'],
      ['nothing of weight', 'weight: 0, preference: {}', `${at}.weight Invalid`],
      [
        'too much of weight',
        'weight: 199, preference: {matchExpressions: [{key: a, operator: Exists}]}',
        `${at}.weight Invalid`,
      ],
      [
        'no operator',
        'weight: 1, preference: {matchExpressions: [{key: a}]}',
        `${at}.preference.matchExpressions[0].operator Invalid`,
      ],
    ],
    (term) =>
      `affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: [{${term}}]}}`,
  );
});

describe.each(['podAffinity', 'podAntiAffinity'])('%s', (kind) => {
  describe.each([
    [
      'required',
      `affinity.${kind}.requiredDuringSchedulingIgnoredDuringExecution[0]`,
      (term: string): string =>
        `affinity: {${kind}: {requiredDuringSchedulingIgnoredDuringExecution: [{${term}}]}}`,
    ],
    [
      'preferred',
      `affinity.${kind}.preferredDuringSchedulingIgnoredDuringExecution[0].podAffinityTerm`,
      (term: string): string =>
        `affinity: {${kind}: {preferredDuringSchedulingIgnoredDuringExecution: [{weight: ` +
        `10, podAffinityTerm: {${term}}}]}}`,
    ],
  ] as const)('%s', (_how, at, specOf) => {
    const expression = (fields: string): string => `{matchExpressions: [{${fields}}]}`;
    const SELECTOR = `labelSelector: ${expression('key: key, operator: NotIn, values: [a, b]')}`;
    const KEY = 'topologyKey: zone';
    table(
      [
        ['labels', `${KEY}, ${SELECTOR}, namespaces: [ns]`],
        ['labels that exist', `${KEY}, labelSelector: ${expression('key: a, operator: Exists')}`],
        [
          'labels that do not',
          `${KEY}, labelSelector: ${expression('key: a, operator: DoesNotExist')}`,
        ],
        [
          'namespaces by label',
          `${KEY}, ${SELECTOR}, namespaceSelector: ${expression('key: a, operator: In, values: [b]')}`,
        ],
        ['all namespaces', `${KEY}, ${SELECTOR}, namespaceSelector: {}`],
        [
          'no place',
          SELECTOR,
          `${at}.topologyKey Required`,
          `${at}.topologyKey Invalid`,
          `${at}.topologyKey Invalid`,
        ],
        ['a bad place', `topologyKey: "a b", ${SELECTOR}`, `${at}.topologyKey Invalid`],
        [
          'a bad namespace',
          `${KEY}, ${SELECTOR}, namespaces: [INVALID_NAMESPACE]`,
          `${at}.namespace Invalid`,
        ],
        [
          'values of what exists',
          `${KEY}, labelSelector: ${expression('key: a, operator: Exists, values: [b]')}`,
          `${at}.labelSelector.matchExpressions[0].values Forbidden`,
        ],
        [
          'no values of a namespace',
          `${KEY}, namespaceSelector: ${expression('key: a, operator: In')}`,
          `${at}.namespaceSelector.matchExpressions[0].values Required`,
        ],
        [
          'values of a namespace that exists',
          `${KEY}, namespaceSelector: ${expression('key: a, operator: Exists, values: [b]')}`,
          `${at}.namespaceSelector.matchExpressions[0].values Forbidden`,
        ],
        // The server adds the values of the keys to the selector.
        [
          'keys of its own labels',
          `${KEY}, labelSelector: {matchExpressions: [{key: a, operator: In, values: [v]}, ` +
            '{key: b, operator: NotIn, values: [v]}]}, matchLabelKeys: [a], ' +
            'mismatchLabelKeys: [b]',
        ],
        [
          'a key that is also selected by, of others',
          `${KEY}, labelSelector: {matchExpressions: [{key: b, operator: In, values: [v]}, ` +
            '{key: b, operator: NotIn, values: [v]}]}, mismatchLabelKeys: [b]',
        ],
        [
          'a key that is also selected by, of the same',
          `${KEY}, labelSelector: {matchExpressions: [{key: a, operator: In, values: [v]}, ` +
            '{key: a, operator: NotIn, values: [w]}]}, matchLabelKeys: [a]',
          `${at}[0] Invalid`,
        ],
        [
          'a bad key',
          `${KEY}, ${SELECTOR}, matchLabelKeys: [/simple]`,
          `${at}.matchLabelKeys[0] Invalid`,
        ],
        [
          'a bad key of others',
          `${KEY}, ${SELECTOR}, mismatchLabelKeys: [/simple]`,
          `${at}.mismatchLabelKeys[0] Invalid`,
        ],
        [
          'one key for both',
          `${KEY}, ${SELECTOR}, matchLabelKeys: [k], mismatchLabelKeys: [k]`,
          `${at}.matchLabelKeys[0] Invalid`,
        ],
        [
          'keys without a selector',
          `${KEY}, matchLabelKeys: [k]`,
          `${at}.matchLabelKeys Forbidden`,
        ],
        [
          'keys of others without a selector',
          `${KEY}, mismatchLabelKeys: [k]`,
          `${at}.mismatchLabelKeys Forbidden`,
        ],
      ],
      specOf,
    );
  });

  test.each([0, -1, 101, 109])('of weight %s', (weight) => {
    const term = `{weight: ${weight}, podAffinityTerm: {topologyKey: zone}}`;
    expect(
      errorsOf(`affinity: {${kind}: {preferredDuringSchedulingIgnoredDuringExecution: [${term}]}}`),
    ).toEqual([
      `affinity.${kind}.preferredDuringSchedulingIgnoredDuringExecution[0].weight Invalid`,
    ]);
  });
});

describe('tolerations', () => {
  const at = 'tolerations[0]';
  table(
    [
      ['for a minute', 'key: foo, operator: Exists, effect: NoExecute, tolerationSeconds: 60'],
      [
        'of a value, for a minute',
        'key: foo, operator: Equal, value: bar, effect: NoExecute, tolerationSeconds: 60',
      ],
      ['of a value', 'key: foo, operator: Equal, value: bar, effect: NoSchedule'],
      ['of any key', 'operator: Exists, effect: NoSchedule'],
      ['of no operator', 'key: foo, value: bar, effect: NoSchedule'],
      ['of any effect', 'key: foo, operator: Equal, value: bar'],
      [
        'for less than no time',
        'key: node.kubernetes.io/not-ready, operator: Exists, effect: NoExecute, tolerationSeconds: -2',
      ],
      [
        'of a bad key',
        'key: "nospecialchars^=@", operator: Equal, value: bar, effect: NoSchedule',
        `${at}.key Invalid`,
      ],
      [
        'of another operator',
        'key: foo, operator: In, value: bar, effect: NoSchedule',
        `${at}.operator NotSupported`,
      ],
      [
        'of the value of what exists',
        'key: foo, operator: Exists, value: bar, effect: NoSchedule',
        `${at}.operator Invalid`,
      ],
      [
        'of a value of any key',
        'operator: Equal, value: bar, effect: NoSchedule',
        `${at}.operator Invalid`,
      ],
      [
        'for a while, of what lasts',
        'key: a, operator: Exists, effect: NoSchedule, tolerationSeconds: 20',
        `${at}.effect Invalid`,
      ],
      [
        'less than',
        'key: a, operator: Lt, value: "950", effect: NoSchedule',
        `${at}.operator NotSupported`,
      ],
      [
        'greater than',
        'key: a, operator: Gt, value: "950", effect: NoSchedule',
        `${at}.operator NotSupported`,
      ],
    ],
    (toleration) => `tolerations: [{${toleration}}]`,
  );
});

describe('spreading', () => {
  const at = 'topologySpreadConstraints[0]';
  const GOOD = 'maxSkew: 1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule';
  table(
    [
      ['a good one', GOOD],
      ['at best', 'maxSkew: 2, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway'],
      ['labels', `${GOOD}, labelSelector: {matchLabels: {foo: bar}}`],
      ['domains', `${GOOD}, minDomains: 3`],
      ['policies', `${GOOD}, nodeAffinityPolicy: Honor, nodeTaintsPolicy: Ignore`],
      [
        'keys',
        `${GOOD}, labelSelector: {matchExpressions: [{key: foo, operator: In, values: [a]}]}, matchLabelKeys: [foo]`,
      ],
      [
        'no skew',
        'maxSkew: 0, topologyKey: zone, whenUnsatisfiable: DoNotSchedule',
        `${at}.maxSkew Invalid`,
      ],
      [
        'a negative skew',
        'maxSkew: -1, topologyKey: zone, whenUnsatisfiable: DoNotSchedule',
        `${at}.maxSkew Invalid`,
      ],
      ['no domains', `${GOOD}, minDomains: 0`, `${at}.minDomains Invalid`],
      ['negative domains', `${GOOD}, minDomains: -1`, `${at}.minDomains Invalid`],
      [
        'domains at best',
        'maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway, minDomains: 3',
        `${at}.minDomains Invalid`,
      ],
      [
        'no place',
        'maxSkew: 1, topologyKey: "", whenUnsatisfiable: DoNotSchedule',
        `${at}.topologyKey Required`,
      ],
      [
        'otherwise',
        'maxSkew: 1, topologyKey: zone, whenUnsatisfiable: N/A',
        `${at}.whenUnsatisfiable NotSupported`,
      ],
      [
        'otherwise, unsaid',
        'maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ""',
        `${at}.whenUnsatisfiable NotSupported`,
      ],
      [
        'some policy of affinities',
        `${GOOD}, nodeAffinityPolicy: invalid`,
        `${at}.nodeAffinityPolicy NotSupported`,
      ],
      [
        'some policy of taints',
        `${GOOD}, nodeTaintsPolicy: invalid`,
        `${at}.nodeTaintsPolicy NotSupported`,
      ],
      [
        'a bad key',
        `${GOOD}, labelSelector: {}, matchLabelKeys: [/simple]`,
        `${at}.matchLabelKeys[0] Invalid`,
      ],
      [
        'keys without a selector',
        `${GOOD}, matchLabelKeys: [foo]`,
        `${at}.matchLabelKeys Forbidden`,
      ],
      [
        'a bad selector',
        `${GOOD}, labelSelector: {matchExpressions: [{key: a, operator: In}]}`,
        `${at}.labelSelector.matchExpressions[0].values Required`,
      ],
      [
        'a bad label',
        `${GOOD}, labelSelector: {matchLabels: {foo: "-"}}`,
        `${at}.labelSelector.matchLabels Invalid`,
      ],
    ],
    (constraint) => `topologySpreadConstraints: [{${constraint}}]`,
  );

  test.each<[other: string, ...errors: string[]]>([
    ['topologyKey: zone, whenUnsatisfiable: ScheduleAnyway'],
    ['topologyKey: region, whenUnsatisfiable: DoNotSchedule'],
    [
      'topologyKey: zone, whenUnsatisfiable: DoNotSchedule',
      `${at}.{topologyKey, whenUnsatisfiable} Duplicate`,
    ],
  ])('and another way: %s', (other, ...errors) => {
    expect(errorsOf(`topologySpreadConstraints: [{${GOOD}}, {maxSkew: 2, ${other}}]`)).toEqual(
      errors,
    );
  });
});

describe('gates', () => {
  table(
    [
      ['none', '[]'],
      ['some', '[{name: foo}, {name: example.com/bar}]'],
      ['no name', '[{name: ""}]', 'schedulingGates[0] Invalid', 'schedulingGates[0] Invalid'],
      ['a bad name', '[{name: "//"}]', 'schedulingGates[0] Invalid'],
      ['one twice', '[{name: foo}, {name: foo}]', 'schedulingGates[1] Duplicate'],
      [
        'one three times',
        '[{name: foo}, {name: foo}, {name: foo}]',
        'schedulingGates[1] Duplicate',
        'schedulingGates[2] Duplicate',
      ],
    ],
    (gates) => `schedulingGates: ${gates}`,
  );

  test('on a node', () => {
    expect(errorsOf('nodeName: n1\nschedulingGates: [{name: foo}]')).toEqual([
      'nodeName Forbidden',
    ]);
  });
});

describe('labels of nodes', () => {
  table(
    [
      ['one', '{a: b}'],
      ['a bad key', '{"a b": c}', 'nodeSelector Invalid'],
      ['a bad value', '{a: "b c"}', 'nodeSelector Invalid'],
    ],
    (labels) => `nodeSelector: ${labels}`,
  );
});
