// Descriptions of users, permissions and certificates.

import type { Descriptions } from './form.ts';

const VERBS = 'The verbs, such as get, list and watch. "*": all.';
const GROUPS = 'The API groups. "": the core group; "*": all.';
const RESOURCES = 'The resources, also with a subresource (pods/log). "*": all.';
const NAMES = 'The names of objects. Empty: all.';
const URLS = 'Paths such as /healthz, also with "*" at the end. "*": all.';

export const access: Descriptions = {
  'rbac/v1.PolicyRule': {
    type: 'A rule that allows actions. It is for resources, or for paths that are not resources.',
    fields: {
      verbs: VERBS,
      apiGroups: GROUPS,
      resources: RESOURCES,
      resourceNames: NAMES,
      nonResourceURLs: URLS,
    },
  },
  'rbac/v1.Subject': {
    type: 'A user, a group or a service account.',
    fields: {
      kind: 'User, Group or ServiceAccount.',
      apiGroup: 'rbac.authorization.k8s.io for users and groups, empty for service accounts.',
      name: 'The name.',
      namespace: 'The namespace of a service account.',
    },
  },
  'rbac/v1.RoleRef': {
    type: 'The role of a binding. It cannot be changed.',
    fields: {
      apiGroup: 'rbac.authorization.k8s.io.',
      kind: 'Role or ClusterRole.',
      name: 'The name of the role.',
    },
  },
  'rbac/v1.Role': { type: 'Rules for one namespace.', fields: { rules: 'The rules.' } },
  'rbac/v1.RoleBinding': {
    type: 'Grants a role to subjects, within one namespace.',
    fields: { subjects: 'The subjects.', roleRef: 'A role of the namespace, or a cluster role.' },
  },
  'rbac/v1.ClusterRole': {
    type: 'Rules for the cluster, or for use in any namespace.',
    fields: {
      rules: 'The rules.',
      aggregationRule:
        'Cluster roles whose rules are combined into this one. A controller writes the rules then.',
    },
  },
  'rbac/v1.AggregationRule': {
    type: 'Which cluster roles are combined.',
    fields: { clusterRoleSelectors: 'Label selectors. Roles that match any of them count.' },
  },
  'rbac/v1.ClusterRoleBinding': {
    type: 'Grants a cluster role to subjects, in all namespaces.',
    fields: { subjects: 'The subjects.', roleRef: 'The cluster role.' },
  },
  'authentication/v1.TokenReview': { type: 'Asks for the user of a token.' },
  'authentication/v1.TokenReviewSpec': {
    type: 'The token.',
    fields: {
      token: 'The token.',
      audiences: 'Audiences, one of which the token must be for. Default: those of the API server.',
    },
  },
  'authentication/v1.TokenReviewStatus': {
    type: 'The result.',
    fields: {
      authenticated: 'Whether the token is valid.',
      user: 'The user of the token.',
      audiences: 'The audiences of the request that the token is for.',
      error: 'The reason why the token could not be checked.',
    },
  },
  'authentication/v1.UserInfo': {
    type: 'An authenticated user.',
    fields: {
      username: 'The name, unique among active users.',
      uid: 'A value that stays with the user when another one gets the same name.',
      groups: 'The groups of the user.',
      extra: 'Further information of the authenticator.',
    },
  },
  'authentication/v1.TokenRequest': { type: 'Asks for a token of a service account.' },
  'authentication/v1.TokenRequestSpec': {
    type: 'The token that is asked for.',
    fields: {
      audiences: 'The audiences of the token.',
      expirationSeconds: 'The lifetime. The server may choose another. Default: 3600.',
      boundObjectRef: 'An object without which the token is not valid: a pod, a secret or a node.',
    },
  },
  'authentication/v1.TokenRequestStatus': {
    type: 'The token.',
    fields: { token: 'The token.', expirationTimestamp: 'When the token expires.' },
  },
  'authentication/v1.BoundObjectReference': {
    type: 'A reference to the object to which a token is bound.',
    fields: {
      kind: 'Pod, Secret or Node.',
      apiVersion: 'The API version of the object.',
      name: 'The name.',
      uid: 'The UID.',
    },
  },
  'authentication/v1.SelfSubjectReview': { type: 'Asks for the user of the request.' },
  'authentication/v1.SelfSubjectReviewStatus': {
    type: 'The result.',
    fields: { userInfo: 'The user of the request.' },
  },
  'authorization/v1.SubjectAccessReview': { type: 'Asks whether a user may perform an action.' },
  'authorization/v1.SelfSubjectAccessReview': {
    type: 'Asks whether the user of the request may perform an action.',
  },
  'authorization/v1.LocalSubjectAccessReview': {
    type: 'Asks whether a user may perform an action in one namespace.',
  },
  'authorization/v1.ResourceAttributes': {
    type: 'An action on a resource.',
    fields: {
      namespace: 'The namespace. Empty: all, or the resource is cluster-scoped.',
      verb: 'The verb. "*": all.',
      group: 'The API group. "*": all.',
      version: 'The API version. "*": all.',
      resource: 'The resource. "*": all.',
      subresource: 'The subresource. Empty: none.',
      name: 'The name of the object. Empty: all.',
      fieldSelector: 'The field selector of the action.',
      labelSelector: 'The label selector of the action.',
    },
  },
  'authorization/v1.LabelSelectorAttributes': {
    type: 'A label selector. One field is set.',
    fields: {
      rawSelector: 'The selector as in a query.',
      requirements: 'The requirements of the selector.',
    },
  },
  'authorization/v1.FieldSelectorAttributes': {
    type: 'A field selector. One field is set.',
    fields: {
      rawSelector: 'The selector as in a query.',
      requirements: 'The requirements of the selector.',
    },
  },
  'authorization/v1.NonResourceAttributes': {
    type: 'An action on a path.',
    fields: { path: 'The path.', verb: 'The HTTP verb in lower case.' },
  },
  'authorization/v1.SubjectAccessReviewSpec': {
    type: 'The user and the action. One kind of attributes is set.',
    fields: {
      resourceAttributes: 'An action on a resource.',
      nonResourceAttributes: 'An action on a path.',
      user: 'The name of the user.',
      groups: 'The groups of the user.',
      extra: 'Further information about the user.',
      uid: 'The UID of the user.',
    },
  },
  'authorization/v1.SelfSubjectAccessReviewSpec': {
    type: 'The action. One kind of attributes is set.',
    fields: {
      resourceAttributes: 'An action on a resource.',
      nonResourceAttributes: 'An action on a path.',
    },
  },
  'authorization/v1.SubjectAccessReviewStatus': {
    type: 'The result.',
    fields: {
      allowed: 'Whether the action is allowed.',
      denied: 'Whether an authorizer has denied the action, so that no other one is asked.',
      reason: 'The reason, for people.',
      evaluationError: 'An error that occurred. The result is valid nevertheless.',
    },
  },
  'authorization/v1.SelfSubjectRulesReview': {
    type: 'Lists the actions that the user of the request may perform in a namespace.',
  },
  'authorization/v1.SelfSubjectRulesReviewSpec': {
    type: 'The namespace.',
    fields: { namespace: 'The namespace.' },
  },
  'authorization/v1.SubjectRulesReviewStatus': {
    type: 'The rules. They are for display, not for decisions.',
    fields: {
      resourceRules: 'Rules for resources, in no order.',
      nonResourceRules: 'Rules for paths, in no order.',
      incomplete: 'Whether an authorizer cannot list its rules.',
      evaluationError: 'An error that occurred.',
    },
  },
  'authorization/v1.ResourceRule': {
    type: 'A rule for resources.',
    fields: { verbs: VERBS, apiGroups: GROUPS, resources: RESOURCES, resourceNames: NAMES },
  },
  'authorization/v1.NonResourceRule': {
    type: 'A rule for paths.',
    fields: { verbs: VERBS, nonResourceURLs: URLS },
  },
  'certificates/v1.CertificateSigningRequest': {
    type: 'A request for a certificate, which an approver and a signer handle.',
  },
  'certificates/v1.CertificateSigningRequestSpec': {
    type: 'The request. It cannot be changed.',
    fields: {
      request: 'The certificate request (PKCS #10) in PEM, as base64.',
      signerName: 'The signer, such as kubernetes.io/kube-apiserver-client.',
      expirationSeconds:
        'The lifetime that is asked for, at least 600. The signer may choose another.',
      usages: 'The key usages, such as digital signature and client auth.',
      username: 'The user that made the request. Set by the server.',
      uid: 'The UID of the user. Set by the server.',
      groups: 'The groups of the user. Set by the server.',
      extra: 'Further information about the user. Set by the server.',
    },
  },
  'certificates/v1.CertificateSigningRequestStatus': {
    type: 'The state of a request.',
    fields: {
      conditions: 'Approved, Denied or Failed.',
      certificate: 'The certificate chain in PEM, as base64.',
    },
  },
  'certificates/v1.CertificateSigningRequestCondition': {
    type: 'A decision about a request. It cannot be reverted.',
    fields: {
      type: 'Approved, Denied or Failed.',
      lastUpdateTime: 'When the condition was last updated.',
    },
  },
};
