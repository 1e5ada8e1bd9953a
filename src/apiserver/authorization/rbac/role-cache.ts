// The roles and bindings of the cluster in memory, indexed by subject, since every request looks
// them up. It watches the registry, so it is no more stale than any other watcher.

import {
  type ClusterRole,
  type ClusterRoleBinding,
  clusterRoleBindings,
  clusterRoles,
  type PolicyRule,
  type Role,
  type RoleBinding,
  roleBindings,
  roles,
  type Subject,
} from '#api/groups/rbac/v1/index.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { UserInfo } from '#apiserver/request.ts';
import type { Decision } from '../authorizer.ts';
import { Follower, type FollowerConfig, type Keeper, keyOf } from '#apiserver/catalog/follow.ts';

/** The part of a binding that decisions depend on. */
export interface Binding {
  /** The namespace in which the binding applies. Undefined: everywhere. */
  readonly namespace: string | undefined;
  readonly role: { readonly kind: string; readonly name: string };
  /** The decision for a request that the role permits, which names the binding. */
  readonly allowed: Decision;
}

type Rules = readonly Immutable<PolicyRule>[];

export class RoleCache {
  readonly #follower: Follower;
  readonly #clusterRoles = new Map<string, Rules>();
  /** Rules of roles by 'namespace/name'. */
  readonly #roles = new Map<string, Rules>();
  /** Bindings by 'resource namespace/name': one for each subject under which they are indexed. */
  readonly #bindings = new Map<string, ReadonlyMap<string, Binding>>();
  readonly #bySubject = new Map<string, Set<Binding>>();

  constructor(config: FollowerConfig) {
    this.#follower = new Follower(config);
  }

  /** Resolves when all existing objects are loaded. Rejects if the store cannot be read. */
  async start(): Promise<void> {
    const kept: readonly (readonly [{ readonly resource: string }, Keeper])[] = [
      [
        clusterRoles,
        {
          set: (role) => this.#clusterRoles.set(keyOf(role), rulesOf(role)),
          delete: (key) => this.#clusterRoles.delete(key),
        },
      ],
      [
        roles,
        {
          set: (role) => this.#roles.set(keyOf(role), rulesOf(role)),
          delete: (key) => this.#roles.delete(key),
        },
      ],
      [clusterRoleBindings, this.#keepBindings(clusterRoleBindings.resource)],
      [roleBindings, this.#keepBindings(roleBindings.resource)],
    ];
    await Promise.all(
      kept.map(([{ resource }, keeper]) =>
        this.#follower.follow(clusterRoles.group, resource, keeper),
      ),
    );
  }

  stop(): void {
    this.#follower.stop();
  }

  /** Returns the rules of a binding's role; undefined if the role does not exist. */
  rulesOf({ namespace, role }: Binding): Rules | undefined {
    return role.kind === 'ClusterRole'
      ? this.#clusterRoles.get(role.name)
      : this.#roles.get(`${namespace ?? ''}/${role.name}`);
  }

  /** Yields the bindings of a user, in all namespaces. */
  *bindingsOf(user: UserInfo): Iterable<Binding> {
    const own = this.#bySubject.get(userKey(user.name));
    if (own !== undefined) yield* own;
    for (const group of user.groups) {
      const ofGroup = this.#bySubject.get(groupKey(group));
      if (ofGroup !== undefined) yield* ofGroup;
    }
  }

  #keepBindings(resource: string): Keeper {
    const forget = (key: string): void => {
      const filed = this.#bindings.get(`${resource} ${key}`);
      if (filed === undefined) return;
      this.#bindings.delete(`${resource} ${key}`);
      for (const [subject, binding] of filed) {
        const set = this.#bySubject.get(subject);
        set?.delete(binding);
        if (set?.size === 0) this.#bySubject.delete(subject);
      }
    };
    return {
      set: (object) => {
        const stored = object as Immutable<RoleBinding | ClusterRoleBinding>;
        const key = keyOf(object);
        forget(key);
        const bindings = bindingsOf(stored);
        this.#bindings.set(`${resource} ${key}`, bindings);
        for (const [subject, binding] of bindings) {
          const set = this.#bySubject.get(subject);
          if (set === undefined) this.#bySubject.set(subject, new Set([binding]));
          else set.add(binding);
        }
      },
      delete: forget,
    };
  }
}

/** Returns a binding for each of its subjects, by the subject's index key. */
function bindingsOf({
  metadata,
  roleRef,
  subjects = [],
}: Immutable<RoleBinding | ClusterRoleBinding>): ReadonlyMap<string, Binding> {
  const bindings = new Map<string, Binding>();
  const { name, namespace } = metadata;
  for (const subject of subjects) {
    const key = subjectKey(subject, namespace);
    if (bindings.has(key)) continue;
    const reason = allowedBy(namespace, name, roleRef, subject);
    bindings.set(key, {
      namespace,
      role: { kind: roleRef.kind, name: roleRef.name },
      allowed: { decision: 'allow', reason },
    });
  }
  return bindings;
}

/** Returns upstream's reason for a request that a binding permits. */
function allowedBy(
  namespace: string | undefined,
  name: string,
  role: { readonly kind: string; readonly name: string },
  subject: Immutable<Subject>,
): string {
  const binding =
    namespace === undefined
      ? `ClusterRoleBinding ${quote(name)}`
      : `RoleBinding ${quote(`${name}/${namespace}`)}`;
  const subjectName =
    subject.kind === 'ServiceAccount'
      ? `${subject.name}/${subject.namespace || (namespace ?? '')}`
      : subject.name;
  return (
    `RBAC: allowed by ${binding} of ${role.kind} ${quote(role.name)} to ` +
    `${subject.kind} ${quote(subjectName)}`
  );
}

const rulesOf = (object: KubeObject): Rules =>
  (object as Immutable<Role | ClusterRole>).rules ?? [];

const userKey = (name: string): string => `user ${name}`;
const groupKey = (name: string): string => `group ${name}`;

/**
 * Returns the index key of a subject. A ServiceAccount without a namespace is in the binding's
 * namespace.
 */
function subjectKey({ kind, name, namespace }: Immutable<Subject>, bindingNamespace = ''): string {
  switch (kind) {
    case 'Group':
      return groupKey(name);
    case 'ServiceAccount':
      return userKey(
        `system:serviceaccount:${namespace === undefined || namespace === '' ? bindingNamespace : namespace}:${name}`,
      );
    default:
      return userKey(name);
  }
}
