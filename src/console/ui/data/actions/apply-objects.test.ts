import { expect, test } from 'vitest';
import { FakeServer, TestClock } from '../../testing/fake-server.ts';
import { Api } from '../server/api.ts';
import { applyObjects } from './apply-objects.ts';
import { Connection } from '../server/connection.ts';
import { Types } from '../server/discovery.ts';
import type { KubeObject } from '../lists/live-object.ts';
import type { ResourceType } from '../server/resource-type.ts';

const typeOf = (group: string, version: string, resource: string, kind: string): ResourceType => ({
  group,
  version,
  resource,
  kind,
  namespaced: resource !== 'namespaces',
  verbs: [],
  shortNames: [],
  categories: [],
  subresources: [],
});
const SERVED = [
  typeOf('', 'v1', 'namespaces', 'Namespace'),
  typeOf('', 'v1', 'configmaps', 'ConfigMap'),
  typeOf('apps', 'v1', 'deployments', 'Deployment'),
];
const object = (
  apiVersion: string,
  kind: string,
  name: string,
  namespace?: string,
): KubeObject => ({ apiVersion, kind, metadata: { name, namespace } });

const optionsOf = (server: FakeServer, more: object = {}) => ({
  api: new Api(server.fetch, new Connection(new TestClock(), async () => undefined)),
  types: async () => new Types(SERVED),
  namespace: 'default',
  dryRun: false,
  force: false,
  ...more,
});

test('objects are applied in their order, each in its namespace', async () => {
  const server = new FakeServer();
  server.nextJson({}, 201);
  server.nextJson({}, 200);
  server.nextJson({ message: 'Apply failed with 1 conflict' }, 409);
  const results = await applyObjects(
    [
      object('v1', 'Namespace', 'shop'),
      object('v1', 'ConfigMap', 'settings'),
      object('apps/v1', 'Deployment', 'web', 'shop'),
    ],
    optionsOf(server, { dryRun: true }),
  );
  expect(server.requests.map(({ pathname }) => pathname)).toEqual([
    '/api/v1/namespaces/shop',
    '/api/v1/namespaces/default/configmaps/settings',
    '/apis/apps/v1/namespaces/shop/deployments/web',
  ]);
  expect(Object.fromEntries(server.requests[0]!.searchParams)).toEqual({
    fieldManager: 'coxswain-console',
    fieldValidation: 'Strict',
    force: 'false',
    dryRun: 'All',
  });
  expect(results.map(({ result }) => result)).toEqual([
    'created',
    'updated',
    { error: 'Apply failed with 1 conflict' },
  ]);
});

test('a kind that a definition before it has made is looked for again', async () => {
  const server = new FakeServer();
  server.nextJson({}, 201);
  const asked: boolean[] = [];
  const widget = typeOf('example.com', 'v2', 'widgets', 'Widget');
  const types = async (again: boolean): Promise<Types> => {
    asked.push(again);
    return new Types(again ? [...SERVED, widget] : SERVED);
  };
  const [result] = await applyObjects(
    [object('example.com/v1', 'Widget', 'gear')],
    optionsOf(server, { types }),
  );
  expect(asked).toEqual([false, true]);
  // In the version of the text.
  expect(server.requests[0]?.pathname).toBe('/apis/example.com/v1/namespaces/default/widgets/gear');
  expect(result?.result).toBe('created');
});

test('a kind that is not served fails alone', async () => {
  const server = new FakeServer();
  server.nextJson({}, 201);
  const results = await applyObjects(
    [object('x/v1', 'Thing', 'a'), object('v1', 'Namespace', 'b')],
    optionsOf(server),
  );
  expect(results.map(({ result }) => result)).toEqual([
    { error: 'the server does not serve Thing of x/v1' },
    'created',
  ]);
});
