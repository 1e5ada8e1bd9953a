// A kind that is installed into a running server and uninstalled: every consumer of the catalog
// follows.

import { describe, expect, test } from 'vitest';

import type { APIGroupDiscoveryList } from '#api/groups/apidiscovery/v2/index.ts';
import { clusterRoleBindings, clusterRoles } from '#api/groups/rbac/v1/index.ts';
import type { APIResourceList } from '#api/machinery/meta/v1/index.ts';
import { Api } from '../testing/api.ts';
import { type Answer, type RawResponse, send } from '../testing/requests.ts';
import { serverPerTest } from '../testing/server-per-test.ts';
import { type Widget, widgetKind, widgetType } from '../testing/widgets.ts';
import type { Kind } from './kind.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const ROOT = '/apis/example.com/v1';
const WIDGETS = `${ROOT}/namespaces/default/widgets`;
const V1 = widgetType();
const V2 = widgetType('v2');
const GADGETS = widgetType('v1', 'example.com', 'gadgets');

const t = serverPerTest();
const api = new Api(t);

const code = async (path: string): Promise<number> => (await api.get(path)).code;
const widget = (name: string) => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name },
  data: { size: 'large' },
});

/** Returns which documents mention the group. */
async function mentions(): Promise<Readonly<Record<string, boolean>>> {
  const has = async (path: string, accept = 'application/json'): Promise<boolean> =>
    (await send(t.server, { path, headers: { accept } })).text.includes('example.com');
  return {
    index: await has('/'),
    groups: await has('/apis'),
    aggregated: await has('/apis', AGGREGATED),
    'OpenAPI v2': await has('/openapi/v2'),
    'OpenAPI v3': await has('/openapi/v3'),
  };
}
const everywhere = {
  index: true,
  groups: true,
  aggregated: true,
  'OpenAPI v2': true,
  'OpenAPI v3': true,
};
const nowhere = {
  index: false,
  groups: false,
  aggregated: false,
  'OpenAPI v2': false,
  'OpenAPI v3': false,
};
/** Paths that exist as long as the kind is installed. */
const PATHS = [
  WIDGETS,
  `${ROOT}/widgets`,
  '/apis/example.com',
  ROOT,
  '/openapi/v3/apis/example.com/v1',
];

test('the kind is served and described as long as it is installed', async () => {
  expect(await mentions()).toEqual(nowhere);
  for (const path of PATHS) expect([path, await code(path)]).toEqual([path, 404]);

  const installed = t.server.catalog.install([widgetKind(t)]);
  expect(await mentions()).toEqual(everywhere);
  for (const path of PATHS) expect([path, await code(path)]).toEqual([path, 200]);
  expect((await api.post(WIDGETS, widget('a'))).code).toBe(201);
  expect((await api.get(`${WIDGETS}/a`)).json).toMatchObject(widget('a'));
  expect((await api.patch(`${WIDGETS}/a`, { data: { size: 'small' } })).json.data).toEqual({
    size: 'small',
  });
  expect((await api.get(WIDGETS)).json.items.map(({ metadata }) => metadata.name)).toEqual(['a']);
  expect((await api.delete(`${WIDGETS}/a`)).code).toBe(200);

  installed.uninstall();
  expect(await mentions()).toEqual(nowhere);
  for (const path of PATHS) expect([path, await code(path)]).toEqual([path, 404]);
  expect((await api.post(WIDGETS, widget('b'))).code).toBe(404);
});

test('objects stay in the store, and are served when the kind is installed again', async () => {
  const installed = t.server.catalog.install([widgetKind(t)]);
  await api.post(WIDGETS, widget('a'));
  installed.uninstall();
  t.server.catalog.install([widgetKind(t)]);
  expect((await api.get(`${WIDGETS}/a`)).json).toMatchObject(widget('a'));
});

test('watches get events until the kind is uninstalled, then they end', async () => {
  const installed = t.server.catalog.install([widgetKind(t)]);
  const events: string[] = [];
  const stream = await t.client.resource<Widget>(V1).namespace('default').watch();
  const ended = (async () => {
    for await (const { type, object } of stream) events.push(`${type} ${object.metadata.name}`);
  })();
  await api.post(WIDGETS, widget('a'));
  await api.delete(`${WIDGETS}/a`);
  installed.uninstall();
  await ended;
  expect(events).toEqual(['ADDED a', 'DELETED a']);
});

test('a second version is another view of the same objects, and can be removed alone', async () => {
  const first = widgetKind(t);
  t.server.catalog.install([first]);
  await api.post(WIDGETS, widget('a'));
  const installed = t.server.catalog.install([widgetKind(t, V2, V1)]);
  const inV2 = WIDGETS.replace('v1', 'v2');
  expect((await api.get(`${inV2}/a`)).json).toMatchObject({
    ...widget('a'),
    apiVersion: 'example.com/v2',
  });
  expect((await api.get('/apis/example.com')).json).toMatchObject({
    preferredVersion: { version: 'v2' },
  });

  const watches = await Promise.all(
    [V1, V2].map((type) => t.client.resource<Widget>(type).watch()),
  );
  const ended = watches.map(async (stream) => {
    for await (const { type } of stream) if (type === 'DELETED') return 'event';
    return 'end';
  });
  installed.uninstall();
  expect(await ended[1]).toBe('end');
  await api.delete(`${WIDGETS}/a`);
  expect(await ended[0]).toBe('event');
  expect([await code(inV2), await code('/apis/example.com/v2'), await code(ROOT)]).toEqual([
    404, 404, 200,
  ]);
  expect((await api.get('/apis/example.com')).json).toMatchObject({
    preferredVersion: { version: 'v1' },
  });
});

test('roles decide about access to it', async () => {
  t.server.catalog.install([widgetKind(t)]);
  const user = { name: 'jane', groups: ['system:authenticated'] };
  const list = async (): Promise<number> => (await send(t.server, { path: WIDGETS, user })).code;
  expect(await list()).toBe(403);
  const rules = [{ apiGroups: ['example.com'], resources: ['widgets'], verbs: ['list'] }];
  await t.client.resource(clusterRoles).create({ metadata: { name: 'widgets' }, rules });
  await t.client.resource(clusterRoleBindings).create({
    metadata: { name: 'widgets' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'widgets' },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: 'jane' }],
  });
  await expect.poll(list).toBe(200);
  expect(
    (await send(t.server, { method: 'POST', path: WIDGETS, body: widget('a'), user })).code,
  ).toBe(403);
});

test('a policy may use it for its parameters', async () => {
  const policies = '/apis/admissionregistration.k8s.io/v1';
  const matchConstraints = {
    resourceRules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] },
    ],
  };
  await api.post(`${policies}/validatingadmissionpolicies`, {
    metadata: { name: 'sized' },
    spec: {
      matchConstraints,
      paramKind: { apiVersion: 'example.com/v1', kind: 'Widget' },
      validations: [{ expression: 'object.data.size == params.data.size' }],
    },
  });
  await api.post(`${policies}/validatingadmissionpolicybindings`, {
    metadata: { name: 'sized' },
    spec: {
      policyName: 'sized',
      validationActions: ['Deny'],
      paramRef: { name: 'a', parameterNotFoundAction: 'Allow' },
    },
  });
  let count = 0;
  const create = async (size: string): Promise<string> => {
    const answer = await api.post('/api/v1/namespaces/default/configmaps', {
      metadata: { name: `c${count++}` },
      data: { size },
    });
    return answer.code === 201 ? 'created' : (answer.json.message ?? '');
  };
  const unknown = "failed to find resource referenced by paramKind: 'example.com/v1, Kind=Widget'";
  await expect.poll(() => create('large')).toContain(unknown);
  const installed = t.server.catalog.install([widgetKind(t)]);
  await api.post(WIDGETS, widget('a'));
  expect(await create('large')).toBe('created');
  expect(await create('small')).toContain('failed expression');
  installed.uninstall();
  expect(await create('large')).toContain(unknown);
});

describe('documents', () => {
  test('of groups without a change stay the same, with their tags', async () => {
    t.server.catalog.install([widgetKind(t, widgetType('v1', 'other.example.com'))]);
    const tags = async (): Promise<(string | undefined)[]> =>
      Promise.all(
        ['apis/apps/v1', 'apis/other.example.com/v1'].map(async (path) => {
          const { paths } = JSON.parse((await api.get('/openapi/v3')).text) as {
            paths: Record<string, { serverRelativeURL: string }>;
          };
          return paths[path]?.serverRelativeURL;
        }),
      );
    const before = await tags();
    const aggregated = async () =>
      (await send(t.server, { path: '/apis', headers: { accept: AGGREGATED } })).headers['etag'];
    const tag = await aggregated();
    const installed = t.server.catalog.install([widgetKind(t)]);
    expect(await tags()).toEqual(before);
    expect(await aggregated()).not.toBe(tag);
    installed.uninstall();
    expect(await aggregated()).toBe(tag);
  });

  test('list resources of a group by name, in any order of installation', async () => {
    t.server.catalog.install([widgetKind(t)]);
    t.server.catalog.install([widgetKind(t, GADGETS)]);
    const { resources } = (await api.get(ROOT)).json as unknown as APIResourceList;
    expect(resources.map(({ name }) => name)).toEqual(['gadgets', 'widgets']);
  });
});

test('requests during changes see all kinds of an installation or none', async () => {
  const kinds = (): readonly Kind[] => [widgetKind(t), widgetKind(t, GADGETS)];
  let installed = t.server.catalog.install(kinds());
  await api.post(WIDGETS, widget('a'));
  const seen = new Set<string>();
  const summary = (
    { code: status, text }: RawResponse,
    describe: (json: Answer) => string | undefined,
  ): string =>
    status === 200
      ? `${status} ${describe(JSON.parse(text) as Answer)}`
      : `${status} ${text.trim()}`;
  const namesOf = (json: Answer): string =>
    (json as unknown as APIResourceList).resources.map(({ name }) => name).join(' ');
  const sizeOf = ({ data }: Answer): string | undefined => data?.['size'];
  let updates = 0;
  const questions: Readonly<Record<string, () => Promise<string>>> = {
    legacy: async () => summary(await api.get(ROOT), namesOf),
    aggregated: async () =>
      summary(await send(t.server, { path: '/apis', headers: { accept: AGGREGATED } }), (json) => {
        const groups = (json as unknown as APIGroupDiscoveryList).items.filter(
          ({ metadata }) => metadata?.name === 'example.com',
        );
        const resources = groups.flatMap(({ versions = [] }) =>
          versions.flatMap((version) => version.resources ?? []),
        );
        return resources.map(({ resource }) => resource).join(' ');
      }),
    read: async () => summary(await api.get(`${WIDGETS}/a`), sizeOf),
    update: async () =>
      summary(
        await api.patch(`${WIDGETS}/a`, { metadata: { labels: { updates: String(updates++) } } }),
        sizeOf,
      ),
  };
  const askAll = (): void => {
    for (const [name, ask] of Object.entries(questions)) {
      requests.push(ask().then((answer) => void seen.add(`${name}: ${answer}`)));
    }
  };
  const requests: Promise<void>[] = [];
  for (let round = 0; round < 60; round++) {
    askAll();
    await Promise.resolve();
    if (round % 3 === 0) installed.uninstall();
    else if (round % 3 === 1) installed = t.server.catalog.install(kinds());
    else installed.replace(kinds());
    askAll();
    // Some requests are in flight when the next change follows.
    await requests[requests.length - 1 - (round % 8)];
  }
  await Promise.all(requests);
  // Each response has either everything or nothing of the group: never a missing object, never one
  // of the two kinds.
  const missing = '404 404 page not found';
  expect([...seen].toSorted()).toEqual(
    [
      'aggregated: 200 ',
      'aggregated: 200 gadgets widgets',
      `legacy: ${missing}`,
      'legacy: 200 gadgets widgets',
      `read: ${missing}`,
      'read: 200 large',
      `update: ${missing}`,
      'update: 200 large',
    ].toSorted(),
  );
  expect(requests.length).toBe(480);
});
