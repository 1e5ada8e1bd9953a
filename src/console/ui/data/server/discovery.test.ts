import { expect, test } from 'vitest';
import { Types, typesOf } from './discovery.ts';
import { collectionPath, objectPath } from './resource-type.ts';

const resource = (name: string, kind: string, scope: 'Namespaced' | 'Cluster'): object => ({
  resource: name,
  responseKind: { group: '', version: '', kind },
  scope,
  verbs: ['get', 'list', 'watch'],
  subresources: [{ subresource: 'status' }],
});

const types = new Types(
  typesOf({
    items: [
      {
        metadata: { name: '' },
        versions: [{ version: 'v1', resources: [resource('pods', 'Pod', 'Namespaced')] }],
      },
      {
        metadata: { name: 'example.com' },
        versions: [
          { version: 'v2', resources: [resource('widgets', 'Widget', 'Cluster')] },
          {
            version: 'v1',
            resources: [
              resource('widgets', 'Widget', 'Cluster'),
              resource('old', 'Old', 'Cluster'),
            ],
          },
        ],
      },
    ] as never,
  }),
);

test('the preferred version of a kind counts; a kind of another version only is there, too', () => {
  expect(types.all.map(({ resource, version }) => `${resource} ${version}`)).toEqual([
    'pods v1',
    'widgets v2',
    'old v1',
  ]);
  expect(types.byReference('example.com/v1', 'Widget')?.version).toBe('v2');
  expect(types.byId('pods')?.kind).toBe('Pod');
  expect(types.byId('nothing')).toBeUndefined();
});

test('paths are encoded', () => {
  const pods = types.byId('pods')!;
  expect(collectionPath(pods, '')).toBe('/api/v1/pods');
  expect(objectPath(pods, 'a', '../x?y', 'log')).toBe('/api/v1/namespaces/a/pods/..%2Fx%3Fy/log');
  expect(objectPath(types.byId('widgets.example.com')!, undefined, 'w')).toBe(
    '/apis/example.com/v2/widgets/w',
  );
});
