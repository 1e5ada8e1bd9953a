// Discovery: both forms have the same resources, and clients can revalidate cached documents.

import { afterAll, beforeAll, describe, expect, test } from 'vitest';

import { decodeMessage, openEnvelope } from '#api/machinery/codec/protobuf/index.ts';
import { messageOf } from '#api/testing/message-of.ts';
import { type RawResponse, send } from '../testing/requests.ts';
import { startTestServer, type TestServer } from '../testing/server.ts';

const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';
const OLD_AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList';

let t: TestServer;
beforeAll(async () => {
  t = await startTestServer({
    advertiseAddress: '10.0.0.1',
    port: 6443,
    nodeConnector: { connect: () => Promise.reject(new Error('no nodes here')) },
  });
});
afterAll(() => t.stop());

const get = (
  path: string,
  accept?: string,
  headers: Record<string, string> = {},
): Promise<RawResponse> =>
  send(t.server, { path, headers: { ...headers, ...(accept !== undefined && { accept }) } });

interface Resource {
  readonly name: string;
  readonly kind: string;
  readonly verbs: readonly string[];
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
}

async function resources(path: string): Promise<Resource[]> {
  const { code, json } = await get(path);
  expect(code).toBe(200);
  return (json as unknown as { resources: Resource[] }).resources;
}

describe('resources', () => {
  const ALL = 'create delete deletecollection get list patch update watch';
  const VIEW = 'get patch update';
  test.each<
    [
      name: string,
      kind: string,
      verbs: string,
      shortNames: string,
      categories: string,
      hash: string,
    ]
  >([
    ['bindings', 'Binding', 'create', '', '', ''],
    ['configmaps', 'ConfigMap', ALL, 'cm', '', 'qFsyl6wFWjQ='],
    ['events', 'Event', ALL, 'ev', '', 'r2yiGXH7wu8='],
    ['namespaces', 'Namespace', ALL.replace(' deletecollection', ''), 'ns', '', 'Q3oi5N2YM8M='],
    ['namespaces/finalize', 'Namespace', 'update', '', '', ''],
    ['namespaces/status', 'Namespace', VIEW, '', '', ''],
    ['nodes', 'Node', ALL, 'no', '', 'XwShjMxG9Fs='],
    ['nodes/proxy', 'NodeProxyOptions', 'create delete get patch update', '', '', ''],
    ['nodes/status', 'Node', VIEW, '', '', ''],
    ['pods', 'Pod', ALL, 'po', 'all', 'xPOwRZ+Yhw8='],
    ['pods/attach', 'PodAttachOptions', 'create get', '', '', ''],
    ['pods/binding', 'Binding', 'create', '', '', ''],
    ['pods/eviction', 'policy/v1 Eviction', 'create', '', '', ''],
    ['pods/exec', 'PodExecOptions', 'create get', '', '', ''],
    ['pods/log', 'Pod', 'get', '', '', ''],
    ['pods/portforward', 'PodPortForwardOptions', 'create get', '', '', ''],
    ['pods/status', 'Pod', VIEW, '', '', ''],
    ['replicationcontrollers', 'ReplicationController', ALL, 'rc', 'all', 'Jond2If31h0='],
    ['replicationcontrollers/scale', 'autoscaling/v1 Scale', VIEW, '', '', ''],
    ['replicationcontrollers/status', 'ReplicationController', VIEW, '', '', ''],
    ['secrets', 'Secret', ALL, '', '', 'S6u1pOWzb84='],
    ['serviceaccounts', 'ServiceAccount', ALL, 'sa', '', 'pbx9ZvyFpBE='],
    ['serviceaccounts/token', 'authentication.k8s.io/v1 TokenRequest', 'create', '', '', ''],
    ['services', 'Service', ALL, 'svc', 'all', '0/CO1lhkEBI='],
    ['services/status', 'Service', VIEW, '', '', ''],
  ])('%s', async (name, kind, verbs, shortNames, categories, hash) => {
    const resource = (await resources('/api/v1')).find((each) => each.name === name);
    const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');
    const [foreign = '', shortKind = kind] = kind.includes(' ') ? kind.split(' ') : ['', kind];
    const [group, version] = foreign.split('/');
    expect(resource).toEqual({
      name,
      singularName: name.includes('/') ? '' : shortKind.toLowerCase(),
      namespaced: !/^(namespaces|nodes)/.test(name),
      ...(foreign !== '' && { group, version }),
      kind: shortKind,
      verbs: words(verbs),
      ...(shortNames !== '' && { shortNames: words(shortNames) }),
      ...(categories !== '' && { categories: words(categories) }),
      ...(hash !== '' && { storageVersionHash: hash }),
    });
  });

  test.each(['/api/v1', '/apis/apps/v1'])('%s: sorted by name, each once', async (path) => {
    const names = (await resources(path)).map(({ name }) => name);
    expect(names).toEqual([...new Set(names)].toSorted());
  });
});

describe('the older form', () => {
  test('/api', async () => {
    expect((await get('/api')).json).toEqual({
      kind: 'APIVersions',
      versions: ['v1'],
      serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: '10.0.0.1:6443' }],
    });
  });

  test('/api/v1, which has no version of its own', async () => {
    expect((await get('/api/v1')).json).toEqual({
      kind: 'APIResourceList',
      groupVersion: 'v1',
      resources: expect.any(Array) as unknown,
    });
  });

  const apps = {
    name: 'apps',
    versions: [{ groupVersion: 'apps/v1', version: 'v1' }],
    preferredVersion: { groupVersion: 'apps/v1', version: 'v1' },
  };

  test('/apis', async () => {
    const { json } = await get('/apis');
    expect(json).toMatchObject({ kind: 'APIGroupList', apiVersion: 'v1' });
    const { groups } = json as unknown as { groups: { name: string }[] };
    expect(groups).toContainEqual(apps);
    // The group of APIServices comes before all others.
    expect(groups.slice(0, 2).map(({ name }) => name)).toEqual(['apiregistration.k8s.io', 'apps']);
    expect(groups.map(({ name }) => name)).not.toContain('');
  });

  test('/apis/apps', async () => {
    expect((await get('/apis/apps')).json).toEqual({ kind: 'APIGroup', apiVersion: 'v1', ...apps });
  });

  test('/apis/apps/v1', async () => {
    expect((await get('/apis/apps/v1')).json).toMatchObject({
      kind: 'APIResourceList',
      apiVersion: 'v1',
      groupVersion: 'apps/v1',
    });
  });

  test('may end in a slash', async () => {
    for (const path of ['/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1']) {
      expect((await get(`${path}/`)).text).toBe((await get(path)).text);
    }
  });

  test('/ lists the paths', async () => {
    const { paths } = (await get('/')).json as unknown as { paths: string[] };
    expect(paths).toEqual(paths.toSorted());
    for (const path of [
      '/api',
      '/api/v1',
      '/apis',
      '/apis/apps/v1',
      '/openapi/v2',
      '/readyz',
      '/version',
    ]) {
      expect(paths).toContain(path);
    }
  });

  test('also as YAML, in protobuf and as text', async () => {
    expect((await get('/apis/apps', 'application/yaml')).text).toMatch(
      /^apiVersion: v1\nkind: APIGroup\nname: apps\n/,
    );
    expect((await get('/apis/apps?pretty=true')).text).toMatch(/^{\n {2}"kind": "APIGroup",\n/);
    const protobuf = await get('/apis/apps/v1', 'application/vnd.kubernetes.protobuf');
    expect(protobuf.headers['content-type']).toBe('application/vnd.kubernetes.protobuf');
    expect(protobuf.bytes.subarray(0, 4)).toEqual(Buffer.from('k8s\0'));
    expect((await get('/apis/apps', 'text/html')).code).toBe(406);
  });

  // Documents that belong to no group have no apiVersion of their own.
  test.each(['/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1'])(
    '%s in protobuf is the same as in JSON',
    async (path) => {
      const { json } = await get(path);
      const { code, bytes } = await get(path, 'application/vnd.kubernetes.protobuf');
      expect(code).toBe(200);
      const { apiVersion, kind, raw } = openEnvelope(bytes);
      expect({ apiVersion, kind }).toEqual({
        apiVersion: (json as { apiVersion?: string }).apiVersion ?? '',
        kind: json.kind,
      });
      const message = messageOf(apiVersion, kind);
      if (message === undefined) throw new Error(`no message for ${kind}`);
      expect(json).toMatchObject(decodeMessage<object>(message, raw));
    },
  );

  test('the index of paths is always JSON', async () => {
    const index = await get('/', 'application/vnd.kubernetes.protobuf');
    expect([index.code, index.headers['content-type']]).toEqual([200, 'application/json']);
  });
});

describe('aggregated discovery', () => {
  interface Aggregated {
    readonly resource: string;
    readonly responseKind: {
      readonly group: string;
      readonly version: string;
      readonly kind: string;
    };
    readonly scope: string;
    readonly singularResource: string;
    readonly verbs: readonly string[];
    readonly shortNames?: readonly string[];
    readonly categories?: readonly string[];
    readonly subresources?: readonly (Pick<Aggregated, 'responseKind' | 'verbs'> & {
      readonly subresource: string;
    })[];
  }
  interface Group {
    readonly metadata: { readonly name?: string };
    readonly versions: readonly {
      readonly version: string;
      readonly freshness: string;
      readonly resources: readonly Aggregated[];
    }[];
  }
  const groupsAt = async (path: string): Promise<readonly Group[]> => {
    const { code, headers, json } = await get(path, `${AGGREGATED},application/json`);
    expect(code).toBe(200);
    expect(headers['content-type']).toBe(AGGREGATED);
    expect(json).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
    });
    return json.items as unknown as readonly Group[];
  };

  test('has the same content as the single documents', async () => {
    const groups = [...(await groupsAt('/api')), ...(await groupsAt('/apis'))];
    expect(groups[0]?.metadata).toEqual({});
    const together: object[] = [];
    const oneByOne: object[] = [];
    for (const { metadata, versions } of groups) {
      const group = metadata.name ?? '';
      for (const { version, resources: list, freshness } of versions) {
        expect(freshness).toBe('Current');
        const path = group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
        for (const { storageVersionHash: _, ...entry } of (await resources(path)) as (Resource & {
          storageVersionHash?: string;
        })[]) {
          oneByOne.push({ group, version, ...entry, path });
        }
        for (const {
          resource,
          responseKind,
          scope,
          singularResource,
          subresources = [],
          ...rest
        } of list) {
          const namespaced = scope === 'Namespaced';
          const kindOf = ({
            group: ofGroup,
            version: ofVersion,
            kind,
          }: Aggregated['responseKind']) =>
            // Empty fields mean those of the resource.
            ofGroup === '' && ofVersion === ''
              ? { group, version, kind }
              : { group: ofGroup, version: ofVersion, kind };
          const own = {
            name: resource,
            singularName: singularResource,
            namespaced,
            ...kindOf(responseKind),
            ...rest,
            path,
          };
          together.push(own);
          for (const { subresource, responseKind: kind, verbs } of subresources) {
            together.push({
              name: `${resource}/${subresource}`,
              singularName: '',
              namespaced,
              ...kindOf(kind),
              verbs,
              path,
            });
          }
        }
      }
    }
    const key = (entry: object): string =>
      `${(entry as { path: string }).path} ${(entry as Resource).name}`;
    const sorted = (list: object[]): object[] =>
      list.toSorted((a, b) => (key(a) < key(b) ? -1 : 1));
    expect(sorted(together)).toEqual(sorted(oneByOne));
    expect(together.length).toBeGreaterThan(30);
  });

  test.each<[accept: string, contentType: string]>([
    [AGGREGATED, AGGREGATED],
    [`${AGGREGATED},${OLD_AGGREGATED},application/json`, AGGREGATED],
    [`${OLD_AGGREGATED},application/json`, 'application/json'],
    [`application/json,${AGGREGATED}`, 'application/json'],
    [`application/json;q=0.5,${AGGREGATED}`, AGGREGATED],
    ['*/*', 'application/json'],
    ['', 'application/json'],
    [
      AGGREGATED.replace('json', 'vnd.kubernetes.protobuf'),
      AGGREGATED.replace('json', 'vnd.kubernetes.protobuf'),
    ],
    [AGGREGATED.replace('json', 'yaml'), AGGREGATED.replace('json', 'yaml')],
  ])('for requests that accept it: %s', async (accept, contentType) => {
    expect((await get('/apis', accept)).headers['content-type']).toBe(contentType);
  });

  test('exists only for the roots', async () => {
    expect(
      (await get('/apis/apps/v1', `${AGGREGATED},application/json`)).headers['content-type'],
    ).toBe('application/json');
    expect((await get('/apis/apps/v1', AGGREGATED)).code).toBe(406);
  });
});

describe('a client with a cached document', () => {
  test.each([
    ['/apis', AGGREGATED],
    ['/api', AGGREGATED],
  ])('gets 304: %s %s', async (path, accept) => {
    const first = await get(path, accept);
    const etag = first.headers['etag'] as string;
    expect(etag).toMatch(/^"[0-9A-F]{64}"$/);
    expect(first.headers['vary']).toBe('Accept');
    const again = await get(path, accept, { 'if-none-match': etag });
    expect(again.code).toBe(304);
    expect(again.bytes).toHaveLength(0);
    expect(again.headers['etag']).toBe(etag);
    expect((await get(path, accept, { 'if-none-match': '"other"' })).text).toBe(first.text);
  });

  test('may cache the aggregated document', async () => {
    expect((await get('/apis', AGGREGATED)).headers['cache-control']).toBe('public');
    expect((await get('/apis')).headers['cache-control']).toBe('no-cache, private');
  });

  test.each(['/', '/api', '/api/v1', '/apis', '/apis/apps', '/apis/apps/v1'])(
    '%s has no tag in the older form',
    async (path) => {
      const { headers } = await get(path);
      expect([headers['etag'], headers['vary']]).toEqual([undefined, undefined]);
    },
  );
});

describe('an unknown path', () => {
  test.each(['/api/v2', '/apis/apps/v7'])('%s', async (path) => {
    expect((await get(path)).json).toMatchObject({
      code: 404,
      reason: 'NotFound',
      message: 'the server could not find the requested resource',
    });
  });

  test.each(['/apis/nope', '/apis/nope/v1', '/nope'])('%s', async (path) => {
    const { code, text } = await get(path);
    expect([code, text]).toEqual([404, '404 page not found\n']);
  });

  test.each([
    ['/', 200],
    ['/apis', 200],
    ['/apis/apps', 200],
    ['/apis/apps/v1', 405],
    ['/api', 405],
    ['/api/v1', 405],
    ['/version', 405],
  ])('HEAD %s is answered as upstream, with %d', async (path, expected) => {
    const { code, bytes } = await send(t.server, { method: 'HEAD', path });
    expect([code, bytes.length]).toEqual([expected, 0]);
  });

  test('methods that write', async () => {
    const { json } = await send(t.server, { method: 'POST', path: '/apis', body: {} });
    expect(json).toMatchObject({ code: 405, reason: 'MethodNotAllowed' });
  });
});
