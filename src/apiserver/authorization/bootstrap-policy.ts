// What the cluster's own parts may do, each no more than its work needs. Until RBAC is served, this is all that anybody may
// do who is not in system:masters.

import type { ResourceRule } from './authorizer.ts';
import type { Grant } from './rules.ts';

const READ = ['get', 'list', 'watch'] as const;

function rule(
  apiGroup: string,
  resources: readonly string[],
  verbs: readonly string[],
  resourceNames?: readonly string[],
): ResourceRule {
  return { verbs, apiGroups: [apiGroup], resources, ...(resourceNames && { resourceNames }) };
}

const EVENTS: readonly ResourceRule[] = [
  rule('', ['events'], ['create', 'patch', 'update']),
  rule('events.k8s.io', ['events'], ['create', 'patch', 'update']),
];

/** What nodes may do with objects. Which of them is up to NodeRestriction and to the rules about names there. */
const NODE: readonly ResourceRule[] = [
  ...EVENTS,
  rule('', ['nodes'], ['create', 'get', 'list', 'watch', 'update', 'patch']),
  rule('', ['nodes/status'], ['update', 'patch']),
  rule('', ['pods'], ['get', 'list', 'watch', 'create', 'delete']),
  rule('', ['pods/status'], ['update', 'patch']),
  rule('', ['pods/eviction'], ['create']),
  rule('', ['services', 'configmaps', 'secrets', 'persistentvolumeclaims', 'persistentvolumes'], READ),
  rule('', ['serviceaccounts'], ['get', 'list', 'watch']),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('coordination.k8s.io', ['leases'], ['get', 'create', 'update', 'patch', 'delete']),
  rule('node.k8s.io', ['runtimeclasses'], READ),
  rule('storage.k8s.io', ['csidrivers', 'csinodes', 'volumeattachments'], READ),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews', 'localsubjectaccessreviews'], ['create']),
  rule('certificates.k8s.io', ['certificatesigningrequests'], ['create', 'get', 'list', 'watch']),
  // A kubelet renews its own client certificate.
  rule('certificates.k8s.io', ['certificatesigningrequests/selfnodeclient'], ['create']),
];

const SCHEDULER: readonly ResourceRule[] = [
  ...EVENTS,
  rule('', ['nodes', 'namespaces', 'services', 'replicationcontrollers', 'persistentvolumeclaims', 'persistentvolumes'], READ),
  rule('', ['pods'], [...READ, 'delete']),
  rule('', ['pods/binding', 'bindings'], ['create']),
  rule('', ['pods/status'], ['update', 'patch']),
  rule('apps', ['replicasets', 'statefulsets'], READ),
  rule('policy', ['poddisruptionbudgets'], READ),
  rule('storage.k8s.io', ['storageclasses', 'csinodes', 'csidrivers', 'csistoragecapacities', 'volumeattachments'], READ),
  rule('coordination.k8s.io', ['leases'], ['create', 'get', 'list', 'watch', 'update', 'patch']),
];

/** Garbage collection and namespace deletion reach every resource; the rest of what controllers write is listed. */
const CONTROLLER_MANAGER: readonly ResourceRule[] = [
  ...EVENTS,
  { verbs: [...READ, 'delete', 'deletecollection', 'patch', 'update'], apiGroups: ['*'], resources: ['*'] },
  rule(
    '',
    ['pods', 'serviceaccounts', 'configmaps', 'secrets', 'endpoints', 'persistentvolumes', 'persistentvolumeclaims'],
    ['create'],
  ),
  rule('', ['serviceaccounts/token'], ['create']),
  rule('apps', ['replicasets', 'controllerrevisions'], ['create']),
  rule('batch', ['jobs'], ['create']),
  rule('resource.k8s.io', ['resourceclaims'], ['create']),
  rule('discovery.k8s.io', ['endpointslices'], ['create']),
  rule('coordination.k8s.io', ['leases'], ['create']),
  rule('certificates.k8s.io', ['signers'], ['approve'], ['kubernetes.io/kube-apiserver-client-kubelet']),
  rule(
    'certificates.k8s.io',
    ['signers'],
    ['sign'],
    [
      'kubernetes.io/kube-apiserver-client',
      'kubernetes.io/kube-apiserver-client-kubelet',
      'kubernetes.io/kubelet-serving',
      'kubernetes.io/legacy-unknown',
    ],
  ),
  rule('authentication.k8s.io', ['tokenreviews'], ['create']),
  rule('authorization.k8s.io', ['subjectaccessreviews'], ['create']),
];

const PROXY: readonly ResourceRule[] = [
  ...EVENTS,
  rule('', ['services', 'endpoints', 'nodes', 'namespaces', 'pods'], READ),
  rule('discovery.k8s.io', ['endpointslices'], READ),
];

const DISCOVERY_PATHS = ['/api', '/api/*', '/apis', '/apis/*', '/openapi', '/openapi/*', '/version', '/version/'];
const HEALTH_PATHS = ['/healthz', '/livez', '/readyz', '/version', '/version/'];
const HEALTH_DETAIL_PATHS = ['/healthz/*', '/livez/*', '/readyz/*'];

export const BOOTSTRAP_POLICY: readonly Grant[] = [
  {
    subject: { groups: ['system:masters'] },
    resources: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResources: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  },
  {
    subject: { groups: ['system:authenticated', 'system:unauthenticated'] },
    nonResources: [{ verbs: ['get', 'head'], nonResourceURLs: [...HEALTH_PATHS, ...HEALTH_DETAIL_PATHS] }],
  },
  {
    subject: { groups: ['system:authenticated'] },
    resources: [
      rule('authorization.k8s.io', ['selfsubjectaccessreviews', 'selfsubjectrulesreviews'], ['create']),
      rule('authentication.k8s.io', ['selfsubjectreviews'], ['create']),
    ],
    nonResources: [{ verbs: ['get', 'head'], nonResourceURLs: DISCOVERY_PATHS }],
  },
  { subject: { users: ['system:kube-controller-manager'] }, resources: CONTROLLER_MANAGER },
  { subject: { users: ['system:kube-scheduler'] }, resources: SCHEDULER },
  { subject: { users: ['system:kube-proxy', 'system:dns'] }, resources: PROXY },
  { subject: { groups: ['system:nodes'] }, resources: NODE },
  {
    // To the kubelets, as their client: what they ask back about the API server.
    subject: { users: ['system:apiserver'] },
    resources: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'] }],
    nonResources: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
  },
];
