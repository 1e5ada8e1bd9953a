import { describe, expect, test } from 'vitest';

import { configMaps } from '#api/groups/core/v1/index.ts';
import type { Random } from '#machinery/random.ts';
import { send } from '../testing/requests.ts';
import { startTestServer } from '../testing/server.ts';
import { serverPerTest } from '../testing/server-per-test.ts';

const PATH = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, more: object = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  ...more,
});

const t = serverPerTest();

describe('create', () => {
  test('fills in the server’s fields', async () => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: configMap('a', { data: { k: 'v' } }),
    });
    expect(code).toBe(201);
    expect(json).toEqual({
      kind: 'ConfigMap',
      apiVersion: 'v1',
      metadata: {
        name: 'a',
        namespace: 'default',
        uid: expect.stringMatching(/^[0-9a-f-]{36}$/),
        resourceVersion: expect.stringMatching(/^[0-9]+$/),
        creationTimestamp: '2026-01-01T00:00:00Z',
        managedFields: [
          {
            manager: 'unknown',
            operation: 'Update',
            apiVersion: 'v1',
            time: '2026-01-01T00:00:00Z',
            fieldsType: 'FieldsV1',
            fieldsV1: { 'f:data': { '.': {}, 'f:k': {} } },
          },
        ],
      },
      data: { k: 'v' },
    });
  });

  test('ignores the client’s values for them', async () => {
    const metadata = {
      name: 'a',
      uid: 'mine',
      creationTimestamp: '2001-01-01T00:00:00Z',
      deletionTimestamp: '2001-01-01T00:00:00Z',
      deletionGracePeriodSeconds: 1,
      generation: 7,
      selfLink: '/x',
    };
    const { json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: { ...configMap('a'), metadata },
    });
    expect(json.metadata.uid).not.toBe('mine');
    expect(Object.keys(json.metadata).sort()).toEqual([
      'creationTimestamp',
      'name',
      'namespace',
      'resourceVersion',
      'uid',
    ]);
  });

  test('does not need kind and apiVersion, which are in the path', async () => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: { metadata: { name: 'a' } },
    });
    expect(code).toBe(201);
    expect(json).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1' });
  });

  test('rejects a second object of the same name', async () => {
    await send(t.server, { method: 'POST', path: PATH, body: configMap('a') });
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: configMap('a'),
    });
    expect(code).toBe(409);
    expect(json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "a" already exists',
      reason: 'AlreadyExists',
      details: { name: 'a', kind: 'configmaps' },
      code: 409,
    });
  });

  test('reports that the existing object is being deleted', async () => {
    const body = { ...configMap('a'), metadata: { name: 'a', finalizers: ['example.com/f'] } };
    await send(t.server, { method: 'POST', path: PATH, body });
    await send(t.server, { method: 'DELETE', path: `${PATH}/a` });
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: configMap('a'),
    });
    expect(code).toBe(409);
    expect(json.message).toBe('object is being deleted: configmaps "a" already exists');
  });

  test('rejects a resourceVersion', async () => {
    const body = { ...configMap('a'), metadata: { name: 'a', resourceVersion: '5' } };
    const { code, json } = await send(t.server, { method: 'POST', path: PATH, body });
    expect(code).toBe(400);
    expect(json.message).toBe('resourceVersion should not be set on objects to be created');
  });

  test('a dry run may have a resourceVersion', async () => {
    const { code } = await send(t.server, {
      method: 'POST',
      path: '/api/v1/namespaces/default/configmaps?dryRun=All',
      body: { metadata: { name: 'dry', resourceVersion: '999' } },
    });
    expect(code).toBe(201);
  });

  test.each([
    ['no name', {}, 'metadata.name: Required value: name or generateName is required'],
    [
      'a bad name',
      { name: 'A_b' },
      'metadata.name: Invalid value: "A_b": a lowercase RFC 1123 subdomain must consist of',
    ],
    [
      'a bad prefix',
      { generateName: 'A' },
      'metadata.generateName: Invalid value: "A": a lowercase RFC 1123 subdomain',
    ],
    [
      'a bad label',
      { name: 'a', labels: { 'a b': '' } },
      'metadata.labels: Invalid value: "a b": name part must consist of',
    ],
    [
      'an unknown finalizer',
      { name: 'a', finalizers: ['x'] },
      'name is neither a standard finalizer name nor is it fully qualified',
    ],
    [
      'an owner without uid',
      { name: 'a', ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: '' }] },
      'metadata.ownerReferences.uid: Invalid value: "": must not be empty',
    ],
  ])('rejects %s', async (_what, metadata, message) => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: { ...configMap('a'), metadata },
    });
    expect(code).toBe(422);
    expect(json.reason).toBe('Invalid');
    expect(json.message).toContain(message);
  });

  test('reports every problem as a cause', async () => {
    const metadata = { name: 'A', labels: { ' ': 'x' } };
    const { json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: { ...configMap('a'), metadata, data: { '/': '' } },
    });
    expect(json.message).toMatch(
      /^ConfigMap "A" is invalid: \[metadata.name: .*, metadata.labels: .*, data\[\/\]: .*\]$/,
    );
    expect(json.details?.causes?.length).toBeGreaterThanOrEqual(3);
  });

  test('rejects another namespace than that of the path', async () => {
    const body = { ...configMap('a'), metadata: { name: 'a', namespace: 'kube-system' } };
    const { code, json } = await send(t.server, { method: 'POST', path: PATH, body });
    expect(code).toBe(400);
    expect(json.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });

  test('rejects a namespace that does not exist', async () => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: '/api/v1/namespaces/none/configmaps',
      body: configMap('a'),
    });
    expect(code).toBe(404);
    expect(json.message).toBe('namespaces "none" not found');
  });

  test('rejects a terminating namespace, with the reason', async () => {
    await send(t.server, {
      method: 'POST',
      path: '/api/v1/namespaces',
      body: { metadata: { name: 'going' } },
    });
    await send(t.server, { method: 'DELETE', path: '/api/v1/namespaces/going' });
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: '/api/v1/namespaces/going/configmaps',
      body: configMap('a'),
    });
    expect(code).toBe(403);
    expect(json).toMatchObject({
      reason: 'Forbidden',
      message:
        'configmaps "a" is forbidden: unable to create new content in namespace going because it is being terminated',
      details: {
        causes: [
          {
            reason: 'NamespaceTerminating',
            message: 'namespace going is being terminated',
            field: 'metadata.namespace',
          },
        ],
      },
    });
  });

  test('a dry run passes every step and writes nothing', async () => {
    const path = `${PATH}?dryRun=All`;
    const { code, json } = await send(t.server, { method: 'POST', path, body: configMap('a') });
    expect(code).toBe(201);
    expect(json.metadata.uid).toBeDefined();
    expect((await send(t.server, { path: `${PATH}/a` })).code).toBe(404);
    expect((await send(t.server, { method: 'POST', path, body: configMap('A') })).code).toBe(422);
    await send(t.server, { method: 'POST', path: PATH, body: configMap('b') });
    expect((await send(t.server, { method: 'POST', path, body: configMap('b') })).code).toBe(409);
  });

  test('rejects an unknown kind of dry run', async () => {
    const { code, json } = await send(t.server, {
      method: 'POST',
      path: `${PATH}?dryRun=Some`,
      body: configMap('a'),
    });
    expect(code).toBe(422);
    expect(json.message).toContain('dryRun: Unsupported value');
  });
});

describe('generateName', () => {
  test('adds five random characters', async () => {
    const { json } = await send(t.server, {
      method: 'POST',
      path: PATH,
      body: { metadata: { generateName: 'job-' } },
    });
    expect(json.metadata.name).toMatch(/^job-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    expect(json.metadata.generateName).toBe('job-');
  });

  test('retries a limited number of times when a name is taken', async () => {
    let suffixes = ['aaaaa', 'aaaaa', 'bbbbb'];
    const random: Random = {
      float: () => 0,
      int: () => 0,
      uuid: () => 'uid',
      bytes: () => new Uint8Array(),
      nameSuffix: () => suffixes.shift() ?? 'aaaaa',
      derive: () => random,
    };
    const other = await startTestServer({ random });
    const create = () =>
      other.client
        .resource(configMaps)
        .namespace('default')
        .create({ metadata: { generateName: 'x-' } });
    expect((await create()).metadata.name).toBe('x-aaaaa');
    expect((await create()).metadata.name).toBe('x-bbbbb');
    suffixes = [];
    await expect(create()).rejects.toMatchObject({
      code: 409,
      reason: 'AlreadyExists',
      message:
        'configmaps "x-aaaaa" already exists, the server was not able to generate a unique name for the object',
    });
    await other.stop();
  });
});

describe('an object that its managed fields make too large for the storage', () => {
  /** Two thirds of the maximum size in keys, which the managed fields repeat. */
  const data = Object.fromEntries(
    Array.from({ length: 8000 }, (_, i) => [`${'k'.repeat(240)}${i}`, 'v']),
  );

  test('is created without them', async () => {
    const body = configMap('large', { data });
    const { code, json } = await send(t.server, { method: 'POST', path: PATH, body });
    expect(code, json.message).toBe(201);
    expect(json.metadata.managedFields).toBeUndefined();
    expect(json.data).toEqual(data);
  });

  test.each([
    ['an update', 'PUT', 'application/json'],
    ['a patch', 'PATCH', 'application/merge-patch+json'],
  ])('is written by %s without them', async (_name, method, type) => {
    await send(t.server, { method: 'POST', path: PATH, body: configMap('grown') });
    const { code, json } = await send(t.server, {
      method,
      path: `${PATH}/grown`,
      headers: { 'content-type': type },
      body: JSON.stringify(configMap('grown', { data })),
    });
    expect(code, json.message).toBe(200);
    expect(json.metadata.managedFields).toBeUndefined();
    expect(json.data).toEqual(data);
  });

  test('is rejected if it is too large without them', async () => {
    const twice = Object.fromEntries(
      Array.from({ length: 8000 }, (_, i) => [`${'k'.repeat(240)}${i}`, 'v'.repeat(120)]),
    );
    const body = configMap('larger', {
      data: twice,
      metadata: { name: 'larger', annotations: { a: 'x'.repeat(200_000) } },
    });
    const { code } = await send(t.server, { method: 'POST', path: PATH, body });
    expect(code).toBe(413);
  });

  test('is rejected by an apply, whose ownership would be lost', async () => {
    const { code } = await send(t.server, {
      method: 'PATCH',
      path: `${PATH}/applied?fieldManager=me`,
      headers: { 'content-type': 'application/apply-patch+yaml' },
      body: JSON.stringify(configMap('applied', { data })),
    });
    expect(code).toBe(413);
  });
});
