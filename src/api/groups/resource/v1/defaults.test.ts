import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as resource from './types.ts';

const requests = (request: object): object => ({
  devices: {
    requests: [
      { name: 'one', exactly: { deviceClassName: 'gpus', ...request } },
      { name: 'any', firstAvailable: [{ name: 'first', deviceClassName: 'gpus', ...request }] },
    ],
  },
});

test.each([
  [{}, { allocationMode: 'ExactCount', count: 1 }],
  [
    { allocationMode: '', count: 0 },
    { allocationMode: 'ExactCount', count: 1 },
  ],
  [{ count: 3 }, { allocationMode: 'ExactCount', count: 3 }],
  [{ allocationMode: 'All' }, { allocationMode: 'All' }],
  [{ allocationMode: 'Some' }, { allocationMode: 'Some' }],
  [
    { tolerations: [{ key: 'a' }, { key: 'b', operator: 'Exists' }, { operator: '' }] },
    {
      allocationMode: 'ExactCount',
      count: 1,
      tolerations: [
        { key: 'a', operator: 'Equal' },
        { key: 'b', operator: 'Exists' },
        { key: undefined, operator: 'Equal' },
      ],
    },
  ],
])('of a request with %j', (given, expected) => {
  const claim = variation<resource.ResourceClaim>('resource/v1.ResourceClaim', {
    spec: requests(given),
  })();
  const template = variation<resource.ResourceClaimTemplate>('resource/v1.ResourceClaimTemplate', {
    spec: { spec: requests(given) },
  })();
  for (const { devices } of [claim.spec, template.spec.spec]) {
    const [one, any] = devices.requests ?? [];
    expect(one?.exactly).toEqual({ deviceClassName: 'gpus', ...expected });
    expect(any?.firstAvailable).toEqual([{ name: 'first', deviceClassName: 'gpus', ...expected }]);
  }
});

test('of tolerations in what was allocated', () => {
  const results = [
    { request: 'one', driver: 'd', pool: 'p', device: 'x', tolerations: [{ key: 'a' }] },
  ];
  const claim = variation<resource.ResourceClaim>('resource/v1.ResourceClaim', {
    status: { allocation: { devices: { results } } },
  })();
  expect(claim.status.allocation?.devices.results?.[0]?.tolerations).toEqual([
    { key: 'a', operator: 'Equal' },
  ]);
});
