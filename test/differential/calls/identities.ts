// Users and credentials: impersonation in all forms, tokens that are bound to objects, certificate signing
// requests, reviews of access and of rules.

import { type Call, configMap, CORE, get, patch, pod, post, put, remove } from './call.ts';

const AUTHENTICATION = '/apis/authentication.k8s.io/v1';
const AUTHORIZATION = '/apis/authorization.k8s.io/v1';
const RBAC = '/apis/rbac.authorization.k8s.io/v1';
const CSR = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const WHO = `${AUTHENTICATION}/selfsubjectreviews`;
const whoIs = (headers: Readonly<Record<string, string>>): Call =>
  post(WHO, { apiVersion: 'authentication.k8s.io/v1', kind: 'SelfSubjectReview' }, headers);

const impersonations: readonly Call[] = [
  {},
  { 'impersonate-user': 'alice' },
  { 'impersonate-user': '' },
  { 'impersonate-user': 'alice', 'impersonate-group': '' },
  { 'impersonate-user': 'alice', 'impersonate-group': 'system:authenticated' },
  { 'impersonate-user': 'alice', 'impersonate-group': 'system:unauthenticated' },
  { 'impersonate-user': 'alice', 'impersonate-group': 'system:masters' },
  { 'impersonate-user': 'system:anonymous' },
  { 'impersonate-user': 'system:anonymous', 'impersonate-group': 'g' },
  { 'impersonate-user': 'system:serviceaccount:default:default' },
  { 'impersonate-user': 'system:serviceaccount:default:default', 'impersonate-group': 'g' },
  { 'impersonate-user': 'system:serviceaccount:default:default', 'impersonate-uid': 'u' },
  { 'impersonate-user': 'system:serviceaccount:default' },
  { 'impersonate-user': 'system:serviceaccount:De:fault' },
  { 'impersonate-user': 'system:serviceaccount::' },
  { 'impersonate-user': 'system:node:n1' },
  { 'impersonate-user': 'system:node:n1', 'impersonate-group': 'system:nodes' },
  { 'impersonate-user': 'alice', 'impersonate-uid': 'u' },
  { 'impersonate-user': 'alice', 'impersonate-uid': '' },
  { 'impersonate-user': 'alice', 'impersonate-extra-a': 'b' },
  { 'impersonate-user': 'alice', 'impersonate-extra-A': 'b' },
  { 'impersonate-user': 'alice', 'impersonate-extra-a': '' },
  { 'impersonate-user': 'alice', 'impersonate-extra-': 'b' },
  { 'impersonate-user': 'alice', 'impersonate-extra-a%2fb': 'c' },
  { 'impersonate-user': 'alice', 'impersonate-extra-a%zz': 'c' },
  { 'impersonate-user': 'alice', 'impersonate-extra-a.b/c': 'c' },
  { 'impersonate-user': 'alice', 'impersonate-extra-example.com%2Froles': 'one' },
  { 'impersonate-user': 'alice', 'impersonate-other': 'x' },
  { 'impersonate-userextra-a': 'x' },
  { 'impersonate-user': 'a b' },
  { 'impersonate-user': 'x'.repeat(2000) },
  { 'impersonate-group': 'g' },
  { 'impersonate-uid': 'u' },
  { 'impersonate-extra-a': 'u' },
  { authorization: 'Bearer wrong' },
  { authorization: 'bearer wrong' },
  { authorization: 'Bearer' },
  { authorization: 'Bearer ' },
  { authorization: 'Basic YTpi' },
  { authorization: 'wrong' },
  { authorization: 'Bearer a.b.c' },
  { 'x-remote-user': 'alice' },
]
  // A header without a name is refused by Node.
  .filter((headers) => Object.keys(headers).every((name) => !name.includes('/')))
  .map((headers) => whoIs(headers as Readonly<Record<string, string>>));

/** May act as bob, as the group g, and with the extra value one of example.com/a, and no more. */
const actor: readonly Call[] = [
  post(`${RBAC}/clusterroles`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'id-actor' },
    rules: [
      { apiGroups: [''], resources: ['users'], resourceNames: ['bob'], verbs: ['impersonate'] },
      { apiGroups: [''], resources: ['groups'], resourceNames: ['g'], verbs: ['impersonate'] },
      {
        apiGroups: ['authentication.k8s.io'],
        resources: ['userextras/example.com/a'],
        resourceNames: ['one'],
        verbs: ['impersonate'],
      },
      {
        apiGroups: ['authentication.k8s.io'],
        resources: ['uids'],
        resourceNames: ['7'],
        verbs: ['impersonate'],
      },
    ],
  }),
  post(`${CORE}/serviceaccounts`, {
    apiVersion: 'v1',
    kind: 'ServiceAccount',
    metadata: { name: 'id' },
  }),
  post(`${RBAC}/clusterrolebindings`, {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'id-actor' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'id-actor' },
    subjects: [{ kind: 'ServiceAccount', name: 'id', namespace: 'default' }],
  }),
];

const withToken = (
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> => ({
  authorization: 'Bearer {token}',
  ...headers,
});
const TOKEN = `${CORE}/serviceaccounts/id/token`;
const request = (spec: object): Call => ({
  ...post(TOKEN, { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec }),
  part: withoutToken,
});

/** Returns the request without the token and its end. */
function withoutToken(body: unknown): unknown {
  const { status, ...rest } = body as { readonly status: object };
  return { ...rest, status: Object.keys(status) };
}

const whoAmI = (headers: Readonly<Record<string, string>> = {}): Call => ({
  ...whoIs(withToken(headers)),
  part: withoutCredential,
});

/** Returns the review without the token's ID, which is in the extra values. */
function withoutCredential(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body)
      .replaceAll(/JTI=[0-9a-f-]+/g, 'JTI')
      .replaceAll(/"uid":"[0-9a-f-]+"/g, '"uid":"UID"'),
  );
}

const reviewToken = (spec: object): Call => ({
  ...post(`${AUTHENTICATION}/tokenreviews`, {
    apiVersion: 'authentication.k8s.io/v1',
    kind: 'TokenReview',
    spec: { token: '{token}', ...spec },
  }),
  part: (body) => {
    const { status } = body as { readonly status: unknown };
    return withoutCredential(status);
  },
});

const tokens: readonly Call[] = [
  request({}),
  whoAmI(),
  whoAmI({ 'impersonate-user': 'bob' }),
  whoAmI({ 'impersonate-user': 'eve' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-group': 'g' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-group': 'h' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-extra-example.com%2fa': 'one' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-extra-example.com%2fa': 'two' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-extra-b': 'two' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-uid': '7' }),
  whoAmI({ 'impersonate-user': 'bob', 'impersonate-uid': '8' }),
  whoAmI({ 'impersonate-user': 'system:serviceaccount:default:other' }),
  get(`${CORE}/configmaps`, undefined, withToken({})),
  reviewToken({}),
  reviewToken({ audiences: ['other'] }),
  reviewToken({ audiences: ['other', 'https://kubernetes.default.svc.cluster.local'] }),
  request({ audiences: ['other'] }),
  whoAmI(),
  reviewToken({}),
  reviewToken({ audiences: ['other'] }),
  post(`${CORE}/pods`, pod('id', { serviceAccountName: 'id' })),
  request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'id' } }),
  whoAmI(),
  reviewToken({}),
  request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'id', uid: 'x' } }),
  request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v2', name: 'id' } }),
  request({ boundObjectRef: { kind: 'Pod', name: 'id' } }),
  request({ boundObjectRef: { kind: 'pod', apiVersion: 'v1', name: 'id' } }),
  post(`${CORE}/pods`, pod('id2')),
  request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'id2' } }),
  request({ boundObjectRef: { kind: 'Pod', apiVersion: 'v1', name: 'id' } }),
  remove(`${CORE}/pods/id?gracePeriodSeconds=0`),
  remove(`${CORE}/pods/id2?gracePeriodSeconds=0`),
  reviewToken({}),
  whoAmI(),
  post(`${CORE}/secrets`, { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'id' } }),
  request({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'id' } }),
  whoAmI(),
  reviewToken({}),
  // Upstream remembers a token that it has seen for ten seconds, so the last one is new.
  request({ boundObjectRef: { kind: 'Secret', apiVersion: 'v1', name: 'id' } }),
  remove(`${CORE}/secrets/id`),
  reviewToken({}),
  post('/api/v1/nodes', { apiVersion: 'v1', kind: 'Node', metadata: { name: 'id' } }),
  request({ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'id' } }),
  whoAmI(),
  reviewToken({}),
  request({ boundObjectRef: { kind: 'Node', apiVersion: 'v1', name: 'id' } }),
  remove('/api/v1/nodes/id'),
  reviewToken({}),
  request({}),
  reviewToken({ token: 'a.b.c' }),
  reviewToken({ token: '' }),
  remove(`${CORE}/serviceaccounts/id`),
  whoAmI(),
  remove(`${RBAC}/clusterroles/id-actor`),
  remove(`${RBAC}/clusterrolebindings/id-actor`),
];

/** Requests of O=system:nodes, CN=system:node:n1; the same for DNS:n1 and IP:10.0.0.1; CN=alice. */
const REQUESTS = {
  node:
    'MIHrMIGSAgEAMDAxFTATBgNVBAoMDHN5c3RlbTpub2RlczEXMBUGA1UEAwwOc3lzdGVtOm5vZGU6bjEwWTATBgcqhkjOPQIBBggqhkjO' +
    'PQMBBwNCAASzcd35hOg9D7+xF9CY5sDxZslS1HoLZXwHW6o+8RYgb2gJSAM56Ca8HpCaNEXWsl7F1FSeRO8unxtwfPpEBN5LoAAwCgYI' +
    'KoZIzj0EAwIDSAAwRQIhAIDmWHUwA+JVnuyGuiheXR3eoKm1a0g3b7fLIJo1GApxAiAdB3rf6UgKhx5SEmNRKPC9c/E4vlCnSc81DejnMpXINg==',
  serving:
    'MIIBETCBuAIBADAwMRUwEwYDVQQKDAxzeXN0ZW06bm9kZXMxFzAVBgNVBAMMDnN5c3RlbTpub2RlOm4xMFkwEwYHKoZIzj0CAQYIKoZI' +
    'zj0DAQcDQgAEs3Hd+YToPQ+/sRfQmObA8WbJUtR6C2V8B1uqPvEWIG9oCUgDOegmvB6QmjRF1rJexdRUnkTvLp8bcHz6RATeS6AmMCQG' +
    'CSqGSIb3DQEJDjEXMBUwEwYDVR0RBAwwCoICbjGHBAoAAAEwCgYIKoZIzj0EAwIDSAAwRQIhAN868z8A2wogtTCVyM7FPQk+ukpp7gem' +
    'sD356upFUuNAAiAnc7Ve9Tuaz2hpUdc7FMAjptcnpsVxUtRKEcM0z5AoLw==',
  user:
    'MIHLMHICAQAwEDEOMAwGA1UEAwwFYWxpY2UwWTATBgcqhkjOPQIBBggqhkjOPQMBBwNCAASzcd35hOg9D7+xF9CY5sDxZslS1HoLZXwH' +
    'W6o+8RYgb2gJSAM56Ca8HpCaNEXWsl7F1FSeRO8unxtwfPpEBN5LoAAwCgYIKoZIzj0EAwIDSQAwRgIhANSII4jh5wEJe1c1+iA/N362' +
    '9SzHarFxehVGHFdfsiKAiEAi/LAuMcq7Nn/jEHSpLhye+31SYK4sEyDJzkUcNxlzUs=',
};
const pem = (body: string, type = 'CERTIFICATE REQUEST'): string =>
  Buffer.from(
    `-----BEGIN ${type}-----\n${body.replaceAll(/(.{64})/g, '$1\n')}\n-----END ${type}-----\n`,
  ).toString('base64');
const signing = (spec: object, more: object = {}): object => ({
  apiVersion: 'certificates.k8s.io/v1',
  kind: 'CertificateSigningRequest',
  metadata: { name: 'id' },
  spec: {
    request: pem(REQUESTS.user),
    signerName: 'example.com/signer',
    usages: ['client auth'],
    ...spec,
  },
  ...more,
});
const condition = (type: string, more: object = {}): object => ({
  type,
  status: 'True',
  reason: 'R',
  message: 'm',
  ...more,
});
const conditions = (...items: readonly object[]): object => ({ status: { conditions: items } });
const CLIENT = 'kubernetes.io/kube-apiserver-client';
const KUBELET = 'kubernetes.io/kube-apiserver-client-kubelet';
const SERVING = 'kubernetes.io/kubelet-serving';
const D = `${CSR}?dryRun=All`;

const signingRequests: readonly Call[] = [
  ...[
    {},
    { request: '' },
    { request: 'AAAA' },
    { request: pem('AAAA') },
    { request: pem(REQUESTS.user, 'CERTIFICATE') },
    { request: pem(REQUESTS.user, 'NEW CERTIFICATE REQUEST') },
    {
      request: Buffer.from(`x\n${Buffer.from(pem(REQUESTS.user), 'base64').toString()}`).toString(
        'base64',
      ),
    },
    { request: pem(REQUESTS.user) + pem(REQUESTS.user) },
    { signerName: '' },
    { signerName: 'x' },
    { signerName: 'kubernetes.io/other' },
    { signerName: 'kubernetes.io/legacy-unknown' },
    { signerName: 'a/b/c' },
    { signerName: 'A.com/b' },
    { usages: [] },
    { usages: ['x'] },
    { usages: ['client auth', 'client auth'] },
    { expirationSeconds: 599 },
    { expirationSeconds: 600 },
    { username: 'forged', groups: ['system:masters'], uid: 'x', extra: { a: ['b'] } },
    { signerName: CLIENT },
    { signerName: CLIENT, request: pem(REQUESTS.node) },
    { signerName: KUBELET, request: pem(REQUESTS.node) },
    {
      signerName: KUBELET,
      request: pem(REQUESTS.node),
      usages: ['digital signature', 'client auth'],
    },
    { signerName: KUBELET, request: pem(REQUESTS.serving) },
    { signerName: SERVING, request: pem(REQUESTS.serving) },
    {
      signerName: SERVING,
      request: pem(REQUESTS.serving),
      usages: ['digital signature', 'server auth'],
    },
    { signerName: SERVING, request: pem(REQUESTS.node) },
  ].map((spec) => post(D, signing(spec))),
  post(CSR, signing({}, { status: { certificate: 'AAAA', conditions: [condition('Approved')] } })),
  get(`${CSR}/id`),
  patch(`${CSR}/id`, { spec: { usages: ['server auth'] } }),
  patch(`${CSR}/id`, { metadata: { labels: { a: 'b' } } }),
  patch(`${CSR}/id`, conditions(condition('Approved'))),
  patch(`${CSR}/id/status`, conditions(condition('Approved'))),
  patch(`${CSR}/id/approval`, conditions(condition('Approved', { status: 'False' }))),
  patch(`${CSR}/id/approval`, conditions(condition('Approved', { status: '' }))),
  patch(`${CSR}/id/approval`, conditions(condition('Approved'), condition('Denied'))),
  patch(`${CSR}/id/approval`, conditions(condition('Approved'), condition('Approved'))),
  patch(`${CSR}/id/approval`, conditions(condition(''))),
  patch(`${CSR}/id/approval?dryRun=All`, conditions(condition('Denied'))),
  patch(`${CSR}/id/approval`, {
    metadata: { labels: { c: 'd' } },
    ...conditions(condition('Approved')),
  }),
  put(`${CSR}/id/approval`, signing({}, conditions())),
  put(`${CSR}/id/approval`, signing({}, conditions(condition('Denied')))),
  patch(`${CSR}/id/approval`, { status: { certificate: 'AAAA' } }),
  patch(`${CSR}/id/status`, { status: { certificate: 'AAAA' } }),
  patch(`${CSR}/id/status`, { status: { certificate: pem('AAAA', 'CERTIFICATE') } }),
  patch(`${CSR}/id/status`, conditions(condition('Approved'), condition('Failed'))),
  patch(`${CSR}/id/status`, conditions(condition('Approved'))),
  patch(`${CSR}/id/status`, { status: { conditions: null } }),
  get(`${CSR}/id`),
  get(`${CSR}/id/approval`),
  get(`${CSR}?fieldSelector=spec.signerName%3Dexample.com%2Fsigner`),
  get(`${CSR}?fieldSelector=spec.signerName%3Dother`),
  get(`${CSR}/id`, 'application/json;as=Table;v=v1;g=meta.k8s.io'),
  post(CSR, signing({}), { 'impersonate-user': 'alice' }),
  patch(`${CSR}/id/approval`, conditions(condition('Approved'))),
  remove(`${CSR}/id`),
];

const review = (path: string, kind: string, spec: object, user?: string): Call =>
  post(
    `${AUTHORIZATION}/${path}`,
    { apiVersion: 'authorization.k8s.io/v1', kind, spec },
    user === undefined ? {} : { 'impersonate-user': user },
  );
const rules = (spec: object, user?: string): Call =>
  review('selfsubjectrulesreviews', 'SelfSubjectRulesReview', spec, user);
const access = (spec: object): Call => review('subjectaccessreviews', 'SubjectAccessReview', spec);
const pods = { verb: 'list', resource: 'pods' };

const reviews: readonly Call[] = [
  rules({ namespace: 'default' }),
  rules({ namespace: 'default' }, 'alice'),
  rules({ namespace: 'none' }, 'alice'),
  rules({ namespace: '' }, 'alice'),
  rules({ namespace: 'default' }, 'system:anonymous'),
  rules({ namespace: 'default' }, 'system:kube-scheduler'),
  rules({ namespace: 'kube-system' }, 'system:kube-controller-manager'),
  rules({ namespace: 'kube-system' }, 'system:serviceaccount:kube-system:job-controller'),
  post(`${AUTHORIZATION}/selfsubjectrulesreviews?dryRun=All`, { spec: { namespace: 'default' } }),
  post(`${AUTHORIZATION}/selfsubjectrulesreviews?fieldValidation=Strict`, { spec: { x: 1 } }),
  post(`${AUTHORIZATION}/selfsubjectrulesreviews`, {
    metadata: { name: 'x', namespace: 'y' },
    spec: {},
  }),
  get(`${AUTHORIZATION}/selfsubjectrulesreviews`),
  ...[
    { user: 'x' },
    { user: 'x', resourceAttributes: pods },
    { user: '', groups: [], resourceAttributes: pods },
    {
      groups: ['system:masters'],
      resourceAttributes: { ...pods, verb: '*', resource: '*', group: '*' },
    },
    { user: 'x', uid: 'u', extra: { a: ['b'] }, resourceAttributes: pods },
    {
      user: 'x',
      resourceAttributes: { verb: 'get', resource: 'pods', subresource: 'log', name: 'a' },
    },
    { user: 'x', nonResourceAttributes: { path: '/healthz/etcd', verb: 'get' } },
    { user: 'x', nonResourceAttributes: { path: '', verb: '' } },
    {
      user: 'system:kube-scheduler',
      resourceAttributes: { verb: 'create', resource: 'pods', subresource: 'binding' },
    },
    {
      user: 'system:node:n',
      groups: ['system:nodes'],
      resourceAttributes: { verb: 'get', resource: 'secrets', namespace: 'a', name: 'b' },
    },
    {
      user: 'system:node:n',
      groups: ['system:nodes'],
      resourceAttributes: { verb: 'list', resource: 'pods' },
    },
    {
      user: 'system:node:n',
      groups: ['system:nodes'],
      resourceAttributes: {
        ...pods,
        fieldSelector: { requirements: [{ key: 'spec.nodeName', operator: 'In', values: ['n'] }] },
      },
    },
    { user: 'x', resourceAttributes: { ...pods, fieldSelector: { rawSelector: 'a=b,' } } },
    { user: 'x', resourceAttributes: { ...pods, fieldSelector: { rawSelector: 'a in (b' } } },
    { user: 'x', resourceAttributes: { ...pods, fieldSelector: {} } },
    { user: 'x', resourceAttributes: { ...pods, labelSelector: {} } },
    { user: 'x', resourceAttributes: { ...pods, labelSelector: { rawSelector: 'a in (' } } },
    {
      user: 'x',
      resourceAttributes: {
        ...pods,
        labelSelector: { requirements: [{ key: '', operator: 'In' }] },
      },
    },
    {
      user: 'x',
      resourceAttributes: {
        ...pods,
        fieldSelector: { requirements: [{ key: 'a', operator: 'In', values: [] }] },
      },
    },
    {
      user: 'x',
      resourceAttributes: {
        ...pods,
        fieldSelector: { requirements: [{ key: 'a', operator: 'Exists', values: ['x'] }] },
      },
    },
    {
      user: 'x',
      resourceAttributes: {
        ...pods,
        fieldSelector: { requirements: [{ key: 'a', operator: 'Gt', values: ['1'] }] },
      },
    },
  ].map(access),
  review('selfsubjectaccessreviews', 'SelfSubjectAccessReview', {}, 'alice'),
  review('selfsubjectaccessreviews', 'SelfSubjectAccessReview', { resourceAttributes: {} }),
  review('selfsubjectaccessreviews', 'SubjectAccessReview', { resourceAttributes: pods }),
  review('namespaces/default/localsubjectaccessreviews', 'LocalSubjectAccessReview', {
    user: 'x',
    resourceAttributes: pods,
  }),
  review('namespaces/none/localsubjectaccessreviews', 'LocalSubjectAccessReview', {
    user: 'x',
    resourceAttributes: { ...pods, namespace: 'none' },
  }),
  review('namespaces/default/localsubjectaccessreviews', 'LocalSubjectAccessReview', {
    user: 'x',
    nonResourceAttributes: { path: '/', verb: 'get' },
  }),
  post(`${AUTHENTICATION}/tokenreviews?dryRun=All`, { spec: { token: 'x' } }),
  post(`${AUTHENTICATION}/tokenreviews`, { metadata: { name: 'a' }, spec: { token: 'x' } }),
  post(`${AUTHENTICATION}/tokenreviews`, configMap('x')),
];

export const identityCalls: readonly Call[] = [
  ...impersonations,
  ...actor,
  ...tokens,
  ...signingRequests,
  ...reviews,
];
