// Bodies that are too long, too deep, malformed, or full of names that mean something in
// JavaScript.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Answer, type SecuredCluster, startSecuredCluster } from './cluster.ts';

const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const MEBIBYTE = 1024 * 1024;

let cluster: SecuredCluster;
beforeAll(async () => {
  cluster = await startSecuredCluster();
});
afterAll(async () => {
  expect((await cluster.request({ path: '/readyz' })).code).toBe(200);
  await cluster.stop();
});

const create = (body: string | Buffer | object, type = 'application/json'): Promise<Answer> =>
  cluster.request({ method: 'POST', path: CONFIG_MAPS, body, headers: { 'content-type': type } });

describe('limits', () => {
  test('a body of more than 3 MiB is 413, and the next request is served', async () => {
    const answer = await create('x'.repeat(3 * MEBIBYTE + 1));
    expect(answer.summary).toMatch(/^413 /);
    expect(answer.json).toMatchObject({ kind: 'Status', reason: 'RequestEntityTooLarge' });
  });

  test.each([
    ['lists', '['.repeat(3 * MEBIBYTE - 10)],
    ['objects', '{"a":'.repeat(600_000)],
    ['lists in a field', `{"apiVersion":"v1","kind":"ConfigMap","data":${'['.repeat(MEBIBYTE)}`],
    [
      'closed objects in a field',
      `{"metadata":{"name":"deep"},"data":${'{"a":'.repeat(400_000)}1${'}'.repeat(400_000)}}`,
    ],
  ])('nested %s are 400', async (_, body) => {
    expect(await create(body)).toMatchObject({
      code: 400,
      json: { kind: 'Status', reason: 'BadRequest' },
    });
  });

  test.each([
    ['application/merge-patch+json', `${'{"data":'.repeat(300_000)}1${'}'.repeat(300_000)}`],
    [
      'application/strategic-merge-patch+json',
      `${'{"metadata":'.repeat(200_000)}1${'}'.repeat(200_000)}`,
    ],
    ['application/apply-patch+yaml', `${'{"metadata":'.repeat(200_000)}1${'}'.repeat(200_000)}`],
    [
      'application/json-patch+json',
      `[{"op":"add","path":"/data","value":${'['.repeat(500_000)}${']'.repeat(500_000)}}]`,
    ],
  ])('a deep %s is an error of the client', async (type, body) => {
    await create({ metadata: { name: 'patched' }, data: { a: 'b' } });
    const path = `${CONFIG_MAPS}/patched${type.includes('apply') ? '?fieldManager=test' : ''}`;
    const { code, json } = await cluster.request({
      method: 'PATCH',
      path,
      body,
      headers: { 'content-type': type },
    });
    expect(json).toMatchObject({ kind: 'Status', status: 'Failure' });
    expect([400, 413, 415, 422]).toContain(code);
    expect((await cluster.request({ path: `${CONFIG_MAPS}/patched` })).json.data).toEqual({
      a: 'b',
    });
  });

  test('a JSON patch of more than 10,000 operations is 413', async () => {
    await create({ metadata: { name: 'operations' } });
    const body = JSON.stringify(
      Array.from({ length: 10_001 }, () => ({ op: 'test', path: '/kind', value: 'ConfigMap' })),
    );
    const headers = { 'content-type': 'application/json-patch+json' };
    const answer = await cluster.request({
      method: 'PATCH',
      path: `${CONFIG_MAPS}/operations`,
      body,
      headers,
    });
    expect(answer.summary).toMatch(/^413 .*10000/);
  });
});

/** Names with a meaning in JavaScript. */
const NAMES = [
  '__proto__',
  'constructor',
  'prototype',
  'hasOwnProperty',
  'toString',
  'valueOf',
  '__defineGetter__',
  'toJSON',
  'then',
  'length',
];
/**
 * An object text with a member of that name, which JSON.stringify could not write for `__proto__`.
 */
const member = (name: string, value: string): string => `{${JSON.stringify(name)}:${value}}`;

describe.each(NAMES)('the name %s', (name) => {
  const object = name.toLowerCase().replaceAll(/[^a-z]/g, '');
  const untouched = (): void => {
    const plain: Record<string, unknown> = {};
    expect([plain['polluted'], Object.keys(Object.prototype)]).toEqual([undefined, []]);
  };

  test('is plain data in data, labels and annotations', async () => {
    const valid = /^[A-Za-z]/.test(name);
    const labels = valid ? member(name, '"v"') : '{}';
    const body =
      `{"metadata":{"name":"n-${object}","labels":${labels},"annotations":${labels}},` +
      `"data":${member(name, '"polluted"')}}`;
    const answer = await create(body);
    expect(answer.code).toBe(201);
    expect(answer.text).toContain(`${JSON.stringify(name)}:"polluted"`);
    const got = await cluster.request({ path: `${CONFIG_MAPS}/n-${object}` });
    expect(Object.hasOwn(got.json.data, name)).toBe(true);
    if (valid) {
      const selected = await cluster.request({ path: `${CONFIG_MAPS}?labelSelector=${name}` });
      expect(selected.json.items.map((item) => item.metadata.name)).toEqual([`n-${object}`]);
    }
    untouched();
  });

  test('is an unknown field elsewhere', async () => {
    const body =
      `{"metadata":{"name":"u-${object}",${member(name, '{"polluted":"yes"}').slice(1, -1)}` +
      `},${member(name, '{"polluted":"yes"}').slice(1)}`;
    const strict = await cluster.request({
      method: 'POST',
      path: `${CONFIG_MAPS}?fieldValidation=Strict`,
      body,
    });
    expect(strict.summary).toMatch(/^400 .*unknown field/);
    expect((await create(body)).code).toBe(201);
    const { text } = await cluster.request({ path: `${CONFIG_MAPS}/u-${object}` });
    expect(text).not.toContain('polluted');
    untouched();
  });

  test.each([
    ['application/merge-patch+json', (value: string) => `{"data":${member(name, value)}}`],
    [
      'application/strategic-merge-patch+json',
      (value: string) => `{"data":${member(name, value)}}`,
    ],
    [
      'application/json-patch+json',
      (value: string) => `[{"op":"add","path":"/data/${name}","value":${value}}]`,
    ],
    [
      'application/apply-patch+yaml',
      (value: string) => `{"apiVersion":"v1","kind":"ConfigMap","data":${member(name, value)}}`,
    ],
  ])('is plain data in a %s', async (type, patch) => {
    const path = `${CONFIG_MAPS}/p-${object}-${type.length}`;
    if (!type.includes('apply'))
      await create({
        metadata: { name: path.slice(path.lastIndexOf('/') + 1) },
        data: { kept: 'a' },
      });
    const query = type.includes('apply') ? '?fieldManager=t' : '';
    const headers = { 'content-type': type };
    const answer = await cluster.request({
      method: 'PATCH',
      path: path + query,
      body: patch('"v"'),
      headers,
    });
    // JSON patch refuses a path through a prototype; everything else keeps the name as data.
    if (answer.code >= 400) expect([400, 422]).toContain(answer.code);
    else expect(Object.hasOwn((await cluster.request({ path })).json.data, name)).toBe(true);
    const nested = await cluster.request({
      method: 'PATCH',
      path: path + query,
      body: patch('{"polluted":"yes"}'),
      headers,
    });
    expect([400, 422]).toContain(nested.code);
    untouched();
  });

  test('finds nothing as an object, a namespace, a resource, a group and a selector', async () => {
    const list = await cluster.request({ path: `${CONFIG_MAPS}?fieldSelector=${name}%3Dx` });
    expect(list.summary).toMatch(/^400 .*not a known field selector/);
    for (const path of [
      `/api/v1/${name}`,
      `/apis/${name}`,
      `/apis/${name}/v1`,
      `/apis/apps/${name}`,
      `/${name}`,
      `${CONFIG_MAPS}/x/${name}`,
    ]) {
      expect([404, 403], path).toContain((await cluster.request({ path })).code);
    }
    const valid = /^[a-z]+$/.test(name);
    expect((await cluster.request({ path: `${CONFIG_MAPS}/${name}` })).code).toBe(404);
    if (valid)
      expect((await cluster.request({ path: `/api/v1/namespaces/${name}` })).code).toBe(404);
  });
});

describe('protobuf', () => {
  const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
  const malformed: readonly (readonly [string, Buffer])[] = [
    ['nothing', Buffer.alloc(0)],
    ['another magic', Buffer.from('k8s\u0001')],
    ['the magic alone', magic],
    ['a cut tag', Buffer.concat([magic, Buffer.from([0x0a])])],
    [
      'a length beyond the end',
      Buffer.concat([magic, Buffer.from([0x12, 0xff, 0xff, 0xff, 0x7f])]),
    ],
    ['an endless number', Buffer.concat([magic, Buffer.alloc(64, 0xff)])],
    ['a group', Buffer.concat([magic, Buffer.from([0x0b, 0x0b, 0x0b])])],
    [
      'a length of 2^63',
      Buffer.concat([
        magic,
        Buffer.from([0x12, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01]),
      ]),
    ],
    ['field number 0', Buffer.concat([magic, Buffer.from([0x00, 0x01])])],
    [
      'noise',
      Buffer.concat([
        magic,
        Buffer.from(Array.from({ length: 4096 }, (_, index) => (index * 131) % 256)),
      ]),
    ],
    ['deep nesting', Buffer.concat([magic, nestedMessage(4000)])],
  ];

  test.each(malformed)('%s is an error of the client', async (_, body) => {
    const { code, json } = await create(body, 'application/vnd.kubernetes.protobuf');
    // An envelope that decodes holds an object without a name.
    expect([code, json.reason]).toEqual(code === 422 ? [422, 'Invalid'] : [400, 'BadRequest']);
  });
});

/** A message in field 2 of a message, in field 2 of a message … */
function nestedMessage(depth: number): Buffer {
  let message = Buffer.alloc(0);
  for (let level = 0; level < depth; level++)
    message = Buffer.concat([Buffer.from([0x12]), varint(message.length), message]);
  return message;
}

function varint(value: number): Buffer {
  const bytes: number[] = [];
  for (; value > 0x7f; value = Math.floor(value / 128)) bytes.push((value % 128) + 128);
  return Buffer.from([...bytes, value]);
}
