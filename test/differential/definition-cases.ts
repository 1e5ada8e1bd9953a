// Good and bad definitions: for each validation rule, at least one definition that breaks it. Each
// is sent to be created; a case with `old` or `stored` is an update of an existing definition. The
// group of each is GROUP, or below it.

type Json = Readonly<Record<string, unknown>>;

export interface DefinitionCase {
  readonly name: string;
  /** The definition in the request. */
  readonly body: Json;
  /** The existing definition: it is created through the API before, and established. */
  readonly old?: Json;
  /**
   * The existing definition: it is written to the storage before, without the API. Older servers
   * accepted definitions that are not valid any more.
   */
  readonly stored?: Json;
  /** The case updates the status subresource. */
  readonly status?: true;
}

export const GROUP = 'cases.definitions.example.com';

const text = { type: 'string' };
const object = (properties: Json = {}, more: Json = {}): Json => ({
  type: 'object',
  properties,
  ...more,
});

const version = (more: Json = {}, name = 'v1', storage = true): Json => ({
  name,
  served: true,
  storage,
  schema: { openAPIV3Schema: { type: 'object' } },
  ...more,
});

const definition = (spec: Json = {}, metadata: Json = {}, rest: Json = {}): Json => ({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: `widgets.${GROUP}`, ...metadata },
  spec: {
    group: GROUP,
    scope: 'Namespaced',
    names: { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' },
    versions: [version()],
    ...spec,
  },
  ...rest,
});

const names = (more: Json): Json =>
  definition({
    names: {
      plural: 'widgets',
      singular: 'widget',
      kind: 'Widget',
      listKind: 'WidgetList',
      ...more,
    },
  });
const versions = (...list: Json[]): Json => definition({ versions: list });
const one = (more: Json): Json => versions(version(more));
/** Returns a definition with this complete schema. */
const schema = (root: unknown, more: Json = {}): Json =>
  one({ schema: { openAPIV3Schema: root }, ...more });
/** Returns a definition whose schema has this field. */
const field = (property: unknown, more: Json = {}): Json =>
  schema(object({ spec: object({ a: property }) }), more);
/**
 * Returns a definition with two versions and different schemas: their errors have paths of their
 * own.
 */
const second = (property: unknown, more: Json = {}): Json =>
  versions(
    version(),
    version({ schema: { openAPIV3Schema: object({ a: property }) }, ...more }, 'v2', false),
  );
const rule = (...rules: Json[]): Json =>
  field({ type: 'integer', 'x-kubernetes-validations': rules });
const list = (more: Json, items: unknown = text): Json => field({ type: 'array', items, ...more });
const keyed = (more: Json, items: Json): Json =>
  list({ 'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': ['k'], ...more }, items);
const approved = (approval: string | undefined, group = 'definitions.k8s.io'): Json =>
  definition(
    { group },
    {
      name: `widgets.${group}`,
      ...(approval !== undefined && { annotations: { 'api-approved.kubernetes.io': approval } }),
    },
  );
const webhook = (clientConfig: unknown, versionsOf: unknown = ['v1'], strategy = 'Webhook'): Json =>
  definition({
    conversion: { strategy, webhook: { clientConfig, conversionReviewVersions: versionsOf } },
  });
const url = (address: string): Json => webhook({ url: address });
const service = (more: Json): Json =>
  webhook({ service: { namespace: 'ns', name: 'svc', ...more } });
const column = (more: Json): Json =>
  one({ additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.spec.a', ...more }] });
const scale = (more: Json): Json =>
  one({
    subresources: {
      scale: { specReplicasPath: '.spec.r', statusReplicasPath: '.status.r', ...more },
    },
  });
const selectable = (...paths: string[]): Json =>
  schema(
    object({
      metadata: object({ name: text }),
      spec: object({
        a: text,
        b: { type: 'boolean' },
        i: { type: 'integer' },
        n: { type: 'number' },
        e: { type: 'string', enum: ['x'] },
        o: { type: 'object' },
        l: { type: 'array', items: text },
        m: { type: 'object', additionalProperties: text },
        f: { type: 'string', format: 'date' },
        x: { 'x-kubernetes-int-or-string': true },
        p: { 'x-kubernetes-preserve-unknown-fields': true },
      }),
    }),
    { selectableFields: paths.map((jsonPath) => ({ jsonPath })) },
  );
const many = (count: number): Json =>
  schema(
    object({
      spec: object(Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, text]))),
    }),
    {
      selectableFields: Array.from({ length: count }, (_, i) => ({ jsonPath: `.spec.f${i}` })),
    },
  );

const CERTIFICATE = Buffer.from(
  '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n',
).toString('base64');
const GARBAGE = Buffer.from('no certificate').toString('base64');

const created: Readonly<Record<string, Json>> = {
  good: definition(),
  'defaults: names': definition({ names: { plural: 'widgets', kind: 'Widget' } }),
  'defaults: port of the service': service({}),
  'no spec': {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `widgets.${GROUP}` },
  },
  'status is dropped': definition(
    {},
    {},
    { status: { storedVersions: ['v9'], acceptedNames: { plural: 'x', kind: 'X' } } },
  ),

  'name: another': definition({}, { name: 'other' }),
  'name: upper case': definition({}, { name: `Widgets.${GROUP}` }),
  'name: generated': definition({}, { name: undefined, generateName: 'widgets-' }),
  'name and labels': definition({}, { name: 'other', labels: { _: 'a' } }),
  'finalizers without a domain': definition({}, { finalizers: ['mine'] }),
  'finalizer: bad': definition({}, { finalizers: ['a b'] }),

  'group: missing': definition({ group: '' }, { name: 'widgets.' }),
  'group: no domain': definition({ group: 'x' }, { name: 'widgets.x' }),
  'group: upper case': definition({ group: 'X.example.com' }, { name: 'widgets.X.example.com' }),
  'group: long': definition({ group: `${'x'.repeat(260)}.y` }, { name: 'widgets.x' }),
  'scope: missing': definition({ scope: '' }),
  'scope: unknown': definition({ scope: 'Everywhere' }),
  'scope: cluster': definition({ scope: 'Cluster' }),

  'names: no plural': definition({ names: { kind: 'Widget' } }),
  'names: no kind': definition({ names: { plural: 'widgets' } }),
  'names: none': definition({ names: {} }),
  'names: plural': names({ plural: 'Widgets' }),
  'names: singular': names({ singular: 'wid.get' }),
  'names: kind': names({ kind: 'Wid_get' }),
  'names: kind begins with a digit': names({ kind: '1Widget' }),
  'names: list kind': names({ listKind: 'Widget List' }),
  'names: kind and list kind': names({ listKind: 'Widget' }),
  'names: short name': names({ shortNames: ['wi', 'W'] }),
  'names: category': names({ categories: ['all', 'A b'] }),
  'names: long': names({
    plural: 'w'.repeat(64),
    singular: 's'.repeat(64),
    kind: 'K'.repeat(64),
    listKind: 'L'.repeat(64),
  }),
  'names: empty short name': names({ shortNames: [''] }),
  'names: same short names': names({ shortNames: ['wi', 'wi'] }),

  'versions: none': versions(),
  'versions: name': versions(version({}, 'V1')),
  'versions: name with a dot': versions(version({}, 'v1.2')),
  'versions: no name': versions(version({}, '')),
  'versions: twice': versions(version(), version({}, 'v1', false)),
  'versions: no storage': versions(version({}, 'v1', false)),
  'versions: two storages': versions(version(), version({}, 'v2', true)),
  'versions: not served': versions(version({ served: false })),
  'versions: no schema': versions(version({ schema: undefined })),
  'versions: empty schema': versions(version({ schema: {} })),
  'versions: one of two has no schema': versions(
    version(),
    version({ schema: undefined }, 'v2', false),
  ),
  'versions: one that is not served has no schema': versions(
    version(),
    version({ schema: undefined, served: false }, 'v2', false),
  ),
  'versions: twice with schemas': versions(
    version(),
    version({ schema: { openAPIV3Schema: object({ a: text }) } }, 'v1', false),
  ),
  'versions: shown with everything': versions(
    version({
      deprecated: true,
      deprecationWarning: 'go <on>',
      subresources: {
        status: {},
        scale: { specReplicasPath: '.spec.r', statusReplicasPath: '.status.r' },
      },
      additionalPrinterColumns: [{ name: 'A', type: 'string', jsonPath: '.a', description: 'd' }],
      selectableFields: [{ jsonPath: '.a' }],
      schema: {
        openAPIV3Schema: object(
          {
            a: { type: 'string', default: 'x', enum: ['x', 'y'], maxLength: 3, pattern: '<' },
            l: {
              type: 'array',
              maxItems: 2,
              items: { type: 'number', minimum: 0.5 },
              'x-kubernetes-list-type': 'atomic',
            },
            m: {
              type: 'object',
              additionalProperties: { type: 'boolean' },
              externalDocs: { description: 'd', url: 'u' },
            },
            r: {
              type: 'integer',
              'x-kubernetes-validations': [{ rule: 'self > 0', message: 'm' }],
            },
          },
          { anyOf: [{ required: ['a'] }], not: { required: ['b'] }, required: ['a'] },
        ),
      },
    }),
    version({}, 'v1', false),
  ),
  'versions: status of one': versions(
    version({ subresources: { status: {} } }),
    version({ schema: { openAPIV3Schema: object({ a: text }) } }, 'v2', false),
  ),

  'deprecation: warning of one that is not deprecated': one({ deprecationWarning: 'w' }),
  'deprecation: empty': one({ deprecated: true, deprecationWarning: '' }),
  'deprecation: long': one({ deprecated: true, deprecationWarning: 'w'.repeat(257) }),
  'deprecation: line break': one({ deprecated: true, deprecationWarning: 'é\n' }),
  'deprecation: control character': one({ deprecated: true, deprecationWarning: '<\u0007>' }),
  'deprecation: good': one({ deprecated: true, deprecationWarning: 'use v2 – é' }),

  'preserveUnknownFields: true': definition({ preserveUnknownFields: true }),
  'preserveUnknownFields: with defaults': {
    ...field({ type: 'string', default: 'a' }),
    spec: {
      ...(field({ type: 'string', default: 'a' })['spec'] as Json),
      preserveUnknownFields: true,
    },
  },
  'preserveUnknownFields: with a webhook': {
    ...url('https://a.example.com/'),
    spec: { ...(url('https://a.example.com/')['spec'] as Json), preserveUnknownFields: true },
  },

  'schema: no type at the root': schema({}),
  'schema: string at the root': schema({ type: 'string' }),
  'schema: nullable root': schema({ type: 'object', nullable: true }),
  'schema: no type': field({}),
  'schema: unknown type': field({ type: 'text' }),
  'schema: null': field({ type: 'null' }),
  'schema: items missing': field({ type: 'array' }),
  'schema: items without a type': field({ type: 'array', items: {} }),
  'schema: list of items': field({ type: 'array', items: [text] }),
  'schema: unique items': field({ type: 'array', items: text, uniqueItems: true }),
  'schema: additional properties at the root': schema({
    type: 'object',
    additionalProperties: text,
  }),
  'schema: properties and additional properties': field(
    object({ b: text }, { additionalProperties: text }),
  ),
  'schema: properties and no additional properties': field(
    object({ b: text }, { additionalProperties: false }),
  ),
  'schema: properties and any additional properties': field(
    object({ b: text }, { additionalProperties: true }),
  ),
  'schema: id': field({ type: 'string', id: 'x' }),
  'schema: $schema': field({ type: 'string', $schema: 'x' }),
  'schema: $ref': field({ type: 'string', $ref: '#/x' }),
  'schema: recursive $ref': schema(object({ a: { type: 'object', $ref: '#' } })),
  'schema: patternProperties': field({ type: 'object', patternProperties: { a: text } }),
  'schema: definitions': field({ type: 'object', definitions: { a: text } }),
  'schema: dependencies': field({ type: 'object', dependencies: { a: ['b'] } }),
  'schema: dependencies with a schema': field({
    type: 'object',
    dependencies: { a: { type: 'text' } },
  }),
  'schema: additionalItems': field({ type: 'array', items: text, additionalItems: true }),
  'schema: pattern': field({ type: 'string', pattern: '(' }),
  'schema: pattern with a look-ahead': field({ type: 'string', pattern: '(?=a)' }),
  'schema: catastrophic pattern': field({ type: 'string', pattern: '^(a+)+$' }),
  'schema: pattern with many repetitions': field({ type: 'string', pattern: 'a{1001}' }),
  'schema: nested repetitions': field({ type: 'string', pattern: '((a{100}){100}){100}' }),
  'schema: format': field({ type: 'string', format: 'unheard-of' }),
  'schema: format of an integer': field({ type: 'integer', format: 'int128' }),
  'schema: formats': schema(
    object({
      a: { type: 'string', format: 'date-time' },
      b: { type: 'number', format: 'int32' },
      c: { type: 'boolean', format: 'byte' },
      d: { type: 'string', format: 'k8s-short-name' },
      e: { type: 'integer', format: 'int64' },
    }),
  ),
  'schema: negative length': field({ type: 'string', maxLength: -1 }),
  'schema: type in allOf': field({ type: 'string', allOf: [{ type: 'string' }] }),
  'schema: default in anyOf': field({ type: 'string', anyOf: [{ default: 'a' }] }),
  'schema: description in not': field({ type: 'string', not: { description: 'd', title: 't' } }),
  'schema: nullable in oneOf': field({ type: 'string', oneOf: [{ nullable: true }] }),
  'schema: additionalProperties in allOf': field({
    type: 'object',
    allOf: [{ additionalProperties: text }],
  }),
  'schema: property in anyOf only': field(
    object({ b: text }, { anyOf: [{ properties: { c: { minLength: 1 } } }] }),
  ),
  'schema: extensions in anyOf': field({
    type: 'object',
    anyOf: [
      { 'x-kubernetes-preserve-unknown-fields': true },
      { 'x-kubernetes-embedded-resource': true },
      { 'x-kubernetes-int-or-string': true },
      { 'x-kubernetes-list-type': 'set' },
      { 'x-kubernetes-map-type': 'atomic' },
      { 'x-kubernetes-validations': [{ rule: 'true' }] },
    ],
  }),
  'schema: metadata in allOf': schema(
    object({ a: text }, { allOf: [{ properties: { metadata: {} } }] }),
  ),
  'schema: int or string': field({ 'x-kubernetes-int-or-string': true }),
  'schema: int or string with anyOf': field({
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'integer' }, { type: 'string' }],
  }),
  'schema: int or string with another anyOf': field({
    'x-kubernetes-int-or-string': true,
    anyOf: [{ type: 'string' }, { type: 'integer' }],
  }),
  'schema: int or string with a type': field({
    type: 'string',
    'x-kubernetes-int-or-string': true,
  }),
  'schema: int or string that preserves': field({
    'x-kubernetes-int-or-string': true,
    'x-kubernetes-preserve-unknown-fields': true,
    'x-kubernetes-embedded-resource': true,
  }),
  'schema: preserves not': field({ type: 'object', 'x-kubernetes-preserve-unknown-fields': false }),
  'schema: preserves': field({ 'x-kubernetes-preserve-unknown-fields': true }),
  'schema: embedded resource': field({
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  }),
  'schema: embedded resource without a field': field({
    type: 'object',
    'x-kubernetes-embedded-resource': true,
  }),
  'schema: embedded resource without a type': field({
    'x-kubernetes-embedded-resource': true,
    'x-kubernetes-preserve-unknown-fields': true,
  }),
  'schema: embedded resource of strings': field({
    type: 'string',
    'x-kubernetes-embedded-resource': true,
  }),
  'schema: embedded resource with additional properties': field({
    type: 'object',
    'x-kubernetes-embedded-resource': true,
    additionalProperties: text,
  }),
  'schema: embedded resource with bad types': field(
    object(
      { apiVersion: { type: 'integer' }, kind: { type: 'integer' }, metadata: text },
      { 'x-kubernetes-embedded-resource': true },
    ),
  ),
  'schema: embedded resource in metadata': schema(
    object({
      metadata: object({
        name: { type: 'object', 'x-kubernetes-embedded-resource': true, properties: { a: text } },
      }),
    }),
  ),
  'schema: metadata': schema(object({ metadata: { type: 'object' } })),
  'schema: metadata of another type': schema(object({ metadata: text })),
  'schema: metadata with labels': schema(
    object({ metadata: object({ labels: { type: 'object' } }) }),
  ),
  'schema: metadata with a description': schema(
    object({ metadata: { type: 'object', description: 'd' } }),
  ),
  'schema: names': schema(
    object({ metadata: object({ name: { type: 'string', maxLength: 5 }, generateName: text }) }),
  ),
  'schema: apiVersion and kind': schema(
    object({ apiVersion: { type: 'integer' }, kind: { type: 'object' } }),
  ),
  'schema: default in metadata': schema(
    object({ metadata: object({ name: { type: 'string', default: 'a' } }) }),
  ),
  'schema: default of kind': schema(object({ kind: { type: 'string', default: 'A' } })),
  'schema: default at the root': schema(object({}, { default: { a: 1 } })),
  'schema: errors of the second version': second({ type: 'text' }),
  'schema: the same errors of two versions': versions(
    version({ schema: { openAPIV3Schema: object({ a: {} }) } }),
    version({ schema: { openAPIV3Schema: object({ a: {} }) } }, 'v2', false),
  ),
  'schema: other errors of two versions': versions(
    version({ schema: { openAPIV3Schema: object({ a: {} }) } }),
    version({ schema: { openAPIV3Schema: object({ b: {} }) } }, 'v2', false),
  ),

  'default: type': field({ type: 'string', default: 1 }),
  'default: enum': field({ type: 'string', enum: ['a'], default: 'b' }),
  'default: pattern': field({ type: 'string', pattern: '^a$', default: 'b' }),
  'default: null': field({ type: 'string', default: null }),
  'default: nullable null': field({ type: 'string', nullable: true, default: null }),
  'default: unknown field': field({ ...object({ b: text }), default: { b: 'x', c: 'y' } }),
  'default: inside': field({ ...object({ b: { type: 'string', default: 'x' } }), default: {} }),
  'default: list': field({ type: 'array', items: text, default: [1] }),
  'default: required field': field({ ...object({ b: text }, { required: ['b'] }), default: {} }),
  'default: rule': field({
    type: 'integer',
    default: 0,
    'x-kubernetes-validations': [{ rule: 'self > 0' }],
  }),
  'default: good': field({ type: 'integer', default: 1, minimum: 1 }),
  'default: metadata of an embedded resource': field({
    ...object({ metadata: object({ name: { type: 'string', default: 'A b' } }) }),
    'x-kubernetes-embedded-resource': true,
  }),

  'list: unknown type': list({ 'x-kubernetes-list-type': 'bag' }),
  'list: type of a string': field({ type: 'string', 'x-kubernetes-list-type': 'set' }),
  'list: type without a type': field({
    'x-kubernetes-list-type': 'set',
    'x-kubernetes-preserve-unknown-fields': true,
  }),
  'list: set of lists': list(
    { 'x-kubernetes-list-type': 'set' },
    { type: 'array', items: text, 'x-kubernetes-list-type': 'set' },
  ),
  'list: set of atomic lists': list(
    { 'x-kubernetes-list-type': 'set' },
    { type: 'array', items: text },
  ),
  'list: set of objects': list({ 'x-kubernetes-list-type': 'set' }, object({ a: text })),
  'list: set of atomic objects': list(
    { 'x-kubernetes-list-type': 'set' },
    object({ a: text }, { 'x-kubernetes-map-type': 'atomic' }),
  ),
  'list: set with nulls': list(
    { 'x-kubernetes-list-type': 'set' },
    { type: 'string', nullable: true },
  ),
  'list: keys without a type': list({ 'x-kubernetes-list-map-keys': ['a'] }),
  'list: keys of a set': list({
    'x-kubernetes-list-type': 'set',
    'x-kubernetes-list-map-keys': ['a'],
  }),
  'list: map without keys': list({ 'x-kubernetes-list-type': 'map' }, object({ k: text })),
  'list: map of texts': keyed({}, text),
  'list: map without items': field({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
  }),
  'list: map with a list of items': field({
    type: 'array',
    'x-kubernetes-list-type': 'map',
    'x-kubernetes-list-map-keys': ['k'],
    items: [object({ k: text })],
  }),
  'list: map with an unknown key': keyed({}, object({ a: text })),
  'list: map with a key twice': keyed(
    { 'x-kubernetes-list-map-keys': ['k', 'k'] },
    object({ k: text }, { required: ['k'] }),
  ),
  'list: map with a list as its key': keyed(
    {},
    object({ k: { type: 'array', items: text } }, { required: ['k'] }),
  ),
  'list: map with an optional key': keyed({}, object({ k: text })),
  'list: map with a key that has a default': keyed(
    {},
    object({ k: { type: 'string', default: 'a' } }),
  ),
  'list: map with a key that may be null': keyed(
    {},
    object({ k: { type: 'string', nullable: true } }, { required: ['k'] }),
  ),
  'list: map with nulls': keyed(
    {},
    { ...object({ k: text }, { required: ['k'] }), nullable: true },
  ),
  'list: good map': keyed({}, object({ k: text }, { required: ['k'] })),
  'map: unknown type': field(object({ b: text }, { 'x-kubernetes-map-type': 'loose' })),
  'map: type of a string': field({ type: 'string', 'x-kubernetes-map-type': 'atomic' }),
  'map: type without a type': field({
    'x-kubernetes-map-type': 'atomic',
    'x-kubernetes-preserve-unknown-fields': true,
  }),

  'status: good': schema(object({ spec: text, status: text }), { subresources: { status: {} } }),
  'status: root of another type': schema({ type: 'array' }, { subresources: { status: {} } }),
  'status: keyword at the root': schema(object({ a: text }, { maxProperties: 3 }), {
    subresources: { status: {} },
  }),
  'status: anyOf at the root': schema(object({ a: text }, { anyOf: [{ required: ['a'] }] }), {
    subresources: { status: {} },
  }),
  'status: required at the root': schema(
    object({ a: text }, { required: ['a'], description: 'd' }),
    {
      subresources: { status: {} },
    },
  ),
  'status: nullable root': schema(
    { type: 'object', nullable: true },
    { subresources: { status: {} } },
  ),
  'status: preserving root': schema(
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
    { subresources: { status: {} } },
  ),

  'scale: good': scale({ labelSelectorPath: '.status.selector' }),
  'scale: selector of the spec': scale({ labelSelectorPath: '.spec.selector' }),
  'scale: no paths': one({ subresources: { scale: {} } }),
  'scale: spec path': scale({ specReplicasPath: '.status.r' }),
  'scale: spec path alone': scale({ specReplicasPath: '.spec' }),
  'scale: status path': scale({ statusReplicasPath: '.spec.r' }),
  'scale: paths without dots': scale({
    specReplicasPath: 'spec.r',
    statusReplicasPath: 'status.r',
    labelSelectorPath: 'a',
  }),
  'scale: selector path': scale({ labelSelectorPath: '.metadata.<a>' }),
  'scale: empty selector path': scale({ labelSelectorPath: '' }),
  'scale: of the second version': second(text, { subresources: { scale: {} } }),

  'column: good': column({ priority: 1, format: 'date-time', type: 'date' }),
  'column: no name': column({ name: '' }),
  'column: no type': column({ type: '' }),
  'column: type': column({ type: 'text' }),
  'column: format': column({ format: 'uuid' }),
  'column: no path': column({ jsonPath: '' }),
  'column: path': column({ jsonPath: 'spec.a' }),
  'column: path of a list': column({ jsonPath: '.spec.list[?(@.a == "b")].c' }),
  'column: bad syntax': column({ jsonPath: '.spec[' }),
  'column: same names': one({
    additionalPrinterColumns: [
      { name: 'A', type: 'string', jsonPath: '.a' },
      { name: 'A', type: 'string', jsonPath: '.b' },
    ],
  }),
  'column: of the second version': second(text, {
    additionalPrinterColumns: [{ name: '', type: 'x', jsonPath: 'a' }],
  }),

  'selectable: good': selectable('.spec.a', '.spec.b', '.spec.i', '.spec.e', '.spec.f'),
  'selectable: no path': selectable(''),
  'selectable: no dot': selectable('spec.a'),
  'selectable: a dot': selectable('.'),
  'selectable: two dots': selectable('.spec..a'),
  'selectable: ends with a dot': selectable('.spec.'),
  'selectable: brackets': selectable(".spec['a']"),
  'selectable: index': selectable('.spec.l[0]'),
  'selectable: quotes': selectable(".spec.'a'"),
  'selectable: no such field': selectable('.spec.z'),
  'selectable: below a string': selectable('.spec.a.b'),
  'selectable: metadata': selectable('.metadata.name'),
  'selectable: number': selectable('.spec.n'),
  'selectable: object': selectable('.spec.o'),
  'selectable: list': selectable('.spec.l'),
  'selectable: value of a map': selectable('.spec.m.x'),
  'selectable: int or string': selectable('.spec.x'),
  'selectable: any': selectable('.spec.p'),
  'selectable: twice': selectable('.spec.a', '.spec.a'),
  'selectable: eight': many(8),
  'selectable: nine': many(9),
  'selectable: no schema': one({ schema: undefined, selectableFields: [{ jsonPath: '.a' }] }),
  'selectable: the same for two schemas': versions(
    version({
      schema: { openAPIV3Schema: object({ a: text }) },
      selectableFields: [{ jsonPath: '.a' }],
    }),
    version(
      {
        schema: { openAPIV3Schema: object({ a: text, b: text }) },
        selectableFields: [{ jsonPath: '.a' }],
      },
      'v2',
      false,
    ),
  ),
  'selectable: others for two schemas': versions(
    version({
      schema: { openAPIV3Schema: object({ a: text }) },
      selectableFields: [{ jsonPath: '.a' }],
    }),
    version(
      { schema: { openAPIV3Schema: object({ b: text }) }, selectableFields: [{ jsonPath: '.a' }] },
      'v2',
      false,
    ),
  ),
  'selectable: no schema in the second version': versions(
    version({ selectableFields: [] }),
    version({ schema: undefined, selectableFields: [{ jsonPath: '.a' }] }, 'v2', false),
  ),

  'conversion: none': definition({ conversion: { strategy: 'None' } }),
  'conversion: no strategy': definition({ conversion: {} }),
  'conversion: unknown strategy': definition({ conversion: { strategy: 'Magic' } }),
  'conversion: webhook without a configuration': definition({
    conversion: { strategy: 'Webhook' },
  }),
  'conversion: webhook without a client': webhook(undefined),
  'conversion: webhook of strategy None': webhook({ url: 'https://a.example.com' }, ['v1'], 'None'),
  'conversion: neither': webhook({}),
  'conversion: both': webhook({
    url: 'https://a.example.com',
    service: { namespace: 'a', name: 'b' },
  }),
  'conversion: url': url('https://a.example.com/convert'),
  'conversion: plain http': url('http://a.example.com'),
  'conversion: no host': url('https:///convert'),
  'conversion: user': url('https://user:secret@a.example.com'),
  'conversion: query and fragment': url('https://a.example.com/?a=b#c'),
  'conversion: no url': url('https://a b'),
  'conversion: service': service({ path: '/convert', port: 8443 }),
  'conversion: service without names': webhook({ service: { namespace: '', name: '' } }),
  'conversion: port': service({ port: 0 }),
  'conversion: high port': service({ port: 65_536 }),
  'conversion: path without a slash': service({ path: 'convert' }),
  'conversion: path with an empty segment': service({ path: '/a//b' }),
  'conversion: bad path': service({ path: '/a/B c' }),
  'conversion: two slashes': service({ path: '//' }),
  'conversion: no review versions': webhook({ url: 'https://a.example.com' }, []),
  'conversion: review version twice': webhook({ url: 'https://a.example.com' }, ['v1', 'v1']),
  'conversion: review version': webhook({ url: 'https://a.example.com' }, ['v1', 'V2']),
  'conversion: unknown review versions': webhook({ url: 'https://a.example.com' }, ['v2', 'v3']),
  'conversion: certificates before it is established': webhook({
    url: 'https://a.example.com',
    caBundle: GARBAGE,
  }),

  'approval: missing': approved(undefined),
  'approval: bypassed': approved('unapproved, testing'),
  'approval: given': approved('https://github.com/kubernetes/kubernetes/pull/1'),
  'approval: no url': approved('yes'),
  'approval: url without a host': approved('https:///x'),
  'approval: of kubernetes.io': approved(undefined, 'definitions.kubernetes.io'),

  'rule: good': rule({ rule: 'self > 0' }),
  'rule: none': rule({ rule: ' ' }),
  'rule: empty message': rule({ rule: 'true', message: ' ' }),
  'rule: message with a line break': rule({ rule: 'true', message: 'a\nb' }),
  'rule: line break without a message': rule({ rule: 'self > 0 &&\nself < 9' }),
  'rule: line break with a message': rule({ rule: 'self > 0 &&\nself < 9', message: 'm' }),
  'rule: empty message expression': rule({ rule: 'true', messageExpression: ' ' }),
  'rule: message expression of another type': rule({ rule: 'true', messageExpression: '1' }),
  'rule: reason': rule({ rule: 'true', reason: 'FieldValueOdd' }),
  'rule: good reason': rule({ rule: 'true', reason: 'FieldValueForbidden' }),
  'rule: field path': rule({ rule: 'true', fieldPath: '.a' }),
  'rule: empty field path': rule({ rule: 'true', fieldPath: ' ' }),
  'rule: syntax': rule({ rule: 'self >' }),
  'rule: type': rule({ rule: 'self + 1' }),
  'rule: unknown field': rule({ rule: 'self.b > 1' }),
  'rule: oldSelf': rule({ rule: 'self >= oldSelf' }),
  'rule: optionalOldSelf without oldSelf': rule({ rule: 'self > 0', optionalOldSelf: true }),
  'rule: oldSelf in a list': list(
    {},
    { type: 'integer', 'x-kubernetes-validations': [{ rule: 'self >= oldSelf' }] },
  ),
  'rule: over its budget': field({
    type: 'array',
    items: { type: 'array', items: { type: 'array', items: text } },
    'x-kubernetes-validations': [{ rule: 'self.all(a, a.all(b, b.all(c, c.contains("x"))))' }],
  }),
  'rule: together over the budget': schema(
    object({
      spec: object(
        Object.fromEntries(
          Array.from({ length: 3 }, (_, i) => [
            `f${i}`,
            {
              type: 'array',
              maxItems: 1000,
              items: { type: 'string', maxLength: 500 },
              'x-kubernetes-validations': [{ rule: 'self.all(a, self.exists_one(b, a == b))' }],
            },
          ]),
        ),
      ),
    }),
  ),

  'bad type of a field': definition({ versions: 'v1' }),
  'bad type in a schema': field({ type: 'string', maxLength: 'x' }),
  'unknown field': definition({ unknown: 1 }),
};

const NAMES = { plural: 'widgets', singular: 'widget', kind: 'Widget', listKind: 'WidgetList' };
const status = (more: Json, body: Json = definition()): Json => ({
  ...body,
  status: { acceptedNames: NAMES, conditions: [], storedVersions: ['v1'], ...more },
});
const established = (body: Json): Json =>
  status(
    {
      conditions: [
        {
          type: 'Established',
          status: 'True',
          lastTransitionTime: null,
          reason: 'r',
          message: 'm',
        },
      ],
    },
    body,
  );
const old = definition();
const unserved = { served: false };

const updated: Readonly<Record<string, Omit<DefinitionCase, 'name'>>> = {
  'update: nothing': { old, body: definition() },
  'update: new version': { old, body: versions(version(), version({}, 'v2', false)) },
  'update: new storage version': {
    old,
    body: versions(version({}, 'v1', false), version({}, 'v2', true)),
  },
  'update: stored version removed': { old, body: versions(version({}, 'v2', true)) },
  'update: stored version not served': {
    old,
    body: versions(version(unserved, 'v1', false), version({}, 'v2', true)),
  },
  'update: scope': { old, body: definition({ scope: 'Cluster' }) },
  'update: kind': { old, body: names({ kind: 'Gadget' }) },
  'update: list kind': { old, body: names({ listKind: 'Widgets' }) },
  'update: singular and short names': { old, body: names({ singular: 'wid', shortNames: ['wi'] }) },
  'update: group': { old, body: definition({ group: `x.${GROUP}` }) },
  'update: plural': { old, body: names({ plural: 'gadgets' }) },
  'update: bad schema': { old, body: field({}) },
  'update: preserveUnknownFields': { old, body: definition({ preserveUnknownFields: true }) },
  'update: bad certificates': {
    old,
    body: webhook({ url: 'https://a.example.com', caBundle: GARBAGE }),
  },
  'update: unparsable certificates': {
    old,
    body: webhook({ url: 'https://a.example.com', caBundle: CERTIFICATE }),
  },
  'update: unknown review versions': {
    old,
    body: webhook({ url: 'https://a.example.com' }, ['v2']),
  },
  'update: status is ignored': { old, body: status({ storedVersions: ['v7'] }) },
  'update: finalizer': { old, body: definition({}, { finalizers: ['example.com/mine'] }) },
  'update: labels': { old, body: definition({}, { labels: { a: 'b' } }) },
  'update: unheard-of format': { old, body: field({ type: 'string', format: 'unheard-of' }) },
  'update: format that was there': {
    old: field({ type: 'string', format: 'unheard-of' }),
    body: {
      ...field({ type: 'string', format: 'unheard-of' }),
      metadata: { name: `widgets.${GROUP}`, labels: { a: 'b' } },
    },
  },
  'update: approval removed': { old: approved('unapproved'), body: approved(undefined) },
  'update: approval given': { old: approved('unapproved'), body: approved('https://k8s.io/x') },

  'status: accepted names': {
    old,
    status: true,
    body: status({ acceptedNames: { plural: 'Bad', kind: 'Wid_get' } }),
  },
  'status: no stored versions': { old, status: true, body: status({ storedVersions: [] }) },
  'status: other stored versions': { old, status: true, body: status({ storedVersions: ['v9'] }) },
  'status: condition': {
    old,
    status: true,
    body: status({ conditions: [{ type: 'Mine', status: 'Maybe', lastTransitionTime: null }] }),
  },
  'status: spec is ignored': {
    old,
    status: true,
    body: status({}, definition({ scope: 'Cluster' })),
  },
  'status: labels': { old, status: true, body: status({}, definition({}, { labels: { a: 'b' } })) },

  'stored: no schema, label added': {
    stored: established(one({ schema: undefined })),
    body: established(one({ schema: undefined, served: false })),
  },
  'stored: no schema, still served': {
    stored: established(one({ schema: undefined })),
    body: one({ schema: undefined }),
  },
  'stored: preserves, no schema': {
    stored: established(
      definition({ preserveUnknownFields: true, versions: [version({ schema: undefined })] }),
    ),
    body: definition({ preserveUnknownFields: true, versions: [version({ schema: undefined })] }),
  },
  'stored: preserves, not structural': {
    stored: established({
      ...field({}),
      spec: { ...(field({})['spec'] as Json), preserveUnknownFields: true },
    }),
    body: { ...field({}), spec: { ...(field({})['spec'] as Json), preserveUnknownFields: true } },
  },
  'stored: preserves, then not': {
    stored: established({
      ...field({}),
      spec: { ...(field({})['spec'] as Json), preserveUnknownFields: true },
    }),
    body: field({}),
  },
  'stored: preserves, default added': {
    stored: established({
      ...field({}),
      spec: { ...(field({})['spec'] as Json), preserveUnknownFields: true },
    }),
    body: {
      ...field({ default: 1 }),
      spec: { ...(field({ default: 1 })['spec'] as Json), preserveUnknownFields: true },
    },
  },
  'stored: not structural': { stored: established(field({})), body: field({}) },
  'stored: unknown type': {
    stored: established(field({ type: 'text' })),
    body: field({ type: 'text' }),
  },
  'stored: unknown type, another': {
    stored: established(field({ type: 'text' })),
    body: field({ type: 'word' }),
  },
  'stored: granular set': {
    stored: established(list({ 'x-kubernetes-list-type': 'set' }, object({ a: text }))),
    body: list({ 'x-kubernetes-list-type': 'set' }, object({ b: text })),
  },
  'stored: set with nulls': {
    stored: established(
      list({ 'x-kubernetes-list-type': 'set' }, { type: 'string', nullable: true }),
    ),
    body: list(
      { 'x-kubernetes-list-type': 'set', maxItems: 3 },
      { type: 'string', nullable: true },
    ),
  },
  'stored: map with an optional key': {
    stored: established(keyed({}, object({ k: text }))),
    body: keyed({ maxItems: 3 }, object({ k: text })),
  },
  'stored: default with an unknown field': {
    stored: established(field({ ...object({ b: text }), default: { c: 1 } })),
    body: field({ ...object({ b: text }), default: { c: 2 } }),
  },
  'stored: unknown review versions': {
    stored: established(webhook({ url: 'https://a.example.com' }, ['v2'])),
    body: webhook({ url: 'https://b.example.com' }, ['v2']),
  },
  'stored: bad certificates': {
    stored: established(webhook({ url: 'https://a.example.com', caBundle: GARBAGE })),
    body: webhook({ url: 'https://b.example.com', caBundle: GARBAGE }),
  },
  'stored: nine selectable fields': {
    stored: established(many(9)),
    body: { ...many(9), metadata: { name: `widgets.${GROUP}` } },
  },
  'stored: ten selectable fields instead': { stored: established(many(9)), body: many(10) },
  'stored: rule over its budget': {
    stored: established(
      list({
        'x-kubernetes-validations': [
          { rule: 'self.all(a, self.all(b, self.all(c, a == b || b == c)))' },
        ],
      }),
    ),
    body: {
      ...list({
        'x-kubernetes-validations': [
          { rule: 'self.all(a, self.all(b, self.all(c, a == b || b == c)))' },
        ],
      }),
      metadata: { name: `widgets.${GROUP}`, labels: { a: 'b' } },
    },
  },
  'stored: approval invalid': {
    stored: established(approved('yes')),
    body: approved('no'),
  },
  'stored: approval missing': {
    stored: established(approved(undefined)),
    body: approved(undefined),
  },
  'stored: not established, another kind': { stored: status({}), body: names({ kind: 'Gadget' }) },
  'stored: bad name': {
    stored: established(names({ shortNames: ['W'] })),
    body: names({ shortNames: ['W'] }),
  },
};

export const definitionCases: readonly DefinitionCase[] = [
  ...Object.entries(created).map(([name, body]) => ({ name, body })),
  ...Object.entries(updated).map(([name, given]) => ({ name, ...given })),
];
