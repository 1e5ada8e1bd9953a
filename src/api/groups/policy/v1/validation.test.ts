// Errors of disruption budgets. Each row is a change to a valid object, and the resulting errors.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { NAME_MESSAGES, rows, variation } from '#api/testing/variation.ts';
import type * as policy from './types.ts';
import { validatePodDisruptionBudget, validatePodDisruptionBudgetStatus } from './validation.ts';

const budget = variation<policy.PodDisruptionBudget>('policy/v1.PodDisruptionBudget', {
  metadata: { name: 'a', namespace: 'default' },
  spec: { selector: { matchLabels: { a: 'b' } } },
  status: { disruptionsAllowed: 0, currentHealthy: 0, desiredHealthy: 0, expectedPods: 0 },
});
const selecting = (value: string): object => ({
  selector: { matchExpressions: [{ key: 'a', operator: 'In', values: [value] }] },
});
const PERCENT =
  "a valid percent string must be a numeric string followed by an ending '%' (e.g. '1%', " +
  " or '93%', regex used for validation is '[0-9]+%')";

const amounts: readonly [amount: number | string, problems: readonly string[]][] = [
  [0, []],
  [1, []],
  [2, []],
  ['0%', []],
  ['1%', []],
  ['100%', []],
  [-1, ['Invalid value: -1: must be greater than or equal to 0']],
  ['1.1%', [`Invalid value: "1.1%": ${PERCENT}`]],
  ['nope', [`Invalid value: "nope": ${PERCENT}`]],
  ['-1%', [`Invalid value: "-1%": ${PERCENT}`]],
  ['101%', ['Invalid value: "101%": must not be greater than 100%']],
];

test.each(rows(amounts))('%s', (_, amount, problems) => {
  for (const name of ['minAvailable', 'maxUnavailable']) {
    const found = messages(validatePodDisruptionBudget(budget({ spec: { [name]: amount } })));
    expect(found).toEqual(problems.map((problem) => `spec.${name}: ${problem}`));
  }
});

test.each(
  rows<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [{ selector: {} }, []],
    [{ selector: null }, []],
    [
      { minAvailable: 1, maxUnavailable: '1%' },
      [
        expect.stringMatching(
          /^spec: Invalid value: .*: minAvailable and maxUnavailable cannot be both set$/,
        ),
      ],
    ],
    [{ unhealthyPodEvictionPolicy: 'IfHealthyBudget' }, []],
    [{ unhealthyPodEvictionPolicy: 'AlwaysAllow' }, []],
    [
      { unhealthyPodEvictionPolicy: 'Invalid' },
      [
        'spec.unhealthyPodEvictionPolicy: Unsupported value: "Invalid": supported values: ' +
          '"AlwaysAllow", "IfHealthyBudget"',
      ],
    ],
    [
      { selector: { matchLabels: { 'a b': 'c' } } },
      [`spec.selector.matchLabels: Invalid value: "a b": ${NAME_MESSAGES.namePart}`],
    ],
    [
      selecting('-1'),
      [
        `spec.selector.matchExpressions[0].values[0]: Invalid value: "-1": ${NAME_MESSAGES.labelValue}`,
      ],
    ],
  ]),
)('%s', (_, spec, errors) => {
  expect(messages(validatePodDisruptionBudget(budget({ spec })))).toEqual(errors);
});

test.each(
  rows<[now: object, old: object, count: number]>([
    [{ minAvailable: 2 }, { maxUnavailable: 1 }, 0],
    [{ selector: { matchLabels: { a: 'c' } } }, {}, 0],
    [selecting('-1'), {}, 1],
    [selecting('-2'), selecting('-1'), 0],
  ]),
)('update to %s', (_, now, old, count) => {
  expect(validatePodDisruptionBudget(budget({ spec: now }), budget({ spec: old }))).toHaveLength(
    count,
  );
});

const condition = {
  type: 'DisruptionAllowed',
  status: 'True',
  reason: 'SufficientPods',
  message: '',
  lastTransitionTime: '2026-01-01T00:00:00Z',
};
test.each(
  rows<[status: object, errors: readonly string[]]>([
    [{ disruptionsAllowed: 10, currentHealthy: 5, desiredHealthy: 3, expectedPods: 2 }, []],
    [
      { disruptionsAllowed: -10 },
      ['status.disruptionsAllowed: Invalid value: -10: must be greater than or equal to 0'],
    ],
    [
      { currentHealthy: -5 },
      ['status.currentHealthy: Invalid value: -5: must be greater than or equal to 0'],
    ],
    [
      { desiredHealthy: -3 },
      ['status.desiredHealthy: Invalid value: -3: must be greater than or equal to 0'],
    ],
    [
      { expectedPods: -2 },
      ['status.expectedPods: Invalid value: -2: must be greater than or equal to 0'],
    ],
    [{ conditions: [condition, { ...condition, type: 'Other' }] }, []],
    [
      { conditions: [condition, condition] },
      ['status.conditions[1].type: Duplicate value: "DisruptionAllowed"'],
    ],
    [
      { conditions: [{ ...condition, status: 'x', reason: '' }], expectedPods: -2 },
      [
        'status.conditions[0].status: Unsupported value: "x": supported values: "False", "True", "Unknown"',
        'status.conditions[0].reason: Required value',
        'status.expectedPods: Invalid value: -2: must be greater than or equal to 0',
      ],
    ],
  ]),
)('status %s', (_, status, errors) => {
  expect(messages(validatePodDisruptionBudgetStatus(budget({ status })))).toEqual(errors);
});
