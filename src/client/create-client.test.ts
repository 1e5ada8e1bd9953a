import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { describe, expect, test } from 'vitest';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import { createClient } from './create-client.ts';
import { createInProcessTransport } from './in-process.ts';
import { FakeServer } from './testing/fake-server.ts';

const type = (
  group: string,
  resource: string,
  kind: string,
  namespaced: boolean,
): ResourceType<KubeObject> => ({
  group,
  version: 'v1',
  resource,
  singular: kind.toLowerCase(),
  kind,
  namespaced,
  shortNames: [],
  categories: [],
});
const things = type('', 'objects', 'Thing', true);
const sets = type('apps', 'sets', 'Set', true);
const nodes = type('', 'nodes', 'Node', false);

const client = createClient(createInProcessTransport({ handler: new FakeServer().handler }));
/** Returns the request as the server received it: method, path and query, and the body. */
const heard = async (call: Promise<unknown>): Promise<[string, unknown]> => {
  const { method, path, query, sent } = (await call) as {
    method: string;
    path: string;
    query: Record<string, string>;
    sent: unknown;
  };
  const text = new URLSearchParams(query).toString();
  return [`${method} ${path}${text && `?${text}`}`, sent];
};

describe('createClient', () => {
  test('uses the paths of core and other groups, namespaced and cluster-scoped', async () => {
    const inX = client.resource(things).namespace('x');
    expect(await heard(inX.get('a', { resourceVersion: '0' }))).toEqual([
      'GET /api/v1/namespaces/x/objects/a?resourceVersion=0',
      null,
    ]);
    expect(await heard(client.resource(sets).namespace('x').get('a'))).toEqual([
      'GET /apis/apps/v1/namespaces/x/sets/a',
      null,
    ]);
    expect(await heard(client.resource(nodes).get('n/1'))).toEqual([
      'GET /api/v1/nodes/n%2F1',
      null,
    ]);
    expect(
      await heard(client.resource(things).list({ labelSelector: 'a in (b)', limit: 5 })),
    ).toEqual(['GET /api/v1/objects?labelSelector=a+in+%28b%29&limit=5', null]);
    expect(await heard(inX.list())).toEqual(['GET /api/v1/namespaces/x/objects', null]);
  });

  test('sends objects with their type, in their namespace', async () => {
    const a = { metadata: { name: 'a', namespace: 'x' } };
    const sent = { apiVersion: 'v1', kind: 'Thing', ...a };
    expect(await heard(client.resource(things).create(a, { dryRun: 'All' }))).toEqual([
      'POST /api/v1/namespaces/x/objects?dryRun=All',
      sent,
    ]);
    expect(await heard(client.resource(things).update(a))).toEqual([
      'PUT /api/v1/namespaces/x/objects/a',
      sent,
    ]);
    expect(await heard(client.resource(things).updateStatus(a))).toEqual([
      'PUT /api/v1/namespaces/x/objects/a/status',
      sent,
    ]);
    const typed = { apiVersion: 'apps/v1', kind: 'Set', metadata: { name: 'b' } };
    expect((await heard(client.resource(sets).namespace('y').create(typed)))[1]).toBe(typed);
    expect((await heard(client.resource(nodes).update({ metadata: { name: 'n' } })))[0]).toBe(
      'PUT /api/v1/nodes/n',
    );
  });

  test('patches, deletes and calls subresources', async () => {
    const inX = client.resource(things).namespace('x');
    expect(
      await heard(
        inX.patch(
          'a',
          'application/merge-patch+json',
          { spec: 1 },
          { subresource: 'status', fieldManager: 'me' },
        ),
      ),
    ).toEqual(['PATCH /api/v1/namespaces/x/objects/a/status?fieldManager=me', { spec: 1 }]);
    const options = { kind: 'DeleteOptions', apiVersion: 'v1' };
    expect(await heard(inX.delete('a'))).toEqual([
      'DELETE /api/v1/namespaces/x/objects/a',
      options,
    ]);
    const uid = {
      preconditions: { uid: '1' },
      propagationPolicy: 'Orphan',
      gracePeriodSeconds: 0,
    } as const;
    expect(await heard(inX.delete('a', { ...uid, dryRun: 'All' }))).toEqual([
      'DELETE /api/v1/namespaces/x/objects/a',
      { ...options, ...uid, dryRun: ['All'] },
    ]);
    expect(
      await heard(inX.deleteCollection({ labelSelector: 'a=b', propagationPolicy: 'Background' })),
    ).toEqual([
      'DELETE /api/v1/namespaces/x/objects?labelSelector=a%3Db',
      { ...options, propagationPolicy: 'Background' },
    ]);
    expect(await heard(inX.subresource('a', 'binding', { target: 'n' }))).toEqual([
      'POST /api/v1/namespaces/x/objects/a/binding',
      { target: 'n' },
    ]);
    expect(await heard(inX.subresource('a', 'scale', undefined, { method: 'GET' }))).toEqual([
      'GET /api/v1/namespaces/x/objects/a/scale',
      null,
    ]);
  });

  test('rejects invalid calls', async () => {
    expect(() => client.resource(nodes).namespace('x')).toThrow('not namespaced');
    await expect(client.resource(things).get('a')).rejects.toThrow('requires a namespace');
    await expect(client.resource(things).create({ metadata: { name: 'a' } })).rejects.toThrow(
      'requires a namespace',
    );
    await expect(client.resource(things).namespace('x').delete('')).rejects.toThrow(
      'a name is required',
    );
  });
});
