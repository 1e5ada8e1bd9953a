// The cluster roles of users and of the cluster's components, with their bindings. The rules are
// those of Kubernetes 1.36 with its default features.

import {
  account,
  aggregatedRole,
  aggregateTo,
  bindCluster,
  can,
  canGet,
  clusterRole,
  EVENT_GROUPS,
  group,
  type NewClusterRole,
  type NewClusterRoleBinding,
  READ,
  user,
  WRITE,
  WRITE_EVENTS,
} from './words.ts';

const APPS = 'apps';
const BATCH = 'batch';
const CERTIFICATES = 'certificates.k8s.io';
const COORDINATION = 'coordination.k8s.io';
const DEVICES = 'resource.k8s.io';
const DISCOVERY = 'discovery.k8s.io';
const EXTENSIONS = 'extensions';
const KUBELET_CLIENT = 'system:coxswain:kubelet-client';
const NETWORKING = 'networking.k8s.io';
const NETWORK_POLICY = 'system:coxswain:network-policy';
const POLICY = 'policy';
const STORAGE = 'storage.k8s.io';

const REVIEW_TOKENS = can('create', 'authentication.k8s.io', 'tokenreviews');
const REVIEW_ACCESS = can('create', 'authorization.k8s.io', 'subjectaccessreviews');

/** Lets users who may view a namespace see the usage of its pods. */
export const METRICS_ROLES: readonly NewClusterRole[] = [
  clusterRole(
    'system:coxswain:aggregated-metrics-reader',
    [can(READ, 'metrics.k8s.io', 'nodes pods')],
    aggregateTo('view'),
  ),
];

const EDIT = [
  // Resources that give access to other resources are not in read-only roles.
  can(READ, '', 'pods/attach pods/proxy pods/exec pods/portforward secrets services/proxy'),
  can('impersonate', '', 'serviceaccounts'),
  can(WRITE, '', 'pods pods/attach pods/proxy pods/exec pods/portforward'),
  can('create', '', 'pods/eviction'),
  can(
    WRITE,
    '',
    'replicationcontrollers replicationcontrollers/scale serviceaccounts services ' +
      'services/proxy persistentvolumeclaims configmaps secrets',
  ),
  can('create', '', 'serviceaccounts/token'),
  can(WRITE, EVENT_GROUPS, 'events'),
  can(
    WRITE,
    APPS,
    'statefulsets statefulsets/scale daemonsets deployments deployments/scale ' +
      'deployments/rollback replicasets replicasets/scale',
  ),
  can(WRITE, 'autoscaling', 'horizontalpodautoscalers'),
  can(WRITE, BATCH, 'jobs cronjobs'),
  can(
    WRITE,
    EXTENSIONS,
    'daemonsets deployments deployments/scale deployments/rollback ingresses replicasets ' +
      'replicasets/scale replicationcontrollers/scale networkpolicies',
  ),
  can(WRITE, POLICY, 'poddisruptionbudgets'),
  can(WRITE, NETWORKING, 'networkpolicies ingresses'),
  can(`${READ} ${WRITE}`, COORDINATION, 'leases'),
  can(WRITE, DEVICES, 'resourceclaims resourceclaimtemplates'),
];

const VIEW = [
  can(
    READ,
    '',
    'pods replicationcontrollers replicationcontrollers/scale serviceaccounts services ' +
      'services/status endpoints persistentvolumeclaims persistentvolumeclaims/status configmaps',
  ),
  can(
    READ,
    '',
    'limitranges resourcequotas bindings pods/status resourcequotas/status namespaces/status ' +
      'replicationcontrollers/status pods/log',
  ),
  // Bound within a namespace, this permits reading that namespace only.
  can(READ, '', 'namespaces'),
  can(READ, EVENT_GROUPS, 'events'),
  can(READ, DISCOVERY, 'endpointslices'),
  can(
    READ,
    APPS,
    'controllerrevisions statefulsets statefulsets/status statefulsets/scale daemonsets ' +
      'daemonsets/status deployments deployments/status deployments/scale replicasets ' +
      'replicasets/status replicasets/scale',
  ),
  can(READ, 'autoscaling', 'horizontalpodautoscalers horizontalpodautoscalers/status'),
  can(READ, BATCH, 'jobs cronjobs cronjobs/status jobs/status'),
  can(
    READ,
    EXTENSIONS,
    'daemonsets daemonsets/status deployments deployments/scale deployments/status ingresses ' +
      'ingresses/status replicasets replicasets/scale replicasets/status ' +
      'replicationcontrollers/scale networkpolicies',
  ),
  can(READ, POLICY, 'poddisruptionbudgets poddisruptionbudgets/status'),
  can(READ, NETWORKING, 'networkpolicies ingresses ingresses/status'),
  can(READ, DEVICES, 'resourceclaims resourceclaims/status resourceclaimtemplates'),
];

/** The permissions of kubelets, before the Node authorizer checks the object. */
export const NODE_RULES = [
  REVIEW_TOKENS,
  can('create', 'authorization.k8s.io', 'subjectaccessreviews localsubjectaccessreviews'),
  can(READ, '', 'services'),
  can('create get list watch', '', 'nodes'),
  can('update patch', '', 'nodes/status'),
  can('update patch', '', 'nodes'),
  WRITE_EVENTS,
  can(READ, '', 'pods'),
  can('create delete', '', 'pods'),
  can('update patch', '', 'pods/status'),
  can('create', '', 'pods/eviction'),
  can(READ, '', 'secrets configmaps'),
  can('get', '', 'persistentvolumeclaims persistentvolumes'),
  can('get', '', 'endpoints'),
  can('create get list watch', CERTIFICATES, 'certificatesigningrequests'),
  can('get create update patch delete', COORDINATION, 'leases'),
  can('get', STORAGE, 'volumeattachments'),
  can('create', '', 'serviceaccounts/token'),
  can('get update patch', '', 'persistentvolumeclaims/status'),
  can(READ, STORAGE, 'csidrivers'),
  can('get create update patch delete', STORAGE, 'csinodes'),
  can(READ, 'node.k8s.io', 'runtimeclasses'),
  can('get', DEVICES, 'resourceclaims'),
  can('deletecollection', DEVICES, 'resourceslices'),
  can('get', '', 'serviceaccounts'),
];

const MANAGER = [
  WRITE_EVENTS,
  can('create', COORDINATION, 'leases'),
  can('get update', COORDINATION, 'leases', 'kube-controller-manager'),
  can('create', '', 'secrets serviceaccounts'),
  can('delete', '', 'secrets'),
  can('get', '', 'namespaces secrets serviceaccounts configmaps'),
  can('update', '', 'secrets serviceaccounts'),
  REVIEW_TOKENS,
  REVIEW_ACCESS,
  // All controllers share the informers that need this.
  can('list watch', '*', '*'),
  can('create', '', 'serviceaccounts/token'),
];

const SCHEDULER = [
  WRITE_EVENTS,
  can('create', COORDINATION, 'leases'),
  can('get list update watch', COORDINATION, 'leases', 'kube-scheduler'),
  can(`${READ} ${WRITE}`, COORDINATION, 'leasecandidates'),
  can(READ, '', 'nodes'),
  can('get list watch delete', '', 'pods'),
  can('create', '', 'pods/binding bindings'),
  can('patch update', '', 'pods/status'),
  can(READ, '', 'services replicationcontrollers'),
  can(READ, [APPS, EXTENSIONS], 'replicasets'),
  can(READ, APPS, 'statefulsets'),
  can(READ, POLICY, 'poddisruptionbudgets'),
  can(READ, '', 'persistentvolumeclaims persistentvolumes'),
  REVIEW_TOKENS,
  REVIEW_ACCESS,
  can(READ, STORAGE, 'csinodes'),
  can(READ, STORAGE, 'volumeattachments'),
  can(READ, '', 'namespaces'),
  can(READ, STORAGE, 'csidrivers'),
  can(READ, STORAGE, 'csistoragecapacities'),
  can(READ, DEVICES, 'deviceclasses'),
  can('get list patch update watch', DEVICES, 'resourceclaims'),
  can('get list patch update watch', DEVICES, 'resourceclaims/status'),
  can('update', '', 'pods/finalizers'),
  can(READ, DEVICES, 'resourceslices'),
  // Claims for extended resources that devices provide.
  can('create delete', DEVICES, 'resourceclaims'),
  can('patch update', DEVICES, 'resourceclaims/binding'),
];

const approver = (name: string): NewClusterRole =>
  clusterRole(`system:certificates.k8s.io:${name}-approver`, [
    can('approve', CERTIFICATES, 'signers', `kubernetes.io/${name}`),
  ]);

export const CLUSTER_ROLES: readonly NewClusterRole[] = [
  clusterRole('cluster-admin', [can('*', '*', '*'), { verbs: ['*'], nonResourceURLs: ['*'] }]),
  clusterRole('system:discovery', [
    canGet(
      '/livez /readyz /healthz /version /version/ /openapi /openapi/* /api /api/* /apis /apis/*',
    ),
  ]),
  clusterRole('system:monitoring', [
    canGet(
      '/metrics /metrics/slis /livez /readyz /healthz /livez/* /readyz/* /healthz/* /flagz /statusz',
    ),
    can('get', '', 'nodes/metrics'),
  ]),
  clusterRole('system:basic-user', [
    can('create', 'authorization.k8s.io', 'selfsubjectaccessreviews selfsubjectrulesreviews'),
    can('create', 'authentication.k8s.io', 'selfsubjectreviews'),
  ]),
  clusterRole('system:public-info-viewer', [canGet('/livez /readyz /healthz /version /version/')]),
  aggregatedRole('admin'),
  aggregatedRole('edit', aggregateTo('admin')),
  aggregatedRole('view', aggregateTo('edit')),
  clusterRole(
    'system:aggregate-to-admin',
    [
      can('create', 'authorization.k8s.io', 'localsubjectaccessreviews'),
      can(`${READ} ${WRITE}`, 'rbac.authorization.k8s.io', 'roles rolebindings'),
    ],
    aggregateTo('admin'),
  ),
  clusterRole('system:aggregate-to-edit', EDIT, aggregateTo('edit')),
  clusterRole('system:aggregate-to-view', VIEW, aggregateTo('view')),
  clusterRole('system:heapster', [
    can(READ, '', 'events pods nodes namespaces'),
    can(READ, EXTENSIONS, 'deployments'),
  ]),
  clusterRole('system:node', NODE_RULES),
  clusterRole('system:node-problem-detector', [
    can('get', '', 'nodes'),
    can('patch', '', 'nodes/status'),
    WRITE_EVENTS,
  ]),
  clusterRole('system:kubelet-api-admin', [
    can(READ, '', 'nodes'),
    can('proxy', '', 'nodes'),
    can('*', '', 'nodes/proxy nodes/metrics nodes/stats nodes/log'),
    can('*', '', 'nodes/configz nodes/healthz nodes/pods'),
  ]),
  clusterRole('system:node-bootstrapper', [
    can('create get list watch', CERTIFICATES, 'certificatesigningrequests'),
  ]),
  clusterRole('system:auth-delegator', [REVIEW_TOKENS, REVIEW_ACCESS]),
  clusterRole('system:kube-aggregator', [can(READ, '', 'services endpoints')]),
  clusterRole('system:kube-controller-manager', MANAGER),
  clusterRole('system:kube-dns', [can('list watch', '', 'endpoints services')]),
  clusterRole('system:persistent-volume-provisioner', [
    can('get list watch create delete', '', 'persistentvolumes'),
    can('get list watch update', '', 'persistentvolumeclaims'),
    can(READ, STORAGE, 'storageclasses'),
    can('watch', '', 'events'),
    WRITE_EVENTS,
  ]),
  clusterRole('system:certificates.k8s.io:certificatesigningrequests:nodeclient', [
    can('create', CERTIFICATES, 'certificatesigningrequests/nodeclient'),
  ]),
  clusterRole('system:certificates.k8s.io:certificatesigningrequests:selfnodeclient', [
    can('create', CERTIFICATES, 'certificatesigningrequests/selfnodeclient'),
  ]),
  clusterRole('system:volume-scheduler', [
    can(`${READ} patch update`, '', 'persistentvolumes'),
    can(READ, STORAGE, 'storageclasses'),
    can(`${READ} patch update`, '', 'persistentvolumeclaims'),
  ]),
  approver('legacy-unknown'),
  approver('kubelet-serving'),
  approver('kube-apiserver-client'),
  approver('kube-apiserver-client-kubelet'),
  clusterRole('system:service-account-issuer-discovery', [
    canGet(
      '/.well-known/openid-configuration /.well-known/openid-configuration/ /openid/v1/jwks /openid/v1/jwks/',
    ),
  ]),
  clusterRole('system:node-proxier', [
    can('list watch', '', 'services endpoints'),
    can(READ, '', 'nodes'),
    WRITE_EVENTS,
    can('list watch', NETWORKING, 'servicecidrs'),
    can('list watch', DISCOVERY, 'endpointslices'),
  ]),
  clusterRole('system:kube-scheduler', SCHEDULER),
  // Coxswain's own role, for the program that enforces network policies on a node.
  clusterRole(NETWORK_POLICY, [
    can('list watch', '', 'namespaces pods'),
    can('list watch', NETWORKING, 'networkpolicies'),
  ]),
  // Coxswain's own role, for the certificate with which API servers connect to kubelets.
  clusterRole(KUBELET_CLIENT, [
    can('*', '', 'nodes/proxy nodes/metrics nodes/stats nodes/log nodes/checkpoint'),
    can('*', '', 'nodes/configz nodes/healthz nodes/pods nodes/statusz'),
  ]),
];

const AUTHENTICATED = group('system:authenticated');

export const CLUSTER_ROLE_BINDINGS: readonly NewClusterRoleBinding[] = [
  bindCluster('cluster-admin', group('system:masters')),
  bindCluster('system:monitoring', group('system:monitoring')),
  bindCluster('system:discovery', AUTHENTICATED),
  bindCluster('system:basic-user', AUTHENTICATED),
  bindCluster('system:public-info-viewer', AUTHENTICATED, group('system:unauthenticated')),
  bindCluster(NETWORK_POLICY, user(NETWORK_POLICY)),
  bindCluster(KUBELET_CLIENT, user('kube-apiserver-kubelet-client')),
  bindCluster('system:node-proxier', user('system:kube-proxy')),
  bindCluster('system:kube-controller-manager', user('system:kube-controller-manager')),
  bindCluster('system:kube-dns', account('kube-system', 'kube-dns')),
  bindCluster('system:kube-scheduler', user('system:kube-scheduler')),
  bindCluster('system:volume-scheduler', user('system:kube-scheduler')),
  // Without subjects: the Node authorizer gives each kubelet the permissions for its own node only.
  bindCluster('system:node'),
  bindCluster('system:service-account-issuer-discovery', group('system:serviceaccounts')),
];
