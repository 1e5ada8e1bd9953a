// What is wrong with leases, in Kubernetes' words.

import { expect, test } from 'vitest';

import { decodeManifest, messages } from '../../testing/manifest.ts';
import { validateLease } from './validation.ts';

test.each<[what: string, spec: string, errors: string[]]>([
  ['an empty one', '{}', []],
  [
    'a whole one',
    '{holderIdentity: a, leaseDurationSeconds: 15, leaseTransitions: 0, acquireTime: "2026-01-01T00:00:00.000000Z"}',
    [],
  ],
  ['one that is given back', '{holderIdentity: "", leaseDurationSeconds: 1}', []],
  ['no time at all', '{leaseDurationSeconds: 0}', ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0']],
  [
    'fewer than no holders before',
    '{leaseTransitions: -1}',
    ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
  ],
  ['a strategy', '{strategy: OldestEmulationVersion, preferredHolder: b}', []],
  ['a strategy of somebody', '{strategy: example.com/mine}', []],
  [
    'a strategy that there is not',
    '{strategy: Newest}',
    ['spec.strategy.strategy: Unsupported value: "Newest": supported values: "OldestEmulationVersion"'],
  ],
  [
    'a preference without a strategy',
    '{preferredHolder: b}',
    ['spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined'],
  ],
])('leases: %s', (_, spec, errors) => {
  expect(messages(validateLease(decodeManifest('coordination/v1.Lease', `metadata: {name: l}\nspec: ${spec}`)))).toEqual(errors);
});
