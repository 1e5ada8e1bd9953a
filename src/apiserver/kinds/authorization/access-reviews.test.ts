// Access reviews through the server, and their validation.

import { expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

const GROUP = '/apis/authorization.k8s.io/v1';
const LOCAL = `${GROUP}/namespaces/default/localsubjectaccessreviews`;
const resourceAttributes = { verb: 'list', resource: 'pods' };

const t = serverPerTest();
const api = new Api(t);

test('a review in a namespace is about that namespace', async () => {
  const inDefault = { ...resourceAttributes, namespace: 'default' };
  const { code, json } = await api.post(LOCAL, {
    spec: { user: 'joe', resourceAttributes: inDefault },
  });
  expect(code).toBe(201);
  expect(json).toMatchObject({ metadata: { namespace: 'default' }, status: { allowed: false } });
  const other = { ...resourceAttributes, namespace: 'other' };
  expect(outcome(await api.post(LOCAL, { spec: { user: 'joe', resourceAttributes: other } }))).toBe(
    '422 Invalid: .authorization.k8s.io "" is invalid: ' +
      'spec.resourceAttributes.namespace: Invalid value: "other": must match metadata.namespace',
  );
});

test.each([
  ['subjectaccessreviews', { user: 'joe', resourceAttributes }],
  ['selfsubjectaccessreviews', { resourceAttributes }],
])('%s have no metadata', async (resource, spec) => {
  expect((await api.post(`${GROUP}/${resource}`, { spec })).code).toBe(201);
  const named = outcome(await api.post(`${GROUP}/${resource}`, { metadata: { name: 'a' }, spec }));
  expect(named).toMatch(
    /^422 Invalid: .* "" is invalid: metadata: Invalid value: \{.*"name":"a".*\}: must be empty$/,
  );
});

test('a review without a namespace lists no rules', async () => {
  expect(outcome(await api.post(`${GROUP}/selfsubjectrulesreviews`, { spec: {} }))).toBe(
    '400 BadRequest: no namespace on request',
  );
});
