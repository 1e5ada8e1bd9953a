// Errors of priority classes.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { rows, variation } from '#api/testing/variation.ts';
import type * as scheduling from './types.ts';
import { validatePriorityClass, validatePriorityClassUpdate } from './validation.ts';

const priorityClass = variation<scheduling.PriorityClass>('scheduling/v1.PriorityClass', {
  metadata: { name: 'tier1' },
  value: 100,
});
const named = (name: string, value: number): object => ({ metadata: { name }, value });
const reserved = (why: string): string[] => [
  "metadata.name: Forbidden: priority class names with 'system-' prefix are reserved for " +
    `system use only. error: ${why}`,
];

test.each(
  rows<[change: object, errors: readonly string[]]>([
    [{}, []],
    [{ globalDefault: false, description: 'Used for the highest priority pods.' }, []],
    [{ value: -100, globalDefault: true }, []],
    [{ value: 1_000_000_000 }, []],
    [
      { value: 1_000_000_001 },
      ['value: Forbidden: maximum allowed value of a user defined priority is 1000000000'],
    ],
    [{ metadata: { name: null } }, []],
    [named('system-cluster-critical', 2_000_000_000), []],
    [named('system-node-critical', 2_000_001_000), []],
    [
      named('system-node-critical', 1_000_000),
      reserved('value of system-node-critical PriorityClass must be 2000001000'),
    ],
    [
      { ...named('system-cluster-critical', 2_000_000_000), globalDefault: true },
      reserved('globalDefault of system-cluster-critical PriorityClass must be false'),
    ],
    [
      named('system-my-critical', 100),
      reserved('system-my-critical is not a known system priority class'),
    ],
    [{ preemptionPolicy: 'Never' }, []],
    [{ preemptionPolicy: 'PreemptLowerPriority' }, []],
    [
      { preemptionPolicy: 'x' },
      [
        'preemptionPolicy: Unsupported value: "x": supported values: "PreemptLowerPriority", "Never"',
      ],
    ],
  ]),
)('%s', (_, change, errors) => {
  expect(messages(validatePriorityClass(priorityClass(change)))).toEqual(errors);
});

test.each(
  rows<[now: object, old: object, errors: readonly string[]]>([
    [{}, {}, []],
    [{ globalDefault: true, description: 'a' }, {}, []],
    [{ globalDefault: false }, { globalDefault: true }, []],
    [{ value: 101 }, {}, ['value: Forbidden: may not be changed in an update.']],
    [
      { preemptionPolicy: 'Never' },
      { preemptionPolicy: 'PreemptLowerPriority' },
      ['preemptionPolicy: Invalid value: "Never": field is immutable'],
    ],
    [
      { value: 0, preemptionPolicy: 'Never' },
      {},
      [
        'value: Forbidden: may not be changed in an update.',
        'preemptionPolicy: Invalid value: "Never": field is immutable',
      ],
    ],
  ]),
)('update to %s', (_, now, old, errors) => {
  expect(messages(validatePriorityClassUpdate(priorityClass(now), priorityClass(old)))).toEqual(
    errors,
  );
});
