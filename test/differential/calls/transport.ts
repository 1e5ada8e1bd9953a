// Requests in unusual forms of HTTP: compression, methods, paths and queries in unusual forms, long names, bodies in
// CBOR and protobuf, forms of Accept and of documents.

import { encodeProtobuf } from '#api/machinery/codec/protobuf/index.ts';
import { messageOf } from '#api/testing/message-of.ts';
import { type Call, configMap, CORE, get, post, put, remove, send } from './call.ts';

const PROTOBUF = 'application/vnd.kubernetes.protobuf';
const CBOR = 'application/cbor';
const BIG = `${CORE}/configmaps/tr-big`;
const SMALL = `${CORE}/configmaps/tr`;
const OWN = 'each server has its own content';
const own = (call: Call, why = OWN): Call => ({ ...call, contentDiffers: why });

const compression: readonly Call[] = [
  post(`${CORE}/configmaps`, configMap('tr-big', { data: { a: 'abc '.repeat(60_000) } })),
  ...['gzip', 'gzip, deflate, br', 'deflate', 'br', 'identity', '*', 'gzip;q=0', 'x, gzip'].flatMap(
    (encoding) => [
      get(BIG, undefined, { 'accept-encoding': encoding }),
      get(SMALL, undefined, { 'accept-encoding': encoding }),
      own(get('/openapi/v2', undefined, { 'accept-encoding': encoding })),
      own(get('/metrics', undefined, { 'accept-encoding': encoding })),
      own(get('/apis', undefined, { 'accept-encoding': encoding })),
    ],
  ),
  get(`${CORE}/configmaps?fieldSelector=metadata.name%3Dtr-big`, undefined, {
    'accept-encoding': 'gzip',
  }),
  get(BIG, 'application/yaml', { 'accept-encoding': 'gzip' }),
  get(BIG, PROTOBUF, { 'accept-encoding': 'gzip' }),
  get(`${BIG}-none`, undefined, { 'accept-encoding': 'gzip' }),
  put(BIG, configMap('tr-big')),
  remove(BIG),
];

const METHODS = ['HEAD', 'OPTIONS', 'CONNECT', 'TRACE', 'LINK'];

const methods: readonly Call[] = [
  ...METHODS.filter((method) => method !== 'CONNECT').flatMap((method) => [
    { method, path: SMALL },
    { method, path: `${SMALL}-none` },
    { method, path: `${CORE}/configmaps?labelSelector=none%3Dthere` },
    { method, path: `${CORE}/pods/none/log` },
    { method, path: '/apis/apps/v1' },
    { method, path: '/readyz' },
  ]),
  ...['POST', 'PUT', 'DELETE', 'PATCH'].flatMap((method) => [
    { method, path: '/readyz' },
    { method, path: '/apis/apps/v1' },
    { method, path: '/apis/apps' },
    { method, path: `${CORE}/pods/none/log` },
    { method, path: '/api/v1/namespaces/default/pods/none/exec' },
  ]),
  ...['text/html', 'application/xml', '', 'null', 'application/json; charset=utf-16'].map((type) =>
    send('POST', `${CORE}/configmaps?dryRun=All`, configMap('tr2'), type),
  ),
  send('POST', `${CORE}/configmaps?dryRun=All`, configMap('tr2'), 'APPLICATION/JSON'),
  send('POST', `${CORE}/configmaps?dryRun=All`, configMap('tr2'), 'application/json,text/plain'),
  send('POST', `${CORE}/configmaps?dryRun=All`, configMap('tr2'), 'application/json', {
    expect: '100-continue',
  }),
];

const LONG = 'x'.repeat(253);
const paths: readonly Call[] = [
  `${CORE}/configmaps/${LONG}`,
  `${CORE}/configmaps/${LONG}x`,
  `${CORE}/configmaps/${'x'.repeat(5000)}`,
  `/api/v1/namespaces/${'x'.repeat(300)}/configmaps`,
  `/apis/${'x'.repeat(300)}/v1`,
  `${CORE}/configmaps/A_B`,
  `${CORE}/configmaps/a%20b`,
  `${CORE}/configmaps/a%2fb`,
  `${CORE}/configmaps/%E2%82%AC`,
  `${CORE}/configmaps/%ff`,
  `${CORE}/configmaps/a;b`,
  `${CORE}/configmaps/a:b`,
  `${CORE}/configmaps/a@b`,
  `${CORE}/configmaps/a+b`,
  `${CORE}/configmaps/%74r`,
  `${CORE}/config%6Daps/tr`,
  `${CORE}/configmaps/tr/`,
  `${CORE}/configmaps/tr/status`,
  `${CORE}/configmaps/tr/status/x`,
  `${CORE}/configmaps/tr//`,
  `${CORE}/ConfigMaps/tr`,
  `${CORE}/configmaps/.`,
  '/api/v1/namespaces/default/',
  '/api/v1/namespaces/',
  '/api/v1/namespaces/default/configmaps?',
  '/api/v1/namespaces/default/configmaps/tr?&&',
  '/api/v1/namespaces/default/configmaps/tr?a=b=c&x',
  '/api/v1/namespaces/default/configmaps/tr?resourceVersion=0&resourceVersion=x',
  '/api/v1/namespaces/default/configmaps/tr?resourceVersion=x&resourceVersion=0',
  '/api/v1/namespaces/default/configmaps/tr?resourceversion=x',
  '/api/v1/namespaces/default/configmaps/tr?%zz=1',
  '/api/v1/namespaces/default/configmaps/tr?a=%zz',
  '/api/v1/namespaces/default/configmaps/tr?a;b',
  '/api/v1/namespaces/default/configmaps/tr?pretty=true;resourceVersion=x',
  '/api/v1/namespaces/default/configmaps?limit=1;limit=2',
  '/api/v1/namespaces/default/configmaps?limit=2&limit=x&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?limit=%20&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?limit=1e3&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?limit=9223372036854775808&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeoutSeconds=9223372036854775808&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeoutSeconds=-1&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeoutSeconds=0&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeout=1s&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeout=x&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeout=-1s&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeout=0&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeout=100h&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?timeout=30&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?watch=TRUE&timeoutSeconds=1&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?watch=t&timeoutSeconds=1&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?watch=yes&timeoutSeconds=1&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?watch&timeoutSeconds=1&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?watch=False&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?allowWatchBookmarks=maybe&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?resourceVersion=01&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?resourceVersion=%2B1&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?resourceVersion=1.0&labelSelector=none',
  '/api/v1/namespaces/default/configmaps?resourceVersion=18446744073709551616&labelSelector=none',
  ...['18446744073709551615', '9223372036854775807'].map(
    (revision) =>
      `${CORE}/configmaps?resourceVersion=${revision}&labelSelector=none&resourceVersionMatch=Exact`,
  ),
  '/api/v1/namespaces/default/configmaps?resourceVersion=9223372036854775807&watch=1&timeoutSeconds=1',
  '/api/v1/namespaces/default/configmaps?labelSelector=%ff',
  '/api/v1/namespaces/default/configmaps?labelSelector=%00',
  '/api/v1/namespaces/default/configmaps?labelSelector=a%3D%E2%82%AC',
  `/api/v1/namespaces/default/configmaps?labelSelector=${'a%3Db,'.repeat(500)}c`,
  `/api/v1/namespaces/default/configmaps?fieldSelector=${'metadata.name%3Db,'.repeat(300)}metadata.name%3Db`,
  '/api/v1/watch/configmaps?timeoutSeconds=1&labelSelector=none',
  '/api/v1/watch/namespaces/default/configmaps/none?timeoutSeconds=1',
  '/api/v1/watch/namespaces?timeoutSeconds=1&labelSelector=none',
  '/api/v1/watch/namespaces/default?timeoutSeconds=1&labelSelector=none',
  '/api/v1/watch/nodes/none?timeoutSeconds=1',
  '/api/v1/watch/nodes/none/status?timeoutSeconds=1',
  '/api/v1/watch',
  '/api/v1/watch/',
  '/apis/apps/v1/watch/namespaces/default/deployments?timeoutSeconds=1&labelSelector=none',
  '/apis/apps/v1/watch/deployments/x',
].map((path) => get(path));

const configMapMessage = messageOf('v1', 'ConfigMap')!;
const asProtobuf = (name: string): Buffer => encodeProtobuf(configMapMessage, configMap(name));

/** Returns the body with bytes at the end of its envelope, where unknown fields may be. */
const withTail = (bytes: Buffer, ...tail: readonly number[]): Buffer =>
  Buffer.concat([bytes, Buffer.from(tail)]);

/** Returns the envelope of a ConfigMap with these bytes as its message. */
function envelope(kind: string, message: readonly number[], apiVersion = 'v1'): Buffer {
  const field = (number: number, bytes: Uint8Array): Buffer =>
    Buffer.concat([Buffer.from([number * 8 + 2, bytes.length]), bytes]);
  const type = Buffer.concat([field(1, Buffer.from(apiVersion)), field(2, Buffer.from(kind))]);
  return Buffer.concat([
    Buffer.from([0x6b, 0x38, 0x73, 0]),
    field(1, type),
    field(2, Buffer.from(message)),
  ]);
}

/** metadata: {name: tr3}, then a field 15 which ConfigMaps do not have. */
const NAMED = [0x0a, 0x05, 0x0a, 0x03, 0x74, 0x72, 0x33];

const binary = (method: string, path: string, body: Uint8Array, type = PROTOBUF): Call => ({
  method,
  path,
  headers: { 'content-type': type },
  body,
});
const bytes = (...values: readonly number[]): Buffer => Buffer.from(values);
const C = `${CORE}/configmaps?dryRun=All`;

const bodies: readonly Call[] = [
  binary('POST', C, asProtobuf('tr3')),
  binary('POST', `${C}&fieldValidation=Strict`, asProtobuf('tr3')),
  {
    ...binary('POST', C, asProtobuf('tr3')),
    headers: { 'content-type': PROTOBUF, accept: PROTOBUF },
  },
  binary('POST', C, withTail(asProtobuf('tr3'), 0x78, 0x01)),
  binary('POST', C, withTail(asProtobuf('tr3'), 0x07)),
  binary('POST', C, asProtobuf('tr3').subarray(0, 20)),
  binary('POST', C, asProtobuf('tr3').subarray(0, 4)),
  binary('POST', C, bytes(0x6b, 0x38, 0x73)),
  binary('POST', C, bytes(0)),
  binary('POST', C, envelope('ConfigMap', NAMED)),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x78, 0x01])),
  binary('POST', `${C}&fieldValidation=Strict`, envelope('ConfigMap', [...NAMED, 0x78, 0x01])),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x7a, 0x02, 1, 2])),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x7a, 0x20, 1, 2])),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x7b, 0x7c])),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x7b])),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x7d, 1, 2, 3, 4])),
  binary('POST', C, envelope('ConfigMap', [...NAMED, 0x02, 0x01, 0x00])),
  binary('POST', C, envelope('ConfigMap', [0x08, 0x01])),
  binary(
    'POST',
    C,
    envelope('ConfigMap', [0x0a, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]),
  ),
  binary('POST', C, envelope('ConfigMap', [...NAMED, ...NAMED])),
  binary('POST', C, envelope('ConfigMap', [0x0a, 0x05, 0x0a, 0x03, 0xff, 0xfe, 0x33])),
  binary('POST', C, envelope('Secret', NAMED)),
  binary('POST', C, envelope('Nothing', NAMED)),
  binary('POST', C, envelope('', NAMED)),
  binary('POST', C, envelope('ConfigMap', NAMED, '')),
  binary('POST', C, envelope('ConfigMap', NAMED, 'v2')),
  binary('POST', C, asProtobuf('tr3'), 'application/json'),
  binary('POST', C, asProtobuf('tr3'), 'application/yaml'),
  binary('PUT', `${SMALL}?dryRun=All`, asProtobuf('tr')),
  binary('PUT', `${SMALL}?dryRun=All`, asProtobuf('other')),
  binary('PATCH', SMALL, asProtobuf('tr')),
  binary('POST', `${CORE}/pods/none/eviction`, envelope('Eviction', NAMED, 'policy/v1')),
  // {"metadata":{"name":"tr3"}} in CBOR.
  binary(
    'POST',
    C,
    bytes(
      0xa1,
      0x68,
      ...Buffer.from('metadata'),
      0xa1,
      0x64,
      ...Buffer.from('name'),
      0x63,
      ...Buffer.from('tr3'),
    ),
    CBOR,
  ),
  get(SMALL, CBOR),
  get(SMALL, `${CBOR}, application/json`),
  get(`${CORE}/configmaps?watch=1&timeoutSeconds=1&labelSelector=none`, 'application/cbor-seq'),
  binary('PATCH', `${SMALL}?fieldManager=a`, bytes(0xa0), 'application/apply-patch+cbor'),
  binary('DELETE', `${SMALL}?dryRun=All`, bytes(0x6b, 0x38, 0x73, 0), PROTOBUF),
  binary(
    'POST',
    C,
    Buffer.from('{"metadata":{"name":"tr3"},"data":{"a":"\xff"}}', 'latin1'),
    'application/json',
  ),
  binary(
    'POST',
    C,
    Buffer.from('metadata: {name: tr3}\ndata: {a: "\xff"}\n', 'latin1'),
    'application/yaml',
  ),
  binary(
    'POST',
    C,
    Buffer.from('{"metadata":{"name":"tr3"},"data":{"\\u0000":"x"}}'),
    'application/json',
  ),
  binary(
    'POST',
    C,
    Buffer.from('{"metadata":{"name":"tr3"},"data":{"a":"\\ud800"}}'),
    'application/json',
  ),
  binary('POST', C, Buffer.from('{"metadata":{"name":"tr3",}}'), 'application/json'),
  binary('POST', C, Buffer.from("{'metadata':{'name':'tr3'}}"), 'application/json'),
  binary('POST', C, Buffer.from('{"metadata":{"name":"tr3"}}{"a":1}'), 'application/json'),
  binary('POST', C, Buffer.from('  \n {"metadata":{"name":"tr3"}} \n'), 'application/json'),
  binary('POST', C, Buffer.from('{"METADATA":{"Name":"tr3"}}'), 'application/json'),
  binary('POST', C, Buffer.from('{"metadata":{"name":"tr3"},"immutable":1}'), 'application/json'),
  binary('POST', C, Buffer.from('metadata:\n\tname: tr3\n'), 'application/yaml'),
  binary('POST', C, Buffer.from('metadata: {name: tr3}\ndata: {a: 1}\n'), 'application/yaml'),
  binary(
    'POST',
    C,
    Buffer.from('metadata: {name: tr3}\ndata: {a: on, b: ~}\n'),
    'application/yaml',
  ),
  binary(
    'POST',
    C,
    Buffer.from('metadata: {name: tr3}\ndata: {a: !!binary aGVsbG8=}\n'),
    'application/yaml',
  ),
  binary('POST', C, Buffer.from('a: &a {name: tr3}\nmetadata: *a\n'), 'application/yaml'),
  binary('POST', C, Buffer.from('metadata: {name: tr3}\ndata: {<<: {a: b}}\n'), 'application/yaml'),
  binary('POST', C, Buffer.from('---\nmetadata: {name: tr3}\n---\nb: c\n'), 'application/yaml'),
  binary('POST', C, Buffer.from('# only a comment\n'), 'application/yaml'),
];

const DISCOVERY = 'g=apidiscovery.k8s.io';
const V2 = `application/json;${DISCOVERY};v=v2;as=APIGroupDiscoveryList`;
const V2BETA1 = `application/json;${DISCOVERY};v=v2beta1;as=APIGroupDiscoveryList`;
const accepts: readonly Call[] = [
  ...[
    `application/json;${DISCOVERY};v=v2;as=APIGroupDiscoveryList`,
    `application/json;${DISCOVERY};v=v2beta1;as=APIGroupDiscoveryList`,
    `application/json;${DISCOVERY};v=v2beta1;as=APIGroupDiscoveryList,application/json`,
    [V2, V2BETA1, 'application/json'].join(','),
    `application/json;v=v2;${DISCOVERY};as=APIGroupDiscoveryList`,
    `application/json;as=APIGroupDiscoveryList;v=v2;${DISCOVERY};profile=nopeer`,
    `application/json;${DISCOVERY};v=v2;as=APIGroupDiscoveryList;profile=nopeer`,
    `application/json;${DISCOVERY};v=v3;as=APIGroupDiscoveryList`,
    `application/json;${DISCOVERY};v=v3;as=APIGroupDiscoveryList,application/json`,
    `application/json;${DISCOVERY};v=v2;as=Other`,
    `application/yaml;${DISCOVERY};v=v2;as=APIGroupDiscoveryList`,
    `application/vnd.kubernetes.protobuf;${DISCOVERY};v=v2;as=APIGroupDiscoveryList`,
    `application/cbor;${DISCOVERY};v=v2;as=APIGroupDiscoveryList`,
    '*/*',
    'text/html',
    'application/json;q=0.1,application/vnd.kubernetes.protobuf',
  ].flatMap((accept) => [own(get('/api', accept)), own(get('/apis', accept))]),
  own(
    get('/apis', `application/json;${DISCOVERY};v=v2;as=APIGroupDiscoveryList`, {
      'if-none-match': '"x"',
    }),
  ),
  own(get('/api', undefined, { 'if-none-match': '*' })),
  own(get('/openapi/v3', undefined, { 'if-none-match': '*' })),
  own(get('/openapi/v2', undefined, { 'if-none-match': '"x"' })),
  own(get('/openapi/v3/apis/apps/v1?hash=')),
  own(get('/openapi/v3/apis/apps/v1?hash=x', 'application/json')),
  own(get('/openapi/v3/apis/apps/v1', 'text/html')),
  own(get('/openapi/v3/apis/apps/v1', '*/*')),
  own(
    get('/openapi/v3/apis/apps/v1', 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf'),
  ),
  own(get('/openapi/v3/apis/apps/v1/')),
  own(get('/openapi/v3/')),
  own(get('/openapi/v2/')),
  own(get('/openapi')),
  own(get('/metrics', 'application/openmetrics-text')),
  own(get('/metrics', 'application/openmetrics-text; version=1.0.0')),
  own(
    get(
      '/metrics',
      'application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited',
    ),
  ),
  own(get('/metrics', 'text/plain;version=0.0.4')),
  own(get('/metrics', 'text/html')),
  own(get('/metrics?name=x')),
  own(get('/metrics/')),
  own(get('/metrics/slis')),
  own(get('/metrics/none')),
  own(get('/healthz?verbose&exclude=etcd')),
  own(get('/healthz?verbose=true&exclude=etcd&exclude=ping')),
  own(get('/readyz?verbose&exclude=')),
  own(get('/livez?verbose&exclude=none')),
  own(get('/livez/etcd?exclude=etcd')),
  own(get('/livez/ping?exclude=ping')),
  get('/livez/ping?verbose&exclude=ping'),
  get('/healthz?verbose=false'),
  own(get('/version?timeout=1s')),
  own(get('/version?timeout=x')),
];

export const transportCalls: readonly Call[] = [
  post(`${CORE}/configmaps`, configMap('tr')),
  ...compression,
  ...methods,
  ...paths,
  ...bodies,
  ...accepts,
  post(`${CORE}/configmaps`, configMap(LONG)),
  post(`${CORE}/configmaps`, configMap(`${LONG}x`)),
  get(`${CORE}/configmaps/${LONG}`),
  remove(`${CORE}/configmaps/${LONG}`),
  ...['x'.repeat(260), 'A_', '-'].map((generateName) =>
    own(
      post(`${CORE}/configmaps?dryRun=All`, configMap('', { metadata: { generateName } })),
      'the name has random letters',
    ),
  ),
  remove(SMALL),
];
