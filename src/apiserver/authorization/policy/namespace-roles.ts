// The roles in single namespaces of the system, with their bindings.

import { CONTROLLER_ROLE_PREFIX } from './controller-roles.ts';
import {
  account,
  bind,
  can,
  type NewRole,
  type NewRoleBinding,
  READ,
  role,
  user,
  WRITE_EVENTS,
} from './words.ts';

const SYSTEM = 'kube-system';
const PUBLIC = 'kube-public';
const NODE_LEASES = 'kube-node-lease';
const AUTHENTICATION_READER = 'extension-apiserver-authentication-reader';
const SIGNER = `${CONTROLLER_ROLE_PREFIX}bootstrap-signer`;
const CLOUD_PROVIDER = `${CONTROLLER_ROLE_PREFIX}cloud-provider`;
const TOKEN_CLEANER = `${CONTROLLER_ROLE_PREFIX}token-cleaner`;
/**
 * Coxswain's own role: service proxies read in Leases which of them announces the addresses of load
 * balancers.
 */
const ANNOUNCER = 'system:coxswain:address-announcer';
const lockingRole = (component: string): string => `system::leader-locking-${component}`;

const LEASES = 'coordination.k8s.io';
const LOCK = 'create get list update watch';
const leaderLocking = (component: string): NewRole =>
  role(SYSTEM, lockingRole(component), [
    can(LOCK, LEASES, 'leases'),
    can(LOCK, LEASES, 'leasecandidates'),
  ]);

export const NAMESPACE_ROLES: readonly NewRole[] = [
  role(SYSTEM, AUTHENTICATION_READER, [
    can(READ, '', 'configmaps', 'extension-apiserver-authentication'),
  ]),
  role(SYSTEM, SIGNER, [can(READ, '', 'secrets')]),
  role(SYSTEM, CLOUD_PROVIDER, [can('create get list watch', '', 'configmaps')]),
  role(SYSTEM, TOKEN_CLEANER, [can('get list watch delete', '', 'secrets'), WRITE_EVENTS]),
  leaderLocking('kube-controller-manager'),
  leaderLocking('kube-scheduler'),
  role(NODE_LEASES, ANNOUNCER, [can('get', LEASES, 'leases')]),
  role(PUBLIC, SIGNER, [
    can(READ, '', 'configmaps'),
    can('update', '', 'configmaps', 'cluster-info'),
    WRITE_EVENTS,
  ]),
];

const leaderLocked = (component: string, ...others: string[]): NewRoleBinding =>
  bind(SYSTEM, lockingRole(component), [
    user(`system:${component}`),
    ...[component, ...others].map((name) => account(SYSTEM, name)),
  ]);

export const NAMESPACE_ROLE_BINDINGS: readonly NewRoleBinding[] = [
  bind(
    SYSTEM,
    AUTHENTICATION_READER,
    [user('system:kube-controller-manager'), user('system:kube-scheduler')],
    `system::${AUTHENTICATION_READER}`,
  ),
  leaderLocked('kube-controller-manager', 'leader-election-controller'),
  leaderLocked('kube-scheduler'),
  bind(NODE_LEASES, ANNOUNCER, [user('system:kube-proxy')]),
  bind(SYSTEM, SIGNER, [account(SYSTEM, 'bootstrap-signer')]),
  bind(SYSTEM, CLOUD_PROVIDER, [account(SYSTEM, 'cloud-provider')]),
  bind(SYSTEM, TOKEN_CLEANER, [account(SYSTEM, 'token-cleaner')]),
  bind(PUBLIC, SIGNER, [account(SYSTEM, 'bootstrap-signer')]),
];
