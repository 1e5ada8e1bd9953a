// Requests about objects of a kind that a definition makes, beside the cases of
// custom-object-cases.ts: every verb, every kind of patch, subresources, tables, documents and
// watches. Each runs on both servers, in this order; at the beginning and at the end there are no
// objects.

import {
  answersWith,
  APPLY,
  condition,
  definition,
  DEFINITIONS,
  get,
  GROUP,
  type Json,
  JSON_PATCH,
  MERGE,
  mentions,
  PARTIAL,
  PARTIAL_LIST,
  remove,
  send,
  STRATEGIC,
  TABLE,
  version,
} from './extension-requests.ts';
import type { Request, Step } from './steps.ts';
import { withoutDescriptions } from '#api/machinery/codec/structural/testing/openapi.ts';

const NAME = `vessels.${GROUP}`;
const V1 = `/apis/${GROUP}/v1/namespaces/default/vessels`;
const OLD = `/apis/${GROUP}/v1beta1/namespaces/default/vessels`;
const ALL = `/apis/${GROUP}/v1/vessels`;
const CLUSTER = `/apis/${GROUP}/v1/fleets`;
const AGGREGATED = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

/**
 * Returns a schema. `description` makes the schemas of versions differ: upstream validates parts
 * that all versions share as parts of the definition.
 */
const schemaOf = (description: string): Json => ({
  type: 'object',
  description,
  required: ['spec'],
  properties: {
    spec: {
      type: 'object',
      required: ['flag'],
      'x-kubernetes-validations': [
        {
          rule: '!has(self.crew) || self.crew <= self.berths',
          message: 'more crew than berths',
          fieldPath: '.crew',
        },
        {
          rule: 'self.berths >= oldSelf.berths',
          messageExpression: "self.berths == 0 ? 'no berths' : 'berths shrink'",
          reason: 'FieldValueForbidden',
        },
      ],
      properties: {
        flag: {
          type: 'string',
          minLength: 2,
          maxLength: 12,
          pattern: '^[a-z]+$',
          'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'immutable' }],
        },
        berths: { type: 'integer', format: 'int32', minimum: 0, maximum: 5000, default: 10 },
        crew: { type: 'integer', format: 'int64' },
        speed: { type: 'number', nullable: true },
        rig: { type: 'string', enum: ['sloop', 'ketch', 'cutter'], default: 'sloop' },
        port: { 'x-kubernetes-int-or-string': true },
        launched: { type: 'string', format: 'date-time' },
        afloat: { type: 'boolean' },
        tags: {
          type: 'array',
          items: { type: 'string', maxLength: 20 },
          maxItems: 5,
          'x-kubernetes-list-type': 'set',
        },
        masts: {
          type: 'array',
          maxItems: 10,
          'x-kubernetes-list-type': 'map',
          'x-kubernetes-list-map-keys': ['name'],
          items: {
            type: 'object',
            required: ['name'],
            properties: {
              name: { type: 'string' },
              height: { type: 'integer', default: 20 },
              sails: { type: 'array', items: { type: 'string' } },
            },
          },
        },
        cargo: { type: 'object', additionalProperties: { type: 'integer' } },
        fixed: {
          type: 'object',
          'x-kubernetes-map-type': 'atomic',
          additionalProperties: { type: 'string' },
        },
        notes: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
        pod: {
          type: 'object',
          'x-kubernetes-embedded-resource': true,
          'x-kubernetes-preserve-unknown-fields': true,
        },
        replicas: { type: 'integer' },
      },
    },
    status: {
      type: 'object',
      properties: {
        phase: { type: 'string', maxLength: 10 },
        replicas: { type: 'integer' },
        selector: { type: 'string' },
      },
    },
  },
});

const VESSELS = definition('vessels', 'Vessel', {
  names: { shortNames: ['vs'], categories: ['all', 'harbour'] },
  versions: [
    version(
      'v1',
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
          { jsonPath: '.spec.flag' },
          { jsonPath: '.spec.berths' },
          { jsonPath: '.spec.afloat' },
        ],
        additionalPrinterColumns: [
          { name: 'Flag', type: 'string', jsonPath: '.spec.flag', description: 'The flag' },
          { name: 'Berths', type: 'integer', format: 'int32', jsonPath: '.spec.berths' },
          { name: 'Speed', type: 'number', jsonPath: '.spec.speed', priority: 1 },
          { name: 'Afloat', type: 'boolean', jsonPath: '.spec.afloat' },
          { name: 'Launched', type: 'date', jsonPath: '.spec.launched' },
          { name: 'Masts', type: 'string', jsonPath: '.spec.masts[*].name' },
          { name: 'Cargo', type: 'string', jsonPath: '.spec.cargo' },
          { name: 'Phase', type: 'string', jsonPath: '.status.phase' },
        ],
      },
      schemaOf('first'),
    ),
    version(
      'v1beta1',
      { storage: false, deprecated: true, subresources: { status: {} } },
      schemaOf('older'),
    ),
    version(
      'v1alpha1',
      { storage: false, deprecated: true, deprecationWarning: 'v1alpha1 sinks' },
      schemaOf('oldest'),
    ),
  ],
});
const FLEETS = definition('fleets', 'Fleet', {
  spec: { scope: 'Cluster' },
  versions: [
    version(
      'v1',
      {},
      {
        type: 'object',
        properties: { spec: { type: 'object', properties: { size: { type: 'integer' } } } },
      },
    ),
  ],
});

const vessel = (name: string, spec: unknown = {}, more: Json = {}, ofVersion = 'v1'): Json => ({
  apiVersion: `${GROUP}/${ofVersion}`,
  kind: 'Vessel',
  metadata: { name },
  spec:
    typeof spec === 'object' && spec !== null && !Array.isArray(spec)
      ? { flag: 'red', ...spec }
      : spec,
  ...more,
});

const setUp: readonly Step[] = [
  send('POST', DEFINITIONS, VESSELS),
  send('POST', DEFINITIONS, FLEETS),
  condition(NAME, 'Established', 'True'),
  condition(`fleets.${GROUP}`, 'Established', 'True'),
  answersWith(V1, 200),
  answersWith(CLUSTER, 200),
  mentions(`/apis/${GROUP}/v1`, 'fleets'),
  mentions(`/apis/${GROUP}/v1alpha1`, 'vessels'),
  mentions('/openapi/v2', `com.example.differential.v1.Fleet`),
  mentions('/openapi/v2', `com.example.differential.v1alpha1.Vessel`),
  mentions('/openapi/v3', `apis/${GROUP}/v1alpha1`),
];

type Definitions = Readonly<Record<string, unknown>>;
const inGroup = (values: Definitions | undefined): Definitions =>
  Object.fromEntries(
    Object.entries(values ?? {}).filter(
      ([name]) => name.includes(GROUP) || name.startsWith('com.example.differential'),
    ),
  );
/**
 * Returns the operations without their parameters, which the tests of documents compare: upstream
 * shares parameters between operations.
 */
const operations = (paths: Definitions | undefined): unknown =>
  JSON.parse(
    JSON.stringify(paths ?? {}, (name, value: unknown) =>
      name === 'parameters' ? undefined : value,
    ),
  );
const openApi2: Request['part'] = (body) => {
  const { definitions, paths } = body as { definitions?: Definitions; paths?: Definitions };
  return withoutDescriptions({
    definitions: inGroup(definitions),
    paths: operations(inGroup(paths)),
  });
};
const openApi3: Request['part'] = (body) => {
  const { components, paths } = body as {
    components?: { schemas?: Definitions };
    paths?: Definitions;
  };
  return withoutDescriptions({ schemas: inGroup(components?.schemas), paths: operations(paths) });
};
const aggregated: Request['part'] = (body) =>
  (body as { items: { metadata: { name: string } }[] }).items.find(
    ({ metadata }) => metadata.name === GROUP,
  );
/** Sorts the kinds, which upstream lists in no order. */
const sortedResources: Request['part'] = (body) => {
  const { resources, ...rest } = body as { resources: readonly { name: string }[] };
  return { ...rest, resources: resources.toSorted((a, b) => (a.name < b.name ? -1 : 1)) };
};
const group: Request['part'] = (body) =>
  (body as { groups: { name: string }[] }).groups.find(({ name }) => name === GROUP);

const documents: readonly Step[] = [
  get('/apis', undefined, group),
  get('/apis', AGGREGATED, aggregated),
  get(`/apis/${GROUP}`),
  get(`/apis/${GROUP}/v1`, undefined, sortedResources),
  get(`/apis/${GROUP}/v1beta1`),
  get(`/apis/${GROUP}/v9`),
  get('/openapi/v2', undefined, openApi2),
  get(`/openapi/v3/apis/${GROUP}/v1`, undefined, openApi3),
  get(`/openapi/v3/apis/${GROUP}/v1beta1`, undefined, openApi3),
];

const dry = (body: unknown, query = ''): Step => send('POST', `${V1}?dryRun=All${query}`, body);
const STRICT = '&fieldValidation=Strict';

const creation: readonly Step[] = [
  send('POST', V1, vessel('one')),
  send('POST', V1, vessel('one')),
  send(
    'POST',
    V1,
    vessel('two', {
      flag: 'blue',
      berths: 3,
      crew: 2,
      afloat: true,
      port: 'http',
      speed: 1.5,
      launched: '2026-01-01T00:00:00Z',
    }),
  ),
  send(
    'POST',
    OLD,
    vessel(
      'three',
      { flag: 'green', masts: [{ name: 'a' }, { name: 'b', height: 3 }], cargo: { tea: 5 } },
      {},
      'v1beta1',
    ),
  ),
  send('POST', ALL, vessel('nowhere')),
  send('POST', V1, vessel('wrong', {}, {}, 'v1beta1')),
  send('POST', V1, { ...vessel('wrong'), kind: 'Boat' }),
  send('POST', V1, { ...vessel('wrong'), apiVersion: undefined }),
  send('POST', V1, { ...vessel('wrong'), kind: undefined }),
  send('POST', V1, { ...vessel('wrong'), metadata: { namespace: 'other', name: 'wrong' } }),
  send('POST', V1, { ...vessel('wrong'), metadata: {} }),
  send('POST', V1, { ...vessel('wrong'), metadata: { name: 'Not_a_name' } }),
  send('POST', V1, {
    ...vessel('wrong'),
    metadata: { name: 'm', labels: { 'a b': 'c' }, annotations: { '-': 1 } },
  }),
  send('POST', V1, { ...vessel('wrong'), metadata: { name: 'm', finalizers: ['nodomain', ''] } }),
  send('POST', V1, {
    ...vessel('wrong'),
    metadata: { name: 'm', ownerReferences: [{ name: 'x' }] },
  }),
  send('POST', V1, {
    ...vessel('wrong'),
    metadata: { name: 'm', unknownField: 1, resourceVersion: '5' },
  }),
  send('POST', `${V1}?dryRun=All&fieldValidation=Strict`, {
    ...vessel('wrong'),
    metadata: { name: 'm', unknownField: 1, generation: 7 },
  }),
  send('POST', '/apis/differential.example.com/v1/namespaces/missing/vessels', vessel('one')),
  dry(vessel('status', {}, { status: { phase: 'ignored', replicas: 3 } })),
  dry(vessel('n', {}), '&fieldManager=' + 'x'.repeat(200)),
  dry('not json'),
  dry('[]'),
  dry(
    '{"apiVersion":"differential.example.com/v1","kind":"Vessel","metadata":{"name":"d"},' +
      '"spec":{"flag":"aa","flag":"bb"}}',
    STRICT,
  ),
  dry(
    '{"apiVersion":"differential.example.com/v1","kind":"Vessel","metadata":{"name":"d"},' +
      '"spec":{"flag":"aa","flag":"bb"}}',
  ),
  ...[
    { flag: undefined },
    { flag: 'x' },
    { flag: 'X1' },
    { flag: 5 },
    { flag: null },
    { berths: -1 },
    { berths: 1.5 },
    { berths: '1' },
    { berths: null },
    { berths: 5_000_000_000 },
    { berths: 2, crew: 3 },
    { crew: 11 },
    { speed: null },
    { speed: 'fast' },
    { rig: 'schooner' },
    { rig: '' },
    { port: 1.5 },
    { port: true },
    { port: { a: 1 } },
    { launched: 'yesterday' },
    { launched: '2026-01-01' },
    { afloat: 'yes' },
    { tags: ['a', 'a'] },
    { tags: ['x'.repeat(21), 5] },
    { tags: ['a', 'b', 'c', 'd', 'e', 'f'] },
    { masts: [{ name: 'a' }, { name: 'a' }] },
    { masts: [{ height: 1 }] },
    { masts: {} },
    { cargo: { a: 'b' } },
    { cargo: { a: null } },
    { notes: { deep: { er: [1, { x: null }] } } },
    { pod: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', unknown: 1 }, spec: { x: 1 } } },
    { pod: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'NOT' } } },
    { pod: {} },
    { unknown: 1, also: { unknown: 2 } },
    [],
    'text',
    null,
  ].flatMap((spec) => [
    dry(vessel('probe', spec)),
    dry(vessel('probe', spec), STRICT),
    dry(vessel('probe', spec), '&fieldValidation=Ignore'),
  ]),
  dry(vessel('probe'), '&fieldValidation=Sometimes'),
  { ...send('POST', V1, vessel('text')), type: 'text/plain' },
  {
    ...send(
      'POST',
      V1,
      'apiVersion: differential.example.com/v1\nkind: Vessel\nmetadata: {name: yaml}\nspec: {flag: yam}\n',
    ),
    type: 'application/yaml',
  },
  get(`${V1}/yaml`, 'application/vnd.kubernetes.protobuf'),
  get(`${V1}/yaml`, 'application/vnd.kubernetes.protobuf, application/json'),
  get(`${V1}/yaml`, 'text/html'),
  remove(`${V1}/yaml`),
];

const reading: readonly Step[] = [
  ...[`${V1}/one`, `${OLD}/one`, `${V1}/none`, V1, OLD, ALL, `${V1}?limit=1`].flatMap((path) => [
    get(path),
    get(path, TABLE),
    get(path, path.endsWith('one') ? PARTIAL : PARTIAL_LIST),
  ]),
  get(`/apis/${GROUP}/v1alpha1/namespaces/default/vessels/two`),
  get(V1, `${TABLE};includeObject=Object`),
  get(`${V1}?includeObject=Object`, TABLE),
  get(`${V1}?includeObject=None`, TABLE),
  ...[
    'metadata.name%3Dtwo',
    'metadata.namespace%3Ddefault',
    'spec.flag%3Dblue',
    'spec.flag%21%3Dblue',
    'spec.flag%3D',
    'spec.berths%3D10',
    'spec.afloat%3Dtrue',
    'spec.afloat%3Dfalse',
    'spec.afloat%3D',
    'spec.crew%3D2',
    'status.phase%3Dx',
    'spec.flag%3Dblue,spec.berths%3D3',
    'x',
  ].flatMap((selector) => [
    get(`${V1}?fieldSelector=${selector}`),
    get(`${OLD}?fieldSelector=${selector}`),
  ]),
  get(`${V1}?labelSelector=a%3Db`),
  get(`${V1}?labelSelector=%3D%3D`),
  get(`${V1}?resourceVersion=0`),
  get(`${V1}?resourceVersionMatch=Exact`),
  get(`${V1}/one/nothing`),
  get(`${V1}/one/scale`),
  get(`${OLD}/one/scale`),
  get(`${V1}/one/status`),
  get(`/apis/${GROUP}/v1alpha1/namespaces/default/vessels/one/status`),
];

const changing: readonly Step[] = [
  send('PATCH', `${V1}/one`, { spec: { berths: 11, crew: 1 } }, MERGE),
  send('PATCH', `${V1}/one`, { spec: { berths: 5 } }, MERGE),
  send('PATCH', `${V1}/one`, { spec: { flag: 'blue' } }, MERGE),
  send('PATCH', `${V1}/one`, { spec: { crew: 100 } }, MERGE),
  send('PATCH', `${V1}/one`, { spec: { unknown: 1 } }, MERGE),
  send('PATCH', `${V1}/one?fieldValidation=Strict`, { spec: { unknown: 1 } }, MERGE),
  send('PATCH', `${V1}/one`, { spec: null }, MERGE),
  send('PATCH', `${V1}/one`, { status: { phase: 'x' } }, MERGE),
  send('PATCH', `${V1}/one`, { metadata: { labels: { a: 'b' }, generation: 50 } }, MERGE),
  send('PATCH', `${V1}/one`, { metadata: { name: 'other' } }, MERGE),
  send('PATCH', `${V1}/one`, { metadata: { uid: 'other' } }, MERGE),
  send('PATCH', `${V1}/one`, { metadata: { resourceVersion: '1' } }, MERGE),
  send('PATCH', `${V1}/one`, { kind: 'Other' }, MERGE),
  send('PATCH', `${V1}/one`, { apiVersion: `${GROUP}/v1beta1` }, MERGE),
  send('PATCH', `${V1}/one`, { spec: { berths: 12 } }, STRATEGIC),
  send('PATCH', `${V1}/one`, [{ op: 'replace', path: '/spec/berths', value: 12 }], JSON_PATCH),
  send('PATCH', `${V1}/one`, [{ op: 'test', path: '/spec/berths', value: 1 }], JSON_PATCH),
  send('PATCH', `${V1}/one`, [{ op: 'remove', path: '/spec/nothing' }], JSON_PATCH),
  send('PATCH', `${V1}/one`, [{ op: 'add', path: '/spec/tags', value: ['x', 'x'] }], JSON_PATCH),
  send('PATCH', `${V1}/one`, '{"spec":', MERGE),
  send('PATCH', `${V1}/one`, {}, 'application/json'),
  send('PATCH', `${V1}/none`, { spec: {} }, MERGE),
  send('PATCH', `${OLD}/one`, { spec: { speed: 3 } }, MERGE),
  send('PUT', `${V1}/one`, vessel('one', { berths: 20 })),
  send('PUT', `${V1}/one`, vessel('two', { berths: 20 })),
  send('PUT', `${V1}/new`, vessel('new')),
  send(
    'PUT',
    `${V1}/one`,
    vessel('one', { berths: 20 }, { metadata: { name: 'one', resourceVersion: '1' } }),
  ),
  send(
    'PUT',
    `${V1}/one`,
    vessel('one', { berths: 20, rig: 'barge' }, { metadata: { name: 'one' } }),
  ),
  ...['a', 'b'].flatMap((manager) =>
    [
      vessel('applied', {
        berths: 12,
        masts: [{ name: 'main' }],
        tags: ['x'],
        cargo: { tea: 1 },
        fixed: { a: 'b' },
      }),
      vessel('applied', {
        berths: 12,
        masts: [{ name: 'fore', height: 3 }],
        tags: ['y'],
        cargo: { rum: 1 },
        fixed: { c: 'd' },
      }),
      vessel('applied', { berths: 13, notes: { a: { b: 1 } }, unknown: 1 }),
      vessel('applied', { masts: [{ name: 'main' }, { name: 'main' }] }),
    ].flatMap((body) => [
      send('PATCH', `${V1}/applied?fieldManager=${manager}`, body, APPLY),
      send('PATCH', `${V1}/applied?fieldManager=${manager}&force=true`, body, APPLY),
      send(
        'PATCH',
        `${V1}/applied?fieldManager=${manager}&force=true&fieldValidation=Strict`,
        body,
        APPLY,
      ),
    ]),
  ),
  send(
    'PATCH',
    `${OLD}/applied?fieldManager=a&force=true`,
    vessel('applied', { berths: 13, crew: 2 }, {}, 'v1beta1'),
    APPLY,
  ),
  send('PATCH', `${V1}/applied`, vessel('applied'), APPLY),
  send(
    'PATCH',
    `${V1}/applied?fieldManager=a`,
    vessel('applied', {}, { metadata: { name: 'applied', managedFields: [] } }),
    APPLY,
  ),
  send('PATCH', `${V1}/applied?fieldManager=a`, { ...vessel('applied'), kind: undefined }, APPLY),
  get(`${V1}/applied`),
];

const subresources: readonly Step[] = [
  send(
    'PUT',
    `${V1}/one/status`,
    vessel('one', { berths: 99 }, { status: { phase: 'ready', replicas: 2, selector: 'a=b' } }),
  ),
  send('PATCH', `${V1}/one/status`, { status: { phase: 'much too long' } }, MERGE),
  send(
    'PATCH',
    `${V1}/one/status`,
    { status: { unknown: 1 }, metadata: { labels: { s: 't' } }, spec: { berths: 77 } },
    MERGE,
  ),
  send(
    'PATCH',
    `${V1}/one/status?fieldManager=s`,
    { apiVersion: `${GROUP}/v1`, kind: 'Vessel', status: { phase: 'x' } },
    APPLY,
  ),
  send(
    'PATCH',
    `${V1}/one/status?fieldManager=s&force=true`,
    { apiVersion: `${GROUP}/v1`, kind: 'Vessel', status: { phase: 'x' } },
    APPLY,
  ),
  send(
    'PATCH',
    `/apis/${GROUP}/v1alpha1/namespaces/default/vessels/one/status`,
    { status: { phase: 'y' } },
    MERGE,
  ),
  get(`${V1}/one`),
  get(`${V1}/one/scale`),
  send('PATCH', `${V1}/one`, { spec: { replicas: 1 } }, MERGE),
  get(`${V1}/one/scale`),
  get(`${V1}/one/scale`, TABLE),
  send('PATCH', `${V1}/one/scale`, { spec: { replicas: 4 } }, MERGE),
  send('PATCH', `${V1}/one/scale`, { spec: { replicas: -4 } }, MERGE),
  send('PATCH', `${V1}/one/scale`, { spec: { replicas: 'x' } }, MERGE),
  send(
    'PATCH',
    `${V1}/one/scale`,
    [{ op: 'replace', path: '/spec/replicas', value: 5 }],
    JSON_PATCH,
  ),
  send('PATCH', `${V1}/one/scale`, { spec: { replicas: 6 } }, STRATEGIC),
  send('PUT', `${V1}/one/scale`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'one', namespace: 'default' },
    spec: { replicas: 7 },
  }),
  send('PUT', `${V1}/one/scale`, {
    apiVersion: 'autoscaling/v1',
    kind: 'Scale',
    metadata: { name: 'two' },
    spec: { replicas: 7 },
  }),
  send('PUT', `${V1}/one/scale`, {
    apiVersion: 'v1',
    kind: 'Scale',
    metadata: { name: 'one' },
    spec: {},
  }),
  send(
    'PATCH',
    `${V1}/one/scale?fieldManager=q`,
    { apiVersion: 'autoscaling/v1', kind: 'Scale', spec: { replicas: 8 } },
    APPLY,
  ),
  get(`${V1}/none/scale`),
  remove(`${V1}/one/scale`),
  remove(`${V1}/one/status`),
  get(`${V1}/one`),
];

const watching: readonly Step[] = [
  get(`${V1}?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name%3Dtwo`),
  get(`${OLD}?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=metadata.name%3Dtwo`),
  get(`${V1}?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=spec.flag%3Dblue`, TABLE),
  get(`${V1}?watch=1&resourceVersion=0&timeoutSeconds=1&fieldSelector=spec.flag%3Dblue`, PARTIAL),
  get(
    `${V1}?watch=1&timeoutSeconds=4&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&` +
      'allowWatchBookmarks=true&fieldSelector=metadata.name%3Dtwo',
  ),
  get(`${V1}?watch=1&timeoutSeconds=1&sendInitialEvents=true`),
  get(
    `${V1}?watch=1&resourceVersion=1&timeoutSeconds=1`,
    undefined,
    () => 'each server has its own first revision',
  ),
  ...[V1, OLD].map((path): Step => ({
    follow: 'changes in order',
    list: path,
    watch: `${path}?watch=1&timeoutSeconds=2`,
    during: [
      send('POST', V1, vessel('seen', { flag: 'seen' })),
      send('PATCH', `${V1}/seen`, { spec: { berths: 30 } }, MERGE),
      send('PATCH', `${V1}/seen/status`, { status: { phase: 'p' } }, MERGE),
      send('PATCH', `${V1}/seen`, { spec: { berths: 30 } }, MERGE),
      remove(`${V1}/seen`),
    ],
  })),
  {
    follow: 'an object that no longer matches',
    list: V1,
    watch: `${V1}?watch=1&timeoutSeconds=2&fieldSelector=spec.berths%3D40`,
    during: [
      send('POST', V1, vessel('passing', { berths: 40 })),
      send('PATCH', `${V1}/passing`, { spec: { berths: 41 } }, MERGE),
      remove(`${V1}/passing`),
    ],
  },
];

const clusterScoped: readonly Step[] = [
  send('POST', CLUSTER, {
    apiVersion: `${GROUP}/v1`,
    kind: 'Fleet',
    metadata: { name: 'home' },
    spec: { size: 3 },
  }),
  send('POST', CLUSTER, {
    apiVersion: `${GROUP}/v1`,
    kind: 'Fleet',
    metadata: { name: 'away', namespace: 'default' },
  }),
  send('POST', `/apis/${GROUP}/v1/namespaces/default/fleets`, {
    apiVersion: `${GROUP}/v1`,
    kind: 'Fleet',
    metadata: { name: 'away' },
  }),
  get(CLUSTER),
  get(CLUSTER, TABLE),
  get(`${CLUSTER}/home/status`),
  get(`${CLUSTER}/home/scale`),
  send('PATCH', `${CLUSTER}/home`, { status: { any: 1 } }, MERGE),
  send('PATCH', `${CLUSTER}/home`, { metadata: { annotations: { a: 'b' } } }, MERGE),
  send('PATCH', `${CLUSTER}/home`, { spec: { size: 4 } }, MERGE),
  send('DELETE', `${CLUSTER}?dryRun=All`, {}),
];

const deletion: readonly Step[] = [
  send('DELETE', `${V1}/two`, {
    apiVersion: 'v1',
    kind: 'DeleteOptions',
    preconditions: { uid: 'wrong' },
  }),
  send('DELETE', `${V1}/two`, {
    apiVersion: `${GROUP}/v1`,
    kind: 'DeleteOptions',
    propagationPolicy: 'Foreground',
  }),
  get(`${V1}/two`),
  send('PATCH', `${V1}/two`, { metadata: { finalizers: ['example.com/new'] } }, MERGE),
  send('PATCH', `${V1}/two`, { spec: { berths: 4 } }, MERGE),
  send('PATCH', `${V1}/two`, { metadata: { finalizers: null } }, MERGE),
  answersWith(`${V1}/two`, 404),
  remove(`${V1}/none`),
  remove(`${V1}/three?propagationPolicy=Nonsense`),
  remove(`${OLD}/three`),
  send('DELETE', `${V1}?labelSelector=none%3Dsuch`, {}),
  send('DELETE', V1, {}),
  get(V1),
  remove(`${DEFINITIONS}/${NAME}`),
  remove(`${DEFINITIONS}/fleets.${GROUP}`),
  answersWith(`${DEFINITIONS}/${NAME}`, 404),
  answersWith(`${DEFINITIONS}/fleets.${GROUP}`, 404),
  mentions('/apis', GROUP, false),
  mentions('/apis', GROUP, false, AGGREGATED),
  mentions('/openapi/v2', 'com.example.differential.v1.', false),
  mentions('/openapi/v3', GROUP, false),
  get(`/openapi/v3/apis/${GROUP}/v1`),
];

export const customObjectSteps: readonly Step[] = [
  ...setUp,
  ...documents,
  ...creation,
  ...reading,
  ...changing,
  ...subresources,
  ...watching,
  ...clusterScoped,
  ...deletion,
];
