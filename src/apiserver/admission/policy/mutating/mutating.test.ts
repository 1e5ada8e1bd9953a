// Mutating policies, through a whole server.

import { beforeEach, describe, expect, test } from 'vitest';

import {
  mutatingAdmissionPolicies,
  mutatingAdmissionPolicyBindings,
} from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { deployments } from '#api/groups/apps/v1/index.ts';
import { configMaps, pods } from '#api/groups/core/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { send } from '#apiserver/testing/requests.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

type Spec = admission.MutatingAdmissionPolicySpec;
type Rule = admission.NamedRuleWithOperations;

const CONFIG_MAPS: Rule = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE'],
  resources: ['configmaps'],
};
const DEPLOYMENTS: Rule = { ...CONFIG_MAPS, apiGroups: ['apps'], resources: ['deployments'] };

const api = serverPerTest();

async function policy(name: string, spec: Partial<Spec>): Promise<void> {
  await api.client.resource(mutatingAdmissionPolicies).create({
    metadata: { name },
    spec: {
      matchConstraints: { resourceRules: [CONFIG_MAPS, DEPLOYMENTS] },
      reinvocationPolicy: 'Never',
      ...spec,
    },
  });
  await api.client
    .resource(mutatingAdmissionPolicyBindings)
    .create({ metadata: { name }, spec: { policyName: name } });
  // Watchers, the server among them, receive a change within a few turns of the event loop.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const merging = (expression: string): admission.Mutation => ({
  patchType: 'ApplyConfiguration',
  applyConfiguration: { expression },
});
const patching = (expression: string): admission.Mutation => ({
  patchType: 'JSONPatch',
  jsonPatch: { expression },
});

const create = (data: Record<string, string> = {}, name = 'a') =>
  api.client.resource(configMaps).namespace('default').create({ metadata: { name }, data });

const deploy = (containers: readonly object[] = [{ name: 'app', image: 'app:1' }]) => {
  const labels = { app: 'a' };
  const object = {
    metadata: { name: 'a' },
    spec: {
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec: { containers } },
    },
  };
  return api.client.resource(deployments).namespace('default').create(object);
};

async function refusal(write: Promise<unknown>): Promise<apierrors.Status> {
  try {
    await write;
  } catch (error) {
    if (error instanceof apierrors.StatusError) return error.status;
    throw error;
  }
  throw new Error('it was not refused');
}

describe('an apply configuration', () => {
  test('is merged into the object as in server-side apply', async () => {
    const image = "object.spec.template.spec.containers[0].image + '-proxy'";
    const sidecar = `Object.spec.template.spec.containers{name: 'proxy', image: ${image}}`;
    await policy('sidecar', {
      mutations: [
        merging(
          `Object{metadata: Object.metadata{labels: {'mutated': 'yes'}}, spec: ` +
            'Object.spec{replicas: 3, template: Object.spec.template{spec: ' +
            `Object.spec.template.spec{containers: [${sidecar}]}}}}`,
        ),
      ],
    });
    const created = await deploy();
    expect(created.metadata.labels).toEqual({ mutated: 'yes' });
    expect(created.spec.replicas).toBe(3);
    // Added objects get their defaults.
    expect(created.spec.template.spec.containers).toMatchObject([
      { name: 'app', image: 'app:1' },
      { name: 'proxy', image: 'app:1-proxy', imagePullPolicy: 'IfNotPresent' },
    ]);
  });

  test('may not contain atomic values', async () => {
    const container = "Object.spec.template.spec.containers{name: 'app', command: ['x']}";
    await policy('atomic', {
      mutations: [
        merging(
          'Object{spec: Object.spec{template: Object.spec.template{spec: ' +
            `Object.spec.template.spec{containers: [${container}]}}}}`,
        ),
      ],
    });
    const message =
      "policy 'atomic' with binding 'atomic' denied request: error applying patch: invalid " +
      'ApplyConfiguration: may not mutate atomic arrays, maps or structs: ' +
      '.spec.template.spec.containers[0].command';
    expect(await refusal(deploy())).toMatchObject({
      code: 403,
      reason: 'Invalid',
      message,
      details: { causes: [{ message }] },
    });
  });

  test('has the types of its fields, and no unknown fields', async () => {
    await policy('misnamed', {
      mutations: [merging("Object{metadata: Object.spec{labels: {'a': 'b'}}}")],
    });
    expect((await refusal(create())).message).toBe(
      "policy 'misnamed' with binding 'misnamed' denied request: type mismatch: unexpected " +
        'type name "Object.spec", expected "Object.metadata", which matches field name path from ' +
        'root Object type',
    );
    await api.client.resource(mutatingAdmissionPolicies).delete('misnamed');
    await policy('unknown', { mutations: [merging("Object{nothing: 'x'}")] });
    expect((await refusal(create())).message).toContain(
      'error applying patch: failed to convert patch object to typed object: .nothing: field not declared in schema',
    );
  });
});

describe('a JSON patch', () => {
  test('is applied', async () => {
    await policy('patched', {
      variables: [{ name: 'key', expression: "'example.com/x'" }],
      mutations: [
        patching(
          "[JSONPatch{op: 'test', path: '/data/mode', value: 'on'}, JSONPatch{op: 'add', path: " +
            "'/metadata/annotations', value: {}}, JSONPatch{op: 'add', path: " +
            "'/metadata/annotations/' + jsonpatch.escapeKey(variables.key), value: " +
            "request.operation}, JSONPatch{op: 'move', from: '/data/mode', path: '/data/was'}]",
        ),
      ],
    });
    const created = await create({ mode: 'on' });
    expect(created.metadata.annotations).toEqual({ 'example.com/x': 'CREATE' });
    expect(created.data).toEqual({ was: 'on' });
    // A failed test operation leaves the object unchanged.
    expect((await create({ mode: 'off' }, 'b')).data).toEqual({ mode: 'off' });
  });

  test('may have objects as values', async () => {
    const container = "Object.spec.template.spec.containers{name: 'side', image: 'i'}";
    await policy('added', {
      mutations: [
        patching(
          `[JSONPatch{op: 'add', path: '/spec/template/spec/containers/-', value: ${container}}]`,
        ),
      ],
    });
    const created = await deploy();
    expect(created.spec.template.spec.containers.map(({ name }) => name)).toEqual(['app', 'side']);
  });

  test('that cannot be applied rejects the request, unless failures are ignored', async () => {
    await policy('failing', {
      mutations: [patching("[JSONPatch{op: 'remove', path: '/data/none'}]")],
    });
    expect((await refusal(create({ a: 'b' }))).message).toMatch(
      /^policy 'failing' with binding 'failing' denied request: JSON Patch: /,
    );
    await api.client.resource(mutatingAdmissionPolicies).delete('failing');
    await policy('lenient', {
      failurePolicy: 'Ignore',
      mutations: [
        patching("[JSONPatch{op: 'remove', path: '/data/none'}]"),
        merging("Object{data: {'x': 'y'}}"),
      ],
    });
    expect((await create({ a: 'b' })).data).toEqual({ a: 'b', x: 'y' });
  });
});

describe('several policies', () => {
  const counting = (name: string) =>
    merging(
      `Object{data: {'seen-${name}': string(size(object.data)), 'count-${name}': ` +
        `has(object.data) && 'count-${name}' in object.data ? object.data['count-${name}'] + '+' ` +
        `: '1'}}`,
    );

  test('get the result of earlier ones', async () => {
    await policy('a', { mutations: [merging("Object{data: {'a': '1'}}")] });
    await policy('b', { mutations: [merging("Object{data: {'b': object.data.a + '2'}}")] });
    expect((await create({ z: '' })).data).toEqual({ z: '', a: '1', b: '12' });
  });

  test('are called again if they request it', async () => {
    await policy('a', { reinvocationPolicy: 'IfNeeded', mutations: [counting('a')] });
    await policy('b', { mutations: [counting('b')] });
    const { data } = await create({ z: '' });
    expect(data).toMatchObject({ 'count-a': '1+', 'count-b': '1', 'seen-a': '5', 'seen-b': '3' });
  });
});

test('conditions decide, updates count, and unbound policies do nothing', async () => {
  await policy('conditional', {
    matchConditions: [{ name: 'updates', expression: "request.operation == 'UPDATE'" }],
    mutations: [merging("Object{data: {'updated': oldObject.metadata.name}}")],
  });
  const created = await create({ a: 'b' });
  expect(created.data).toEqual({ a: 'b' });
  const updated = await api.client
    .resource(configMaps)
    .namespace('default')
    .update({ ...created, data: { a: 'c' } });
  expect(updated.data).toEqual({ a: 'c', updated: 'a' });
  await api.client.resource(mutatingAdmissionPolicyBindings).delete('conditional');
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
  const again = await api.client
    .resource(configMaps)
    .namespace('default')
    .update({ ...updated, data: { a: 'd' } });
  expect(again.data).toEqual({ a: 'd' });
});

describe('a connection', () => {
  const EXEC: Rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CONNECT'],
    resources: ['pods/exec'],
  };
  const exec = async (): Promise<apierrors.Status> => {
    const path = '/api/v1/namespaces/default/pods/p/exec?command=ls&container=c';
    const { json } = await send(api.server, { method: 'POST', path });
    return json as unknown as apierrors.Status;
  };

  beforeEach(async () => {
    const spec = { containers: [{ name: 'c', image: 'i' }] };
    await api.client
      .resource(pods)
      .namespace('default')
      .create({ metadata: { name: 'p' }, spec });
  });

  test('is made with the options that a JSON patch returns', async () => {
    expect((await exec()).message).toBe('pod p does not have a host assigned');
    const expression =
      "[JSONPatch{op: 'replace', path: '/container', value: object.container + object.command[0]}]";
    await policy('patched', {
      matchConstraints: { resourceRules: [EXEC] },
      mutations: [patching(expression)],
    });
    expect((await exec()).message).toBe('container cls is not valid for pod p');
  });

  test('has no type by which an apply configuration could be merged', async () => {
    const mutations = [merging("Object{container: 'x'}")];
    await policy('merged', { matchConstraints: { resourceRules: [EXEC] }, mutations });
    const message =
      "policy 'merged' with binding 'merged' denied request: error applying patch: failed to " +
      'convert patch object to typed object: ' +
      'no corresponding type for /v1, Kind=PodExecOptions';
    expect(await exec()).toMatchObject({
      code: 403,
      reason: 'Invalid',
      message,
      details: { name: 'p', kind: 'pods' },
    });
  });
});

test('a built-in kind is not changed in another version than that of the request', async () => {
  const rule: Rule = {
    ...CONFIG_MAPS,
    apiGroups: ['autoscaling'],
    resources: ['horizontalpodautoscalers'],
  };
  await policy('versions', {
    matchConstraints: { resourceRules: [rule] },
    mutations: [patching("[JSONPatch{op: 'replace', path: '/spec/maxReplicas', value: 9}]")],
  });
  const spec = {
    scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'd' },
    maxReplicas: 3,
  };
  const post = async (version: string): Promise<Readonly<Record<string, unknown>>> => {
    const path = `/apis/autoscaling/${version}/namespaces/default/horizontalpodautoscalers`;
    return (
      await send(api.server, { method: 'POST', path, body: { metadata: { name: version }, spec } })
    ).json as never;
  };
  expect(await post('v1')).toMatchObject({ spec: { maxReplicas: 9 } });
  expect(await post('v2')).toMatchObject({
    code: 403,
    reason: 'Invalid',
    message:
      "policy 'versions' with binding 'versions' denied request: converting (v1.HorizontalPodAutoscaler) to " +
      '(v2.HorizontalPodAutoscaler): unknown conversion',
  });
});

test('a deletion is neither changed nor rejected', async () => {
  const rule: Rule = { ...CONFIG_MAPS, operations: ['*'] };
  await create({ a: 'b' });
  await policy('any', {
    matchConstraints: { resourceRules: [rule] },
    mutations: [patching("[JSONPatch{op: 'remove', path: '/data/x'}]")],
  });
  await api.client.resource(configMaps).namespace('default').delete('a');
  expect(
    (await api.client.resource(configMaps).namespace('default').list()).items.map(
      ({ metadata }) => metadata.name,
    ),
  ).toEqual([]);
});
