// Errors of leases, with upstream's messages.

import { expect, test } from 'vitest';

import { messages } from '#api/testing/manifest.ts';
import { rows, variation } from '#api/testing/variation.ts';
import type * as coordination from './types.ts';
import { validateLease } from './validation.ts';

const lease = variation<coordination.Lease>('coordination/v1.Lease', {
  metadata: { name: 'l', namespace: 'default' },
  spec: {},
});
const QUALIFIED =
  "a valid label key must consist of alphanumeric characters, '-', '_' or '.', " +
  "and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name', " +
  " or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') " +
  "with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')";
const PREFERENCE =
  'spec.preferredHolder: Forbidden: may only be specified if `strategy` is defined';

test.each(
  rows<[spec: object, errors: readonly string[]]>([
    [{}, []],
    [
      {
        holderIdentity: 'a',
        leaseDurationSeconds: 15,
        leaseTransitions: 0,
        acquireTime: '2026-01-01T00:00:00.000000Z',
      },
      [],
    ],
    // The lease is released.
    [{ holderIdentity: '', leaseDurationSeconds: 1 }, []],
    [
      { leaseDurationSeconds: 0 },
      ['spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0'],
    ],
    [
      { leaseDurationSeconds: -1 },
      ['spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0'],
    ],
    [
      { leaseTransitions: -1 },
      ['spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0'],
    ],
    [
      { leaseDurationSeconds: -1, leaseTransitions: -1 },
      [
        'spec.leaseDurationSeconds: Invalid value: -1: must be greater than 0',
        'spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0',
      ],
    ],
    [{ strategy: 'OldestEmulationVersion' }, []],
    [{ strategy: 'OldestEmulationVersion', preferredHolder: 'b' }, []],
    [{ strategy: 'example.com/mine' }, []],
    [
      { strategy: 'foo' },
      [
        'spec.strategy.strategy: Unsupported value: "foo": supported values: "OldestEmulationVersion"',
      ],
    ],
    [
      { strategy: 'foo/bar/baz' },
      [`spec.strategy.strategy: Invalid value: "foo/bar/baz": ${QUALIFIED}`],
    ],
    [{ preferredHolder: 'b' }, [PREFERENCE]],
    [{ preferredHolder: '' }, []],
    [
      { strategy: '', preferredHolder: 'b' },
      [
        'spec.strategy.strategy: Unsupported value: "": supported values: "OldestEmulationVersion"',
        PREFERENCE,
      ],
    ],
  ]),
)('leases: %s', (_, spec, errors) => {
  expect(messages(validateLease(lease({ spec })))).toEqual(errors);
});
