// ABAC before RBAC, for several users.

import { as, type Call, configMap, CORE, get, post, remove } from '../calls/call.ts';
import type { Settings } from './servers.ts';

const policy = (spec: object): object => ({
  apiVersion: 'abac.authorization.kubernetes.io/v1beta1',
  kind: 'Policy',
  spec,
});
const ALL = { namespace: '*', resource: '*', apiGroup: '*' };

export const ABAC_SETTINGS: Settings = {
  plugins: [],
  admission: { apiVersion: 'apiserver.config.k8s.io/v1', kind: 'AdmissionConfiguration' },
  authorizationModes: ['ABAC', 'RBAC'],
  policies: [
    policy({ user: 'alice', ...ALL }),
    policy({ user: 'bob', ...ALL, readonly: true }),
    policy({ user: 'carl', namespace: 'default', resource: 'configmaps', apiGroup: '' }),
    policy({ user: 'dora', namespace: '*', resource: 'deployments', apiGroup: 'apps' }),
    policy({ group: 'viewers', nonResourcePath: '/version', readonly: true }),
    policy({ group: 'probers', nonResourcePath: '/health*' }),
    policy({ user: '*', nonResourcePath: '/readyz', readonly: true }),
    policy({ group: 'system:authenticated', nonResourcePath: '*', readonly: true, user: 'emil' }),
    policy({ user: 'fred', group: 'admins', ...ALL }),
    // Without a namespace: resources of the cluster only.
    policy({ user: 'gina', resource: 'nodes', apiGroup: '' }),
    policy({ user: 'hugo', namespace: 'default', resource: '*', apiGroup: '' }),
  ],
};

const users = ['alice', 'bob', 'carl', 'dora', 'emil', 'fred', 'gina', 'hugo', 'nobody'] as const;
const paths = [
  `${CORE}/configmaps`,
  `${CORE}/configmaps/none`,
  `${CORE}/configmaps?watch=1&timeoutSeconds=1&limit=1`,
  '/api/v1/namespaces/kube-system/configmaps/none',
  '/api/v1/configmaps?limit=1',
  `${CORE}/pods/none/log`,
  '/apis/apps/v1/namespaces/default/deployments',
  '/api/v1/nodes',
  '/api/v1/namespaces/none',
  '/version',
  '/healthz',
  '/readyz',
  '/metrics/slis',
  '/api',
];
const review = (attributes: object): object => ({
  apiVersion: 'authorization.k8s.io/v1',
  kind: 'SelfSubjectAccessReview',
  spec: attributes,
});
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const RULES = '/apis/authorization.k8s.io/v1/selfsubjectrulesreviews';

const reads = users.flatMap((user) =>
  paths.map((path): Call => ({
    ...as(user, get(path)),
    // The texts of both are of their own; who may read them is compared.
    ...(/^\/(metrics|version|api$)/.test(path) && {
      contentDiffers: 'the server describes itself',
    }),
  })),
);
const writes = users.flatMap((user) => [
  as(user, post(`${CORE}/configmaps`, configMap(`of-${user}`))),
  as(user, remove(`${CORE}/configmaps/of-${user}`)),
  as(user, remove(`${CORE}/configmaps?labelSelector=a%3Db`)),
  as(user, post('/api/v1/namespaces/kube-public/configmaps?dryRun=All', configMap('x'))),
]);
const groups = [
  as('zoe', get('/version'), 'viewers'),
  as('zoe', get('/healthz'), 'probers'),
  as('zoe', get('/healthz/ping'), 'probers'),
  as('fred', get(`${CORE}/configmaps/none`), 'admins'),
  as('zoe', get(`${CORE}/configmaps/none`), 'admins'),
].map((call): Call => ({
  ...call,
  ...(call.path === '/version' && { contentDiffers: 'versions' }),
}));
const reviews = users.flatMap((user) => [
  as(
    user,
    post(
      REVIEWS,
      review({ resourceAttributes: { verb: 'get', resource: 'configmaps', namespace: 'default' } }),
    ),
  ),
  as(
    user,
    post(REVIEWS, review({ resourceAttributes: { verb: 'delete', resource: 'nodes', name: 'n' } })),
  ),
  as(user, post(REVIEWS, review({ nonResourceAttributes: { verb: 'get', path: '/readyz' } }))),
  as(
    user,
    post(RULES, {
      apiVersion: 'authorization.k8s.io/v1',
      kind: 'SelfSubjectRulesReview',
      spec: { namespace: 'default' },
    }),
  ),
]);

export const ABAC_CALLS: Readonly<Record<string, readonly Call[]>> = {
  'abac-reads': reads,
  'abac-writes': writes,
  'abac-groups': groups,
  'abac-reviews': reviews,
};
