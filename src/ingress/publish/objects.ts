// The classes of this controller for Ingresses and Gateways, and its permissions.

import type { IngressClass } from '#api/groups/networking/v1/index.ts';
import type { ClusterRole, ClusterRoleBinding } from '#api/groups/rbac/v1/index.ts';
import type { New } from '#api/machinery/meta/v1/index.ts';
import { GATEWAY_CONTROLLER, INGRESS_CONTROLLER } from '../decide/objects.ts';
import { GATEWAY_GROUP, type GatewayClass } from '../gateway-api/types.ts';

/**
 * The user of the controller, also the name in certificates of controllers that run as separate
 * processes.
 */
export const INGRESS_USER = 'system:coxswain-ingress';
/** The name of the IngressClass and the GatewayClass. */
export const CLASS_NAME = 'coxswain';
export const DEFAULT_CLASS_ANNOTATION = 'ingressclass.kubernetes.io/is-default-class';

export function ingressClass(isDefault: boolean): New<IngressClass> {
  return {
    metadata: {
      name: CLASS_NAME,
      ...(isDefault && { annotations: { [DEFAULT_CLASS_ANNOTATION]: 'true' } }),
    },
    spec: { controller: INGRESS_CONTROLLER },
  };
}

export const gatewayClass: New<GatewayClass> = {
  apiVersion: `${GATEWAY_GROUP}/v1`,
  kind: 'GatewayClass',
  metadata: { name: CLASS_NAME },
  spec: { controllerName: GATEWAY_CONTROLLER },
};

const READ = ['list', 'watch'];

export interface IngressPermissions {
  readonly clusterRole: New<ClusterRole>;
  readonly clusterRoleBinding: New<ClusterRoleBinding>;
}

/**
 * The referenced Secrets are unknown in advance, so the role allows watching all of them; the
 * controller watches only referenced ones. An administrator who finds this too broad can replace
 * the rule by Roles in the namespaces with certificates.
 */
export const INGRESS_PERMISSIONS: IngressPermissions = {
  clusterRole: {
    metadata: { name: INGRESS_USER },
    rules: [
      { apiGroups: [''], resources: ['services', 'namespaces'], verbs: READ },
      { apiGroups: [''], resources: ['secrets'], verbs: READ },
      { apiGroups: [''], resources: ['events'], verbs: ['create', 'patch'] },
      { apiGroups: ['discovery.k8s.io'], resources: ['endpointslices'], verbs: READ },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses'], verbs: READ },
      { apiGroups: ['networking.k8s.io'], resources: ['ingresses/status'], verbs: ['update'] },
      {
        apiGroups: ['networking.k8s.io'],
        resources: ['ingressclasses'],
        verbs: [...READ, 'create'],
      },
      {
        apiGroups: [GATEWAY_GROUP],
        resources: ['gateways', 'httproutes', 'grpcroutes', 'referencegrants'],
        verbs: READ,
      },
      { apiGroups: [GATEWAY_GROUP], resources: ['gatewayclasses'], verbs: [...READ, 'create'] },
      {
        apiGroups: [GATEWAY_GROUP],
        resources: [
          'gatewayclasses/status',
          'gateways/status',
          'httproutes/status',
          'grpcroutes/status',
        ],
        verbs: ['update'],
      },
    ],
  },
  clusterRoleBinding: {
    metadata: { name: INGRESS_USER },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: INGRESS_USER },
    subjects: [{ kind: 'User', apiGroup: 'rbac.authorization.k8s.io', name: INGRESS_USER }],
  },
};
