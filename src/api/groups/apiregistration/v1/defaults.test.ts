import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as apiregistration from './types.ts';

test('of services', () => {
  const of = variation<apiregistration.APIService>('apiregistration/v1.APIService', {
    spec: { version: 'v1' },
  });
  expect(of().spec).not.toHaveProperty('service');
  expect(of({ spec: { service: { name: 'a', namespace: 'b' } } }).spec.service?.port).toBe(443);
  expect(
    of({ spec: { service: { name: 'a', namespace: 'b', port: 8443 } } }).spec.service?.port,
  ).toBe(8443);
});
