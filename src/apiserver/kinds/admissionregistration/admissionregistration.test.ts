// Webhook configurations, admission policies and their bindings through the server.

import { expect, test } from 'vitest';

import { serverPerTest } from '#apiserver/testing/server-per-test.ts';
import { requestsOf } from '#apiserver/testing/workloads.ts';

const t = serverPerTest();
const on = (resource: string) => requestsOf(t, `/apis/admissionregistration.k8s.io/v1/${resource}`);

const metadata = { name: 'it' };
const rule = { operations: ['CREATE'], apiGroups: [''], apiVersions: ['v1'], resources: ['pods'] };
const hook = {
  name: 'a.example.com',
  clientConfig: { service: { name: 's', namespace: 'default' } },
  rules: [rule],
  sideEffects: 'None',
  admissionReviewVersions: ['v1'],
};
const hookDefaults = {
  clientConfig: { service: { name: 's', namespace: 'default', port: 443 } },
  rules: [{ ...rule, scope: '*' }],
  failurePolicy: 'Fail',
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  timeoutSeconds: 10,
};
const matchDefaults = {
  matchPolicy: 'Equivalent',
  namespaceSelector: {},
  objectSelector: {},
  resourceRules: [{ ...rule, scope: '*' }],
};

test.each(['validatingwebhookconfigurations', 'mutatingwebhookconfigurations'])(
  '%s',
  async (resource) => {
    const created = await on(resource).create({ metadata, webhooks: [hook] });
    expect(created.code).toBe(201);
    expect(created.object).toMatchObject({ webhooks: [{ ...hook, ...hookDefaults }] });
    expect(created.object.metadata.generation).toBe(1);
    const webhooks = [{ ...hook, timeoutSeconds: 31 }];
    expect((await on(resource).patch('it', { webhooks })).causes).toEqual([
      'webhooks[0].timeoutSeconds',
    ]);
    const labelled = await on(resource).patch('it', { metadata: { labels: { a: 'b' } } });
    expect(labelled.object.metadata.generation).toBe(1);
    expect((await on(resource).patch('it', { webhooks: [] })).object.metadata.generation).toBe(2);
    expect((await on(resource).table()).columns).toEqual(['Name', 'Webhooks', 'Age']);
    expect((await on(resource).table()).rows).toEqual([['it', 0, expect.any(String)]]);
  },
);

test('validating policies', async () => {
  const policies = on('validatingadmissionpolicies');
  const spec = {
    matchConstraints: { resourceRules: [rule] },
    validations: [{ expression: 'true' }],
  };
  const created = await policies.create({ metadata, spec, status: { observedGeneration: 7 } });
  expect(created.object.spec).toEqual({
    ...spec,
    matchConstraints: matchDefaults,
    failurePolicy: 'Fail',
  });
  expect(created.object.status).toEqual({});
  expect((await policies.patch('it', { spec: { validations: [] } })).causes).toEqual([
    'spec.validations',
    'spec.auditAnnotations',
  ]);
  const written = await policies.patch('it/status', {
    spec: { failurePolicy: 'Ignore' },
    status: { observedGeneration: 1 },
  });
  expect([written.object.spec['failurePolicy'], written.object.status]).toEqual([
    'Fail',
    { observedGeneration: 1 },
  ]);
  const bad = await policies.patch('it/status', {
    status: { conditions: [{ type: 'a', status: 'x' }] },
  });
  expect(bad.causes).toContain('status.conditions[0].status');
  expect(await policies.table()).toEqual({
    columns: ['Name', 'Validations', 'ParamKind', 'Age'],
    rows: [['it', 1, '<unset>', expect.any(String)]],
  });
});

test('mutating policies', async () => {
  const policies = on('mutatingadmissionpolicies');
  const mutations = [
    { patchType: 'JSONPatch', jsonPatch: { expression: '[JSONPatch{op: "remove", path: "/a"}]' } },
  ];
  const spec = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConstraints: { resourceRules: [rule] },
    mutations,
    reinvocationPolicy: 'IfNeeded',
  };
  const created = await policies.create({ metadata, spec });
  expect(created.object.spec).toEqual({
    ...spec,
    matchConstraints: matchDefaults,
    failurePolicy: 'Fail',
  });
  expect((await policies.patch('it', { spec: { mutations: [] } })).causes).toEqual([
    'spec.mutations',
  ]);
  expect((await policies.table()).rows).toEqual([['it', 1, 'v1/ConfigMap', expect.any(String)]]);
});

test.each<[resource: string, spec: object]>([
  ['validatingadmissionpolicybindings', { policyName: 'p', validationActions: ['Deny'] }],
  ['mutatingadmissionpolicybindings', { policyName: 'p' }],
])('%s', async (resource, spec) => {
  const created = await on(resource).create({
    metadata,
    spec: { ...spec, matchResources: { resourceRules: [rule] } },
  });
  expect(created.object.spec).toEqual({ ...spec, matchResources: matchDefaults });
  expect((await on(resource).patch('it', { spec: { policyName: null } })).causes).toEqual([
    'spec.policyName',
  ]);
  const paramRef = { name: 'a', parameterNotFoundAction: 'Deny' };
  expect((await on(resource).patch('it', { spec: { paramRef } })).object.metadata.generation).toBe(
    2,
  );
  expect(await on(resource).table()).toEqual({
    columns: ['Name', 'PolicyName', 'ParamRef', 'Age'],
    rows: [['it', 'p', '*/a', expect.any(String)]],
  });
});
