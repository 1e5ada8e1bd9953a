// Warnings about addresses in statuses that are not in canonical form.

import { expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const BASE = '/api/v1/namespaces/default';

const t = serverPerTest();
const api = new Api(t);

const canonical = (at: string, address: string, better: string): string =>
  `${at}: IPv6 address "${address}" should be in RFC 5952 canonical format ("${better}")`;

test.each<[what: string, status: object, warnings: string[]]>([
  ['none', { phase: 'Running' }, []],
  [
    'good ones',
    {
      podIPs: [{ ip: '1.2.3.4' }],
      hostIP: '5.6.7.8',
      hostIPs: [{ ip: '5.6.7.8' }, { ip: 'fd00::5678' }],
    },
    [],
  ],
  [
    'others',
    {
      podIPs: [{ ip: 'FD00::1' }],
      hostIP: '5.6.7.8',
      hostIPs: [{ ip: '5.6.7.8' }, { ip: 'fd00:0::1' }],
    },
    [
      canonical('status.podIPs[0].ip', 'FD00::1', 'fd00::1'),
      canonical('status.hostIPs[1].ip', 'fd00:0::1', 'fd00::1'),
    ],
  ],
])('of pods: %s', async (_what, status, warnings) => {
  await api.post(
    `${BASE}/pods`,
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x}]}',
  );
  const changed = await api.patch(`${BASE}/pods/a/status`, { status });
  expect(outcome(changed)).toBe('200');
  expect(changed.warnings).toEqual(warnings);
});

test('of pods, where they are invalid', async () => {
  await api.post(
    `${BASE}/pods`,
    'apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: [{name: c, image: x}]}',
  );
  const changed = await api.patch(`${BASE}/pods/a/status`, {
    status: { podIPs: [{ ip: '01.02.03.04' }] },
  });
  expect(outcome(changed)).toContain(
    'status.podIPs[0]: Invalid value: "01.02.03.04": must not have leading 0s',
  );
});

test.each<[what: string, ingress: object[], warnings: string[]]>([
  ['none', [], []],
  ['good ones', [{ ip: '1.2.3.4' }, { hostname: 'lb.example.com' }], []],
  [
    'others',
    [{ ip: '1.2.3.4' }, { ip: 'FD00::1' }],
    [canonical('status.loadBalancer.ingress[1]', 'FD00::1', 'fd00::1')],
  ],
])('of services: %s', async (_what, ingress, warnings) => {
  await api.post(
    `${BASE}/services`,
    'apiVersion: v1\nkind: Service\nmetadata: {name: a}\nspec: {type: LoadBalancer, ports: [{port: 80}]}',
  );
  const changed = await api.patch(`${BASE}/services/a/status`, {
    status: { loadBalancer: { ingress } },
  });
  expect(outcome(changed)).toBe('200');
  expect(changed.warnings).toEqual(warnings);
});
