// Namespaces through the API: their deletion waits for all finalizers.

import { describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const PATH = '/api/v1/namespaces';

const t = serverPerTest();
const api = new Api(t);

const manifest = (name: string, more = ''): string =>
  `apiVersion: v1\nkind: Namespace\nmetadata: {name: ${name}}\n${more}`;
const namespace = async (name: string) => (await api.get(`${PATH}/${name}`)).json;

test('a new one is active, has its name as a label, and the server’s finalizer', async () => {
  const { json } = await api.post(
    PATH,
    manifest('a', 'spec: {finalizers: [example.com/x]}\nstatus: {phase: Terminating}'),
  );
  expect(json).toMatchObject({
    metadata: { labels: { 'kubernetes.io/metadata.name': 'a' } },
    spec: { finalizers: ['example.com/x', 'kubernetes'] },
    status: { phase: 'Active' },
  });
  expect(json.metadata.generation).toBeUndefined();
});

test.each<[name: string, more: string, problem: RegExp]>([
  [
    'A',
    '',
    /^422 Invalid: Namespace "A" is invalid: metadata\.name: Invalid value: "A": a lowercase RFC 1123 label must/,
  ],
  ['a.b', '', /metadata\.name: Invalid value: "a\.b": must not contain dots$/],
  [
    'a',
    'spec: {finalizers: [x]}',
    /spec\.finalizers: Invalid value: "x": name is neither a standard finalizer name nor is it fully qualified$/,
  ],
])('is rejected: %s %s', async (name, more, problem) => {
  expect(outcome(await api.post(PATH, manifest(name, more)))).toMatch(problem);
});

test('updates change neither its finalizers nor its phase, and its name stays a label', async () => {
  await api.post(PATH, manifest('a'));
  const { code } = await api.put(
    `${PATH}/a`,
    manifest('a', 'spec: {finalizers: []}\nstatus: {phase: Terminating}'),
  );
  expect(code).toBe(200);
  await api.patch(`${PATH}/a`, {
    metadata: { labels: { 'kubernetes.io/metadata.name': null, x: 'z' } },
  });
  expect(await namespace('a')).toMatchObject({
    metadata: { labels: { 'kubernetes.io/metadata.name': 'a', x: 'z' } },
    spec: { finalizers: ['kubernetes'] },
    status: { phase: 'Active' },
  });
});

describe('deletion', () => {
  test('marks it, and finalize completes the deletion', async () => {
    const { json } = await api.post(PATH, manifest('a'));
    const marked = await api.delete(`${PATH}/a`);
    expect(marked.code).toBe(200);
    expect(marked.json).toMatchObject({
      kind: 'Namespace',
      metadata: { uid: json.metadata.uid, deletionTimestamp: '2026-01-01T00:00:00Z' },
      status: { phase: 'Terminating' },
    });
    expect(marked.json.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
    // A second deletion changes nothing.
    expect((await api.delete(`${PATH}/a`)).json).toEqual(marked.json);
    const finalized = await api.put(`${PATH}/a/finalize`, { ...marked.json, spec: {} });
    expect(finalized.code).toBe(200);
    expect((await api.get(`${PATH}/a`)).code).toBe(404);
  });

  test('waits for other finalizers', async () => {
    await api.post(
      PATH,
      manifest('a').replace('name: a', 'name: a, finalizers: [example.com/hold]'),
    );
    await api.delete(`${PATH}/a`);
    await api.put(`${PATH}/a/finalize`, { ...(await namespace('a')), spec: {} });
    expect((await namespace('a')).spec).toEqual({});
    await api.patch(`${PATH}/a`, { metadata: { finalizers: null } });
    expect((await api.get(`${PATH}/a`)).code).toBe(404);
  });

  test.each(['default', 'kube-system', 'kube-public'])('does not happen to %s', async (name) => {
    const answer = outcome(await api.delete(`${PATH}/${name}`));
    expect(answer).toBe(
      `403 Forbidden: namespaces "${name}" is forbidden: this namespace may not be deleted`,
    );
  });

  test('of several at once is not served', async () => {
    expect((await api.delete(PATH)).code).toBe(405);
  });
});

describe('finalize', () => {
  test('changes only the spec', async () => {
    await api.post(PATH, manifest('a'));
    const finalizers = ['kubernetes', 'example.com/x'];
    const { json } = await api.put(
      `${PATH}/a/finalize`,
      manifest('a', `spec: {finalizers: [${finalizers.join(', ')}]}\nstatus: {phase: Terminating}`),
    );
    expect(json).toMatchObject({ spec: { finalizers }, status: { phase: 'Active' } });
  });

  test('requires names of finalizers', async () => {
    await api.post(PATH, manifest('a'));
    expect(
      outcome(
        await api.put(`${PATH}/a/finalize`, manifest('a', 'spec: {finalizers: [kubernetes, x]}')),
      ),
    ).toBe(
      '422 Invalid: Namespace "a" is invalid: spec.finalizers[1]: Invalid value: "x": name is ' +
        'neither a standard finalizer name nor is it fully qualified',
    );
  });
});

describe('status', () => {
  test('changes only the status', async () => {
    await api.post(PATH, manifest('a'));
    const conditions = [{ type: 'X', status: 'True' }];
    const { json } = await api.patch(`${PATH}/a/status`, {
      spec: { finalizers: [] },
      status: { conditions },
    });
    expect(json).toMatchObject({
      spec: { finalizers: ['kubernetes'] },
      status: { phase: 'Active', conditions },
    });
  });

  test('has the phase Terminating during a deletion', async () => {
    await api.post(PATH, manifest('a'));
    expect(outcome(await api.patch(`${PATH}/a/status`, { status: { phase: 'Terminating' } }))).toBe(
      '422 Invalid: Namespace "a" is invalid: status.Phase: Invalid value: "Terminating": may ' +
        `only be 'Active' if \`deletionTimestamp\` is empty`,
    );
    await api.delete(`${PATH}/a`);
    expect(outcome(await api.patch(`${PATH}/a/status`, { status: { phase: 'Active' } }))).toContain(
      "may only be 'Terminating' if `deletionTimestamp` is not empty",
    );
  });
});

test.each<[selector: string, names: string[]]>([
  ['metadata.name=a', ['a']],
  ['status.phase=Terminating', ['b']],
])('namespaces are selected by %s', async (selector, names) => {
  await api.post(PATH, manifest('a'));
  await api.post(PATH, manifest('b'));
  await api.delete(`${PATH}/b`);
  const { json } = await api.get(`${PATH}?fieldSelector=${encodeURIComponent(selector)}`);
  expect(json.items.map(({ metadata }) => metadata.name)).toEqual(names);
});
