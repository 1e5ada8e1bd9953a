// Validating policies through a whole server: rejections and their messages.

import { beforeEach, describe, expect, test } from 'vitest';

import { type ConfigMap, configMaps, namespaces, pods } from '#api/groups/core/v1/index.ts';
import {
  validatingAdmissionPolicies,
  validatingAdmissionPolicyBindings,
} from '#api/groups/admissionregistration/v1/index.ts';
import type * as admission from '#api/groups/admissionregistration/v1/index.ts';
import { createClient } from '#client/create-client.ts';
import { createInProcessTransport } from '#client/in-process.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { send } from '#apiserver/testing/requests.ts';
import { ADMIN } from '#apiserver/testing/server.ts';
import { serverPerTest } from '#apiserver/testing/server-per-test.ts';

type Spec = admission.ValidatingAdmissionPolicySpec;
type BindingSpec = admission.ValidatingAdmissionPolicyBindingSpec;
type Rule = admission.NamedRuleWithOperations;

const EVERYTHING: Rule = {
  apiGroups: ['*'],
  apiVersions: ['*'],
  operations: ['*'],
  resources: ['*/*'],
};
const CONFIG_MAPS: Rule = {
  apiGroups: [''],
  apiVersions: ['v1'],
  operations: ['CREATE', 'UPDATE', 'DELETE'],
  resources: ['configmaps'],
};

const api = serverPerTest();
let warnings: string[];

beforeEach(async () => {
  warnings = [];
});

async function policy(
  name: string,
  spec: Partial<Spec>,
  ...bindings: readonly Partial<BindingSpec>[]
): Promise<void> {
  await api.client.resource(validatingAdmissionPolicies).create({
    metadata: { name },
    spec: { matchConstraints: { resourceRules: [CONFIG_MAPS] }, validations: [], ...spec },
  });
  const bound = bindings.length === 0 ? [{}] : bindings;
  for (const [index, binding] of bound.entries()) {
    await api.client.resource(validatingAdmissionPolicyBindings).create({
      metadata: { name: `${name}-${index}` },
      spec: { policyName: name, validationActions: ['Deny'], ...binding },
    } as unknown as admission.ValidatingAdmissionPolicyBinding);
  }
  // Watchers, the server among them, receive a change within a few turns of the event loop.
  for (let turn = 0; turn < 10; turn++) await new Promise((resolve) => setImmediate(resolve));
}

const inNamespace = (namespace = 'default') => api.client.resource(configMaps).namespace(namespace);

const configMap = (
  name: string,
  data: Record<string, string> = {},
  labels: Record<string, string> = {},
): ConfigMap => ({ metadata: { name, labels }, data }) as unknown as ConfigMap;

/** Returns the status of a rejected write; undefined if it succeeds. */
async function refused(write: Promise<unknown>): Promise<apierrors.Status | undefined> {
  try {
    await write;
    return undefined;
  } catch (error) {
    if (!(error instanceof apierrors.StatusError)) throw error;
    return error.status;
  }
}

describe('a rejection', () => {
  test('names the policy, the binding and the expression', async () => {
    await policy('small', { validations: [{ expression: 'size(object.data) < 2' }] });
    expect(await refused(inNamespace().create(configMap('a', { one: '1' })))).toBeUndefined();
    const why =
      "ValidatingAdmissionPolicy 'small' with binding 'small-0' denied request: failed " +
      'expression: size(object.data) < 2';
    expect(
      await refused(inNamespace().create(configMap('b', { one: '1', two: '2' }))),
    ).toMatchObject({
      code: 422,
      reason: 'Invalid',
      message: `configmaps "b" is forbidden: ${why}`,
      details: { name: 'b', kind: 'configmaps', causes: [{ message: why }] },
    });
  });

  test('has a fixed message, an evaluated message and a reason of its own', async () => {
    await policy('worded', {
      variables: [{ name: 'wanted', expression: "'quiet'" }],
      validations: [
        { expression: "object.metadata.name != 'a'", message: 'not a', reason: 'Forbidden' },
        {
          expression: "object.metadata.name != 'b'",
          message: 'not b',
          messageExpression: "variables.wanted + ' instead of ' + object.metadata.name",
        },
        {
          expression: "object.metadata.name != 'c'",
          message: 'not c',
          messageExpression: "'' + object.data.nothing",
        },
        {
          expression: "object.metadata.name != 'd'",
          message: ' not d ',
          messageExpression: "'two\\nlines'",
        },
      ],
    });
    const rejectionOf = async (name: string) => refused(inNamespace().create(configMap(name)));
    const prefix = "ValidatingAdmissionPolicy 'worded' with binding 'worded-0' denied request: ";
    expect(await rejectionOf('a')).toMatchObject({
      code: 403,
      reason: 'Forbidden',
      message: expect.stringContaining(`${prefix}not a`),
    });
    expect((await rejectionOf('b'))?.message).toContain(`${prefix}quiet instead of b`);
    expect((await rejectionOf('c'))?.message).toContain(`${prefix}not c`);
    expect((await rejectionOf('d'))?.message).toMatch(/: not d$/);
    expect(await rejectionOf('e')).toBeUndefined();
  });

  test('includes updates, deletions and dry runs', async () => {
    await policy('kept', {
      validations: [
        {
          expression: "request.operation != 'DELETE' || oldObject.metadata.name != 'keep'",
          message: 'stays',
        },
        {
          expression: "request.operation != 'UPDATE' || object.data == oldObject.data",
          message: 'stays as it is',
        },
        { expression: "!request.dryRun || object.metadata.name != 'dry'", message: 'not even dry' },
      ],
    });
    const created = await inNamespace().create(configMap('keep', { a: '1' }));
    expect(
      (await refused(inNamespace().update({ ...created, data: { a: '2' } })))?.message,
    ).toMatch(/stays as it is$/);
    expect((await refused(inNamespace().delete('keep')))?.message).toMatch(/stays$/);
    expect(
      (await refused(inNamespace().create(configMap('dry'), { dryRun: 'All' })))?.message,
    ).toMatch(/not even dry$/);
    expect(await refused(inNamespace().create(configMap('dry')))).toBeUndefined();
  });

  test('does not include policies themselves', async () => {
    await policy('nothing', {
      matchConstraints: { resourceRules: [EVERYTHING] },
      validations: [{ expression: 'false' }],
    });
    expect((await refused(inNamespace().create(configMap('a'))))?.code).toBe(422);
    expect(
      await refused(api.client.resource(validatingAdmissionPolicyBindings).delete('nothing-0')),
    ).toBeUndefined();
    expect(
      await refused(api.client.resource(validatingAdmissionPolicies).delete('nothing')),
    ).toBeUndefined();
  });
});

describe('a binding', () => {
  test('may only warn', async () => {
    await policy(
      'hint',
      { validations: [{ expression: 'false', message: 'think again' }] },
      { validationActions: ['Warn', 'Audit'] },
    );
    const handler = api.server.inProcess(ADMIN);
    const client = createClient(
      createInProcessTransport({ handler, onWarning: (text) => warnings.push(text) }),
    );
    await client.resource(configMaps).namespace('default').create(configMap('a'));
    expect(warnings).toEqual([
      "Validation failed for ValidatingAdmissionPolicy 'hint' with binding 'hint-0': think again",
    ]);
  });

  test('is limited to the requests that it matches', async () => {
    for (const [name, tier] of [
      ['one', 'a'],
      ['two', 'b'],
    ] as const) {
      const object = { metadata: { name, labels: { tier } } };
      await api.client.resource(namespaces).create(object);
    }
    await policy(
      'scoped',
      { validations: [{ expression: 'false' }] },
      {
        matchResources: {
          namespaceSelector: { matchLabels: { tier: 'a' } },
          objectSelector: { matchLabels: { app: 'x' } },
        },
      },
    );
    expect((await refused(inNamespace('one').create(configMap('a', {}, { app: 'x' }))))?.code).toBe(
      422,
    );
    expect(
      await refused(inNamespace('one').create(configMap('b', {}, { app: 'y' }))),
    ).toBeUndefined();
    expect(
      await refused(inNamespace('two').create(configMap('a', {}, { app: 'x' }))),
    ).toBeUndefined();
  });
});

describe('parameters', () => {
  const spec: Partial<Spec> = {
    paramKind: { apiVersion: 'v1', kind: 'ConfigMap' },
    matchConstraints: { resourceRules: [{ ...CONFIG_MAPS, resources: ['pods'] }] },
    validations: [
      {
        expression: "params == null || object.metadata.name.startsWith(params.data['prefix'])",
        messageExpression: "'begin with ' + params.data['prefix']",
      },
    ],
  };
  const pod = (name: string) =>
    api.client
      .resource(pods)
      .namespace('default')
      .create({ metadata: { name }, spec: { containers: [{ name: 'c', image: 'i' }] } });

  test('are found by name, and the binding decides what their absence means', async () => {
    await policy('named', spec, {
      paramRef: { name: 'rules', namespace: 'kube-system', parameterNotFoundAction: 'Deny' },
    });
    expect((await refused(pod('x')))?.message).toContain(
      "ValidatingAdmissionPolicy 'named' with binding 'named-0' denied request: failed to " +
        'configure binding: no params found for policy binding with `Deny` ' +
        'parameterNotFoundAction',
    );
    await inNamespace('kube-system').create(configMap('rules', { prefix: 'team-' }));
    expect((await refused(pod('x')))?.message).toMatch(/begin with team-$/);
    expect(await refused(pod('team-x'))).toBeUndefined();
  });

  test('are found by labels in the namespace of the request', async () => {
    await policy('selected', spec, {
      paramRef: { selector: { matchLabels: { for: 'pods' } }, parameterNotFoundAction: 'Allow' },
    });
    expect(await refused(pod('x'))).toBeUndefined();
    await inNamespace().create(configMap('one', { prefix: 'a' }, { for: 'pods' }));
    await inNamespace().create(configMap('two', { prefix: 'ab' }, { for: 'pods' }));
    expect((await refused(pod('ac')))?.message).toMatch(/begin with ab$/);
    expect(await refused(pod('abc'))).toBeUndefined();
  });
});

describe('an error in a policy', () => {
  const broken: Partial<Spec> = { validations: [{ expression: "object.data['none'] == 'x'" }] };

  test('rejects the request', async () => {
    await policy('broken', broken);
    expect((await refused(inNamespace().create(configMap('a', { b: 'c' }))))?.message).toMatch(
      /denied request: expression 'object.data\['none'\] == 'x'' resulted in error: no such key: none$/,
    );
  });

  test('or is ignored', async () => {
    await policy('broken', { ...broken, failurePolicy: 'Ignore' });
    expect(await refused(inNamespace().create(configMap('a', { b: 'c' })))).toBeUndefined();
  });

  test('may be an unknown kind of parameters', async () => {
    await policy(
      'lost',
      { ...broken, paramKind: { apiVersion: 'example.com/v1', kind: 'Rule' } },
      { paramRef: { name: 'x', parameterNotFoundAction: 'Allow' } },
    );
    expect((await refused(inNamespace().create(configMap('a'))))?.message).toContain(
      "ValidatingAdmissionPolicy 'lost' denied request: failed to configure policy: failed to find " +
        "resource referenced by paramKind: 'example.com/v1, Kind=Rule'",
    );
  });

  test('may be an exceeded budget', async () => {
    // Two authorizer checks use up almost the whole budget of one expression.
    const check = "authorizer.group('').resource('pods').check('list').allowed()";
    const expression = `${check} && ${check}`;
    await policy('costly', { validations: Array.from({ length: 15 }, () => ({ expression })) });
    expect((await refused(inNamespace().create(configMap('a'))))?.message).toMatch(
      /denied request: validation failed due to running out of cost budget, no further validation rules will be run$/,
    );
  });

  test('may be one expression that exceeds its budget', async () => {
    const check = "authorizer.group('').resource('pods').check('list').allowed()";
    await policy('costly', { validations: [{ expression: `${check} && ${check} && ${check}` }] });
    expect((await refused(inNamespace().create(configMap('a'))))?.message).toMatch(
      /resulted in error: operation cancelled: actual cost limit exceeded$/,
    );
  });
});

describe('a policy', () => {
  test('is restricted by its match conditions last', async () => {
    await policy('conditional', {
      matchConditions: [
        { name: 'users', expression: "request.userInfo.username != 'admin' || has(object.data)" },
        { name: 'named', expression: "object.metadata.name.startsWith('x')" },
      ],
      validations: [{ expression: 'false' }],
    });
    expect(await refused(inNamespace().create(configMap('a', { a: 'b' })))).toBeUndefined();
    expect(await refused(inNamespace().create(configMap('xa')))).toBeUndefined();
    expect((await refused(inNamespace().create(configMap('xa', { a: 'b' }))))?.code).toBe(422);
  });

  test('queries the authorizer', async () => {
    await policy('asking', {
      validations: [
        {
          expression:
            "authorizer.group('').resource('secrets').namespace('kube-system').check('delete').allowed()",
          message: 'admins',
        },
        { expression: "authorizer.requestResource.check('create').allowed()", message: 'creators' },
        {
          expression:
            "!authorizer.serviceAccount('default', 'x').group('').resource('secrets').check('list').allowed()",
          message: 'accounts',
        },
      ],
    });
    expect(await refused(inNamespace().create(configMap('a')))).toBeUndefined();
  });

  test('sees the options of a connection', async () => {
    await policy('no-shell', {
      matchConstraints: {
        resourceRules: [{ ...EVERYTHING, operations: ['CONNECT'], resources: ['pods/*'] }],
      },
      validations: [
        {
          expression: "object.command != ['sh', '-c']",
          messageExpression:
            "object.kind + ' ' + string(object.stdin) + ' ' + request.subResource + ' ' + request.name",
        },
      ],
    });
    const exec = async (query: string) =>
      (
        await send(api.server, {
          method: 'POST',
          path: `/api/v1/namespaces/default/pods/web/exec?${query}`,
        })
      ).json.message;
    expect(await exec('command=sh&command=-c&stdin=true')).toMatch(
      /^pods "web" is forbidden: .* denied request: PodExecOptions true exec web$/,
    );
    expect(await exec('command=ls')).toBe('pods "web" not found');
  });

  test('sees the namespace, and a Namespace with its new labels', async () => {
    await policy('spaces', {
      matchConstraints: {
        namespaceSelector: { matchLabels: { guarded: 'yes' } },
        resourceRules: [{ ...CONFIG_MAPS, resources: ['configmaps', 'namespaces'] }],
      },
      validations: [
        {
          expression:
            "namespaceObject != null && namespaceObject.metadata.labels['guarded'] == 'no'",
          messageExpression: "request.namespace + ' ' + string(namespaceObject == null)",
        },
      ],
    });
    const create = (name: string, labels: Record<string, string>) =>
      refused(api.client.resource(namespaces).create({ metadata: { name, labels } }));
    expect(await create('free', {})).toBeUndefined();
    expect((await create('taken', { guarded: 'yes' }))?.message).toMatch(/taken true$/);
    expect(await refused(inNamespace('free').create(configMap('a')))).toBeUndefined();
  });
});
