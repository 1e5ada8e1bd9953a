// Requests about definitions of kinds: rejections, defaults of accepted definitions, conflicts of
// names, versions and deletion. Each runs on both servers, in this order; at the beginning and at
// the end there are no objects.

import {
  ANYTHING,
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
  remove,
  send,
  STRATEGIC,
  TABLE,
  version,
} from './extension-requests.ts';
import type { Request, Step } from './steps.ts';

const at = (name: string): string => `${DEFINITIONS}/${name}.${GROUP}`;
const objects = (plural: string, ofVersion = 'v1'): string =>
  `/apis/${GROUP}/${ofVersion}/namespaces/default/${plural}`;
const object = (kind: string, name: string, more: Json = {}, ofVersion = 'v1'): Json => ({
  apiVersion: `${GROUP}/${ofVersion}`,
  kind,
  metadata: { name },
  ...more,
});
const schema = (properties: Json, more: Json = {}): Json => ({
  type: 'object',
  properties,
  ...more,
});
const withSchema = (openAPIV3Schema: unknown, more: Json = {}): Json =>
  definition('anchors', 'Anchor', {
    versions: [version('v1', { schema: { openAPIV3Schema }, ...more })],
  });
const withNames = (names: Json): Json => definition('anchors', 'Anchor', { names });
const withSpec = (spec: Json): Json => definition('anchors', 'Anchor', { spec });
const dry = (body: unknown): Step =>
  send('POST', `${DEFINITIONS}?dryRun=All&fieldValidation=Strict`, body);

const oneProperty = (property: Json): Json => withSchema(schema({ spec: schema({ a: property }) }));
const columns = (...additionalPrinterColumns: Json[]): Json =>
  withSchema(ANYTHING, { additionalPrinterColumns });
const subresources = (value: Json): Json => withSchema(ANYTHING, { subresources: value });
const selectable = (...selectableFields: Json[]): Json =>
  withSchema(
    schema({
      spec: schema({
        a: { type: 'string' },
        n: { type: 'object' },
        l: { type: 'array', items: { type: 'string' } },
      }),
    }),
    {
      selectableFields,
    },
  );
const rules = (...list: Json[]): Json =>
  withSchema(
    schema({ spec: schema({ a: { type: 'integer' } }, { 'x-kubernetes-validations': list }) }),
  );
const conversion = (value: unknown): Json => withSpec({ conversion: value });
const webhook = (clientConfig: Json, conversionReviewVersions: unknown = ['v1']): Json =>
  conversion({ strategy: 'Webhook', webhook: { clientConfig, conversionReviewVersions } });

/** None of these definitions is stored: they are invalid, or sent with dryRun. */
const validation: readonly Step[] = [
  { ...definition('anchors', 'Anchor') },
  {},
  {
    kind: 'CustomResourceDefinition',
    apiVersion: 'apiextensions.k8s.io/v1',
    metadata: { name: 'x' },
  },
  { ...definition('anchors', 'Anchor'), metadata: { name: 'other' } },
  { ...definition('anchors', 'Anchor'), metadata: { name: `Anchors.${GROUP}` } },
  { ...definition('anchors', 'Anchor'), unknown: 1 },
  { ...definition('anchors', 'Anchor'), status: { storedVersions: ['v9'] } },
  withSpec({ group: '' }),
  withSpec({ group: 'Upper.example.com' }),
  withSpec({ group: 'nodots' }),
  withSpec({ group: 'x.k8s.io' }),
  { ...withSpec({ group: 'x.k8s.io' }), metadata: { name: 'anchors.x.k8s.io' } },
  {
    ...withSpec({ group: 'x.k8s.io' }),
    metadata: {
      name: 'anchors.x.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, experimental' },
    },
  },
  {
    ...withSpec({ group: 'x.k8s.io' }),
    metadata: {
      name: 'anchors.x.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'https://example.com/1' },
    },
  },
  withSpec({ scope: 'Nowhere' }),
  withSpec({ scope: undefined }),
  withSpec({ preserveUnknownFields: true }),
  withSpec({ versions: [] }),
  withSpec({ versions: [version('v1'), version('v1')] }),
  withSpec({ versions: [version('v1', { storage: false })] }),
  withSpec({ versions: [version('v1', { served: false })] }),
  withSpec({ versions: [version('V_1')] }),
  withSpec({ versions: [version('v1', { schema: undefined })] }),
  withSpec({ versions: [version('v1', { deprecationWarning: 'x' })] }),
  withSpec({ versions: [version('v1', { deprecated: true, deprecationWarning: '' })] }),
  withSpec({ versions: [version('v1', { deprecated: true, deprecationWarning: 'a\nb' })] }),
  withSpec({
    versions: [version('v1', { deprecated: true, deprecationWarning: 'x'.repeat(257) })],
  }),
  ...[
    { plural: 'Anchors' },
    { plural: '' },
    { kind: '' },
    { kind: 'anchor_' },
    { kind: 'x'.repeat(64) },
    { listKind: 'Anchor' },
  ].map(withNames),
  ...[
    { singular: 'A' },
    { shortNames: ['a', 'A'] },
    { categories: ['all', '-'] },
    { shortNames: ['a', 'a'] },
  ].map(withNames),
  ...[{}, { type: 'string' }, { type: 'object' }, { type: 'array' }, { type: 'nothing' }].map(
    (one) => withSchema(one),
  ),
  ...[
    {},
    { type: '' },
    { type: 'array' },
    { type: 'array', items: [{ type: 'string' }] },
    { type: 'string', nullable: true, default: null },
    { type: 'string', default: 1 },
    { type: 'object', properties: {}, additionalProperties: false },
    { type: 'object', additionalProperties: { type: 'string' } },
    {
      type: 'object',
      properties: { b: { type: 'string' } },
      additionalProperties: { type: 'string' },
    },
    { type: 'string', $ref: '#/definitions/x' },
    { type: 'string', uniqueItems: true },
    { type: 'array', items: { type: 'string' }, uniqueItems: true },
    { type: 'string', pattern: '(' },
    { type: 'string', pattern: '^(a+)+$' },
    { type: 'string', format: 'nonsense' },
    { type: 'string', maxLength: -1 },
    { type: 'string', enum: ['a', 'a'] },
    { type: 'string', enum: [1] },
    { type: 'integer', multipleOf: 0 },
    { type: 'integer', minimum: 5, maximum: 3 },
    { type: 'string', example: 'x', externalDocs: { url: 'x' } },
    { type: 'object', patternProperties: { a: { type: 'string' } } },
    { type: 'object', dependencies: { a: ['b'] } },
    { type: 'string', id: 'x' },
    { type: 'string', oneOf: [{ type: 'string' }] },
    { type: 'string', anyOf: [{ minLength: 1 }, { pattern: 'a' }] },
    { type: 'string', not: { default: 'a' } },
    { type: 'object', 'x-kubernetes-preserve-unknown-fields': false },
    { 'x-kubernetes-int-or-string': true },
    { type: 'string', 'x-kubernetes-int-or-string': true },
    { type: 'object', 'x-kubernetes-embedded-resource': true },
    {
      type: 'object',
      'x-kubernetes-embedded-resource': true,
      'x-kubernetes-preserve-unknown-fields': true,
    },
    { type: 'string', 'x-kubernetes-list-type': 'set' },
    { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'map' },
    { type: 'array', items: { type: 'object' }, 'x-kubernetes-list-type': 'set' },
    {
      type: 'array',
      items: schema({ k: { type: 'string' } }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    },
    {
      type: 'array',
      items: schema({ k: { type: 'string' } }, { required: ['k'] }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k', 'k'],
    },
    { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'bag' },
    { type: 'object', 'x-kubernetes-map-type': 'atomic' },
    { type: 'object', 'x-kubernetes-map-type': 'other' },
    { type: 'string', 'x-kubernetes-validations': [{ rule: 'self ==' }] },
    { type: 'string', title: 't', description: 'd', default: 'x', minLength: 2 },
  ].map((one) => oneProperty(one as Json)),
  withSchema(schema({ metadata: schema({ name: { type: 'string', maxLength: 3 } }) })),
  withSchema(schema({ metadata: schema({ labels: { type: 'object' } }) })),
  withSchema(schema({ metadata: { type: 'string' } })),
  withSchema(schema({ apiVersion: { type: 'integer' }, kind: { type: 'object' } })),
  ...[
    { name: 'A', type: 'string', jsonPath: '.spec.a' },
    { name: '', type: 'string', jsonPath: '.spec.a' },
    { name: 'A', type: 'thing', jsonPath: '.spec.a' },
    { name: 'A', type: 'date', jsonPath: '' },
    { name: 'A', type: 'integer', format: 'x', jsonPath: '.spec.a' },
    { name: 'A', type: 'string', jsonPath: 'spec.a' },
    { name: 'A', type: 'string', jsonPath: '.spec[' },
    { name: 'A', type: 'string', jsonPath: '{.spec.a}', priority: -1 },
  ].map((one) => columns(one)),
  ...[
    { status: {} },
    { scale: {} },
    { scale: { specReplicasPath: '.spec.replicas', statusReplicasPath: '.status.replicas' } },
    { scale: { specReplicasPath: '.status.replicas', statusReplicasPath: '.spec.replicas' } },
    { scale: { specReplicasPath: 'spec.replicas', statusReplicasPath: '.status.replicas' } },
    {
      scale: {
        specReplicasPath: '.spec.a[0]',
        statusReplicasPath: '.status.replicas',
        labelSelectorPath: '.metadata.x',
      },
    },
  ].map(subresources),
  selectable({ jsonPath: '.spec.a' }),
  selectable({ jsonPath: '.spec.a' }, { jsonPath: '.spec.a' }),
  selectable({ jsonPath: '.spec.missing' }),
  selectable({ jsonPath: '.spec.n' }),
  selectable({ jsonPath: '.spec.l' }),
  selectable({ jsonPath: '.metadata.name' }),
  selectable({ jsonPath: 'spec.a' }),
  selectable({ jsonPath: '' }),
  selectable(...Array.from({ length: 9 }, (_, index) => ({ jsonPath: `.spec.a${index}` }))),
  ...[
    { rule: 'self.a > 0' },
    { rule: '' },
    { rule: 'self.a' },
    { rule: 'self.b > 0' },
    { rule: 'self.a > 0', message: '' },
    { rule: 'self.a > 0', message: 'a\nb' },
    { rule: 'self.a > 0', messageExpression: '1' },
    { rule: 'self.a > 0', messageExpression: "'a' +" },
    { rule: 'self.a > 0', reason: 'Nothing' },
    { rule: 'self.a > 0', reason: 'FieldValueForbidden', fieldPath: '.a' },
    { rule: 'self.a > 0', fieldPath: '.b' },
    { rule: 'self.a > 0', fieldPath: 'a' },
    { rule: 'self.a > oldSelf.a' },
    { rule: 'self.a > 0', optionalOldSelf: true },
    { rule: '!oldSelf.hasValue() || self.a > oldSelf.value().a', optionalOldSelf: true },
    { rule: 'self.a\n> 0 && unknown(self)' },
  ].map((one) => rules(one)),
  withSchema(
    schema({
      spec: schema({
        list: {
          type: 'array',
          items: {
            type: 'array',
            items: { type: 'string', 'x-kubernetes-validations': [{ rule: "self.contains('x')" }] },
          },
        },
      }),
    }),
  ),
  withSchema(
    schema({
      spec: schema({
        list: {
          type: 'array',
          items: { type: 'string' },
          'x-kubernetes-validations': [{ rule: 'self.all(x, self.all(y, x == y))' }],
        },
      }),
    }),
  ),
  conversion({ strategy: 'None' }),
  conversion({ strategy: 'Other' }),
  conversion({ strategy: '' }),
  conversion({}),
  conversion({ strategy: 'Webhook' }),
  conversion({
    strategy: 'None',
    webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://x' } },
  }),
  webhook({ url: 'https://x.example.com/y' }),
  webhook({ url: 'http://x' }),
  webhook({ url: 'https://u:p@x/y?a=b#c' }),
  webhook({}),
  webhook({ url: 'https://x', service: { namespace: 'a', name: 'b' } }),
  webhook({ service: { namespace: 'a', name: 'b', path: 'x' } }),
  webhook({ service: { namespace: '', name: '', port: 70000 } }),
  webhook({ url: 'https://x', caBundle: 'bm90IGEgY2VydGlmaWNhdGU=' }),
  webhook({ url: 'https://x' }, []),
  webhook({ url: 'https://x' }, ['v2']),
  webhook({ url: 'https://x' }, ['v1', 'v1', 'Bad!']),
].map(dry);

/** Reads and changes of one definition. */
const life: readonly Step[] = [
  send(
    'POST',
    DEFINITIONS,
    definition('anchors', 'Anchor', {
      names: { shortNames: ['anc'], categories: ['all', 'harbour'] },
    }),
  ),
  condition(`anchors.${GROUP}`, 'Established', 'True'),
  send('POST', DEFINITIONS, definition('anchors', 'Anchor')),
  get(at('anchors')),
  get(`${at('anchors')}/status`),
  get(at('anchors'), TABLE),
  get(`${DEFINITIONS}?fieldSelector=metadata.name%3Danchors.${GROUP}`, TABLE),
  get(`${DEFINITIONS}?fieldSelector=metadata.name%3Danchors.${GROUP}`),
  get(`${DEFINITIONS}?fieldSelector=spec.group%3Danchors`),
  send('PATCH', at('anchors'), { metadata: { labels: { a: 'b' } } }, MERGE),
  send('PATCH', at('anchors'), { metadata: { labels: { c: 'd' } } }, STRATEGIC),
  send(
    'PATCH',
    at('anchors'),
    [{ op: 'add', path: '/spec/names/shortNames/-', value: 'anch' }],
    JSON_PATCH,
  ),
  condition(`anchors.${GROUP}`, 'NamesAccepted', 'True'),
  get(at('anchors')),
  send('PATCH', at('anchors'), { spec: { scope: 'Cluster' } }, MERGE),
  send('PATCH', at('anchors'), { spec: { group: 'other.example.com' } }, MERGE),
  send('PATCH', at('anchors'), { spec: { names: { plural: 'others' } } }, MERGE),
  send('PATCH', at('anchors'), { spec: { names: { kind: 'Other' } } }, MERGE),
  send('PATCH', at('anchors'), { spec: { conversion: { strategy: 'Webhook' } } }, MERGE),
  send(
    'PATCH',
    `${at('anchors')}?fieldManager=a`,
    { ...definition('anchors', 'Anchor'), spec: { preserveUnknownFields: false } },
    APPLY,
  ),
  send('PATCH', `${at('anchors')}?fieldManager=a`, definition('anchors', 'Anchor'), APPLY),
  send(
    'PATCH',
    `${at('anchors')}?fieldManager=a&force=true`,
    definition('anchors', 'Anchor', { names: { shortNames: ['anchr'] } }),
    APPLY,
  ),
  send(
    'PATCH',
    `${at('anchors')}?fieldManager=b&dryRun=All`,
    definition('anchors', 'Anchor', { names: { singular: 'anch' } }),
    APPLY,
  ),
  send('PUT', at('anchors'), definition('anchors', 'Anchor')),
  send('PATCH', `${at('anchors')}/status`, { status: { storedVersions: [] } }, MERGE),
  send('PATCH', `${at('anchors')}/status`, { status: { storedVersions: ['v1', 'v9'] } }, MERGE),
  send('PATCH', at('anchors'), { metadata: { labels: { more: 'x' } } }, MERGE),
  send('PATCH', `${at('anchors')}/status`, { status: { storedVersions: ['v1'] } }, MERGE),
  send(
    'PATCH',
    `${at('anchors')}/status`,
    { spec: { scope: 'Cluster' }, metadata: { labels: { x: 'y' } } },
    MERGE,
  ),
  condition(`anchors.${GROUP}`, 'NamesAccepted', 'True'),
  get(`${DEFINITIONS}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Danchors.${GROUP}`),
];

/** A second version becomes the stored one. */
const versions: readonly Step[] = [
  send(
    'PATCH',
    at('anchors'),
    { spec: { versions: [version('v1', { storage: false }), version('v2')] } },
    MERGE,
  ),
  answersWith(objects('anchors', 'v2'), 200),
  get(at('anchors')),
  send('POST', objects('anchors', 'v1'), object('Anchor', 'one', { spec: { a: 1 } })),
  get(`${objects('anchors', 'v2')}/one`),
  // An update writes the object in the stored version.
  send('PATCH', `${objects('anchors', 'v1')}/one`, { spec: { a: 2 } }, MERGE),
  send('PATCH', at('anchors'), { spec: { versions: [version('v2')] } }, MERGE),
  send('PATCH', `${at('anchors')}/status`, { status: { storedVersions: ['v1'] } }, MERGE),
  send('PATCH', `${at('anchors')}/status`, { status: { storedVersions: ['v2'] } }, MERGE),
  send('PATCH', at('anchors'), { spec: { versions: [version('v2')] } }, MERGE),
  answersWith(objects('anchors', 'v1'), 404),
  get(objects('anchors', 'v1')),
  get(`${objects('anchors', 'v2')}/one`),
  send('PATCH', at('anchors'), { spec: { versions: [version('v2', { served: false })] } }, MERGE),
  answersWith(objects('anchors', 'v2'), 404),
  answersWith(`/apis/${GROUP}`, 404),
  get(`/apis/${GROUP}/v2`),
  send('PATCH', at('anchors'), { spec: { versions: [version('v2')] } }, MERGE),
  answersWith(objects('anchors', 'v2'), 200),
];

/** The names of the second definition are taken until the first one is deleted. */
const conflicts: readonly Step[] = [
  send('POST', DEFINITIONS, definition('hooks', 'Anchor')),
  condition(`hooks.${GROUP}`, 'NamesAccepted', 'False'),
  get(at('hooks')),
  get(objects('hooks')),
  send(
    'POST',
    DEFINITIONS,
    definition('chains', 'Chain', {
      names: { shortNames: ['anchors'], singular: 'anchor', listKind: 'AnchorList' },
    }),
  ),
  condition(`chains.${GROUP}`, 'NamesAccepted', 'False'),
  get(at('chains')),
  send(
    'PATCH',
    at('chains'),
    { spec: { names: { shortNames: null, singular: 'chain', listKind: 'ChainList' } } },
    MERGE,
  ),
  condition(`chains.${GROUP}`, 'Established', 'True'),
  get(at('chains')),
  remove(at('chains')),
  answersWith(at('chains'), 404),
];

/** Sorts conditions: two of upstream's controllers add them in any order. */
const sortedConditions: Request['part'] = (body) => {
  const { status, ...rest } = body as { status: { conditions?: readonly { type: string }[] } };
  return {
    ...rest,
    status: {
      ...status,
      conditions: status.conditions?.toSorted((a, b) => (a.type < b.type ? -1 : 1)),
    },
  };
};

const approval: readonly Step[] = [
  send('POST', DEFINITIONS, {
    ...withSpec({ group: 'differential.k8s.io' }),
    metadata: {
      name: 'anchors.differential.k8s.io',
      annotations: { 'api-approved.kubernetes.io': 'unapproved, experimental' },
    },
  }),
  condition('anchors.differential.k8s.io', 'Established', 'True'),
  condition('anchors.differential.k8s.io', 'KubernetesAPIApprovalPolicyConformant', 'False'),
  get(`${DEFINITIONS}/anchors.differential.k8s.io`, undefined, sortedConditions),
  {
    ...send(
      'PATCH',
      `${DEFINITIONS}/anchors.differential.k8s.io`,
      {
        metadata: {
          annotations: {
            'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes/pull/1',
          },
        },
      },
      MERGE,
    ),
    part: sortedConditions,
  },
  condition('anchors.differential.k8s.io', 'KubernetesAPIApprovalPolicyConformant', 'True'),
  get(`${DEFINITIONS}/anchors.differential.k8s.io`, undefined, sortedConditions),
  { ...remove(`${DEFINITIONS}/anchors.differential.k8s.io`), part: sortedConditions },
  answersWith(`${DEFINITIONS}/anchors.differential.k8s.io`, 404),
];

/** Deletion of a definition with an object that a finalizer holds. */
const deletion: readonly Step[] = [
  send('POST', objects('anchors', 'v2'), {
    ...object('Anchor', 'held', {}, 'v2'),
    metadata: { name: 'held', finalizers: ['example.com/held'] },
  }),
  remove(at('anchors')),
  condition(`anchors.${GROUP}`, 'Terminating', 'True'),
  answersWith(`${objects('anchors', 'v2')}/one`, 404),
  condition(`anchors.${GROUP}`, 'Terminating', 'True', 'InstanceDeletionInProgress'),
  get(at('anchors')),
  get(`${objects('anchors', 'v2')}/held`),
  send('POST', objects('anchors', 'v2'), object('Anchor', 'late', {}, 'v2')),
  send('PATCH', `${objects('anchors', 'v2')}/held`, { metadata: { labels: { a: 'b' } } }, MERGE),
  send(
    'PATCH',
    `${objects('anchors', 'v2')}/late?fieldManager=a`,
    object('Anchor', 'late', {}, 'v2'),
    APPLY,
  ),
  send('PATCH', `${objects('anchors', 'v2')}/held`, { metadata: { finalizers: null } }, MERGE),
  answersWith(at('anchors'), 404),
  answersWith(objects('anchors', 'v2'), 404),
  condition(`hooks.${GROUP}`, 'Established', 'True'),
  get(at('hooks')),
  answersWith(objects('hooks'), 200),
  get(objects('hooks')),
  remove(at('hooks')),
  answersWith(at('hooks'), 404),
  mentions('/apis', GROUP, false),
  get(`/apis/${GROUP}`),
  get(objects('hooks')),
];

export const definitionSteps: readonly Step[] = [
  ...validation,
  ...life,
  ...versions,
  ...conflicts,
  ...approval,
  ...deletion,
];
