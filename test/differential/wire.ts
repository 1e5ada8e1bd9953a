// Compares the wire form of answers: headers, indentation, the newline at the end. Compares
// documents that have no object in them, too: discovery, health, the issuer's documents, statusz.

import { differences, parsed } from './compare.ts';

export interface WireShot {
  readonly path: string;
  /** Default: GET. */
  readonly method?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
  /** The reason why the content is not compared. Default: it is. */
  readonly contentDiffers?: string;
  /** The reason why headers are not compared. Default: they are. */
  readonly headersDiffer?: string;
}

export interface WireAnswer {
  readonly code: number;
  /** Headers by lower-case name. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** The uncompressed body. An object in protobuf is written as JSON. */
  readonly text: string;
}

const JSON_BODY = { 'content-type': 'application/json' };
const accept = (type: string): Record<string, string> => ({ accept: type });
const CURL = { 'user-agent': 'curl/8.0' };
const AGGREGATED = accept('application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList');
const meta = (as: string, version = 'v1beta1', type = 'application/json'): Record<string, string> =>
  accept(`${type};as=${as};v=${version};g=meta.k8s.io`);

const NAMESPACES = '/api/v1/namespaces';
const OWN_VALUES = 'each server has its own addresses, keys and build';
const OWN_SET = 'custom resources, aggregation and priority and fairness are not served here';

export const wireShots: readonly WireShot[] = [
  { path: '/version', contentDiffers: OWN_VALUES },
  { path: '/version/', contentDiffers: OWN_VALUES },
  { path: '/version', headers: accept('text/html') },
  { path: '/api', contentDiffers: OWN_VALUES },
  { path: '/api/', contentDiffers: OWN_VALUES },
  { path: '/api', headers: CURL, contentDiffers: OWN_VALUES },
  { path: '/api', headers: AGGREGATED },
  { path: '/api/v1' },
  { path: '/apis', contentDiffers: OWN_SET },
  { path: '/apis', headers: AGGREGATED, contentDiffers: OWN_SET },
  { path: '/apis/apps' },
  { path: '/apis/autoscaling' },
  ...[
    'apiregistration.k8s.io/v1',
    'apps/v1',
    'authentication.k8s.io/v1',
    'authorization.k8s.io/v1',
    'autoscaling/v1',
    'autoscaling/v2',
    'batch/v1',
    'certificates.k8s.io/v1',
    'coordination.k8s.io/v1',
    'discovery.k8s.io/v1',
    'events.k8s.io/v1',
    'flowcontrol.apiserver.k8s.io/v1',
    'networking.k8s.io/v1',
    'node.k8s.io/v1',
    'policy/v1',
    'rbac.authorization.k8s.io/v1',
    'resource.k8s.io/v1',
    'scheduling.k8s.io/v1',
    'storage.k8s.io/v1',
  ].map((groupVersion) => ({ path: `/apis/${groupVersion}` })),
  {
    path: '/apis/admissionregistration.k8s.io/v1',
    contentDiffers: 'upstream stores mutating policies in another version',
  },
  { path: '/apis/apps/v7' },
  { path: '/apis/nope' },
  { path: '/apis/nope/v1' },
  { path: '/nope' },
  { path: '/', contentDiffers: OWN_SET },
  { path: '/', method: 'POST', contentDiffers: OWN_SET },
  { path: '/healthz' },
  { path: '/livez' },
  { path: '/readyz' },
  { path: '/readyz?verbose', contentDiffers: OWN_SET },
  { path: '/healthz/etcd' },
  { path: '/healthz/poststarthook/rbac/bootstrap-roles' },
  { path: '/healthz/nope' },
  // The metric of watches with initial events needs one.
  {
    path:
      `${NAMESPACES}?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&` +
      'allowWatchBookmarks=true&timeoutSeconds=1',
    contentDiffers: OWN_VALUES,
  },
  { path: '/metrics', contentDiffers: 'compared by name elsewhere' },
  { path: '/metrics/slis', contentDiffers: OWN_SET },
  { path: '/statusz', contentDiffers: OWN_VALUES },
  { path: '/statusz', headers: accept('application/json') },
  {
    path: '/statusz',
    headers: accept('application/json;as=Statusz;v=v1beta1;g=config.k8s.io'),
    contentDiffers: OWN_VALUES,
  },
  {
    path: '/statusz',
    headers: accept('application/yaml;as=Statusz;v=v1alpha1;g=config.k8s.io'),
    contentDiffers: OWN_VALUES,
  },
  { path: '/flagz', contentDiffers: OWN_VALUES },
  { path: '/.well-known/openid-configuration', contentDiffers: OWN_VALUES },
  { path: '/.well-known/openid-configuration', method: 'POST' },
  { path: '/.well-known/openid-configuration', headers: accept('text/html') },
  { path: '/openid/v1/jwks', contentDiffers: OWN_VALUES },
  { path: '/openid/v1/jwks', headers: accept('application/json') },
  { path: NAMESPACES, contentDiffers: OWN_VALUES },
  { path: `${NAMESPACES}/default` },
  { path: `${NAMESPACES}/default`, headers: CURL },
  { path: `${NAMESPACES}/default?pretty=true` },
  { path: `${NAMESPACES}/default?pretty=false`, headers: CURL },
  { path: `${NAMESPACES}/default`, headers: accept('application/yaml') },
  { path: `${NAMESPACES}/default`, headers: { 'audit-id': 'an ID of the client' } },
  { path: `${NAMESPACES}/nope` },
  { path: `${NAMESPACES}/nope`, headers: CURL },
  { path: `${NAMESPACES}/nope`, headers: meta('Table', 'v1') },
  {
    path: `${NAMESPACES}/nope`,
    headers: accept('application/json;as=Table;v=v1;g=meta.k8s.io,application/json'),
  },
  { path: `${NAMESPACES}/default`, headers: meta('Table') },
  { path: `${NAMESPACES}/default`, headers: meta('Table', 'v1beta2') },
  { path: `${NAMESPACES}?limit=1`, headers: meta('Table'), contentDiffers: OWN_VALUES },
  { path: `${NAMESPACES}/default`, headers: meta('PartialObjectMetadata') },
  { path: `${NAMESPACES}/default`, headers: meta('PartialObjectMetadataList') },
  { path: NAMESPACES, headers: meta('PartialObjectMetadata') },
  {
    path: `${NAMESPACES}?fieldSelector=metadata.name%3Ddefault`,
    headers: meta('PartialObjectMetadataList'),
  },
  { path: `${NAMESPACES}/default/configmaps?labelSelector=none%3Dthere` },
  { path: `${NAMESPACES}/default/configmaps?labelSelector=none%3Dthere&pretty=1` },
  { path: `${NAMESPACES}/default/configmaps?limit=x` },
  { path: `${NAMESPACES}/default?export=true` },
  ...['application/vnd.kubernetes.protobuf', 'application/yaml'].map((type) => ({
    path: `${NAMESPACES}/default/configmaps?watch=1&timeoutSeconds=1`,
    headers: meta('Table', 'v1', type),
  })),
  { path: `${NAMESPACES}/default/configmaps`, headers: accept('text/html') },
  { path: `${NAMESPACES}/default/configmaps`, method: 'POST', headers: JSON_BODY, body: '{' },
  {
    path: `${NAMESPACES}/default/configmaps?dryRun=All`,
    method: 'POST',
    headers: JSON_BODY,
    body: '{"metadata":{"name":"wire"}}',
  },
  { path: `${NAMESPACES}/default/configmaps/nope`, method: 'DELETE' },
  // Kinds that can only be created.
  ...['GET', 'PUT', 'DELETE'].flatMap((method) =>
    [
      '/api/v1/bindings',
      `${NAMESPACES}/default/bindings`,
      `${NAMESPACES}/default/bindings/a`,
      '/apis/authentication.k8s.io/v1/tokenreviews',
      '/apis/authentication.k8s.io/v1/tokenreviews/a',
      '/apis/authorization.k8s.io/v1/localsubjectaccessreviews',
    ].map((path) => ({ path, method })),
  ),
  { path: '/api/v1/componentstatuses/a' },
  { path: '/apis/apiextensions.k8s.io/v1/customresourcedefinitions' },
  {
    path: '/apis/authentication.k8s.io/v1/selfsubjectreviews',
    method: 'POST',
    headers: JSON_BODY,
    body: '{"kind":"SelfSubjectReview","apiVersion":"authentication.k8s.io/v1"}',
  },
  { path: '/api/v1/namespaces/default/pods', headers: { 'impersonate-user': 'nobody' } },
  {
    path: '/api/v1/namespaces/default/pods',
    headers: { 'impersonate-user': 'nobody', 'impersonate-group': 'system:masters' },
  },
  { path: '/metrics', headers: { 'impersonate-user': 'nobody' } },
  { path: '/openapi/v3/apis/apps/v9' },
  { path: '/openapi/v3/apis/nothing.example.com/v1' },
  { path: '/openapi/v3/nothing' },
  {
    path: '/openapi/v2',
    contentDiffers: 'descriptions are our own',
    headersDiffer: 'upstream has two Vary headers',
  },
  {
    path: '/openapi/v3',
    contentDiffers: 'hashes of documents with descriptions of our own',
    headersDiffer: 'upstream says that it is plain text, and has no ETag',
  },
];

/** Returns the request as one line. */
export const wireTitle = ({ method = 'GET', path, headers = {}, body = '' }: WireShot): string =>
  `${method} ${path} ${JSON.stringify(headers)} ${textOf(body)}`.trimEnd();

/** Returns the body; bytes in base64. */
const textOf = (body: string | Uint8Array): string =>
  typeof body === 'string' ? body : Buffer.from(body).toString('base64');

/** Headers that must be the same. */
const SAME_HEADERS = [
  'content-type',
  'content-encoding',
  'cache-control',
  'vary',
  'x-content-type-options',
  'warning',
  'allow',
  'retry-after',
  'location',
];
/** Headers that both answers must have, or neither. */
const PRESENT_HEADERS = [
  'audit-id',
  'etag',
  'x-kubernetes-pf-flowschema-uid',
  'x-kubernetes-pf-prioritylevel-uid',
];

/** Returns the differences, a line each. Empty: none. */
export function wireDifferences(
  shot: WireShot,
  ours: WireAnswer,
  theirs: WireAnswer,
): readonly string[] {
  const found = [...headerDifferences(shot, ours, theirs)];
  if (shot.contentDiffers !== undefined) {
    found.push(...valueDifference('code', ours.code, theirs.code));
    return found;
  }
  const answer = ({ code, text }: WireAnswer) => ({ code, body: parsed(text), warnings: [] });
  return [
    ...found,
    ...differences(answer(ours), answer(theirs)),
    ...valueDifference('order of fields', fieldOrder(ours.text), fieldOrder(theirs.text)),
  ];
}

/** Returns the differences of headers and form, a line each. */
export function headerDifferences(
  shot: WireShot,
  ours: WireAnswer,
  theirs: WireAnswer,
): readonly string[] {
  const compared = shot.headersDiffer === undefined;
  const isSame = shot.headers?.['audit-id'] !== undefined;
  return [
    ...[...(compared ? SAME_HEADERS : []), ...(isSame ? ['audit-id'] : [])].flatMap((name) =>
      valueDifference(`header ${name}`, headerText(ours, name), headerText(theirs, name)),
    ),
    ...(compared ? PRESENT_HEADERS : []).flatMap((name) =>
      valueDifference(`header ${name} is there`, name in ours.headers, name in theirs.headers),
    ),
    ...valueDifference('newline at the end', ours.text.endsWith('\n'), theirs.text.endsWith('\n')),
    ...valueDifference('indented', /^[{[]\n/.test(ours.text), /^[{[]\n/.test(theirs.text)),
  ];
}

function valueDifference(what: string, own: unknown, other: unknown): string[] {
  if (own === other) return [];
  const text = (value: unknown): string => JSON.stringify(value) ?? 'none';
  return [`${what}: ${text(own)}, reference ${text(other)}`];
}

function headerText({ headers }: WireAnswer, name: string): string | undefined {
  const value = headers[name];
  return value === undefined ? undefined : [value].flat().join(', ');
}

/** Returns the names of a document's own fields, in their order. */
function fieldOrder(text: string): string {
  const body = parsed(text);
  return typeof body === 'object' && body !== null && !Array.isArray(body)
    ? Object.keys(body).join(' ')
    : '';
}
