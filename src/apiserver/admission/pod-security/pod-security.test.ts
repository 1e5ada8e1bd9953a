// Pods, objects with pod templates, and their namespaces, through the API.

import { afterEach, describe, expect, test } from 'vitest';

import { Api, outcome } from '#apiserver/testing/api.ts';
import { send } from '#apiserver/testing/requests.ts';
import { startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import type { PodSecurityConfig } from './index.ts';
import type { Policy } from './policy.ts';

const NAMESPACES = '/api/v1/namespaces';
const PODS = `${NAMESPACES}/ns/pods`;
const PREFIX = 'pod-security.kubernetes.io/';
const asLabels = (labels: Record<string, string>) =>
  Object.fromEntries(Object.entries(labels).map(([key, value]) => [PREFIX + key, value]));
const namespace = (labels: Record<string, string>, name = 'ns') => ({
  metadata: { name, labels: asLabels(labels) },
});
const HOST = { hostNetwork: true, containers: [{ name: 'c', image: 'i' }] };
const PLAIN = { containers: [{ name: 'c', image: 'i' }] };
const pod = (name: string, spec: object) => ({ metadata: { name }, spec });
const NOT_BASELINE = 'PodSecurity "baseline:latest": host namespaces (hostNetwork=true)';

let t: TestServer;
let api: Api;
async function start(podSecurity?: PodSecurityConfig): Promise<void> {
  t = await startTestServer({ ...(podSecurity !== undefined && { podSecurity }) });
  api = new Api(t);
}
/** Restarts on the storage of a server without the plugin, which has created the object. */
async function startOver(created: object): Promise<void> {
  const before = await startTestServer({ disableAdmissionPlugins: ['PodSecurity'] });
  await new Api(before).post(NAMESPACES, created);
  await before.server.stop();
  t = await startTestServer({
    storage: before.storage,
    start: false,
    disableAdmissionPlugins: ['ServiceAccount'],
  });
  api = new Api(t);
}

afterEach(async () => {
  await t.stop();
  expect(t.logger.errors).toEqual([]);
});

async function metrics(): Promise<readonly string[]> {
  const { text } = await send(t.server, { path: '/metrics' });
  return text
    .split('\n')
    .filter((line) => line.startsWith('pod_security_') && !line.endsWith(' 0'));
}

describe('pods', () => {
  test('are rejected if they violate the enforced level', async () => {
    await start();
    await api.post(NAMESPACES, namespace({ enforce: 'baseline' }));
    const refused = await api.post(PODS, pod('p', HOST));
    expect(outcome(refused)).toBe(`403 Forbidden: pods "p" is forbidden: violates ${NOT_BASELINE}`);
    expect(refused.json.details).toEqual({ name: 'p', kind: 'pods' });
    expect(refused.warnings).toEqual([]);
    const generated = await api.post(PODS, { metadata: { generateName: 'g-' }, spec: HOST });
    expect(outcome(generated)).toMatch(
      /^403 Forbidden: pods "g-\w{5}" is forbidden: violates PodSecurity /,
    );
    expect((await api.post(`${PODS}?dryRun=All`, pod('p', HOST))).code).toBe(403);
    expect((await api.post(PODS, pod('p', PLAIN))).code).toBe(201);
    const counted = (decision: string) =>
      `pod_security_evaluations_total{decision="${decision}",policy_level="baseline",` +
      'policy_version="latest",mode="enforce",' +
      'request_operation="create",resource="pod",subresource=""}';
    expect(await metrics()).toEqual([`${counted('deny')} 3`, `${counted('allow')} 1`]);
  });

  test('are admitted with a warning if they violate the warn level', async () => {
    await start();
    await api.post(
      NAMESPACES,
      namespace({ warn: 'restricted', 'warn-version': 'v1.7', audit: 'baseline' }),
    );
    const { code, warnings } = await api.post(PODS, pod('p', HOST));
    expect([code, warnings]).toEqual([
      201,
      [
        'would violate PodSecurity "restricted:v1.7": host namespaces (hostNetwork=true), ' +
          'runAsNonRoot != true (pod or container "c" must set securityContext.runAsNonRoot=true)',
      ],
    ]);
    const counted = (await metrics()).map((line) =>
      /decision="(\w+)".*policy_version="(\S+?)",mode="(\w+)"/.exec(line)?.slice(1),
    );
    expect(counted).toEqual([
      ['allow', 'latest', 'enforce'],
      ['deny', 'latest', 'audit'],
      ['deny', 'v1.7', 'warn'],
    ]);
  });

  test('may be updated in fields that the standards do not restrict', async () => {
    await start();
    await api.post(NAMESPACES, namespace({}));
    await api.post(PODS, pod('p', HOST));
    await api.patch(`${NAMESPACES}/ns`, namespace({ enforce: 'baseline' }));
    expect((await api.patch(`${PODS}/p`, { metadata: { labels: { a: 'b' } } })).code).toBe(200);
    expect((await api.patch(`${PODS}/p/status`, { status: { phase: 'Running' } })).code).toBe(200);
    const refusal = `403 Forbidden: pods "p" is forbidden: violates ${NOT_BASELINE}`;
    expect(
      outcome(
        await api.patch(`${PODS}/p`, { spec: { containers: [{ name: 'c', image: 'other' }] } }),
      ),
    ).toBe(refusal);
    const debug = { spec: { ephemeralContainers: [{ name: 'd', image: 'i' }] } };
    expect(outcome(await api.patch(`${PODS}/p/ephemeralcontainers`, debug))).toBe(refusal);
  });

  test('get no ephemeral containers that a new pod could not have', async () => {
    await start();
    await api.post(NAMESPACES, namespace({ enforce: 'baseline' }));
    await api.post(PODS, pod('p', PLAIN));
    const add = (securityContext: object) =>
      api.patch(`${PODS}/p/ephemeralcontainers`, {
        spec: { ephemeralContainers: [{ name: 'd', image: 'i', securityContext }] },
      });
    expect(outcome(await add({ privileged: true }))).toBe(
      '403 Forbidden: pods "p" is forbidden: violates PodSecurity "baseline:latest": ' +
        'privileged (container "d" must not set securityContext.privileged=true)',
    );
    expect((await add({})).code).toBe(200);
  });

  test('follow the server’s defaults in a namespace without labels, unless exempt', async () => {
    const baseline = { level: 'baseline', version: 'latest' } as const;
    const defaults: Policy = { enforce: baseline, audit: baseline, warn: baseline };
    await start({
      defaults,
      exemptions: { usernames: ['root'], namespaces: ['free'], runtimeClasses: ['vm'] },
    });
    for (const name of ['ns', 'free']) await api.post(NAMESPACES, namespace({}, name));
    await api.post('/apis/node.k8s.io/v1/runtimeclasses', {
      metadata: { name: 'vm' },
      handler: 'vm',
    });
    expect((await api.post(PODS, pod('p', HOST))).code).toBe(403);
    expect((await api.post(PODS, pod('vm', { ...HOST, runtimeClassName: 'vm' }))).code).toBe(201);
    expect((await api.post(`${NAMESPACES}/free/pods`, pod('p', HOST))).code).toBe(201);
    const user = { name: 'root', groups: ['system:masters'] };
    const asRoot = await send(t.server, {
      method: 'POST',
      path: PODS,
      body: pod('p', HOST),
      user,
      headers: JSON_TYPE,
    });
    expect(asRoot.code).toBe(201);
    expect(
      (await metrics()).filter((line) => line.startsWith('pod_security_exemptions_total')),
    ).toEqual([
      'pod_security_exemptions_total{request_operation="create",resource="pod",subresource=""} 3',
    ]);
  });

  test('of a namespace with invalid labels must be restricted', async () => {
    await startOver(namespace({ enforce: 'none' }));
    const answer = await api.post(PODS, pod('p', HOST));
    expect(answer.json.message).toContain(
      'pods "p" is forbidden: violates PodSecurity "restricted:latest": host namespaces',
    );
    expect(await metrics()).toContain(
      'pod_security_errors_total{fatal="false",request_operation="create",resource="pod",subresource=""} 1',
    );
  });
});

const JSON_TYPE = { 'content-type': 'application/json' };

describe('objects with pod templates', () => {
  const template = { metadata: { labels: { a: 'b' } }, spec: HOST };
  const ofJob = { metadata: {}, spec: { ...HOST, restartPolicy: 'Never' } };
  const selector = { matchLabels: { a: 'b' } };
  const warning = `would violate ${NOT_BASELINE}`;

  test.each<[string, object]>([
    ['/api/v1/namespaces/ns/podtemplates', { template }],
    ['/api/v1/namespaces/ns/replicationcontrollers', { spec: { selector: { a: 'b' }, template } }],
    ['/apis/apps/v1/namespaces/ns/deployments', { spec: { selector, template } }],
    ['/apis/apps/v1/namespaces/ns/replicasets', { spec: { selector, template } }],
    [
      '/apis/apps/v1/namespaces/ns/statefulsets',
      { spec: { selector, template, serviceName: 's' } },
    ],
    ['/apis/apps/v1/namespaces/ns/daemonsets', { spec: { selector, template } }],
    ['/apis/batch/v1/namespaces/ns/jobs', { spec: { template: ofJob } }],
    [
      '/apis/batch/v1/namespaces/ns/cronjobs',
      { spec: { schedule: '* * * * *', jobTemplate: { spec: { template: ofJob } } } },
    ],
  ])('%s: causes a warning, not a rejection', async (path, fields) => {
    await start();
    await api.post(NAMESPACES, namespace({ enforce: 'baseline' }));
    const { code, warnings } = await api.post(path, { metadata: { name: 'x' }, ...fields });
    expect([code, warnings]).toEqual([201, [warning]]);
    const patched = await api.patch(`${path}/x`, { metadata: { labels: { a: 'b' } } });
    expect([patched.code, patched.warnings]).toEqual([200, [warning]]);
    expect(
      (await metrics()).every(
        (line) => line.includes('mode="warn"') && line.includes('resource="controller"'),
      ),
    ).toBe(true);
  });

  test('are not checked in their subresources', async () => {
    await start();
    await api.post(NAMESPACES, namespace({ enforce: 'baseline' }));
    const path = '/apis/apps/v1/namespaces/ns/deployments';
    await api.post(path, { metadata: { name: 'x' }, spec: { selector, template } });
    expect((await api.patch(`${path}/x/scale`, { spec: { replicas: 2 } })).warnings).toEqual([]);
  });
});

describe('namespaces', () => {
  test('with invalid labels are rejected', async () => {
    await start();
    const wrong = { enforce: 'strict', 'warn-version': '1.30' };
    const problems =
      `[metadata.labels[${PREFIX}enforce]: Invalid value: "strict": must be one of privileged, baseline, restricted, ` +
      `metadata.labels[${PREFIX}warn-version]: Invalid value: "1.30": must be "latest" or "v1.x"]`;
    const refused = await api.post(NAMESPACES, namespace(wrong));
    expect(outcome(refused)).toBe(`422 Invalid: Namespace "ns" is invalid: ${problems}`);
    await api.post(NAMESPACES, namespace({}));
    expect(outcome(await api.patch(`${NAMESPACES}/ns`, namespace(wrong)))).toBe(
      `422 Invalid: Namespace "ns" is invalid: ${problems}`,
    );
  });

  test('may be updated while their labels are as invalid as before', async () => {
    await startOver(namespace({ enforce: 'none' }));
    expect(
      (await api.patch(`${NAMESPACES}/ns`, { metadata: { annotations: { a: 'b' } } })).code,
    ).toBe(200);
    expect((await api.patch(`${NAMESPACES}/ns`, namespace({ enforce: 'nothing' }))).code).toBe(422);
  });

  test('that become stricter cause warnings about existing pods', async () => {
    await start();
    await api.post(NAMESPACES, namespace({}));
    for (const name of ['b', 'a']) await api.post(PODS, pod(name, HOST));
    await api.post(PODS, pod('good', PLAIN));
    const change = async (labels: Record<string, string>) =>
      (await api.patch(`${NAMESPACES}/ns`, namespace(labels))).warnings;
    expect(await change({ warn: 'restricted' })).toEqual([]);
    expect(await change({ enforce: 'baseline' })).toEqual([
      'existing pods in namespace "ns" violate the new PodSecurity enforce level "baseline:latest"',
      'a (and 1 other pod): host namespaces',
    ]);
    expect(await change({ 'enforce-version': 'v1.30' })).toHaveLength(2);
    expect(await change({ enforce: 'restricted' })).toEqual([
      'existing pods in namespace "ns" violate the new PodSecurity enforce level "restricted:v1.30"',
      'a (and 1 other pod): host namespaces, allowPrivilegeEscalation != false, unrestricted ' +
        'capabilities, runAsNonRoot != true, seccompProfile',
      'good: allowPrivilegeEscalation != false, unrestricted capabilities, runAsNonRoot != true, seccompProfile',
    ]);
    expect(await change({ enforce: 'baseline' })).toEqual([]);
    expect(await change({ enforce: 'privileged' })).toEqual([]);
  });

  test('that are exempt get a warning about useless labels', async () => {
    await start({ exemptions: { namespaces: ['ns'] } });
    const ignored = (policy: string) => [
      `namespace "ns" is exempt from Pod Security, and the policy (${policy}) will be ignored`,
    ];
    const created = await api.post(
      NAMESPACES,
      namespace({ enforce: 'baseline', 'audit-version': 'v1.2', warn: 'restricted' }),
    );
    expect(created.warnings).toEqual(ignored('enforce=baseline:latest, warn=restricted:latest'));
    expect(
      (await api.patch(`${NAMESPACES}/ns`, { metadata: { labels: { a: 'b' } } })).warnings,
    ).toEqual([]);
    const patched = await api.patch(
      `${NAMESPACES}/ns`,
      namespace({ enforce: 'restricted', audit: 'baseline' }),
    );
    expect(patched.warnings).toEqual(
      ignored('enforce=restricted:latest, audit=baseline:v1.2, warn=restricted:latest'),
    );
  });
});
