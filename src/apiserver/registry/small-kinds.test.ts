// ConfigMaps, secrets, service accounts and leases through the API.

import { describe, expect, test } from 'vitest';

import { Api, outcome } from '../testing/api.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const t = serverPerTest();
const api = new Api(t);

const path = (resource: string): string => `/api/v1/namespaces/default/${resource}`;
const manifest = (kind: string, more = '', apiVersion = 'v1'): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: a}\n${more}`;

describe('config maps', () => {
  test('that are immutable can only be deleted', async () => {
    const at = `${path('configmaps')}/a`;
    await api.post(path('configmaps'), manifest('ConfigMap', 'immutable: true\ndata: {k: v}'));
    expect(outcome(await api.patch(at, { data: { k: 'w' } }))).toBe(
      '422 Invalid: ConfigMap "a" is invalid: data: Forbidden: field is immutable when `immutable` is set',
    );
    expect(outcome(await api.patch(at, { immutable: false }))).toBe(
      '422 Invalid: ConfigMap "a" is invalid: immutable: Forbidden: field is immutable when `immutable` is set',
    );
    expect((await api.patch(at, { metadata: { labels: { x: 'z' } } })).code).toBe(200);
    expect((await api.delete(at)).json).toMatchObject({
      kind: 'Status',
      details: { name: 'a', kind: 'configmaps' },
    });
  });
});

describe('secrets', () => {
  test('store stringData as data', async () => {
    const { json } = await api.post(
      path('secrets'),
      manifest('Secret', 'stringData: {k: v}\ndata: {k: eA==, o: eA==}'),
    );
    expect(json).toMatchObject({ type: 'Opaque', data: { k: 'dg==', o: 'eA==' } });
    expect(json).not.toHaveProperty('stringData');
    expect(json.metadata.generation).toBeUndefined();
  });

  test('have an immutable type', async () => {
    await api.post(path('secrets'), manifest('Secret', 'type: example.com/x'));
    expect(outcome(await api.patch(`${path('secrets')}/a`, { type: 'Opaque' }))).toBe(
      '422 Invalid: Secret "a" is invalid: type: Invalid value: "Opaque": field is immutable',
    );
  });

  test('can be selected by their type', async () => {
    await api.post(path('secrets'), manifest('Secret', 'type: example.com/x'));
    const names = async (type: string) =>
      (await api.get(`${path('secrets')}?fieldSelector=type=${type}`)).json.items.map(
        ({ metadata }) => metadata.name,
      );
    expect(await names('example.com/x')).toEqual(['a']);
    expect(await names('Opaque')).toEqual([]);
  });
});

describe('service accounts', () => {
  test('keep only the names of their secrets', async () => {
    const secrets =
      'secrets: [{name: s, namespace: other, kind: Secret}]\nimagePullSecrets: [{name: p}]';
    const { json } = await api.post(path('serviceaccounts'), manifest('ServiceAccount', secrets));
    expect(json).toMatchObject({ secrets: [{ name: 's' }], imagePullSecrets: [{ name: 'p' }] });
    expect((json as { secrets?: unknown }).secrets).toEqual([{ name: 's' }]);
  });

  test('that get the annotation for mountable secrets cause one warning', async () => {
    const at = `${path('serviceaccounts')}/a`;
    const annotations = { 'kubernetes.io/enforce-mountable-secrets': 'true' };
    const created = await api.post(path('serviceaccounts'), manifest('ServiceAccount'));
    expect(created.warnings).toEqual([]);
    expect((await api.patch(at, { metadata: { annotations } })).warnings).toEqual([
      'metadata.annotations[kubernetes.io/enforce-mountable-secrets]: deprecated in v1.32+; ' +
        'prefer separate namespaces to isolate access to mounted secrets',
    ]);
    const later = await api.patch(at, { metadata: { labels: { a: 'b' } } });
    expect(later.warnings).toEqual([]);
  });

  test('are returned when they are deleted', async () => {
    const { json } = await api.post(path('serviceaccounts'), manifest('ServiceAccount'));
    expect((await api.delete(`${path('serviceaccounts')}/a`)).json).toMatchObject({
      kind: 'ServiceAccount',
      metadata: { uid: json.metadata.uid },
    });
  });
});

describe('leases', () => {
  const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
  const lease = (spec: string): string =>
    manifest('Lease', `spec: ${spec}`, 'coordination.k8s.io/v1');

  test('can be created by PUT', async () => {
    expect((await api.put(`${leases}/a`, lease('{holderIdentity: me}'))).code).toBe(201);
  });

  test('require a resourceVersion for renewal', async () => {
    const { json } = await api.post(
      leases,
      lease('{holderIdentity: me, renewTime: "2026-01-01T00:00:00.000000Z"}'),
    );
    expect(outcome(await api.put(`${leases}/a`, lease('{holderIdentity: you}')))).toBe(
      '422 Invalid: leases.coordination.k8s.io "a" is invalid: metadata.resourceVersion: ' +
        'Invalid value: 0: must be specified for an update',
    );
    expect((await api.put(`${leases}/a`, { ...json, spec: { holderIdentity: 'you' } })).code).toBe(
      200,
    );
    expect(
      outcome(await api.put(`${leases}/a`, { ...json, spec: { holderIdentity: 'me' } })),
    ).toMatch(/^409 Conflict: /);
  });

  test('may be released', async () => {
    await api.post(leases, lease('{holderIdentity: me, leaseDurationSeconds: 15}'));
    const { json } = await api.patch(`${leases}/a`, {
      spec: { holderIdentity: '', leaseDurationSeconds: 1 },
    });
    expect(json.spec).toEqual({ holderIdentity: '', leaseDurationSeconds: 1 });
  });
});
