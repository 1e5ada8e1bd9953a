// The users that the components are to the API server, and the names by which they own what they
// write.

import type { Client } from '#client/client.ts';
import { KUBERNETES_VERSION } from '../version.ts';
import type { ComponentsConfig, User } from './config.ts';

/** The user agent of kubelets. */
export const KUBELET_AGENT = 'kubelet';

const AUTHENTICATED = 'system:authenticated';

/** The component that a user is, as it calls itself: the owner of the fields that it writes. */
export function componentOf(user: string): string {
  if (user.startsWith('system:node:')) return KUBELET_AGENT;
  return user.startsWith('system:') ? user.slice('system:'.length) : 'coxswain';
}

/** Returns a client of the user, whose user agent is componentOf. */
export function clientOfUser({ clientOf }: Pick<ComponentsConfig, 'clientOf'>, user: User): Client {
  return clientOf(user, componentOf(user.name));
}

/** Returns the node's user, as the server authenticates it. */
export function nodeUser(name: string): User {
  return { name: `system:node:${name}`, groups: ['system:nodes', AUTHENTICATED] };
}

/** Returns the user of a component of this package, as the server authenticates it. */
export function componentUser(name: string): User {
  return { name, groups: [AUTHENTICATED] };
}

/**
 * Controllers are ServiceAccounts of kube-system, each with the role of its name; what they write
 * is the manager's.
 */
export function controllerIdentity(account: string): [user: User, userAgent: string] {
  const name = `system:serviceaccount:kube-system:${account}`;
  const groups = ['system:serviceaccounts', 'system:serviceaccounts:kube-system', AUTHENTICATED];
  return [{ name, groups }, `kube-controller-manager/${KUBERNETES_VERSION.gitVersion}/${name}`];
}
