// Requests that the authorizer sees in one namespace and that reach beyond it: every served
// resource and subresource, with every method, at every form of path. The class of CVE-2019-11247.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import type { Attributes, Authorizer } from '#apiserver/authorization/authorizer.ts';
import type { Kind } from '#apiserver/catalog/kind.ts';
import { handle, type RawRequest, send } from '#apiserver/testing/requests.ts';
import { ADMIN, startTestServer, type TestServer } from '#apiserver/testing/server.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { UserInfo } from '#apiserver/request.ts';
import { kindManifests } from '../e2e/kinds.ts';

/** A user with all rights in the namespace 'tenant'. */
const TENANT: UserInfo = { name: 'tenant', groups: [] };
/** A user with the right to read everything. */
const READER: UserInfo = { name: 'reader', groups: [] };
/** A user with all rights for objects that have the name of their resource. */
const NAMED: UserInfo = { name: 'named', groups: [] };

const READING: ReadonlySet<string> = new Set(['get', 'list', 'watch']);

const authorizer: Authorizer = {
  authorize: (attributes) => ({ decision: mayDo(attributes) ? 'allow' : 'deny', reason: '' }),
  rulesFor: () => ({ resourceRules: [], nonResourceRules: [], incomplete: false }),
};

function mayDo({ user, isResourceRequest, namespace, verb, name, resource }: Attributes): boolean {
  switch (user.name) {
    case TENANT.name:
      return isResourceRequest && namespace === 'tenant';
    case READER.name:
      return READING.has(verb);
    case NAMED.name:
      return name === resource;
    default:
      return true;
  }
}

/** The text in an annotation of every object outside the namespace 'tenant'. */
const MARK = 'outside-of-the-tenant';
const METHODS = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
/** Resources that the server itself writes when it creates a Service. */
const ALLOCATIONS = [
  '/registry/ipaddresses/',
  '/registry/ranges/',
  '/registry/servicenodeportallocations/',
];

let server: TestServer;
let resources: readonly Kind[];

beforeAll(async () => {
  server = await startTestServer({ authorizer });
  resources = server.server.catalog.snapshot().publishedKinds();
  for (const name of ['tenant', 'victim'])
    await create('/api/v1/namespaces', { metadata: { name } });
  for (const { resource, manifest } of kindManifests) {
    const served = resources.find(
      ({ type }) => type.resource === resource && apiVersionOf(type) === manifest['apiVersion'],
    );
    if (served === undefined || resource === 'namespaces') continue;
    const metadata = manifest['metadata'] as object;
    const marked = { ...manifest, metadata: { ...metadata, annotations: { mark: MARK } } };
    if (served.type.namespaced) {
      await create(collection(served, 'victim'), inNamespace(marked, 'victim'));
      // A quota would keep the tenant from creating other objects.
      if (resource !== 'resourcequotas')
        await create(collection(served, 'tenant'), inNamespace(manifest, 'tenant'));
    } else await create(collection(served), marked);
  }
  const outside = { metadata: { annotations: { mark: MARK } } };
  for (const name of ['victim', 'default', 'kube-system']) {
    await api({
      method: 'PATCH',
      path: `/api/v1/namespaces/${name}`,
      body: outside,
      headers: MERGE,
    });
  }
});
afterAll(() => server.stop());

const inNamespace = (manifest: object, namespace: string): object =>
  JSON.parse(JSON.stringify(manifest).replaceAll('"default"', `"${namespace}"`)) as object;

const MERGE = { 'content-type': 'application/merge-patch+json' };

async function create(path: string, body: object): Promise<void> {
  const { code, text } = await api({
    method: 'POST',
    path,
    body,
    headers: { 'content-type': 'application/json' },
  });
  if (code !== 201) throw new Error(`POST ${path}: ${code} ${text}`);
}

const api = (raw: RawRequest): ReturnType<typeof send> => send(server.server, raw);

const apiVersionOf = ({ group, version }: Kind['type']): string =>
  group === '' ? version : `${group}/${version}`;

const root = ({ type: { group, version } }: Kind): string =>
  group === '' ? `/api/${version}` : `/apis/${group}/${version}`;

function collection(served: Kind, namespace?: string): string {
  return `${root(served)}${namespace === undefined ? '' : `/namespaces/${namespace}`}/${served.type.resource}`;
}

/** Yields valid and manipulated paths of a resource. */
function* pathsOf(served: Kind): Generator<string> {
  const { resource } = served.type;
  const name = resource === 'namespaces' ? 'victim' : nameOf(resource);
  const tails = [
    '',
    `/${name}`,
    `/${resource}`,
    ...(served.subresources ?? []).map((sub) => `/${name}/${sub.name}`),
  ];
  for (const tail of tails) {
    for (const form of [
      '',
      '/namespaces/tenant',
      '/namespaces/victim',
      '/watch',
      '/watch/namespaces/tenant',
      '/proxy/namespaces/tenant',
    ]) {
      yield `${root(served)}${form}/${resource}${tail}`;
    }
  }
}

const nameOf = (resource: string): string =>
  (
    kindManifests.find((each) => each.resource === resource)?.manifest['metadata'] as
      | { name: string }
      | undefined
  )?.name ?? 'it';

const INITIAL_EVENTS =
  'sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true';

function* queriesOf(method: string): Generator<string> {
  yield '';
  if (method === 'GET') {
    yield `?watch=1&${INITIAL_EVENTS}`;
    yield '?fieldSelector=metadata.name%3Dtenant';
  }
  if (method === 'PATCH') yield '?fieldManager=test&force=true';
}

function requestOf(
  served: Kind,
  method: string,
  path: string,
  query: string,
  user: UserInfo,
): RawRequest {
  const { kind } = served.subresources?.find(({ name }) => path.endsWith(`/${name}`)) ?? {
    kind: served.type,
  };
  const manifest = kindManifests.find((each) => each.kind === kind.kind)?.manifest ?? {};
  const metadata = {
    name: method === 'POST' ? 'made' : path.split('/').at(-1),
    annotations: { touched: 'yes' },
  };
  const type = { apiVersion: apiVersionOf(kind as Kind['type']), kind: kind.kind };
  const raw = { method, path: `${path}${query}`, user };
  switch (method) {
    case 'POST':
    case 'PUT':
      return {
        ...raw,
        headers: { 'content-type': 'application/json' },
        body: { ...manifest, ...type, metadata },
      };
    case 'PATCH':
      return query === ''
        ? { ...raw, headers: MERGE, body: { metadata: { annotations: { touched: 'yes' } } } }
        : {
            ...raw,
            headers: { 'content-type': 'application/apply-patch+yaml' },
            body: { ...manifest, ...type, metadata },
          };
    default:
      return raw;
  }
}

/** Returns the code and the whole text of an answer; for a watch, its initial events. */
async function answerOf(raw: RawRequest): Promise<{ code: number; text: string }> {
  if (!raw.path.includes('watch')) return api(raw);
  // A watch without events would have no end without the bookmark.
  const path = raw.path.includes('sendInitialEvents')
    ? raw.path
    : `${raw.path}${raw.path.includes('?') ? '&' : '?'}${INITIAL_EVENTS}`;
  try {
    const { code, body } = await handle(server.server, { ...raw, path });
    if (body.kind !== 'watch') return await api(raw);
    let text = '';
    for await (const event of body.events) {
      text += Buffer.from(event.frame()).toString('utf8');
      if (event.type === 'BOOKMARK') break;
    }
    body.events.stop();
    return { code, text };
  } catch (error) {
    if (error instanceof apierrors.StatusError)
      return { code: error.status.code ?? 0, text: error.message };
    throw error;
  }
}

/** Returns the revision of every stored object that is not the tenant's. */
async function outside(): Promise<ReadonlyMap<string, number>> {
  const { items } = await server.storage.list('/');
  const theirs = items.filter(
    ({ key }) =>
      !key.split('/').includes('tenant') && !ALLOCATIONS.some((prefix) => key.startsWith(prefix)),
  );
  return new Map(theirs.map(({ key, modRevision }) => [key, modRevision]));
}

/** Sends all requests as `user`. Returns those that reached beyond the user's rights. */
async function violations(
  user: UserInfo,
  methods: readonly string[],
  isViolation: (answer: { code: number; text: string }) => boolean,
) {
  const found: string[] = [];
  let before = await outside();
  let sent = 0;
  for (const served of resources) {
    for (const method of methods) {
      for (const path of pathsOf(served)) {
        // A right in a namespace includes the Namespace itself; without it no later request would
        // succeed.
        if (method === 'DELETE' && path.endsWith('/namespaces/tenant')) continue;
        for (const query of queriesOf(method)) {
          const answer = await answerOf(requestOf(served, method, path, query, user));
          sent++;
          // This server has no kubelets and no back ends of services.
          if (answer.code >= 500 && answer.code !== 503 && !answer.text.includes('dial'))
            found.push(`${method} ${path}${query}: ${answer.code} ${answer.text}`);
          if (isViolation(answer))
            found.push(`${method} ${path}${query}: ${answer.code} ${answer.text.slice(0, 300)}`);
        }
      }
      const after = await outside();
      for (const key of new Set([...before.keys(), ...after.keys()])) {
        if (before.get(key) !== after.get(key))
          found.push(`${method} of ${served.type.resource} changed ${key}`);
      }
      before = after;
    }
  }
  return { found, sent };
}

/** They are created in a namespace, and have no other paths. */
const CREATED_ONLY: ReadonlySet<string> = new Set(['bindings', 'localsubjectaccessreviews']);

describe('a user with rights in one namespace', () => {
  test('reads and writes no object outside of it', async () => {
    const { found, sent } = await violations(TENANT, METHODS, ({ text }) => text.includes(MARK));
    expect(found).toEqual([]);
    expect(sent).toBeGreaterThan(5000);
  });
});

test('a right to read does not allow writes, at whatever path', async () => {
  const { found } = await violations(
    READER,
    ['POST', 'PUT', 'PATCH', 'DELETE'],
    ({ code }) => ![403, 404, 405].includes(code),
  );
  expect(found.filter((text) => !/ 400 .*parameter invalid/.test(text))).toEqual([]);
});

test('a right to one name does not include other objects of a collection', async () => {
  for (const name of ['configmaps', 'it2']) {
    await create('/api/v1/namespaces/victim/configmaps', {
      metadata: { name, annotations: { its: `name-is-${name}` } },
    });
  }
  for (const path of [
    '/api/v1/namespaces/victim/configmaps/configmaps',
    '/api/v1/watch/namespaces/victim/configmaps/configmaps',
  ]) {
    const { code, text } = await answerOf({
      path: `${path}?watch=1&${INITIAL_EVENTS}`,
      user: NAMED,
    });
    expect(code).toBe(200);
    expect(text).toContain('name-is-configmaps');
    expect(text).not.toContain('name-is-it2');
  }
});

describe('paths without a scope', () => {
  test('cluster-scoped kinds are not served in namespaces', async () => {
    const wrong: string[] = [];
    for (const served of resources.filter(({ type }) => !type.namespaced)) {
      for (const method of METHODS) {
        const name = nameOf(served.type.resource);
        const tails = [
          '',
          `/${name}`,
          '/tenant',
          ...(served.subresources ?? []).map((sub) => `/${name}/${sub.name}`),
        ];
        for (const tail of tails) {
          for (const query of ['', '?watch=1']) {
            const path = `${collection(served, 'tenant')}${tail}${query}`;
            const { code } = await answerOf(requestOf(served, method, path, '', ADMIN));
            if (code !== 404) wrong.push(`${method} ${path}: ${code}`);
          }
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test('one object of a namespaced kind, and writes to collections, need the namespace', async () => {
    const wrong: string[] = [];
    for (const served of resources.filter(({ type }) => type.namespaced)) {
      for (const method of METHODS) {
        const expected: [string, number][] = [['/it', 404]];
        for (const { name } of served.subresources ?? []) expected.push([`/it/${name}`, 404]);
        const isListed = !CREATED_ONLY.has(served.type.resource);
        if (method !== 'GET' && method !== 'HEAD') expected.push(['', isListed ? 405 : 404]);
        for (const [tail, code] of expected) {
          const path = `${collection(served)}${tail}`;
          const answer = await answerOf(requestOf(served, method, path, '', ADMIN));
          if (answer.code !== code) wrong.push(`${method} ${path}: ${answer.code}, not ${code}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  test.each([
    ['GET', '/api/v1/namespaces/../pods', 400],
    ['GET', '/api/v1/namespaces/./pods', 400],
    ['GET', '/api/v1/namespaces/%2e%2e/pods', 400],
    ['GET', '/api/v1/namespaces/..', 400],
    ['GET', '/api/v1/namespaces/ns1%2f/pods', 404],
    ['GET', '/api/v1/namespaces/ns1%2f..%2fvictim/secrets', 404],
    ['GET', '/api/v1/namespaces/victim%00/secrets', 400],
    ['GET', '/api/v1/namespaces/%00/pods?watch=1', 400],
    ['GET', '/api/v1/namespaces/victim/secrets/..', 400],
    ['GET', '/api/v1/namespaces/victim/secrets/a%2fb', 404],
    ['GET', '/api/v1/namespaces/victim/secrets/a%25', 400],
    ['GET', '/api/v1/namespaces/victim/secrets/it%00', 404],
    ['DELETE', '/api/v1/namespaces/../pods', 400],
    ['PUT', '/api/v1/namespaces/..%2fvictim/configmaps/it', 404],
    ['POST', '/api/v1/namespaces/victim%2fconfigmaps', 404],
    ['GET', '/api/v1/namespaces/%zz/pods', 400],
    ['POST', '/api/v1/watch/namespaces/victim/pods/it/exec?command=id', 404],
    ['POST', '/api/v1/watch/namespaces/victim/configmaps', 405],
    ['POST', '/api/v1/proxy/namespaces/victim/pods/it/exec?command=id', 404],
    ['GET', '/api/v1/watch/pods/it', 404],
  ])('%s %s: %i', async (method, path, code) => {
    expect((await answerOf({ method, path })).code).toBe(code);
  });
});
