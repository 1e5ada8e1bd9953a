import { expect, test } from 'vitest';
import {
  claimFromBeta,
  claimToBeta,
  sliceFromBeta,
  sliceToBeta,
  templateToBeta,
} from './conversion.ts';

const claim = {
  metadata: { name: 'a' },
  spec: {
    devices: {
      requests: [
        { name: 'r', exactly: { deviceClassName: 'c', allocationMode: 'All', capacity: {} } },
        { name: 's', firstAvailable: [{ name: 'x', deviceClassName: 'd' }] },
      ],
      constraints: [{ matchAttribute: 'a/b' }],
    },
  },
  status: {},
} as const;

test('a round trip changes nothing, not even the order of fields', () => {
  const beta = claimToBeta(claim);
  expect(Object.keys(beta)).toEqual(['metadata', 'spec', 'status']);
  expect(JSON.stringify(claimFromBeta(beta as never))).toBe(JSON.stringify(claim));
  const slice = {
    metadata: { name: 'a' },
    spec: {
      driver: 'd',
      pool: { name: 'p', generation: 1, resourceSliceCount: 1 },
      allNodes: true,
      devices: [{ name: 'x', attributes: { a: { int: 1 } } }],
      perDeviceNodeSelection: false,
    },
  };
  const betaSlice = sliceToBeta(slice);
  expect(betaSlice).toMatchObject({
    spec: { devices: [{ name: 'x', basic: { attributes: { a: { int: 1 } } } }] },
  });
  expect(JSON.stringify(sliceFromBeta(betaSlice as never))).toBe(JSON.stringify(slice));
});

test('fields of both forms of a request are kept, so that validation sees them', () => {
  const firstAvailable = [{ name: 'x', deviceClassName: 'd' }];
  const requests = [{ name: 'r', deviceClassName: '', count: 2, firstAvailable }];
  expect(claimFromBeta({ spec: { devices: { requests } } })).toEqual({
    spec: {
      devices: {
        requests: [{ name: 'r', exactly: { deviceClassName: '', count: 2 }, firstAvailable }],
      },
    },
  });
});

test('parts of objects, as managed fields have them, are converted', () => {
  expect(claimToBeta({})).toEqual({});
  expect(claimToBeta({ kind: 'ResourceClaim', apiVersion: 'resource.k8s.io/v1' })).toEqual({});
  expect(claimToBeta({ spec: {} } as never)).toEqual({ spec: {} });
  expect(templateToBeta({ spec: { spec: { devices: { requests: [] } } } })).toEqual({
    spec: { spec: { devices: { requests: [] } } },
  });
});
