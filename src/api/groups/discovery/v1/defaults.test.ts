import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as discovery from './types.ts';

test('of ports', () => {
  const of = variation<discovery.EndpointSlice>('discovery/v1.EndpointSlice', {
    addressType: 'IPv4',
  });
  expect(
    of({ ports: [{ port: 80 }, { name: 'dns', protocol: 'UDP', port: 53 }, {}] }).ports,
  ).toEqual([
    { name: '', protocol: 'TCP', port: 80 },
    { name: 'dns', protocol: 'UDP', port: 53 },
    { name: '', protocol: 'TCP' },
  ]);
});
