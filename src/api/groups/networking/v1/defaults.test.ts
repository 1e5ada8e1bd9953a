import { expect, test } from 'vitest';

import { variation } from '#api/testing/variation.ts';
import type * as networking from './types.ts';

test('of policies', () => {
  const of = variation<networking.NetworkPolicy>('networking/v1.NetworkPolicy', {
    spec: { podSelector: {} },
  });
  const port = { port: 80 };
  const filled = { protocol: 'TCP', port: 80 };
  expect(of().spec).toEqual({ podSelector: {}, policyTypes: ['Ingress'] });
  expect(of({ spec: { ingress: [{ ports: [port] }] } }).spec).toMatchObject({
    ingress: [{ ports: [filled] }],
    policyTypes: ['Ingress'],
  });
  expect(of({ spec: { egress: [{ ports: [port, { protocol: 'UDP' }] }] } }).spec).toMatchObject({
    egress: [{ ports: [filled, { protocol: 'UDP' }] }],
    policyTypes: ['Ingress', 'Egress'],
  });
  expect(of({ spec: { egress: [{}], policyTypes: ['Egress'] } }).spec.policyTypes).toEqual([
    'Egress',
  ]);
  expect(of({ spec: { egress: [], policyTypes: [] } }).spec.policyTypes).toEqual(['Ingress']);
});

test('of classes', () => {
  const of = variation<networking.IngressClass>('networking/v1.IngressClass', {
    spec: { controller: 'a.b/c' },
  });
  const parameters = { kind: 'K', name: 'n' };
  expect(of().spec).toEqual({ controller: 'a.b/c' });
  expect(of({ spec: { parameters } }).spec.parameters).toEqual({ ...parameters, scope: 'Cluster' });
  expect(
    of({ spec: { parameters: { ...parameters, scope: 'Namespace' } } }).spec.parameters?.scope,
  ).toBe('Namespace');
});
