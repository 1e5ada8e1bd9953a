// The most expensive requests of up to 3 MiB.

import type { RawRequest } from '#apiserver/testing/requests.ts';
import { definitionCases } from './hostile-definitions.ts';

export interface HostileRequest {
  readonly name: string;
  /** Makes the request. Requests are made when they are sent, since their bodies are large. */
  request(): RawRequest;
  /** Requests that are sent before it. */
  readonly before?: readonly (() => RawRequest)[];
}

export const MAX_BODY = 3 * 1024 * 1024;

const JSON_TYPE = { 'content-type': 'application/json' };
const YAML_TYPE = { 'content-type': 'application/yaml' };
const REVIEWS = '/apis/authentication.k8s.io/v1/selfsubjectreviews';
const CONFIG_MAPS = '/api/v1/namespaces/default/configmaps';
const PODS = '/api/v1/namespaces/default/pods';

/** Returns `count` pieces, one after the other. */
const join = (count: number, piece: (index: number) => string, separator = ''): string =>
  Array.from({ length: count }, (_, index) => piece(index)).join(separator);

const entries = (
  count: number,
  value: (index: number) => unknown,
  key = (index: number) => `k${index}`,
): object =>
  Object.fromEntries(Array.from({ length: count }, (_, index) => [key(index), value(index)]));

const items = (count: number, item: (index: number) => unknown): unknown[] =>
  Array.from({ length: count }, (_, i) => item(i));

const yaml = (name: string, text: () => string): HostileRequest[] => [
  {
    name: `YAML: ${name}`,
    request: () => ({ method: 'POST', path: REVIEWS, headers: YAML_TYPE, body: text() }),
  },
];

function json(name: string, path: string, body: () => unknown, method = 'POST'): HostileRequest {
  return {
    name,
    request: () => {
      const value = body();
      return {
        method,
        path,
        headers: JSON_TYPE,
        body: typeof value === 'string' ? value : JSON.stringify(value),
      };
    },
  };
}

function patch(
  name: string,
  type: string,
  path: string,
  existing: () => object,
  body: () => unknown,
): HostileRequest {
  const collection = path.slice(0, path.lastIndexOf('/'));
  return {
    name,
    before: [
      () => ({ method: 'DELETE', path: `${path}?gracePeriodSeconds=0` }),
      () => ({ method: 'POST', path: collection, headers: JSON_TYPE, body: existing() }),
    ],
    request: () => ({
      method: 'PATCH',
      path,
      headers: { 'content-type': type },
      body: JSON.stringify(body()),
    }),
  };
}

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC = 'application/strategic-merge-patch+json';

const configMap = (name: string, data: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});
const pod = (spec: object, metadata: object = {}): object => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', ...metadata },
  spec: { containers: [{ name: 'c', image: 'i' }], ...spec },
});

const jsonPatch = (name: string, existing: () => object, body: () => unknown): HostileRequest =>
  patch(
    `JSON patch: ${name}`,
    JSON_PATCH,
    `${CONFIG_MAPS}/patched`,
    () => configMap('patched', existing()),
    body,
  );

export const cases: readonly HostileRequest[] = [
  ...yaml(
    '16,000 anchors and aliases',
    () => `${join(16_000, (i) => `a${i}: &x${i} 1\n`)}${join(16_000, (i) => `b${i}: *x${i}\n`)}`,
  ),
  ...yaml('an alias 300,000 times', () => `a: &a b\nl:\n${join(150_000, () => '- *a\n')}`),
  ...yaml(
    '10,000 keys merged 900 times',
    () => `a: &a {${join(10_000, (i) => `k${i}: 1`, ', ')}}\nl:\n${join(900, () => '- <<: *a\n')}`,
  ),
  ...yaml('aliases of aliases', () =>
    join(30, (i) => `a${i}: &a${i} [${join(9, () => (i === 0 ? 'x' : `*a${i - 1}`), ', ')}]\n`),
  ),
  ...yaml('an anchor in itself', () => 'a: &a [*a]'),
  ...yaml(
    'a large string 3,000 times',
    () => `a: &a ${'x'.repeat(100_000)}\nl:\n${join(900, () => '- *a\n')}`,
  ),
  ...yaml('150,000 explicit keys', () => join(150_000, () => '? a\n')),
  ...yaml('a flow sequence', () => `a: [${join(370_000, () => 'a', ',')}]`),
  ...yaml('flow maps', () => `a: [${join(210_000, () => '{a: b}', ',')}]`),
  ...yaml('a block sequence', () => `a:\n${join(370_000, () => '- a\n')}`),
  ...yaml('200,000 keys', () => join(110_000, (i) => `key${i}: ${i}\n`)),
  ...yaml('one key 500,000 times', () => join(250_000, () => 'a: b\n')),
  ...yaml('brackets', () => '['.repeat(1_500_000)),
  ...yaml('comments of items', () => `a:\n${'- b # comment\n'.repeat(110_000)}`),
  ...yaml('documents', () => '---\na: b\n'.repeat(150_000)),
  ...yaml('anchors', () => `a:\n${join(110_000, (i) => `- &a${i} b\n`)}`),
  ...yaml('a number', () => `a: ${'1'.repeat(1_500_000)}`),
  ...yaml(
    'a ConfigMap',
    () =>
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: applied\ndata:\n' +
      join(30_000, (i) => `  key${i}: value of this key ${i}\n`),
  ),

  jsonPatch(
    '10,000 additions to 10,000 keys',
    () => entries(10_000, () => 'v'),
    () => items(10_000, (i) => ({ op: 'add', path: `/data/n${i}`, value: 'x' })),
  ),
  jsonPatch(
    '10,000 replacements of 40,000 keys',
    () => entries(40_000, () => 'v'),
    () => items(10_000, (i) => ({ op: 'replace', path: `/data/k${i}`, value: 'w' })),
  ),
  jsonPatch(
    'copies of the whole',
    () => entries(4000, () => 'v'),
    () => items(10_000, (i) => ({ op: 'copy', from: '/data', path: `/x${i}` })),
  ),
  jsonPatch(
    'copies of copies',
    () => ({ a: 'b' }),
    () => items(60, () => ({ op: 'copy', from: '/data', path: '/data/a' })),
  ),
  jsonPatch(
    'insertions into a list',
    () => ({}),
    () => [
      {
        op: 'add',
        path: '/metadata/finalizers',
        value: items(100_000, (i) => `example.com/f${i}`),
      },
      ...items(9999, (i) => ({
        op: 'add',
        path: '/metadata/finalizers/0',
        value: `example.com/g${i}`,
      })),
    ],
  ),
  jsonPatch(
    'removals from a list',
    () => ({}),
    () => [
      {
        op: 'add',
        path: '/metadata/finalizers',
        value: items(100_000, (i) => `example.com/f${i}`),
      },
      ...items(9999, () => ({ op: 'remove', path: '/metadata/finalizers/0' })),
    ],
  ),
  jsonPatch(
    'tests of the whole',
    () => entries(40_000, () => 'v'),
    () => items(10_000, () => ({ op: 'test', path: '/data', value: { a: 1 } })),
  ),
  jsonPatch(
    'a long path',
    () => ({}),
    () => [{ op: 'add', path: '/data'.repeat(500_000), value: 1 }],
  ),
  jsonPatch(
    'long paths',
    () => ({}),
    () => items(10_000, (i) => ({ op: 'test', path: `${'/data'.repeat(50)}${i}`, value: null })),
  ),
  jsonPatch(
    'a deep value built up',
    () => ({}),
    () =>
      items(10_000, (i) => ({
        op: 'add',
        path: `/data${'/a'.repeat(Math.min(i, 120))}`,
        value: {},
      })),
  ),
  jsonPatch(
    'the whole document replaced',
    () => entries(40_000, () => 'v'),
    () => items(10_000, () => ({ op: 'replace', path: '', value: {} })),
  ),

  patch(
    'merge patch: 49,000 keys',
    MERGE_PATCH,
    `${CONFIG_MAPS}/patched`,
    () => configMap('patched'),
    () => ({ data: entries(49_000, () => 'v') }),
  ),
  patch(
    'strategic merge patch: 49,000 labels',
    STRATEGIC,
    `${PODS}/p`,
    () => pod({}),
    () => ({ metadata: { labels: entries(49_000, () => 'v') } }),
  ),
  patch(
    'strategic merge patch: 10,000 containers',
    STRATEGIC,
    `${PODS}/p`,
    () => pod({}),
    () => ({ spec: { containers: items(10_000, (i) => ({ name: `c${i}`, image: 'x' })) } }),
  ),
  patch(
    'strategic merge patch: 12,000 finalizers in order',
    STRATEGIC,
    `${PODS}/p`,
    () => pod({}, { finalizers: items(20_000, (i) => `example.com/f${i}`) }),
    () => ({
      metadata: {
        '$setElementOrder/finalizers': items(20_000, (i) => `example.com/g${i}`),
        '$deleteFromPrimitiveList/finalizers': items(12_000, (i) => `example.com/h${i}`),
        finalizers: items(20_000, (i) => `example.com/g${i}`),
      },
    }),
  ),
  patch(
    'strategic merge patch: 12,000 deletions',
    STRATEGIC,
    `${PODS}/p`,
    () =>
      pod(
        {},
        {
          ownerReferences: items(10_000, (i) => ({
            apiVersion: 'v1',
            kind: 'X',
            name: 'x',
            uid: `u${i}`,
          })),
        },
      ),
    () => ({
      metadata: { ownerReferences: items(12_000, (i) => ({ $patch: 'delete', uid: `u${i}` })) },
    }),
  ),
  patch(
    'strategic merge patch: an unknown directive',
    STRATEGIC,
    `${PODS}/p`,
    () => pod({}),
    () => ({ spec: { $patch: 'x', containers: items(12_000, (i) => ({ name: `c${i}` })) } }),
  ),
  patch(
    'strategic merge patch: different elements',
    STRATEGIC,
    `${PODS}/p`,
    () => pod({}),
    () => ({ spec: { containers: [1, ...items(49_000, (i) => ({ name: `c${i}` }))] } }),
  ),
  ...(['apply'] as const).flatMap((): HostileRequest[] => {
    const apply =
      (
        manager: string,
        name: string,
        path: string,
        body: () => object,
        force = true,
      ): (() => RawRequest) =>
      () => ({
        method: 'PATCH',
        path: `${path}/${name}?fieldManager=${manager}${force ? '&force=true' : ''}`,
        headers: { 'content-type': 'application/apply-patch+yaml' },
        body: JSON.stringify(body()),
      });
    const big = (value: string) => (): object =>
      configMap(
        'big',
        entries(49_000, () => value),
      );
    const containers = (image: string) => (): object =>
      pod({ containers: items(10_000, (i) => ({ name: `c${i}`, image })) });
    const remove = (path: string) => (): RawRequest => ({
      method: 'DELETE',
      path: `${path}?gracePeriodSeconds=0`,
    });
    return [
      {
        name: 'apply: 49,000 keys again, of another manager',
        before: [remove(`${CONFIG_MAPS}/big`), apply('a', 'big', CONFIG_MAPS, big('x'))],
        request: apply('b', 'big', CONFIG_MAPS, big('y')),
      },
      {
        name: 'apply: 49,000 conflicts',
        before: [remove(`${CONFIG_MAPS}/big`), apply('a', 'big', CONFIG_MAPS, big('x'))],
        request: apply('b', 'big', CONFIG_MAPS, big('y'), false),
      },
      {
        name: 'apply: 49,000 keys removed',
        before: [
          remove(`${CONFIG_MAPS}/big`),
          apply('a', 'big', CONFIG_MAPS, big('x')),
          apply('b', 'big', CONFIG_MAPS, () => configMap('big', { k1: 'x' })),
        ],
        request: apply('a', 'big', CONFIG_MAPS, () => configMap('big', { k2: 'x' })),
      },
      {
        name: 'apply: 10,000 containers',
        before: [remove(`${PODS}/p`)],
        request: apply('a', 'p', PODS, containers('x')),
      },
      {
        name: 'apply: one container 10,000 times',
        before: [remove(`${PODS}/p`)],
        request: apply('a', 'p', PODS, () =>
          pod({ containers: items(10_000, () => ({ name: 'c', image: 'x' })) }),
        ),
      },
    ];
  }),

  json('49,000 labels', PODS, () => pod({}, { labels: entries(49_000, () => 'v') })),
  json('49,000 labels of long wrong names', PODS, () =>
    pod(
      {},
      {
        labels: entries(
          10_000,
          () => 'v',
          (i) => `${'-'.repeat(250)}${i}`,
        ),
      },
    ),
  ),
  json('49,000 annotations', PODS, () => pod({}, { annotations: entries(49_000, () => 'v') })),
  json('9,000 owner references', PODS, () =>
    pod(
      {},
      {
        ownerReferences: items(9_000, (i) => ({
          apiVersion: 'v1',
          kind: 'X',
          name: `x${i}`,
          uid: `u${i}`,
        })),
      },
    ),
  ),
  json('49,000 finalizers, all wrong', PODS, () =>
    pod({}, { finalizers: items(49_000, (i) => `!${i}`) }),
  ),
  json('10,000 containers', PODS, () =>
    pod({ containers: items(10_000, (i) => ({ name: `c${i}`, image: 'x' })) }),
  ),
  json('12,000 empty containers', PODS, () => pod({ containers: items(49_000, () => ({})) })),
  json('12,000 volumes and mounts', PODS, () =>
    pod({
      volumes: items(8_000, (i) => ({ name: `v${i}`, emptyDir: {} })),
      containers: [
        {
          name: 'c',
          image: 'x',
          volumeMounts: items(8_000, (i) => ({ name: `v${i}`, mountPath: `/m${i}` })),
        },
      ],
    }),
  ),
  json('12,000 managed fields', PODS, () =>
    pod(
      {},
      {
        managedFields: items(6_000, (i) => ({
          manager: `m${i}`,
          operation: 'Update',
          apiVersion: 'v1',
          fieldsType: 'FieldsV1',
          fieldsV1: { 'f:metadata': { 'f:labels': {} } },
        })),
      },
    ),
  ),
  json('managed fields of 49,000 elements', PODS, () =>
    pod(
      {},
      {
        managedFields: [
          {
            manager: 'm',
            operation: 'Update',
            apiVersion: 'v1',
            fieldsType: 'FieldsV1',
            fieldsV1: {
              'f:metadata': {
                'f:labels': entries(
                  49_000,
                  () => ({}),
                  (i) => `f:k${i}`,
                ),
              },
            },
          },
        ],
      },
    ),
  ),
  json('ConfigMap of 49,000 keys', CONFIG_MAPS, () =>
    configMap(
      'x',
      entries(49_000, () => 'v'),
    ),
  ),
  {
    name: 'an update of a ConfigMap of 49,000 keys',
    before: [
      () => ({ method: 'DELETE', path: `${CONFIG_MAPS}/updated` }),
      () => ({
        method: 'POST',
        path: CONFIG_MAPS,
        headers: JSON_TYPE,
        body: JSON.stringify(
          configMap(
            'updated',
            entries(49_000, () => 'v'),
          ),
        ),
      }),
    ],
    request: () => ({
      method: 'PUT',
      path: `${CONFIG_MAPS}/updated`,
      headers: JSON_TYPE,
      body: JSON.stringify(
        configMap(
          'updated',
          entries(49_000, () => 'w'),
        ),
      ),
    }),
  },
  json('ConfigMap of wrong keys', CONFIG_MAPS, () =>
    configMap(
      'x',
      entries(
        49_000,
        () => 'v',
        (i) => `/${i}`,
      ),
    ),
  ),
  json('49,000 unknown fields', CONFIG_MAPS, () => ({
    ...configMap('x'),
    ...entries(49_000, () => 1),
  })),
  json('49,000 unknown fields, strict', `${CONFIG_MAPS}?fieldValidation=Strict`, () => ({
    ...configMap('x'),
    ...entries(49_000, () => 1),
  })),
  json(
    'a field 49,000 times',
    `${CONFIG_MAPS}?fieldValidation=Strict`,
    () =>
      `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x"},${join(49_000, () => '"a":1', ',')}}`,
  ),
  json(
    '49,000 fields twice',
    CONFIG_MAPS,
    () =>
      '{"kind":"ConfigMap","apiVersion":"v1",' +
      `"metadata":{"name":"x"},${join(48_000, (i) => `"a${i % 24_000}":1`, ',')}}`,
  ),
  json('numbers', CONFIG_MAPS, () => `{"a":[${join(49_000, () => '1', ',')}]}`),
  json('brackets', CONFIG_MAPS, () => '['.repeat(3_000_000)),
  json('nested objects', CONFIG_MAPS, () => '{"a":'.repeat(600_000)),
  json('a string of quotes', CONFIG_MAPS, () => `{"a":"${String.raw`\"`.repeat(1_500_000)}"}`),
  json('a string of backslashes', CONFIG_MAPS, () => `{"a":"${'\\'.repeat(3_000_000)}"}`),
  json('an unfinished string', CONFIG_MAPS, () => `{"a":"${'x'.repeat(3_000_000)}`),
  json('a syntax error at the end', CONFIG_MAPS, () => `{"a":[${join(1_500_000, () => '1', ',')}`),
  json('one number', CONFIG_MAPS, () => `{"a":${'1'.repeat(3_000_000)}}`),
  json('one fraction', CONFIG_MAPS, () => `{"a":0.${'1'.repeat(3_000_000)}}`),
  json('a quantity of 2,000,000 digits', PODS, () =>
    pod({
      containers: [
        { name: 'c', image: 'x', resources: { limits: { cpu: '1'.repeat(2_000_000) } } },
      ],
    }),
  ),
  json('a quantity of 2,000,000 zeros', PODS, () =>
    pod({
      containers: [
        { name: 'c', image: 'x', resources: { limits: { cpu: `0.${'0'.repeat(2_000_000)}1` } } },
      ],
    }),
  ),
  json('a quantity with a suffix of letters', PODS, () =>
    pod({
      containers: [
        { name: 'c', image: 'x', resources: { limits: { cpu: `1${'E'.repeat(2_000_000)}` } } },
      ],
    }),
  ),
  json('48,000 quantities', '/api/v1/namespaces/default/resourcequotas', () => ({
    metadata: { name: 'q' },
    spec: {
      hard: entries(
        48_000,
        (i) => `${i}123456789.123456789Ki`,
        (i) => `example.com/r${i}`,
      ),
    },
  })),
  json('20,000 quantities of 80 digits', '/api/v1/namespaces/default/resourcequotas', () => ({
    metadata: { name: 'q' },
    spec: {
      hard: entries(
        20_000,
        (i) => `${i}${'9'.repeat(40)}.${'9'.repeat(40)}`,
        (i) => `example.com/r${i}`,
      ),
    },
  })),
  json('9,900 quantities that are rounded', '/api/v1/namespaces/default/resourcequotas', () => ({
    metadata: { name: 'rounded' },
    spec: {
      hard: entries(
        9900,
        (i) => `${i}123456789.123456789n`,
        (i) => `requests.example.com/r${i}`,
      ),
    },
  })),
  json('9,900 quantities of 128 characters', '/api/v1/namespaces/default/resourcequotas', () => ({
    metadata: { name: 'long' },
    spec: {
      hard: entries(
        9900,
        (i) => `${i}${'9'.repeat(60)}.${'9'.repeat(60)}`,
        (i) => `requests.example.com/r${i}`,
      ),
    },
  })),
  json('16,000 ports of a Service', '/api/v1/namespaces/default/services', () => ({
    metadata: { name: 's' },
    spec: {
      clusterIP: 'None',
      ports: items(16_000, (i) => ({ name: `p${i}`, port: (i % 65_535) + 1 })),
    },
  })),
  json(
    '16,000 rules of a Role',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles',
    () => ({
      metadata: { name: 'r' },
      rules: items(5_500, () => ({ apiGroups: [''], resources: ['pods'], verbs: ['get'] })),
    }),
  ),
  json(
    'rules of long lists',
    '/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles',
    () => ({
      metadata: { name: 'r' },
      rules: [
        {
          apiGroups: items(500, (i) => `g${i}`),
          resources: items(500, (i) => `r${i}`),
          verbs: items(500, (i) => `v${i}`),
        },
      ],
    }),
  ),
  json(
    'an expression of 3 MB',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => ({
      metadata: { name: 'v' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: [{ expression: `1${'+1'.repeat(1_400_000)}==2` }],
      },
    }),
  ),
  json(
    'an expression of brackets',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => ({
      metadata: { name: 'v' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: [{ expression: `${'('.repeat(1_400_000)}true${')'.repeat(1_400_000)}` }],
      },
    }),
  ),
  json(
    '20,000 expressions',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => ({
      metadata: { name: 'v' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: items(16_000, () => ({ expression: 'object.metadata.name == "x"' })),
      },
    }),
  ),
  json(
    '49,000 wrong scopes of a ResourceQuota',
    '/api/v1/namespaces/default/resourcequotas',
    () => ({
      metadata: { name: 'scopes' },
      spec: { scopes: items(49_000, (i) => `scope-${i}`) },
    }),
  ),
  json('49,000 texts of a Secret', '/api/v1/namespaces/default/secrets', () => ({
    metadata: { name: 'texts' },
    stringData: entries(49_000, () => 'v'),
  })),
  ...(
    [
      ['BEGIN lines', '-----BEGIN A-----\n'.repeat(120_000)],
      ['white space', `-----BEGIN A-----${' '.repeat(2_000_000)}x\neA==\n-----END A-----\n`],
    ] as const
  ).map(([name, pem]) =>
    json(
      `a certificate request of ${name}`,
      '/apis/certificates.k8s.io/v1/certificatesigningrequests',
      () => ({
        metadata: { name: 'pem' },
        spec: {
          request: Buffer.from(pem).toString('base64'),
          signerName: 'example.com/signer',
          usages: ['client auth'],
        },
      }),
    ),
  ),
  json(
    'expressions of 49,000 characters',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => ({
      metadata: { name: 'many' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: items(1700, () => ({ expression: 'object.a == 1' })),
      },
    }),
  ),
  json(
    'an expression of 49,000 characters',
    '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies',
    () => ({
      metadata: { name: 'long' },
      spec: {
        matchConstraints: {
          resourceRules: [
            { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods'] },
          ],
        },
        validations: [{ expression: `[${'1,'.repeat(24_000)}1].size() == 2` }],
      },
    }),
  ),
  json(
    'match conditions of 1,000 webhooks',
    '/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations',
    () => ({
      metadata: { name: 'conditions' },
      webhooks: items(500, (i) => ({
        name: `w${i}.example.com`,
        sideEffects: 'None',
        admissionReviewVersions: ['v1'],
        clientConfig: { url: 'https://example.com/' },
        matchConditions: items(10, (k) => ({
          name: `c${k}`,
          expression: `object.a == "${'x'.repeat(400)}"`,
        })),
      })),
    }),
  ),
  json(
    '1,000 selectors of a claim',
    '/apis/resource.k8s.io/v1/namespaces/default/resourceclaims',
    () => ({
      metadata: { name: 'selectors' },
      spec: {
        devices: {
          requests: items(32, (i) => ({
            name: `r${i}`,
            exactly: {
              deviceClassName: 'c',
              selectors: items(32, () => ({
                cel: {
                  expression: `device.driver == "a"${' && device.driver == "a"'.repeat(110)}`,
                },
              })),
            },
          })),
        },
      },
    }),
  ),
  json('a cron schedule', '/apis/batch/v1/namespaces/default/cronjobs', () => ({
    metadata: { name: 'c' },
    spec: {
      schedule: `${'1,'.repeat(1_400_000)}1 * * * *`,
      jobTemplate: {
        spec: {
          template: { spec: { restartPolicy: 'Never', containers: [{ name: 'c', image: 'x' }] } },
        },
      },
    },
  })),
  json(
    'a subject access review of 100,000 groups',
    '/apis/authorization.k8s.io/v1/subjectaccessreviews',
    () => ({
      spec: {
        user: 'u',
        groups: items(49_000, (i) => `g${i}`),
        resourceAttributes: { verb: 'get', resource: 'pods' },
      },
    }),
  ),
  json('a token of 3 MB', '/apis/authentication.k8s.io/v1/tokenreviews', () => ({
    spec: { token: `${'a'.repeat(1_000_000)}.${'b'.repeat(1_000_000)}.${'c'.repeat(900_000)}` },
  })),
  json('a token of dots', '/apis/authentication.k8s.io/v1/tokenreviews', () => ({
    spec: { token: '.'.repeat(3_000_000) },
  })),

  ...(
    [
      ['commas', ','.repeat(600_000)],
      ['types', 'application/json,'.repeat(35_000)],
      ['unknown types', 'x/y,'.repeat(150_000)],
      ['parameters', `application/json${';a=b'.repeat(150_000)}`],
      ['qualities', 'x/y;q=0.1,'.repeat(60_000)],
    ] as const
  ).flatMap(([name, accept]): HostileRequest[] => [
    {
      name: `Accept of ${name}`,
      request: () => ({ path: '/api/v1/namespaces/default/pods', headers: { accept } }),
    },
    {
      name: `Accept of ${name}, unauthenticated`,
      request: () => ({ path: '/api/v1/pods', headers: { accept }, user: null }),
    },
    { name: `Accept of ${name} at /apis`, request: () => ({ path: '/apis', headers: { accept } }) },
    {
      name: `Accept of ${name} at /openapi/v2`,
      request: () => ({ path: '/openapi/v2', headers: { accept } }),
    },
  ]),
  {
    name: 'a bearer token of 1 MB',
    request: () => ({
      path: '/api/v1/pods',
      headers: { authorization: `Bearer ${'a.'.repeat(400_000)}` },
      user: null,
    }),
  },
  {
    name: 'an authorization of spaces',
    request: () => ({
      path: '/api/v1/pods',
      headers: { authorization: `Bearer${' '.repeat(900_000)}x` },
      user: null,
    }),
  },
  {
    name: 'a user agent of 900 KB',
    request: () => ({
      method: 'POST',
      path: CONFIG_MAPS,
      headers: { ...JSON_TYPE, 'user-agent': '\u0001'.repeat(900_000) },
      body: JSON.stringify(configMap('agent')),
    }),
  },
  {
    name: 'a content type of 900 KB',
    request: () => ({
      method: 'POST',
      path: CONFIG_MAPS,
      headers: { 'content-type': `application/json${'; '.repeat(400_000)}` },
      body: JSON.stringify(configMap('agent')),
    }),
  },
  {
    name: 'an accepted encoding of 900 KB',
    request: () => ({
      path: '/api/v1/pods',
      headers: { 'accept-encoding': 'gzip;q=0,'.repeat(100_000) },
    }),
  },
  {
    name: 'If-None-Match of 900 KB',
    request: () => ({ path: '/openapi/v2', headers: { 'if-none-match': '"a",'.repeat(220_000) } }),
  },

  {
    name: 'a label selector of 900 KB',
    request: () => ({ path: `/api/v1/pods?labelSelector=${join(100_000, (i) => `k${i}=v`, ',')}` }),
  },
  {
    name: 'a label selector of sets',
    request: () => ({
      path: `/api/v1/pods?labelSelector=k+in+(${join(150_000, (i) => `v${i}`, ',')})`,
    }),
  },
  {
    name: 'a label selector of brackets',
    request: () => ({ path: `/api/v1/pods?labelSelector=${'('.repeat(900_000)}` }),
  },
  {
    name: 'a label selector of one word',
    request: () => ({ path: `/api/v1/pods?labelSelector=${'a'.repeat(900_000)}` }),
  },
  {
    name: 'a label selector of spaces',
    request: () => ({ path: `/api/v1/pods?labelSelector=${'+'.repeat(900_000)}a` }),
  },
  {
    name: 'a field selector of 900 KB',
    request: () => ({
      path: `/api/v1/pods?fieldSelector=${join(50_000, () => 'spec.nodeName=v', ',')}`,
    }),
  },
  {
    name: 'a field selector of commas',
    request: () => ({ path: `/api/v1/pods?fieldSelector=${','.repeat(900_000)}` }),
  },
  {
    name: 'a field selector of backslashes',
    request: () => ({ path: `/api/v1/pods?fieldSelector=metadata.name=${'\\'.repeat(900_000)}` }),
  },
  {
    name: 'a watch with a label selector of 900 KB',
    request: () => ({
      path: `/api/v1/pods?watch=1&timeoutSeconds=1&labelSelector=${join(100_000, (i) => `k${i}!=v`, ',')}`,
    }),
  },
  {
    name: 'a field manager of 900 KB',
    request: () => ({
      method: 'POST',
      path: `${CONFIG_MAPS}?fieldManager=${'a'.repeat(900_000)}`,
      headers: JSON_TYPE,
      body: JSON.stringify(configMap('fm')),
    }),
  },
  {
    name: 'a field manager of controls',
    request: () => ({
      method: 'POST',
      path: `${CONFIG_MAPS}?fieldManager=${'%01'.repeat(300_000)}`,
      headers: JSON_TYPE,
      body: JSON.stringify(configMap('fm')),
    }),
  },
  {
    name: 'a continue token of 900 KB',
    request: () => ({ path: `/api/v1/pods?limit=1&continue=${'A'.repeat(900_000)}` }),
  },
  {
    name: 'a limit of 900 KB',
    request: () => ({ path: `/api/v1/pods?limit=${'1'.repeat(900_000)}` }),
  },
  {
    name: 'a resource version of 900 KB',
    request: () => ({ path: `/api/v1/pods?resourceVersion=${'1'.repeat(900_000)}` }),
  },
  {
    name: '200,000 parameters',
    request: () => ({ path: `/api/v1/pods?${join(150_000, (i) => `a${i}=`, '&')}` }),
  },
  {
    name: '200,000 dry runs',
    request: () => ({
      method: 'POST',
      path: `${CONFIG_MAPS}?${'dryRun=x&'.repeat(100_000)}`,
      headers: JSON_TYPE,
      body: JSON.stringify(configMap('dr')),
    }),
  },
  { name: 'a path of slashes', request: () => ({ path: `/api/v1${'/'.repeat(900_000)}pods` }) },
  {
    name: 'a path of segments',
    request: () => ({ path: `/api/v1/namespaces/default/pods/p/log${'/a'.repeat(450_000)}` }),
  },
  {
    name: 'a path of escapes',
    request: () => ({ path: `/api/v1/namespaces/default/pods/${'%41'.repeat(300_000)}` }),
  },
  {
    name: 'an OpenAPI path of slashes',
    request: () => ({ path: `/openapi/v2${'/'.repeat(900_000)}x` }),
  },
  { name: 'an unserved path', request: () => ({ path: '/a'.repeat(450_000) }) },
  {
    name: 'impersonation of 10,000 extras',
    request: () => ({
      path: '/api/v1/pods',
      headers: {
        'impersonate-user': 'x',
        ...Object.fromEntries(
          items(10_000, (i) => [`impersonate-extra-${i}`, 'x']) as [string, string][],
        ),
      },
    }),
  },
  {
    name: 'impersonation of many groups',
    request: () => ({
      path: '/api/v1/pods',
      headers: { 'impersonate-user': 'x', 'impersonate-group': 'a,'.repeat(400_000) },
    }),
  },
  ...definitionCases,
];
