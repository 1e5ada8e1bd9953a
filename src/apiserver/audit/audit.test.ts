import { generateKeyPairSync } from 'node:crypto';
import { afterEach, describe, expect, test } from 'vitest';
import { VirtualClock } from '#machinery/clock.ts';
import { configMaps } from '#api/groups/core/v1/index.ts';
import { Api } from '../testing/api.ts';
import { handle, send } from '../testing/requests.ts';
import { startTestServer, type TestServer, type TestServerConfig } from '../testing/server.ts';
import { LocalWebhooks } from '../webhooks/client/index.ts';
import type { AuditEvent } from './event.ts';
import { readAuditPolicy } from './read-policy.ts';
import type { AuditSink } from './sink.ts';

type Event = Readonly<Record<string, unknown>> & {
  readonly stage: string;
  readonly verb: string;
  readonly annotations: Readonly<Record<string, string>>;
};

let t: TestServer;
afterEach(() => t.stop());

/** Requests of the server itself are not recorded. */
const OWN = "{level: None, users: ['system:apiserver']}";
const CONFIG_MAPS = 'resources: [{group: "", resources: [configmaps]}]';
const maps = '/api/v1/namespaces/default/configmaps';

/** Starts a server, and returns its events. */
async function audited(
  rules: string,
  config: TestServerConfig = {},
  process: (event: AuditEvent) => boolean = () => true,
): Promise<Event[]> {
  const events: Event[] = [];
  const sink: AuditSink = {
    process: (taken) => {
      for (const event of taken) events.push(JSON.parse(event.json()) as Event);
      return Promise.resolve(taken.every(process));
    },
    stop: () => Promise.resolve(),
  };
  const { policy } = readAuditPolicy(
    `apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [${OWN}, ${rules}]`,
  );
  t = await startTestServer({ audit: { policy, sink: () => sink }, ...config });
  events.length = 0;
  return events;
}

test('a create is recorded with both objects, the user, and why it was allowed', async () => {
  const events = await audited(`{level: RequestResponse, omitManagedFields: true, ${CONFIG_MAPS}}`);
  await send(t.server, {
    method: 'POST',
    path: `${maps}?fieldManager=me`,
    headers: {
      'content-type': 'application/json',
      'user-agent': 'test/1',
      'audit-id': 'given',
      'x-forwarded-for': '192.0.2.7, no address',
    },
    body: { metadata: { name: 'a' }, data: { x: '1' } },
  });
  expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseComplete']);
  expect(events[0]).toMatchObject({
    kind: 'Event',
    apiVersion: 'audit.k8s.io/v1',
    level: 'RequestResponse',
    requestURI: `${maps}?fieldManager=me`,
    verb: 'create',
    user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
    sourceIPs: ['192.0.2.7', '127.0.0.1'],
    userAgent: 'test/1',
    objectRef: { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
  });
  expect(events[0]).not.toHaveProperty('responseStatus');
  expect(events[1]).toMatchObject({
    objectRef: { name: 'a' },
    responseStatus: { metadata: {}, code: 201 },
    requestObject: { kind: 'ConfigMap', apiVersion: 'v1', data: { x: '1' } },
    responseObject: { metadata: { name: 'a', namespace: 'default' }, data: { x: '1' } },
    annotations: {
      'authorization.k8s.io/decision': 'allow',
      'authorization.k8s.io/reason': '',
    },
  });
  expect(JSON.stringify(events[1])).not.toContain('managedFields');
});

test('the level Metadata has no objects, the level Request none of responses', async () => {
  const events = await audited(
    `{level: Metadata, verbs: [create]}, {level: Request, ${CONFIG_MAPS}}`,
  );
  const api = new Api(t);
  await api.post(maps, { metadata: { name: 'a' } });
  await api.patch(`${maps}/a`, { data: { y: '2' } });
  await api.delete(`${maps}/a`, { propagationPolicy: 'Background' });
  const [create, patch, deletion] = events.filter(({ stage }) => stage === 'ResponseComplete');
  expect(create).not.toHaveProperty('requestObject');
  expect(patch).toMatchObject({ verb: 'patch', requestObject: { data: { y: '2' } } });
  expect(patch).not.toHaveProperty('responseObject');
  expect(deletion).toMatchObject({
    requestObject: { kind: 'DeleteOptions', propagationPolicy: 'Background' },
    responseStatus: { status: 'Success', details: { name: 'a', kind: 'configmaps' }, code: 200 },
  });
});

test('lists are recorded without the kinds of their items', async () => {
  const events = await audited(`{level: RequestResponse, verbs: [list], ${CONFIG_MAPS}}`);
  const many = Array.from({ length: 60 }, (_, n) => `m${n}`);
  for (const name of many)
    await t.client.resource(configMaps).create({ metadata: { name, namespace: 'default' } });
  await new Api(t).get(maps);
  const { responseObject } = events.at(-1) as unknown as {
    readonly responseObject: { readonly kind: string; readonly items: readonly object[] };
  };
  expect(responseObject.kind).toBe('ConfigMapList');
  expect(responseObject.items).toHaveLength(60);
  expect(responseObject.items[0]).not.toHaveProperty('kind');
});

describe('errors', () => {
  test('a rejected request is recorded with its status', async () => {
    const events = await audited('{level: RequestResponse, verbs: [get]}');
    const bob = { name: 'bob', groups: ['system:authenticated'] };
    await send(t.server, { path: `${maps}/missing` });
    await send(t.server, { path: `${maps}/missing`, user: bob });
    const [missing, forbidden] = events.filter(({ stage }) => stage === 'ResponseComplete');
    expect(missing).toMatchObject({
      responseStatus: { status: 'Failure', reason: 'NotFound', code: 404 },
      responseObject: { kind: 'Status', message: 'configmaps "missing" not found' },
    });
    expect(forbidden).toMatchObject({
      responseStatus: { reason: 'Forbidden', code: 403 },
      annotations: { 'authorization.k8s.io/decision': 'forbid' },
    });
  });

  test('so are rejected credentials, as of no user', async () => {
    const events = await audited('{level: Metadata}');
    const headers = { authorization: 'Bearer wrong' };
    const { code } = await send(t.server, { path: maps, user: null, headers });
    expect(code).toBe(401);
    expect(events).toMatchObject([
      { stage: 'ResponseStarted', user: {}, responseStatus: { reason: 'Unauthorized', code: 401 } },
    ]);
    expect(JSON.stringify(events)).not.toContain('wrong');
  });

  test('a failure of this program is recorded in the stage Panic', async () => {
    const events = await audited(`{level: Metadata, ${CONFIG_MAPS}}`, {
      intercept: (next) => (request) =>
        request.path === maps ? Promise.reject(new TypeError('a bug')) : next(request),
    });
    expect((await send(t.server, { path: maps })).code).toBe(500);
    expect(events.at(-1)).toMatchObject({
      stage: 'Panic',
      responseStatus: { code: 500, message: "APIServer panic'd: a bug" },
    });
  });

  test('a request that cannot be recorded at its beginning is rejected', async () => {
    await audited(`{level: Metadata, ${CONFIG_MAPS}}`, {}, () => false);
    const { json } = await send(t.server, { path: maps });
    expect(json).toMatchObject({
      code: 500,
      message: expect.stringContaining('failed to store audit event'),
    });
    const { text } = await send(t.server, { path: '/metrics' });
    expect(text).toContain('apiserver_audit_requests_rejected_total 1');
  });
});

test('impersonation: both users are recorded', async () => {
  const events = await audited('{level: Metadata, verbs: [get]}');
  await send(t.server, { path: `${maps}/a`, headers: { 'impersonate-user': 'eve' } });
  expect(events.at(-1)).toMatchObject({
    user: { username: 'admin' },
    impersonatedUser: { username: 'eve', groups: ['system:authenticated'] },
    authenticationMetadata: { impersonationConstraint: 'impersonate:user-info' },
  });
});

test('a watch has a stage for its beginning, and one for its end', async () => {
  const events = await audited('{level: Metadata, verbs: [watch]}');
  const { body } = await handle(t.server, { path: `${maps}?watch=true` });
  expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseStarted']);
  if (body.kind !== 'watch') throw new Error(`a body of kind ${body.kind}`);
  body.events.stop();
  body.events.stop();
  expect(events.map(({ stage }) => stage)).toEqual([
    'RequestReceived',
    'ResponseStarted',
    'ResponseComplete',
  ]);
});

test('pod security and validating policies add annotations', async () => {
  const events = await audited('{level: Metadata, verbs: [create]}');
  const api = new Api(t);
  await api.post('/api/v1/namespaces', {
    metadata: { name: 'team', labels: { 'pod-security.kubernetes.io/audit': 'restricted' } },
  });
  const policies = '/apis/admissionregistration.k8s.io/v1';
  await api.post(
    `${policies}/validatingadmissionpolicies`,
    `
metadata: {name: named}
spec:
  matchConstraints:
    resourceRules: [{apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
  validations: [{expression: "object.metadata.name != 'web'", message: not web}]
  auditAnnotations: [{key: who, valueExpression: "'by ' + request.userInfo.username"}]`,
  );
  await api.post(
    `${policies}/validatingadmissionpolicybindings`,
    'metadata: {name: bound}\nspec: {policyName: named, validationActions: [Audit]}',
  );
  await expect
    .poll(async () => {
      const name = `web`;
      await api.delete(`/api/v1/namespaces/team/pods/${name}?gracePeriodSeconds=0`);
      await api.post('/api/v1/namespaces/team/pods', {
        metadata: { name },
        spec: { containers: [{ name: 'c', image: 'busybox' }] },
      });
      return events.at(-1)!.annotations;
    })
    .toMatchObject({
      'named/who': 'by admin',
      'pod-security.kubernetes.io/enforce-policy': 'privileged:latest',
      'pod-security.kubernetes.io/audit-violations': expect.stringMatching(
        /^would violate PodSecurity "restricted:latest": allowPrivilegeEscalation/,
      ),
    });
  const failure =
    events.at(-1)!.annotations['validation.policy.admission.k8s.io/validation_failure']!;
  expect(JSON.parse(failure)).toEqual([
    {
      message: 'not web',
      policy: 'named',
      binding: 'bound',
      expressionIndex: 0,
      validationActions: ['Audit'],
    },
  ]);
});

test('webhooks add annotations: their own, what they changed, and that they failed', async () => {
  const localWebhooks = new LocalWebhooks();
  const patch = Buffer.from('[{"op":"add","path":"/data","value":{"x":"1"}}]').toString('base64');
  const changes = localWebhooks.add('changes', (review) => {
    const { uid } = (review as { readonly request: { readonly uid: string } }).request;
    const response = {
      uid,
      allowed: true,
      patch,
      patchType: 'JSONPatch',
      auditAnnotations: { why: 'x' },
    };
    return { apiVersion: 'admission.k8s.io/v1', kind: 'AdmissionReview', response };
  });
  const fails = localWebhooks.add('fails', () => {
    throw new Error('out of order');
  });
  const events = await audited(`{level: Request, verbs: [create], ${CONFIG_MAPS}}`, {
    localWebhooks,
  });
  const configuration = (kind: string, name: string, url: string) => ({
    apiVersion: 'admissionregistration.k8s.io/v1',
    kind,
    metadata: { name },
    webhooks: [
      {
        name: `${name}.example.com`,
        clientConfig: { url },
        rules: [
          {
            apiGroups: [''],
            apiVersions: ['v1'],
            operations: ['CREATE'],
            resources: ['configmaps'],
          },
        ],
        failurePolicy: 'Ignore',
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
      },
    ],
  });
  const api = new Api(t);
  const group = '/apis/admissionregistration.k8s.io/v1';
  for (const [name, { url }] of Object.entries({ changes, fails }))
    await api.post(
      `${group}/mutatingwebhookconfigurations`,
      configuration('MutatingWebhookConfiguration', name, url),
    );
  await api.post(
    `${group}/validatingwebhookconfigurations`,
    configuration('ValidatingWebhookConfiguration', 'fails', fails.url),
  );
  expect((await api.post(maps, { metadata: { name: 'a' } })).json.data).toEqual({ x: '1' });
  const { annotations } = events.at(-1)!;
  expect(annotations).toMatchObject({
    'changes.example.com/why': 'x',
    'failed-open.mutation.webhook.admission.k8s.io/round_0_index_1': 'fails.example.com',
    'failed-open.validating.webhook.admission.k8s.io/round_0_index_0': 'fails.example.com',
  });
  const valueOf = (key: string): unknown => JSON.parse(annotations[key]!);
  expect(valueOf('mutation.webhook.admission.k8s.io/round_0_index_0')).toEqual({
    configuration: 'changes',
    webhook: 'changes.example.com',
    mutated: true,
  });
  expect(valueOf('mutation.webhook.admission.k8s.io/round_0_index_1')).toMatchObject({
    mutated: false,
  });
  expect(valueOf('patch.webhook.admission.k8s.io/round_0_index_0')).toMatchObject({
    patch: [{ op: 'add', path: '/data', value: { x: '1' } }],
    patchType: 'JSONPatch',
  });
});

test('the credentials of a new token are recorded, and the use of a stale one', async () => {
  const clock = new VirtualClock();
  const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const signingKey = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();
  const events = await audited('{level: Metadata}', {
    clock,
    serviceAccounts: { signingKey, extendExpiration: true },
  });
  const api = new Api(t);
  await api.post('/api/v1/namespaces/default/serviceaccounts', { metadata: { name: 'a' } });
  await api.post('/api/v1/namespaces/default/pods', {
    metadata: { name: 'p' },
    spec: { serviceAccountName: 'a', containers: [{ name: 'c', image: 'i' }] },
  });
  const { json } = await api.post('/api/v1/namespaces/default/serviceaccounts/a/token', {
    spec: {
      expirationSeconds: 3607,
      boundObjectRef: { apiVersion: 'v1', kind: 'Pod', name: 'p' },
    },
  });
  const { annotations } = events.at(-1)!;
  expect(annotations['authentication.kubernetes.io/issued-credential-id']).toMatch(/^JTI=[-\w]+$/);
  const { token } = json.status as { readonly token: string };
  await clock.advance('2h');
  const use = () =>
    send(t.server, { path: '/version', headers: { authorization: `Bearer ${token}` }, user: null });
  expect((await use()).code).toBe(200);
  expect(events.at(-1)).toMatchObject({
    user: { username: 'system:serviceaccount:default:a' },
    annotations: {
      'authentication.k8s.io/stale-token':
        'subject: system:serviceaccount:default:a, seconds after warning threshold: 3593',
    },
  });
});
