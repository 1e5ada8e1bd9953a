// The cluster roles of the controllers, each bound to the controller's ServiceAccount in
// kube-system. The rules are those of Kubernetes 1.36 with its default features.

import type { PolicyRule } from '#api/groups/rbac/v1/index.ts';
import {
  account,
  bindCluster,
  can,
  clusterRole,
  type NewClusterRole,
  type NewClusterRoleBinding,
  READ,
  WRITE_EVENTS,
} from './words.ts';

export const CONTROLLER_ROLE_PREFIX = 'system:controller:';

const APPS = 'apps';
const BATCH = 'batch';
const CERTIFICATES = 'certificates.k8s.io';
const DEVICES = 'resource.k8s.io';
const DISCOVERY = 'discovery.k8s.io';
const NETWORKING = 'networking.k8s.io';
const STORAGE = 'storage.k8s.io';
/** The old and the present group of workloads. */
const WORKLOADS = ['extensions', APPS];

/** The rules by ServiceAccount. */
const RULES: Readonly<Record<string, readonly PolicyRule[]>> = {
  'attachdetach-controller': [
    can('list watch', '', 'persistentvolumes persistentvolumeclaims'),
    can(READ, '', 'nodes'),
    can('patch update', '', 'nodes/status'),
    can('list watch', '', 'pods'),
    WRITE_EVENTS,
    can('get create delete list watch', STORAGE, 'volumeattachments'),
    can(READ, STORAGE, 'csidrivers'),
    can(READ, STORAGE, 'csinodes'),
  ],
  // Aggregation adds permissions to roles that the controller itself does not have.
  'clusterrole-aggregation-controller': [
    can('escalate get list watch update patch', 'rbac.authorization.k8s.io', 'clusterroles'),
  ],
  'cronjob-controller': [
    can('get list watch update', BATCH, 'cronjobs'),
    can('get list watch create update delete patch', BATCH, 'jobs'),
    can('update', BATCH, 'cronjobs/status'),
    can('update', BATCH, 'cronjobs/finalizers'),
    can('list watch delete', '', 'pods'),
    WRITE_EVENTS,
  ],
  'daemon-set-controller': [
    can(READ, WORKLOADS, 'daemonsets'),
    can('update', WORKLOADS, 'daemonsets/status'),
    can('update', WORKLOADS, 'daemonsets/finalizers'),
    can('list watch', '', 'nodes'),
    can('list watch create delete patch', '', 'pods'),
    can('create', '', 'pods/binding'),
    can('get list watch create delete update patch', APPS, 'controllerrevisions'),
    WRITE_EVENTS,
  ],
  'deployment-controller': [
    can('get list watch update', WORKLOADS, 'deployments'),
    can('update', WORKLOADS, 'deployments/status'),
    can('update', WORKLOADS, 'deployments/finalizers'),
    can('get list watch create update patch delete', WORKLOADS, 'replicasets'),
    can('get list watch update', '', 'pods'),
    WRITE_EVENTS,
  ],
  'disruption-controller': [
    can(READ, WORKLOADS, 'deployments'),
    can(READ, WORKLOADS, 'replicasets'),
    can(READ, '', 'replicationcontrollers'),
    can(READ, 'policy', 'poddisruptionbudgets'),
    can(READ, APPS, 'statefulsets'),
    can('update', 'policy', 'poddisruptionbudgets/status'),
    can('patch update', '', 'pods/status'),
    can('get', '*', '*/scale'),
    WRITE_EVENTS,
  ],
  'endpoint-controller': [
    can(READ, '', 'services pods'),
    can('get list watch create update delete', '', 'endpoints'),
    can('create', '', 'endpoints/restricted'),
    WRITE_EVENTS,
  ],
  'endpointslice-controller': [
    can(READ, '', 'services pods nodes'),
    // EndpointSlices block the deletion of their owner, which requires permission to update its
    // finalizers.
    can('update', '', 'services/finalizers'),
    can('get list watch create update delete', DISCOVERY, 'endpointslices'),
    WRITE_EVENTS,
  ],
  'endpointslicemirroring-controller': [
    can(READ, '', 'services endpoints'),
    can('update', '', 'services/finalizers'),
    can('update', '', 'endpoints/finalizers'),
    can('get list watch create update delete', DISCOVERY, 'endpointslices'),
    WRITE_EVENTS,
  ],
  'expand-controller': [
    can('get list watch update patch', '', 'persistentvolumes'),
    can('update patch', '', 'persistentvolumeclaims/status'),
    can(READ, '', 'persistentvolumeclaims'),
    WRITE_EVENTS,
  ],
  'ephemeral-volume-controller': [
    can(READ, '', 'pods'),
    can('update', '', 'pods/finalizers'),
    can('get list watch create', '', 'persistentvolumeclaims'),
    WRITE_EVENTS,
  ],
  'resource-claim-controller': [
    can(READ, '', 'pods'),
    can('update', '', 'pods/finalizers'),
    can('get list watch create delete', DEVICES, 'resourceclaims'),
    can('update patch', DEVICES, 'resourceclaims resourceclaims/status'),
    can('update patch', '', 'pods/status'),
    WRITE_EVENTS,
    can('patch update', DEVICES, 'resourceclaims/binding'),
  ],
  'generic-garbage-collector': [can('get list watch patch update delete', '*', '*'), WRITE_EVENTS],
  'horizontal-pod-autoscaler': [
    can(READ, 'autoscaling', 'horizontalpodautoscalers'),
    can('update', 'autoscaling', 'horizontalpodautoscalers/status'),
    can('get update', '*', '*/scale'),
    can('list watch', '', 'pods'),
    can('list watch', 'metrics.k8s.io', 'pods'),
    can(READ, 'custom.metrics.k8s.io', '*'),
    can(READ, 'external.metrics.k8s.io', '*'),
    WRITE_EVENTS,
  ],
  'job-controller': [
    can('get list watch update patch', BATCH, 'jobs'),
    can('update', BATCH, 'jobs/status'),
    can('update', BATCH, 'jobs/finalizers'),
    can('list watch create delete patch', '', 'pods'),
    WRITE_EVENTS,
  ],
  'namespace-controller': [
    can('get list watch delete', '', 'namespaces'),
    can('update', '', 'namespaces/finalize namespaces/status'),
    can('get list watch delete deletecollection', '*', '*'),
  ],
  'node-controller': [
    can('get list watch update delete patch', '', 'nodes'),
    can('patch update', '', 'nodes/status'),
    can('patch update', '', 'pods/status'),
    can('list watch get delete', '', 'pods'),
    WRITE_EVENTS,
  ],
  'persistent-volume-binder': [
    can('get list watch update create delete', '', 'persistentvolumes'),
    can('update', '', 'persistentvolumes/status'),
    can('get list watch update', '', 'persistentvolumeclaims'),
    can('update', '', 'persistentvolumeclaims/status'),
    can('list watch get create delete', '', 'pods'),
    can(READ, STORAGE, 'storageclasses'),
    can('list watch', '', 'nodes'),
    WRITE_EVENTS,
    can('watch', '', 'events'),
  ],
  'pod-garbage-collector': [
    can('list watch delete', '', 'pods'),
    can(READ, '', 'nodes'),
    can('patch', '', 'pods/status'),
  ],
  'replicaset-controller': [
    can('get list watch update', WORKLOADS, 'replicasets'),
    can('update', WORKLOADS, 'replicasets/status'),
    can('update', WORKLOADS, 'replicasets/finalizers'),
    can('list watch patch create delete', '', 'pods'),
    WRITE_EVENTS,
  ],
  'replication-controller': [
    can('get list watch update', '', 'replicationcontrollers'),
    can('update', '', 'replicationcontrollers/status'),
    can('update', '', 'replicationcontrollers/finalizers'),
    can('list watch patch create delete', '', 'pods'),
    WRITE_EVENTS,
  ],
  'resourcequota-controller': [
    can('list watch', '*', '*'),
    can('update', '', 'resourcequotas/status'),
    WRITE_EVENTS,
  ],
  'route-controller': [
    can('list watch', '', 'nodes'),
    can('patch', '', 'nodes/status'),
    WRITE_EVENTS,
  ],
  'service-account-controller': [can('create', '', 'serviceaccounts'), WRITE_EVENTS],
  'service-controller': [
    can(READ, '', 'services'),
    can('patch update', '', 'services/status'),
    can('list watch', '', 'nodes'),
    WRITE_EVENTS,
  ],
  'service-cidrs-controller': [
    can('get list watch patch update', NETWORKING, 'servicecidrs'),
    can('patch update', NETWORKING, 'servicecidrs/finalizers'),
    can('patch update', NETWORKING, 'servicecidrs/status'),
    can(READ, NETWORKING, 'ipaddresses'),
    WRITE_EVENTS,
  ],
  'statefulset-controller': [
    can('list watch', '', 'pods'),
    can(READ, APPS, 'statefulsets'),
    can('update', APPS, 'statefulsets/status'),
    can('update', APPS, 'statefulsets/finalizers'),
    can('get create delete update patch', '', 'pods'),
    can('get create delete update patch list watch', APPS, 'controllerrevisions'),
    can('get create list watch', '', 'persistentvolumeclaims'),
    can('update delete', '', 'persistentvolumeclaims'),
    can('update', '', 'pods/finalizers'),
    WRITE_EVENTS,
  ],
  'ttl-controller': [can('update patch list watch', '', 'nodes'), WRITE_EVENTS],
  'certificate-controller': [
    can('get list watch delete', CERTIFICATES, 'certificatesigningrequests'),
    can(
      'update',
      CERTIFICATES,
      'certificatesigningrequests/status certificatesigningrequests/approval',
    ),
    can('approve', CERTIFICATES, 'signers', 'kubernetes.io/kube-apiserver-client-kubelet'),
    can(
      'sign',
      CERTIFICATES,
      'signers',
      'kubernetes.io/legacy-unknown kubernetes.io/kube-apiserver-client ' +
        'kubernetes.io/kube-apiserver-client-kubelet kubernetes.io/kubelet-serving',
    ),
    can('create', 'authorization.k8s.io', 'subjectaccessreviews'),
    WRITE_EVENTS,
  ],
  // Coxswain's own controller: the provisioner of local volumes. It creates pods that remove
  // directories on nodes.
  'local-provisioner': [
    can('get list watch create update delete', '', 'persistentvolumes'),
    can('get list watch update', '', 'persistentvolumeclaims'),
    can('update', '', 'persistentvolumeclaims/status'),
    can('get list watch create', STORAGE, 'storageclasses'),
    can(READ, '', 'nodes'),
    can('delete', '', 'nodes/proxy'),
    WRITE_EVENTS,
  ],
  // Coxswain's own controller, too: it assigns load balancer addresses from a pool.
  'load-balancer-pool-controller': [
    can(READ, '', 'services'),
    can('patch update', '', 'services/status'),
    can('get create delete', NETWORKING, 'ipaddresses'),
    WRITE_EVENTS,
  ],
  'pvc-protection-controller': [
    can('get list watch update', '', 'persistentvolumeclaims'),
    can('update', '', 'persistentvolumeclaims/status'),
    can(READ, '', 'pods'),
    WRITE_EVENTS,
  ],
  'pv-protection-controller': [can('get list watch update', '', 'persistentvolumes'), WRITE_EVENTS],
  'volumeattributesclass-protection-controller': [
    can(READ, '', 'persistentvolumeclaims'),
    can(READ, '', 'persistentvolumes'),
    can('get list watch update', STORAGE, 'volumeattributesclasses'),
    WRITE_EVENTS,
  ],
  'ttl-after-finished-controller': [can('get list watch delete', BATCH, 'jobs'), WRITE_EVENTS],
  'root-ca-cert-publisher': [can('create update', '', 'configmaps'), WRITE_EVENTS],
  'validatingadmissionpolicy-status-controller': [
    can(READ, 'admissionregistration.k8s.io', 'validatingadmissionpolicies'),
    can('get patch update', 'admissionregistration.k8s.io', 'validatingadmissionpolicies/status'),
    WRITE_EVENTS,
  ],
  'legacy-service-account-token-cleaner': [
    can('get', '', 'configmaps', 'kube-apiserver-legacy-service-account-token-tracking'),
    can('patch delete', '', 'secrets'),
  ],
  'device-taint-eviction-controller': [
    can('get list watch delete', '', 'pods'),
    can('update patch', '', 'pods/status'),
    can(READ, DEVICES, 'resourceclaims'),
    can(READ, DEVICES, 'resourceslices'),
    can(READ, DEVICES, 'deviceclasses'),
    WRITE_EVENTS,
  ],
  'selinux-warning-controller': [
    WRITE_EVENTS,
    can(READ, '', 'persistentvolumes'),
    can(READ, '', 'persistentvolumeclaims'),
    can(READ, '', 'pods'),
    can(READ, STORAGE, 'csidrivers'),
  ],
};

/**
 * The roles of controllers that work only if a resource is served, by ServiceAccount: they have
 * extensive permissions.
 */
const OPTIONAL: Readonly<
  Record<string, { readonly group: string; readonly rules: readonly PolicyRule[] }>
> = {
  'storage-version-migrator-controller': {
    group: 'storagemigration.k8s.io',
    rules: [
      // For all resources: listing them, and writing objects back unchanged. A deleted object is
      // not created again, but such a patch is rejected only after it was authorized.
      can('list create patch', '*', '*'),
      can('get', 'apiextensions.k8s.io', 'customresourcedefinitions'),
      can('patch', 'apiextensions.k8s.io', 'customresourcedefinitions/status'),
      can('update', 'storagemigration.k8s.io', 'storageversionmigrations/status'),
    ],
  },
};

export interface ControllerPolicy {
  readonly roles: readonly NewClusterRole[];
  readonly bindings: readonly NewClusterRoleBinding[];
}

/** Returns the roles and bindings. `serves` reports whether a group is served. */
export function controllerPolicy(serves: (group: string) => boolean): ControllerPolicy {
  const optional = Object.entries(OPTIONAL).flatMap(([name, { group, rules }]) =>
    serves(group) ? [[name, rules] as const] : [],
  );
  const all = [...Object.entries(RULES), ...optional];
  return {
    roles: all.map(([name, rules]) => clusterRole(CONTROLLER_ROLE_PREFIX + name, rules)),
    bindings: all.map(([name]) =>
      bindCluster(CONTROLLER_ROLE_PREFIX + name, account('kube-system', name)),
    ),
  };
}
