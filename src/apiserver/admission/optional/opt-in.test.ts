// The plugins about namespaces, nodes, tolerations and events, which run where they are enabled.

import { afterEach, expect, test } from 'vitest';

import { VirtualClock } from '#machinery/clock.ts';
import { send } from '../../testing/requests.ts';
import { startTestServer, type TestServer, type TestServerConfig } from '../../testing/server.ts';

let t: TestServer;
afterEach(async () => {
  await t?.stop();
});

const start = async (name: string, config: TestServerConfig = {}): Promise<void> => {
  t = await startTestServer({ enableAdmissionPlugins: [name], ...config });
};

async function post(path: string, body: object, name = 'admin') {
  const { code, json } = await send(t.server, {
    method: 'POST',
    path: `/api/v1/${path}`,
    body,
    user: { name, groups: ['system:masters'] },
  });
  return { answer: code < 300 ? String(code) : `${code} ${json.message}`, spec: json.spec };
}

const CONTAINER = { name: 'c', image: 'i:1' };
const pod = (name: string, spec: object = {}): object => ({
  metadata: { name },
  spec: { containers: [CONTAINER], ...spec },
});
const pods = (namespace: string): string => `namespaces/${namespace}/pods`;
const newNamespace = (name: string, annotations: object): Promise<unknown> =>
  post('namespaces', { metadata: { name, annotations } });

test('LimitPodHardAntiAffinityTopology', async () => {
  await start('LimitPodHardAntiAffinityTopology');
  const apart = (topologyKey: string): object => ({
    affinity: {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey, labelSelector: {} }],
      },
    },
  });
  expect((await post(pods('default'), pod('a', apart('kubernetes.io/hostname')))).answer).toBe(
    '201',
  );
  expect((await post(pods('default'), pod('b', apart('topology.kubernetes.io/zone')))).answer).toBe(
    '403 pods "b" is forbidden: affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey ' +
      'topology.kubernetes.io/zone but only key kubernetes.io/hostname is allowed',
  );
});

test('ExtendedResourceToleration', async () => {
  await start('ExtendedResourceToleration');
  const resources = {
    requests: { 'example.com/gpu': '1', cpu: '1' },
    limits: { 'example.com/gpu': '1' },
  };
  const { spec } = await post(
    pods('default'),
    pod('a', { containers: [{ ...CONTAINER, resources }] }),
  );
  expect(spec?.['tolerations']).toEqual(
    expect.arrayContaining([{ key: 'example.com/gpu', operator: 'Exists', effect: 'NoSchedule' }]),
  );
});

test('NamespaceAutoProvision', async () => {
  await start('NamespaceAutoProvision');
  expect(
    (await post('namespaces/new/configmaps?dryRun=All', { metadata: { name: 'a' } })).answer,
  ).toMatch(/^404/);
  expect((await post('namespaces/new/configmaps', { metadata: { name: 'a' } })).answer).toBe('201');
  const { code } = await send(t.server, { path: '/api/v1/namespaces/new' });
  expect(code).toBe(200);
});

test('NamespaceExists', async () => {
  await start('NamespaceExists', {
    disableAdmissionPlugins: ['NamespaceLifecycle', 'ServiceAccount'],
  });
  expect((await post('namespaces/none/configmaps', { metadata: { name: 'a' } })).answer).toBe(
    '404 namespaces "none" not found',
  );
  expect((await post('namespaces/default/configmaps', { metadata: { name: 'a' } })).answer).toBe(
    '201',
  );
});

test('PodNodeSelector', async () => {
  const nodeSelectors = { clusterDefaultNodeSelector: 'pool=general', small: 'pool=small,zone=a' };
  await start('PodNodeSelector', { admissionSettings: { nodeSelectors } });
  const annotation = 'scheduler.alpha.kubernetes.io/node-selector';
  await newNamespace('small', { [annotation]: 'pool=small' });
  await newNamespace('wrong', { [annotation]: 'pool' });
  const create = (namespace: string, nodeSelector: object) =>
    post(pods(namespace), pod(`p${Object.values(nodeSelector).join('')}`, { nodeSelector }));
  expect((await create('default', {})).spec?.['nodeSelector']).toEqual({ pool: 'general' });
  expect((await create('small', { zone: 'a' })).spec?.['nodeSelector']).toEqual({
    pool: 'small',
    zone: 'a',
  });
  expect((await create('small', { pool: 'big' })).answer).toMatch(
    /^403 .*conflicts with its namespace node label/,
  );
  expect((await create('small', { zone: 'b' })).answer).toMatch(
    /^403 .*conflict with its namespace whitelist$/,
  );
  expect((await create('wrong', {})).answer).toMatch(/invalid selector: \[pool\]$/);
});

test('PodTolerationRestriction', async () => {
  const tolerations = {
    default: [{ key: 'dedicated', operator: 'Exists' }],
    whitelist: [
      { key: 'dedicated', operator: 'Exists' },
      { key: 'node.kubernetes.io/', operator: 'Exists' },
    ],
  } as const;
  await start('PodTolerationRestriction', {
    admissionSettings: { tolerations },
    disableAdmissionPlugins: ['ServiceAccount', 'DefaultTolerationSeconds'],
  });
  const own = 'scheduler.alpha.kubernetes.io/tolerationsWhitelist';
  await newNamespace('strict', { [own]: '[{"key":"dedicated","operator":"Exists"}]' });
  await newNamespace('wrong', { [own]: '{' });
  const create = (namespace: string, name: string, given: readonly object[]) =>
    post(pods(namespace), pod(name, { tolerations: given }));
  expect((await create('default', 'a', [])).spec?.['tolerations']).toEqual(tolerations.default);
  const other = [{ key: 'other', operator: 'Exists' }];
  expect((await create('default', 'b', other)).answer).toBe(
    '403 pods "b" is forbidden: pod tolerations (possibly merged with namespace default tolerations) ' +
      'conflict with its cluster whitelist',
  );
  expect((await create('strict', 'c', other)).answer).toMatch(
    /conflict with its namespace whitelist$/,
  );
  expect((await create('wrong', 'd', [])).answer).toMatch(/^500 .*is no list of tolerations$/);
  const burstable = { containers: [{ ...CONTAINER, resources: { requests: { cpu: '1' } } }] };
  expect((await post(pods('default'), pod('e', burstable))).answer).toMatch(/cluster whitelist$/);
});

test('EventRateLimit', async () => {
  const clock = new VirtualClock();
  const eventLimits = [
    { type: 'User', qps: 1, burst: 2, cacheSize: 10 },
    { type: 'Namespace', qps: 100, burst: 3, cacheSize: 10 },
  ] as const;
  await start('EventRateLimit', { clock, admissionSettings: { eventLimits } });
  let count = 0;
  const event = (user: string, query = ''): Promise<string> =>
    post(
      `namespaces/default/events${query}`,
      {
        metadata: { name: `e${count++}` },
        involvedObject: { kind: 'Pod', namespace: 'default', name: 'p' },
      },
      user,
    ).then(({ answer }) => answer);
  expect(await event('a')).toBe('201');
  expect(await event('a', '?dryRun=All')).toBe('201');
  expect(await event('a')).toBe('201');
  expect(await event('a')).toBe('429 Too many requests: limit reached on type User for key a');
  expect(await event('b')).toBe(
    '429 Too many requests: limit reached on type Namespace for key default',
  );
  await clock.advance(1000);
  expect(await event('a')).toBe('201');
});
