// Services that older servers have stored: as they are read, and updated.

import { expect, test } from 'vitest';

import { encodeForStorage } from '#api/machinery/codec/index.ts';
import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { completeStored } from './stored-services.ts';

const PATH = '/api/v1/namespaces/default/services';

const t = serverPerTest({ serviceCidr: '10.0.0.0/24' });
const api = new Api(t);

const stored = (spec: object) => ({
  kind: 'Service',
  apiVersion: 'v1',
  metadata: {
    name: 'old',
    namespace: 'default',
    resourceVersion: '',
    uid: '08675309-9376-9376-9376-086753099999',
    creationTimestamp: '2026-01-02T03:04:05Z',
  },
  spec,
  status: { loadBalancer: {} },
});

test('an update need not repeat what the service is completed with', async () => {
  const service = stored({
    type: 'ClusterIP',
    clusterIP: '10.0.0.9',
    sessionAffinity: 'None',
    ports: [{ port: 81, protocol: 'TCP', targetPort: 81 }],
  });
  await t.storage.create('/registry/services/specs/default/old', encodeForStorage(service));
  const complete = {
    clusterIP: '10.0.0.9',
    clusterIPs: ['10.0.0.9'],
    ipFamilies: ['IPv4'],
    ipFamilyPolicy: 'SingleStack',
  };
  expect((await api.get(`${PATH}/old`)).json.spec).toMatchObject(complete);
  const { items } = (await api.get(PATH)).json;
  expect(items.find(({ metadata }) => metadata.name === 'old')?.spec).toMatchObject(complete);
  const updated = await api.put(`${PATH}/old`, service);
  expect(outcome(updated)).toBe('200');
  expect(updated.json.spec).toMatchObject(complete);
});

test.each<[what: string, spec: object, expected: object]>([
  [
    'a headless one',
    { clusterIP: 'None', selector: { a: 'b' } },
    { clusterIPs: ['None'], ipFamilyPolicy: 'SingleStack', ipFamilies: ['IPv6'] },
  ],
  [
    'a headless one with endpoints of its own',
    { clusterIP: 'None' },
    { clusterIPs: ['None'], ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv6', 'IPv4'] },
  ],
  [
    'one with two addresses',
    { clusterIP: '10.0.0.1', clusterIPs: ['10.0.0.1', 'fd00::1'] },
    { ipFamilyPolicy: 'RequireDualStack', ipFamilies: ['IPv4', 'IPv6'] },
  ],
])('%s gets its families', (_, spec, expected) => {
  const service = stored({ type: 'ClusterIP', ...spec });
  const complete = stored({ type: 'ClusterIP', ...spec, ...expected });
  expect(completeStored(service, 'IPv6')).toEqual(complete);
  expect(completeStored(complete, 'IPv4')).toBe(complete);
});

test('one elsewhere has neither addresses nor an internal traffic policy', () => {
  const elsewhere = { type: 'ExternalName', externalName: 'example.com' };
  const service = stored({ ...elsewhere, internalTrafficPolicy: 'Cluster' });
  expect(completeStored(service, 'IPv4')).toEqual(stored(elsewhere));
});
