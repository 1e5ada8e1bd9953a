import { describe, expect, test } from 'vitest';
import { deepFreeze } from '../deep.ts';
import {
  applyStrategicMergePatch,
  mapSchema,
  type PatchField,
  type PatchSchema,
  StrategicMergePatchError,
} from './strategic-merge-patch.ts';

function schema(name: string, fields: Record<string, PatchField>): PatchSchema {
  return { name, field: (key) => (Object.hasOwn(fields, key) ? fields[key] : undefined) };
}

const merge = ['merge'];

const port = schema('ContainerPort', { containerPort: {}, name: {}, protocol: {} });
const env = schema('EnvVar', {
  name: {},
  value: {},
  valueFrom: { schema: schema('EnvVarSource', { fieldRef: {} }) },
});
const container = schema('Container', {
  name: {},
  image: {},
  command: {},
  env: { patchStrategy: merge, patchMergeKey: 'name', schema: env },
  ports: { patchStrategy: merge, patchMergeKey: 'containerPort', schema: port },
  resources: {
    schema: schema('ResourceRequirements', { limits: { schema: mapSchema(undefined) } }),
  },
});
const volume = schema('Volume', {
  name: {},
  emptyDir: { schema: schema('EmptyDir', { medium: {} }) },
  hostPath: {},
});
const podSpec = schema('PodSpec', {
  containers: { patchStrategy: merge, patchMergeKey: 'name', schema: container },
  volumes: { patchStrategy: ['merge', 'retainKeys'], patchMergeKey: 'name', schema: volume },
  nodeSelector: { schema: mapSchema(undefined) },
  tolerations: { schema: schema('Toleration', { key: {} }) },
  broken: { patchStrategy: merge, schema: schema('Broken', { name: {} }) },
  whole: { patchStrategy: ['replace'], schema: schema('Whole', { a: {}, b: {} }) },
  restartPolicy: {},
});
const strategy = schema('DeploymentStrategy', {
  type: {},
  rollingUpdate: { schema: schema('RollingUpdate', { maxSurge: {}, maxUnavailable: {} }) },
});
const meta = schema('ObjectMeta', {
  name: {},
  labels: { schema: mapSchema(undefined) },
  finalizers: { patchStrategy: merge },
});
const object = schema('Deployment', {
  kind: {},
  metadata: { schema: meta },
  spec: { schema: podSpec },
  strategy: { patchStrategy: ['retainKeys'], schema: strategy },
});

function apply(original: Record<string, unknown>, patch: unknown) {
  return applyStrategicMergePatch(deepFreeze(original), deepFreeze(patch), object);
}

function failure(original: Record<string, unknown>, patch: unknown) {
  try {
    apply(original, patch);
  } catch (error) {
    if (error instanceof StrategicMergePatchError)
      return { kind: error.kind, message: error.message };
    throw error;
  }
  throw new Error('the patch applied');
}

/** Returns a patch of spec.containers. */
const containers = (...list: unknown[]) => ({ spec: { containers: list } });
const finalizers = (...list: unknown[]) => ({ metadata: { finalizers: list } });

type Case = [name: string, original: Record<string, unknown>, patch: unknown, expected: unknown];

describe('objects', () => {
  test.each<Case>([
    [
      'are merged',
      { metadata: { name: 'a', labels: { x: '1', y: '2' } } },
      { metadata: { labels: { y: '3', z: '4' } } },
      { metadata: { name: 'a', labels: { x: '1', y: '3', z: '4' } } },
    ],
    [
      'lose keys that are null',
      { metadata: { labels: { x: '1', y: '2' } } },
      { metadata: { labels: { x: null, none: null } } },
      { metadata: { labels: { y: '2' } } },
    ],
    [
      'lose themselves',
      { metadata: { name: 'a' }, spec: {} },
      { spec: null },
      { metadata: { name: 'a' } },
    ],
    [
      'are added, without nulls in them',
      {},
      { metadata: { name: 'a', labels: { x: null, y: '1' } } },
      { metadata: { name: 'a', labels: { y: '1' } } },
    ],
    [
      'are replaced by directive',
      { metadata: { labels: { x: '1' } } },
      { metadata: { labels: { $patch: 'replace', y: '2' } } },
      { metadata: { labels: { y: '2' } } },
    ],
    [
      'are emptied by directive',
      { metadata: { labels: { x: '1' } } },
      { metadata: { labels: { $patch: 'delete' } } },
      { metadata: { labels: {} } },
    ],
    [
      'are not added only to be deleted',
      { metadata: {} },
      { metadata: { labels: { $patch: 'delete' } } },
      { metadata: {} },
    ],
    [
      'are replaced as their type says',
      { spec: { whole: { a: 1, b: 2 } } },
      { spec: { whole: { a: 3 } } },
      { spec: { whole: { a: 3 } } },
    ],
    [
      'replace values of another kind',
      { spec: { restartPolicy: 'Always' } },
      { spec: { restartPolicy: { a: 1 } } },
      { spec: { restartPolicy: { a: 1 } } },
    ],
    [
      'are replaced by values of another kind',
      { spec: { nodeSelector: { a: 'b' } } },
      { spec: { nodeSelector: 'x' } },
      { spec: { nodeSelector: 'x' } },
    ],
    ['stay with an empty patch', { kind: 'x' }, {}, { kind: 'x' }],
    [
      'are replaced as a whole',
      { kind: 'x', spec: {} },
      { $patch: 'replace', kind: 'y' },
      { kind: 'y' },
    ],
  ])('%s', (_name, original, patch, expected) => {
    expect(apply(original, patch)).toEqual(expected);
  });

  test('share unchanged parts', () => {
    const original = deepFreeze({
      metadata: { labels: { a: 'b' } },
      spec: { containers: [{ name: 'a' }] },
    });
    const result = apply(original, { spec: { restartPolicy: 'Never' } }) as typeof original;
    expect(result.metadata).toBe(original.metadata);
    expect(result.spec.containers).toBe(original.spec.containers);
  });

  test('treat __proto__ as an ordinary key', () => {
    const patch: unknown = JSON.parse('{"metadata":{"labels":{"__proto__":"x"}}}');
    const result = apply({ metadata: { labels: { a: 'b' } } }, patch) as {
      metadata: { labels: object };
    };
    expect(Object.keys(result.metadata.labels)).toEqual(['a', '__proto__']);
    expect(Object.getPrototypeOf(result.metadata.labels)).toBe(Object.prototype);
  });

  test('without a schema are merged like JSON', () => {
    expect(
      applyStrategicMergePatch({ a: { b: 1 }, l: [1] }, { a: { c: 2 }, l: [2] }, undefined),
    ).toEqual({
      a: { b: 1, c: 2 },
      l: [2],
    });
  });
});

describe('lists', () => {
  test.each<Case>([
    [
      'without strategy are replaced',
      { spec: { tolerations: [{ key: 'a' }, { key: 'b' }] } },
      { spec: { tolerations: [{ key: 'c' }] } },
      { spec: { tolerations: [{ key: 'c' }] } },
    ],
    [
      'are merged by their key',
      containers({ name: 'a', image: '1' }, { name: 'b', image: '1' }),
      containers({ name: 'b', image: '2' }),
      containers({ name: 'a', image: '1' }, { name: 'b', image: '2' }),
    ],
    [
      'get what is new in front, as upstream has it',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'c' }),
      containers({ name: 'c' }, { name: 'a' }, { name: 'b' }),
    ],
    [
      'follow the order of the patch',
      containers({ name: 'a' }, { name: 'b' }, { name: 'c' }),
      containers({ name: 'c' }, { name: 'a' }),
      containers({ name: 'b' }, { name: 'c' }, { name: 'a' }),
    ],
    [
      'are merged at every level',
      containers({
        name: 'a',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '2' },
        ],
      }),
      containers({ name: 'a', env: [{ name: 'Y', value: '3' }] }),
      containers({
        name: 'a',
        env: [
          { name: 'X', value: '1' },
          { name: 'Y', value: '3' },
        ],
      }),
    ],
    [
      'are merged by keys that are numbers',
      containers({ name: 'a', ports: [{ containerPort: 80, name: 'http' }] }),
      containers({
        name: 'a',
        ports: [{ containerPort: 80, protocol: 'TCP' }, { containerPort: 81 }],
      }),
      containers({
        name: 'a',
        ports: [{ containerPort: 80, name: 'http', protocol: 'TCP' }, { containerPort: 81 }],
      }),
    ],
    [
      'lose items by directive',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'a', $patch: 'delete' }),
      containers({ name: 'b' }),
    ],
    [
      'lose and gain items',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'a', $patch: 'delete' }, { name: 'c' }),
      containers({ name: 'c' }, { name: 'b' }),
    ],
    [
      'lose items that are not there',
      containers({ name: 'a' }),
      containers({ name: 'x', $patch: 'delete' }),
      containers({ name: 'a' }),
    ],
    [
      'are replaced by directive',
      containers({ name: 'a' }, { name: 'b' }),
      containers({ name: 'c' }, { $patch: 'replace' }),
      containers({ name: 'c' }),
    ],
    [
      'are emptied by directive',
      containers({ name: 'a' }),
      containers({ $patch: 'replace' }),
      containers(),
    ],
    [
      'are added without what only directs',
      {},
      containers({ name: 'a' }, { name: 'b', $patch: 'delete' }, { $patch: 'replace' }),
      containers({ name: 'a' }),
    ],
    [
      'get new items as they are',
      containers({ name: 'a' }),
      containers({ name: 'b', image: null, env: [{ name: 'X', $patch: 'delete' }] }),
      containers({ name: 'b', image: null, env: [{ name: 'X', $patch: 'delete' }] }, { name: 'a' }),
    ],
    [
      'get a new item whose key is null',
      containers({ name: 'a' }),
      containers({ name: null, image: 'i' }),
      containers({ name: null, image: 'i' }, { name: 'a' }),
    ],
    [
      'of the same key are patched once',
      containers({ name: 'a', image: '1' }, { name: 'a', image: '2' }),
      containers({ name: 'a', image: '3' }),
      containers({ name: 'a', image: '3' }, { name: 'a', image: '2' }),
    ],
    [
      'that are empty stay',
      { spec: { containers: [] } },
      { spec: { containers: [] } },
      { spec: { containers: [] } },
    ],
    [
      'with a plain list in an item replace that',
      containers({ name: 'a', command: ['x', 'y'] }),
      containers({ name: 'a', command: ['z'] }),
      containers({ name: 'a', command: ['z'] }),
    ],
  ])('%s', (_name, original, patch, expected) => {
    expect(apply(original, patch)).toEqual(expected);
  });
});

describe('lists of scalars', () => {
  test.each<Case>([
    ['are united', finalizers('a', 'b'), finalizers('b', 'c'), finalizers('a', 'b', 'c')],
    [
      'get what is new in front of what only the server has',
      finalizers('a'),
      finalizers('c'),
      finalizers('c', 'a'),
    ],
    [
      'lose values by directive',
      finalizers('a', 'b', 'c'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['b', 'x'] } },
      finalizers('a', 'c'),
    ],
    [
      'lose and gain values',
      finalizers('a', 'b'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'], finalizers: ['c'] } },
      finalizers('c', 'b'),
    ],
    [
      'are not made by a deletion',
      { metadata: {} },
      { metadata: { '$deleteFromPrimitiveList/finalizers': ['a'] } },
      { metadata: {} },
    ],
  ])('%s', (_name, original, patch, expected) => {
    expect(apply(original, patch)).toEqual(expected);
  });
});

describe('$setElementOrder', () => {
  const order = (names: string[], ...list: unknown[]) => ({
    spec: {
      '$setElementOrder/containers': names.map((name) => ({ name })),
      ...(list.length > 0 && { containers: list }),
    },
  });
  test.each<Case>([
    [
      'orders items of the patch and of the server',
      containers({ name: 'a' }, { name: 'b' }),
      order(['c', 'a', 'b'], { name: 'c' }),
      containers({ name: 'c' }, { name: 'a' }, { name: 'b' }),
    ],
    [
      'puts what is new at the end',
      containers({ name: 'a' }, { name: 'b' }),
      order(['a', 'b', 'c'], { name: 'c' }),
      containers({ name: 'a' }, { name: 'b' }, { name: 'c' }),
    ],
    [
      'orders what does not change',
      containers({ name: 'a' }, { name: 'b' }),
      order(['b', 'a']),
      containers({ name: 'b' }, { name: 'a' }),
    ],
    [
      'leaves what only the server knows where it was',
      containers({ name: 'x' }, { name: 'a' }, { name: 'y' }, { name: 'b' }),
      order(['a', 'b']),
      containers({ name: 'x' }, { name: 'a' }, { name: 'y' }, { name: 'b' }),
    ],
    [
      'goes with deletions',
      containers({ name: 'a' }, { name: 'b' }),
      order(['b'], { name: 'a', $patch: 'delete' }),
      containers({ name: 'b' }),
    ],
    [
      'orders a list that is new',
      {},
      order(['b', 'a'], { name: 'b' }, { name: 'a' }),
      containers({ name: 'b' }, { name: 'a' }),
    ],
    ['is nothing without a list', { spec: {} }, order(['a']), { spec: {} }],
    ['names what is gone', containers({ name: 'a' }), order(['z', 'a']), containers({ name: 'a' })],
    [
      'orders scalars',
      finalizers('a', 'b'),
      { metadata: { '$setElementOrder/finalizers': ['c', 'b', 'a'], finalizers: ['c'] } },
      finalizers('c', 'b', 'a'),
    ],
    [
      'orders scalars of which some go',
      finalizers('a', 'b', 'c'),
      {
        metadata: {
          '$setElementOrder/finalizers': ['c', 'b'],
          '$deleteFromPrimitiveList/finalizers': ['a'],
        },
      },
      finalizers('c', 'b'),
    ],
    [
      'lets a list go that is null',
      containers({ name: 'a' }),
      { spec: { '$setElementOrder/containers': [], containers: null } },
      { spec: {} },
    ],
    [
      'changes items while it orders them',
      containers({ name: 'a', image: '1' }, { name: 'b', image: '1' }),
      order(['b', 'a'], { name: 'a', image: '2' }),
      containers({ name: 'b', image: '1' }, { name: 'a', image: '2' }),
    ],
  ])('%s', (_name, original, patch, expected) => {
    expect(apply(original, patch)).toEqual(expected);
  });
});

describe('$retainKeys', () => {
  test.each<Case>([
    [
      'keeps the keys that it lists',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
      { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      { strategy: { type: 'Recreate' } },
    ],
    [
      'merges those',
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1 } } },
      {
        strategy: { $retainKeys: ['type', 'rollingUpdate'], rollingUpdate: { maxUnavailable: 2 } },
      },
      { strategy: { type: 'RollingUpdate', rollingUpdate: { maxSurge: 1, maxUnavailable: 2 } } },
    ],
    [
      'works on items of lists',
      { spec: { volumes: [{ name: 'v', emptyDir: { medium: '' } }] } },
      { spec: { volumes: [{ name: 'v', $retainKeys: ['name', 'hostPath'], hostPath: '/x' }] } },
      { spec: { volumes: [{ name: 'v', hostPath: '/x' }] } },
    ],
    [
      'is not left behind in what is new',
      {},
      { strategy: { $retainKeys: ['type'], type: 'Recreate' } },
      { strategy: { type: 'Recreate' } },
    ],
    [
      'may list nulls away',
      { strategy: { type: 'a', rollingUpdate: {} } },
      { strategy: { $retainKeys: ['type'], rollingUpdate: null } },
      { strategy: { type: 'a' } },
    ],
  ])('%s', (_name, original, patch, expected) => {
    expect(apply(original, patch)).toEqual(expected);
  });
});

describe('failures', () => {
  const badOrder = (
    value: unknown,
    type: string,
  ): [Record<string, unknown>, unknown, string, string] => [
    finalizers('a'),
    { metadata: { $setElementOrder: value } },
    'other',
    `expected a []interface {}, but received a ${type}`,
  ];
  test.each<[Record<string, unknown>, unknown, string, string]>([
    [{}, [], 'malformed', 'invalid JSON document'],
    [
      { strategy: { type: 'a' } },
      { strategy: { $retainKeys: 'type' } },
      'malformed',
      'invalid patch format of retainKeys',
    ],
    [
      { strategy: { type: 'a' } },
      { strategy: { $retainKeys: ['type'], rollingUpdate: {} } },
      'malformed',
      'invalid patch format of retainKeys',
    ],
    [
      finalizers('a'),
      { metadata: { '$deleteFromPrimitiveList/finalizers': 'a' } },
      'malformed',
      'invalid patch format of primitive list',
    ],
    [
      finalizers('a'),
      { metadata: { $deleteFromPrimitiveList: ['a'] } },
      'malformed',
      'invalid patch format of primitive list',
    ],
    [
      finalizers('a'),
      { metadata: { $setElementOrder: ['a'] } },
      'malformed',
      'invalid patch format of setElementOrder list',
    ],
    [
      finalizers('a'),
      { metadata: { '$setElementOrder/finalizers': 'a' } },
      'other',
      'expected a []interface {}, but received a string',
    ],
    badOrder(1, 'int64'),
    badOrder(1.5, 'float64'),
    badOrder(true, 'bool'),
    badOrder({}, 'map[string]interface {}'),
    badOrder(null, '<nil>'),
    [
      finalizers('a'),
      finalizers(['b']),
      'other',
      'list element types are not identical: [[a] [[b]]]',
    ],
    [finalizers(['a']), finalizers(['b']), 'failed', 'lists of lists are not supported'],
    [finalizers('a'), finalizers(1), 'other', 'list element types are not identical: [[a] [1]]'],
    [
      containers({ name: 'a' }),
      containers({ image: 'x' }),
      'other',
      'map: map[image:x] does not contain declared merge key: name',
    ],
    [
      containers({ name: 'a' }),
      containers({ $patch: 'delete' }),
      'other',
      'map: map[$patch:delete] does not contain declared merge key: name',
    ],
    [
      containers({ name: 'a' }),
      containers({ $patch: 'merge', name: 'a' }),
      'other',
      'merging lists cannot yet be specified in the patch',
    ],
    [
      containers({ name: 'a' }),
      containers({ $patch: 'spam', name: 'a' }),
      'other',
      'unknown patch type: spam in map: map[$patch:spam name:a]',
    ],
    [
      { metadata: { labels: { a: 'b' } } },
      { metadata: { labels: { $patch: 'merge' } } },
      'other',
      'unknown patch type: merge in map: map[$patch:merge]',
    ],
    [
      { spec: { broken: [{ name: 'a' }] } },
      { spec: { broken: [{ name: 'b' }] } },
      'other',
      'cannot merge lists without merge key for Broken',
    ],
    [
      { spec: { spam: { a: 1 } } },
      { spec: { spam: { b: 1 } } },
      'other',
      'unable to find api field in struct PodSpec for the json field "spam"',
    ],
    [
      containers({ name: 'a' }, { name: 'b' }),
      {
        spec: {
          '$setElementOrder/containers': [{ name: 'a' }, { name: 'b' }],
          containers: [{ name: 'b' }, { name: 'a' }],
        },
      },
      'other',
      'The order in patch list:\n[map[name:b] map[name:a]]\n' +
        " doesn't match $setElementOrder list:\n[map[name:a] map[name:b]]\n",
    ],
    [
      containers({ name: 'a' }),
      {
        spec: {
          '$setElementOrder/containers': [{ name: 'b' }],
          containers: [{ name: 'b' }, { $patch: 'replace' }],
        },
      },
      'other',
      'The order in patch list:\n[map[name:b] map[$patch:replace]]\n' +
        " doesn't match $setElementOrder list:\n[map[name:b]]\n",
    ],
    [
      containers({ name: 'a' }),
      containers({ image: 'i' }, { $patch: 'replace' }),
      'other',
      'map: map[image:i] does not contain declared merge key: name',
    ],
    [
      { spec: { containers: [] } },
      { spec: { '$setElementOrder/containers': [], containers: [] } },
      'other',
      'no elements in any of the given slices',
    ],
  ])('%j with %j', (original, patch, kind, message) => {
    expect(failure(original, patch)).toEqual({ kind, message });
  });
});

test('all items of an ordered list may be deleted', () => {
  expect(
    apply(
      { metadata: { finalizers: ['a'] } },
      {
        metadata: {
          '$setElementOrder/finalizers': [],
          '$deleteFromPrimitiveList/finalizers': ['a'],
        },
      },
    ),
  ).toEqual({ metadata: { finalizers: [] } });
});

describe('large lists', () => {
  test('are merged in linear time', () => {
    const items = (image: string, count: number) =>
      Array.from({ length: count }, (_, i) => ({ name: `c${i}`, image }));
    const result = apply(
      { spec: { containers: items('1', 20_000) } },
      { spec: { containers: items('2', 20_000) } },
    );
    expect(result).toEqual({ spec: { containers: items('2', 20_000) } });
  });
});
