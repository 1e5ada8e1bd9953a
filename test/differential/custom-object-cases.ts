// Custom resources as clients see them: definitions, and requests about their objects that are sent
// to both servers in this order.
//
// Not here, because the answers cannot be the same: errors that repeat an object with its keys in
// their order, or a resourceVersion; YAML (ours has kind first); objects in protobuf (upstream's
// handler panics); an apply to a Scale (upstream fails with 500).

import type { Shot } from './shots.ts';

type Json = Readonly<Record<string, unknown>>;

export interface CustomObjectCase {
  readonly name: string;
  /** The definition is created first, and established before the requests are sent. */
  readonly definition: Json;
  readonly requests: readonly Shot[];
}

const GROUP = 'custom-kinds.example.com';

interface DefinitionParts {
  readonly plural: string;
  readonly kind: string;
  readonly versions: readonly Json[];
  readonly scope?: 'Cluster' | 'Namespaced';
  readonly names?: Json;
}

function definition({
  plural,
  kind,
  versions,
  scope = 'Namespaced',
  names = {},
}: DefinitionParts): Json {
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${GROUP}` },
    spec: { group: GROUP, scope, names: { plural, kind, ...names }, versions },
  };
}

function version(name: string, properties: Json, more: Json = {}): Json {
  return {
    name,
    served: true,
    storage: true,
    schema: { openAPIV3Schema: { type: 'object', properties } },
    ...more,
  };
}

const JSON_TYPE = 'application/json';
const MERGE = 'application/merge-patch+json';
const APPLY = 'application/apply-patch+yaml';
const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io';
const METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
const PROTOBUF = 'application/vnd.kubernetes.protobuf';

type Body = Json | string;

function shot(method: string, path: string, body?: Body, type = JSON_TYPE, accept?: string): Shot {
  const text = body === undefined ? '' : typeof body === 'string' ? body : JSON.stringify(body);
  return { method, path, type, body: text, changes: [], ...(accept !== undefined && { accept }) };
}

/** Requests about one resource in one version. */
class Requests {
  readonly #collection: string;
  readonly #identity: Json;

  constructor(plural: string, kind: string, { version: name = 'v1', namespaced = true } = {}) {
    this.#collection = `/apis/${GROUP}/${name}${namespaced ? '/namespaces/default' : ''}/${plural}`;
    this.#identity = { apiVersion: `${GROUP}/${name}`, kind };
  }

  object(name: string, fields: Json = {}, metadata: Json = {}): Json {
    return { ...this.#identity, metadata: { name, ...metadata }, ...fields };
  }

  create(name: string, fields: Json = {}, query = '', metadata: Json = {}): Shot {
    return shot('POST', this.#collection + query, this.object(name, fields, metadata));
  }

  post(body: Body, query = '', type = JSON_TYPE, accept?: string): Shot {
    return shot('POST', this.#collection + query, body, type, accept);
  }

  get(name: string, accept?: string): Shot {
    return shot('GET', `${this.#collection}/${name}`, undefined, JSON_TYPE, accept);
  }

  list(query = '', accept?: string): Shot {
    return shot('GET', this.#collection + query, undefined, JSON_TYPE, accept);
  }

  put(name: string, body: Body, type = JSON_TYPE): Shot {
    return shot('PUT', `${this.#collection}/${name}`, body, type);
  }

  patch(name: string, body: unknown, type = MERGE, accept?: string): Shot {
    return shot('PATCH', `${this.#collection}/${name}`, JSON.stringify(body), type, accept);
  }

  apply(name: string, fields: Json, manager = 'me', query = ''): Shot {
    const [plain = name] = name.split(/[/?]/);
    return shot(
      'PATCH',
      `${this.#collection}/${name}?fieldManager=${manager}${query}`,
      this.object(plain, fields),
      APPLY,
    );
  }

  delete(name: string, body?: Body): Shot {
    return shot('DELETE', `${this.#collection}/${name}`, body);
  }

  deleteCollection(query = ''): Shot {
    return shot('DELETE', this.#collection + query);
  }
}

const crontabs = new Requests('crontabs', 'CronTab');
const crontabSchema: Json = {
  spec: {
    type: 'object',
    required: ['schedule'],
    properties: {
      schedule: { type: 'string', pattern: '^\\S+ \\S+$' },
      image: { type: 'string', default: 'busybox' },
      replicas: { type: 'integer', minimum: 0, maximum: 10 },
      ports: {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: {
          type: 'object',
          required: ['name'],
          properties: { name: { type: 'string' }, number: { type: 'integer' } },
        },
      },
      tags: { type: 'array', 'x-kubernetes-list-type': 'set', items: { type: 'string' } },
      atoms: { type: 'array', 'x-kubernetes-list-type': 'atomic', items: { type: 'string' } },
      settings: { type: 'object', additionalProperties: { type: 'string' } },
      nothing: { type: 'string', nullable: true },
      free: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    },
  },
  status: {
    type: 'object',
    properties: { replicas: { type: 'integer' }, phase: { type: 'string', enum: ['A', 'B'] } },
  },
};

const plain: CustomObjectCase = {
  name: 'an object without a status subresource',
  definition: definition({
    plural: 'crontabs',
    kind: 'CronTab',
    names: { shortNames: ['ct'], categories: ['all', 'mine'] },
    versions: [version('v1', crontabSchema)],
  }),
  requests: [
    crontabs.create('a', { spec: { schedule: '* *' }, status: { replicas: 1 } }),
    crontabs.create('a', { spec: { schedule: '* *' } }),
    crontabs.create('b', { spec: { schedule: '*' } }),
    crontabs.create('b', {}),
    crontabs.create('b', { spec: null }),
    crontabs.create('b', { spec: 1 }),
    crontabs.create('b', {
      spec: { schedule: '* *', replicas: 11, image: 3 },
      status: { phase: 'C' },
    }),
    crontabs.create('b', {
      spec: { schedule: '* *', unknown: 1, free: { x: { y: 1 } }, nothing: null, image: null },
      top: true,
    }),
    crontabs.create(
      'c',
      { spec: { schedule: '* *', unknown: 1 }, top: true },
      '?fieldValidation=Strict',
    ),
    crontabs.create(
      'c',
      { spec: { schedule: '* *', unknown: 1 }, top: true },
      '?fieldValidation=Ignore&dryRun=All',
    ),
    crontabs.create(
      'c',
      { spec: { schedule: '* *', unknown: 1 }, top: true },
      '?fieldValidation=Warn&dryRun=All',
    ),
    crontabs.post(
      '{"apiVersion":"custom-kinds.example.com/v1","kind":"CronTab","metadata":{"name":"d",' +
        '"foo":1},"spec":{"schedule":"* *","schedule":"a b"}}',
    ),
    crontabs.post(
      '{"apiVersion":"custom-kinds.example.com/v1","kind":"CronTab","metadata":{"name":"d2",' +
        '"foo":1},"spec":{"schedule":"* *","schedule":"a b"}}',
      '?fieldValidation=Strict',
    ),
    crontabs.create('UPPER', { spec: { schedule: '* *' } }),
    crontabs.create('', { spec: { schedule: '* *' } }),
    crontabs.create('e', { spec: { schedule: '* *' } }, '?dryRun=All', { generateName: 'x-' }),
    crontabs.create('e', { spec: { schedule: '* *' } }, '', { namespace: 'other' }),
    crontabs.create('e', { spec: { schedule: '* *' } }, '', { resourceVersion: '1' }),
    crontabs.create('e', { spec: { schedule: '* *' } }, '', {
      labels: { 'bad key!': 'x' },
      annotations: { 'bad key!': 'x' },
      finalizers: ['nodomain', 'with.dot', 'bad finalizer', 'a.b/c', 'orphan'],
      ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p' }],
    }),
    crontabs.create('fin', { spec: { schedule: '* *' } }, '', {
      finalizers: ['nodomain', 'with.dot', 'a.b/c', 'orphan'],
    }),
    crontabs.patch('fin', { metadata: { finalizers: ['nodomain', 'other'] } }),
    crontabs.patch('fin', { metadata: { finalizers: null } }),
    crontabs.create('labels', { spec: { schedule: '* *' } }, '', { labels: { a: 1 } }),
    crontabs.post({ kind: 'CronTab', metadata: { name: 'f' }, spec: { schedule: '* *' } }),
    crontabs.post({
      apiVersion: 'custom-kinds.example.com/v1',
      metadata: { name: 'f' },
      spec: { schedule: '* *' },
    }),
    crontabs.post({
      apiVersion: 'custom-kinds.example.com/v2',
      kind: 'CronTab',
      metadata: { name: 'f' },
    }),
    crontabs.post({
      apiVersion: 'custom-kinds.example.com/v1',
      kind: 'Other',
      metadata: { name: 'f' },
    }),
    crontabs.post({ apiVersion: 'v1', kind: 'Pod', metadata: { name: 'f' } }),
    crontabs.post('{"a":'),
    crontabs.post('[]'),
    crontabs.post('null'),
    crontabs.post('"x"'),
    crontabs.post('', ''),
    crontabs.post(
      'apiVersion: custom-kinds.example.com/v1\nkind: CronTab\nmetadata: {name: y}\nspec: {schedule: "* *", x: 1}',
      '?dryRun=All',
      'application/yaml',
    ),
    crontabs.post('x', '', 'text/plain'),
    crontabs.create('g', { spec: { schedule: '* *' } }, '?fieldManager=' + 'x'.repeat(200)),
    crontabs.create('g', { spec: { schedule: '* *' } }, '?dryRun=yes'),
    crontabs.create('g', { spec: { schedule: '* *' } }, '?fieldValidation=maybe'),
    crontabs.get('a'),
    crontabs.get('missing'),
    crontabs.get('a', TABLE),
    crontabs.get('a', METADATA),
    crontabs.get('a', METADATA_LIST),
    crontabs.get('a', PROTOBUF),
    crontabs.get('a', `${PROTOBUF},application/json`),
    crontabs.get('a', 'text/plain'),
    crontabs.list(),
    crontabs.list('', TABLE),
    crontabs.list('', METADATA_LIST),
    crontabs.list('', METADATA),
    crontabs.list('', PROTOBUF),
    crontabs.list('?limit=1'),
    crontabs.list('?labelSelector=a=b'),
    crontabs.list('?labelSelector=a=b=c'),
    crontabs.list('?fieldSelector=metadata.name=a'),
    crontabs.list('?fieldSelector=metadata.namespace=default'),
    crontabs.list('?fieldSelector=spec.image=busybox'),
    crontabs.list('?fieldSelector=spec.image'),
    crontabs.list('?watch=1&timeoutSeconds=1', JSON_TYPE),
    crontabs.list('?watch=1&timeoutSeconds=1&resourceVersion=0', TABLE),
    crontabs.list('?watch=1&timeoutSeconds=1', PROTOBUF),
    crontabs.patch('a', { spec: { image: 'x' } }),
    crontabs.patch('a', { spec: { image: 'x' } }),
    crontabs.patch('a', { spec: { image: null } }),
    crontabs.patch('a', { metadata: { labels: { a: 'b' } } }),
    crontabs.patch('a', { status: { replicas: 2 } }),
    crontabs.patch('a', { spec: { unknown: 1 } }),
    crontabs.patch('a', { spec: { schedule: 1 } }),
    crontabs.patch('a', { metadata: { name: 'z' } }),
    crontabs.patch('a', { metadata: { uid: 'z' } }),
    crontabs.patch('a', { metadata: { resourceVersion: '1' } }),
    crontabs.patch('a', { kind: 'Z' }),
    crontabs.patch('a', {
      metadata: { generation: 100, creationTimestamp: '2001-01-01T00:00:00Z' },
    }),
    crontabs.patch('a', { spec: { image: 'y' } }, 'application/strategic-merge-patch+json'),
    crontabs.patch('a', { spec: { image: 'y' } }, 'text/plain'),
    crontabs.patch(
      'a',
      [{ op: 'replace', path: '/spec/image', value: 'j' }],
      'application/json-patch+json',
    ),
    crontabs.patch(
      'a',
      [{ op: 'test', path: '/spec/image', value: 'other' }],
      'application/json-patch+json',
    ),
    crontabs.patch('a', [{ op: 'remove', path: '/spec' }], 'application/json-patch+json'),
    crontabs.patch('a', [{ op: 'add', path: '/spec/x', value: 1 }], 'application/json-patch+json'),
    crontabs.patch('missing', { spec: {} }),
    crontabs.put('a', crontabs.object('a', { spec: { schedule: '* *' } })),
    crontabs.put(
      'a',
      crontabs.object('a', { spec: { schedule: '* *' } }, { resourceVersion: '1' }),
    ),
    crontabs.put('a', crontabs.object('b', { spec: { schedule: '* *' } })),
    crontabs.put('a', crontabs.object('', { spec: { schedule: '* *' } })),
    crontabs.put('missing', crontabs.object('missing', { spec: { schedule: '* *' } })),
    crontabs.put(
      'missing',
      crontabs.object('missing', { spec: { schedule: '* *' } }, { resourceVersion: '5' }),
    ),
    crontabs.get('a/status'),
    crontabs.put('a/status', crontabs.object('a')),
    crontabs.get('a/scale'),
    crontabs.get('a/other'),
    crontabs.apply('s', {
      spec: {
        schedule: '* *',
        ports: [{ name: 'a', number: 1 }],
        tags: ['x'],
        atoms: ['1'],
        settings: { a: 'b' },
      },
    }),
    crontabs.apply(
      's',
      {
        spec: {
          schedule: '* *',
          ports: [{ name: 'b', number: 2 }],
          tags: ['y'],
          settings: { c: 'd' },
        },
      },
      'you',
    ),
    crontabs.apply('s', { spec: { schedule: '1 1', atoms: ['2'] } }, 'you'),
    crontabs.apply('s', { spec: { schedule: '1 1', atoms: ['2'] } }, 'you', '&force=true'),
    crontabs.apply('s', { spec: { schedule: 1 } }, 'you', '&force=true'),
    crontabs.apply('s', { spec: { schedule: '* *', unknown: 1 } }, 'you', '&force=true'),
    crontabs.apply('s', { spec: { schedule: '* *', tags: ['a', 'a'] } }, 'you', '&force=true'),
    crontabs.apply(
      's',
      { spec: { schedule: '* *', ports: [{ number: 2 }] } },
      'you',
      '&force=true',
    ),
    crontabs.apply('s', { metadata: { name: 's', managedFields: [{}] } }, 'you'),
    shot('PATCH', `/apis/${GROUP}/v1/namespaces/default/crontabs/s`, crontabs.object('s'), APPLY),
    crontabs.apply('t', { spec: {} }),
    crontabs.delete('a', { kind: 'DeleteOptions', apiVersion: 'v1', preconditions: { uid: 'x' } }),
    crontabs.delete('a', { kind: 'DeleteOptions', apiVersion: 'v1', dryRun: ['All'] }),
    crontabs.delete('a', {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      propagationPolicy: 'Foreground',
      gracePeriodSeconds: 5,
    }),
    crontabs.get('a'),
    crontabs.patch('a', { metadata: { finalizers: ['foregroundDeletion', 'x.y/z'] } }),
    crontabs.patch('a', { metadata: { finalizers: null } }),
    crontabs.delete('a'),
    crontabs.delete('d'),
    crontabs.deleteCollection('?labelSelector=a=b'),
    crontabs.deleteCollection('?dryRun=All'),
    crontabs.deleteCollection(),
    crontabs.list(),
    shot('GET', `/apis/${GROUP}/v1/crontabs`),
    shot('GET', `/apis/${GROUP}/v1/crontabs/a`),
    shot('POST', `/apis/${GROUP}/v1/crontabs`, crontabs.object('x')),
    shot('DELETE', `/apis/${GROUP}/v1/crontabs`),
    shot('PUT', `/apis/${GROUP}/v1/namespaces/default/crontabs`, crontabs.object('x')),
    shot('POST', `/apis/${GROUP}/v1/namespaces/default/crontabs/x`, crontabs.object('x')),
    shot('GET', `/apis/${GROUP}/v1/namespaces/default/others`),
    shot('GET', `/apis/${GROUP}/v2/namespaces/default/crontabs`),
    shot('GET', `/apis/${GROUP}/v2`),
    shot('GET', `/apis/${GROUP}/v1`),
    shot('GET', `/apis/${GROUP}`),
    shot('OPTIONS', `/apis/${GROUP}/v1/namespaces/default/crontabs`),
    shot(
      'POST',
      `/apis/${GROUP}/v1/namespaces/nowhere/crontabs`,
      crontabs.object('x', { spec: { schedule: '* *' } }),
    ),
    shot('GET', `/apis/${GROUP}/v1/namespaces/nowhere/crontabs`),
  ],
};

const scalers = new Requests('scalers', 'Scaler', { namespaced: false });
const scaled: CustomObjectCase = {
  name: 'status and scale, cluster-scoped, columns and selectable fields',
  definition: definition({
    plural: 'scalers',
    kind: 'Scaler',
    scope: 'Cluster',
    versions: [
      version(
        'v1',
        {
          spec: {
            type: 'object',
            properties: {
              replicas: { type: 'integer' },
              color: { type: 'string' },
              on: { type: 'boolean' },
              number: { type: 'number' },
              when: { type: 'string' },
              list: { type: 'array', items: { type: 'string' } },
              map: { type: 'object', additionalProperties: { type: 'integer' } },
              any: { 'x-kubernetes-preserve-unknown-fields': true },
            },
          },
          status: {
            type: 'object',
            properties: {
              replicas: { type: 'integer' },
              selector: { type: 'string' },
              conditions: {
                type: 'array',
                items: {
                  type: 'object',
                  properties: { type: { type: 'string' }, status: { type: 'string' } },
                },
              },
            },
          },
        },
        {
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.replicas',
              statusReplicasPath: '.status.replicas',
              labelSelectorPath: '.status.selector',
            },
          },
          selectableFields: [
            { jsonPath: '.spec.color' },
            { jsonPath: '.spec.on' },
            { jsonPath: '.spec.replicas' },
          ],
          additionalPrinterColumns: [
            {
              name: 'Replicas',
              type: 'integer',
              jsonPath: '.spec.replicas',
              description: 'How many.',
              priority: 1,
            },
            { name: 'Color', type: 'string', jsonPath: '.spec.color' },
            { name: 'On', type: 'boolean', jsonPath: '.spec.on' },
            { name: 'Number', type: 'number', jsonPath: '.spec.number', format: 'float' },
            { name: 'NumberAsInteger', type: 'integer', jsonPath: '.spec.number' },
            { name: 'NumberAsText', type: 'string', jsonPath: '.spec.number' },
            { name: 'OnAsText', type: 'string', jsonPath: '.spec.on' },
            { name: 'ColorAsInteger', type: 'integer', jsonPath: '.spec.color' },
            { name: 'When', type: 'date', jsonPath: '.spec.when' },
            { name: 'List', type: 'string', jsonPath: '.spec.list' },
            { name: 'First', type: 'string', jsonPath: '.spec.list[0]' },
            { name: 'Last', type: 'string', jsonPath: '.spec.list[-1:]' },
            { name: 'All', type: 'string', jsonPath: '.spec.list[*]' },
            { name: 'Third', type: 'string', jsonPath: '.spec.list[2]' },
            { name: 'Map', type: 'string', jsonPath: '.spec.map' },
            { name: 'Any', type: 'string', jsonPath: '.spec.any' },
            { name: 'AnyA', type: 'string', jsonPath: '.spec.any.a' },
            { name: 'Key', type: 'integer', jsonPath: ".spec.map['a']" },
            { name: 'Escaped', type: 'string', jsonPath: '.metadata.labels.a\\.b/c' },
            {
              name: 'Ready',
              type: 'string',
              jsonPath: '.status.conditions[?(@.type=="Ready")].status',
            },
            { name: 'Labels', type: 'string', jsonPath: '.metadata.labels' },
          ],
        },
      ),
    ],
  }),
  requests: [
    scalers.create('a', {
      spec: {
        replicas: 2,
        color: 'red',
        on: true,
        number: 1.5,
        when: '2020-01-01T00:00:00Z',
        list: ['x', 'y'],
        map: { b: 1, a: 2 },
        any: { a: null, z: '<>' },
      },
      status: { replicas: 9 },
    }),
    scalers.create(
      'b',
      { spec: { color: 'blue', number: 1e7, when: 'never', list: [], any: 1.25 } },
      '',
      {
        labels: { 'a.b/c': 'd' },
      },
    ),
    scalers.create('c', { spec: { replicas: -1 } }),
    scalers.create('c', { spec: { replicas: 3_000_000_000 } }),
    scalers.create('c', { spec: { replicas: 'x' } }),
    scalers.create('c', { spec: { replicas: 1.5 } }),
    scalers.create('c', { spec: [] }),
    scalers.create('c', {}),
    scalers.create('d', { metadata: {} }, '', { namespace: 'default' }),
    scalers.get('a/status'),
    scalers.get('a/status', TABLE),
    scalers.get('a/scale'),
    scalers.get('a/scale', TABLE),
    scalers.get('a/scale', PROTOBUF),
    scalers.get('c/scale'),
    scalers.get('missing/scale'),
    scalers.get('missing/status'),
    scalers.list('', TABLE),
    scalers.patch('a', { status: { replicas: 3 } }),
    scalers.patch('a/status', {
      status: { replicas: 3, selector: 'a=b', conditions: [{ type: 'Ready', status: 'True' }] },
    }),
    scalers.patch('a/status', {
      spec: { color: 'green' },
      metadata: { labels: { x: 'y' } },
      status: { replicas: 4 },
    }),
    scalers.patch('a/status', { status: null }),
    scalers.patch('a/status', { status: { replicas: -1 } }),
    scalers.patch('a/status', { status: { replicas: 'x' } }),
    scalers.patch('a/status', { status: { selector: 1 } }),
    scalers.patch('a/status', { status: { unknown: 1, replicas: 2, selector: 'a in (b)' } }),
    scalers.patch('a/status', { metadata: { finalizers: ['x'] } }),
    scalers.put('a/status', scalers.object('a', { status: { replicas: 1 } })),
    scalers.put(
      'a/status',
      scalers.object('a', { status: { replicas: 1 } }, { resourceVersion: '1' }),
    ),
    scalers.apply('a/status', { status: { replicas: 7 } }),
    scalers.apply('a/status', { status: { replicas: 7 } }, 'me', '&force=true'),
    scalers.apply(
      'a/status',
      { spec: { color: 'x' }, status: { replicas: 7 } },
      'me',
      '&force=true',
    ),
    scalers.get('a/scale'),
    scalers.patch('a/scale', { spec: { replicas: 5 } }),
    scalers.get('a'),
    scalers.patch('a/scale', { spec: { replicas: -5 } }),
    scalers.patch('a/scale', { spec: { replicas: null } }),
    scalers.patch('a/scale', { status: { replicas: 50 } }),
    scalers.patch('a/scale', { metadata: { resourceVersion: '1' }, spec: { replicas: 6 } }),
    scalers.patch('a/scale', { metadata: { uid: 'x' }, spec: { replicas: 6 } }),
    scalers.patch('a/scale', { spec: { replicas: 6 } }, 'application/strategic-merge-patch+json'),
    scalers.patch('c/scale', { spec: { replicas: 6 } }),
    scalers.patch('c/scale', { metadata: { labels: { a: 'b' } } }),
    scalers.patch('b/scale', { metadata: { labels: { a: 'b' } } }),
    scalers.put('a/scale', {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'a' },
      spec: { replicas: 8 },
    }),
    scalers.put('a/scale', {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'a' },
    }),
    scalers.put('a/scale', {
      apiVersion: 'autoscaling/v1',
      kind: 'Scale',
      metadata: { name: 'b' },
      spec: { replicas: 8 },
    }),
    scalers.get('a'),
    shot('POST', `/apis/${GROUP}/v1/scalers/a/scale`, {}),
    shot('DELETE', `/apis/${GROUP}/v1/scalers/a/scale`),
    shot('DELETE', `/apis/${GROUP}/v1/scalers/a/status`),
    shot('GET', `/apis/${GROUP}/v1/scalers/a/status/x`),
    scalers.patch('b', { spec: { color: 'green' } }),
    scalers.patch('b', { metadata: { annotations: { a: 'b' } } }),
    scalers.put('b', scalers.object('b', { spec: { color: 'x' } })),
    scalers.list('?fieldSelector=spec.color=red'),
    scalers.list('?fieldSelector=spec.color!=red', TABLE),
    scalers.list('?fieldSelector=spec.on=true'),
    scalers.list('?fieldSelector=spec.replicas=9'),
    scalers.list('?fieldSelector=spec.color='),
    scalers.list('?fieldSelector=spec.number=1'),
    scalers.list('?fieldSelector=metadata.namespace=default'),
    scalers.list('?fieldSelector=metadata.name=a,spec.color=red'),
    scalers.list('?watch=1&timeoutSeconds=1&fieldSelector=spec.color=red'),
    shot('GET', `/apis/${GROUP}/v1/namespaces/default/scalers`),
    shot('GET', `/apis/${GROUP}/v1`),
    scalers.deleteCollection('?fieldSelector=spec.color=red'),
    scalers.deleteCollection(),
  ],
};

const oldies = new Requests('oldies', 'Oldie', { version: 'v1alpha1' });
const older = new Requests('oldies', 'Oldie', { version: 'v1beta1' });
const newest = new Requests('oldies', 'Oldie', { version: 'v1' });
const field = (name: string): Json => ({
  spec: { type: 'object', properties: { [name]: { type: 'string', default: name } } },
});
const versions: CustomObjectCase = {
  name: 'several versions',
  definition: definition({
    plural: 'oldies',
    kind: 'Oldie',
    names: { singular: 'oldy', listKind: 'OldieCollection' },
    versions: [
      version('v1alpha1', field('alpha'), { storage: false, deprecated: true }),
      version(
        'v1beta1',
        { ...field('beta') },
        { storage: true, deprecated: true, deprecationWarning: 'use "v1", please' },
      ),
      version('v1', field('one'), { storage: false }),
      version('v2', field('two'), { storage: false, served: false }),
    ],
  }),
  requests: [
    newest.create('a', { spec: { one: '1' } }),
    older.create('b', { spec: { beta: '2' } }),
    oldies.create('c', { spec: { alpha: '3' } }),
    newest.get('a'),
    newest.get('b'),
    newest.get('c'),
    older.get('a'),
    oldies.get('a'),
    newest.list(),
    older.list(),
    newest.list('', TABLE),
    newest.list('', METADATA_LIST),
    newest.list('?watch=1&timeoutSeconds=1'),
    newest.patch('b', { spec: { one: 'x' } }),
    newest.get('b'),
    older.get('b'),
    older.apply('b', { spec: { beta: 'y' } }),
    newest.apply('b', { spec: { one: 'z' } }),
    newest.apply('b', { spec: { one: 'z' } }, 'other', '&force=true'),
    newest.put('a', older.object('a')),
    newest.post(older.object('x')),
    newest.get('a/status'),
    newest.delete('a'),
    newest.deleteCollection(),
    shot('GET', `/apis/${GROUP}`),
    shot('GET', `/apis/${GROUP}/v1`),
    shot('GET', `/apis/${GROUP}/v1beta1`),
    shot('GET', `/apis/${GROUP}/v2`),
    shot('GET', `/apis/${GROUP}/v2/oldies`),
  ],
};

export const customObjectCases: readonly CustomObjectCase[] = [plain, scaled, versions];
