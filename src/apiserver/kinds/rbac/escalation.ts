// Prevents privilege escalation. A user who writes a role must have all of its permissions, or the
// permission to `escalate` it. A user who binds a role must have its permissions, or the permission
// to `bind` it.

import { clusterRoles, roles } from '#api/groups/rbac/v1/index.ts';
import type * as rbac from '#api/groups/rbac/v1/index.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Immutable, KubeObject } from '#api/machinery/meta/v1/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { semanticEqual } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Authorizer } from '#apiserver/authorization/authorizer.ts';
import { PRIVILEGED_GROUP } from '#apiserver/authorization/privileged.ts';
import { uncovered } from '#apiserver/authorization/rbac/rules.ts';
import type { UserInfo } from '#apiserver/request.ts';
import type { Find } from '#apiserver/catalog/internal-client.ts';
import { ResourceStore, type ResourceStoreConfig } from '#apiserver/registry/resource-store.ts';
import type {
  CreateOptions,
  ObjectUpdate,
  UpdateOptions,
  ValidatingAdmission,
} from '#apiserver/registry/rest.ts';
import type { RequestContext } from '#apiserver/registry/strategy.ts';

type Rules = readonly Immutable<rbac.PolicyRule>[];
type AnyRole = Immutable<rbac.Role | rbac.ClusterRole>;
type AnyBinding = Immutable<rbac.RoleBinding | rbac.ClusterRoleBinding>;

/**
 * Checks a write. Throws StatusError (403) if the user may not make it. `old`: the stored object;
 * undefined for a creation.
 */
type Guard<T> = (context: RequestContext, object: T, old: T | undefined) => Promise<void>;

/** A store that checks each write after admission, with the final object. */
export class GuardedStore<T extends KubeObject> extends ResourceStore<T> {
  readonly #guard: Guard<T>;

  constructor(config: ResourceStoreConfig<T> & { readonly guard: Guard<T> }) {
    super(config);
    this.#guard = config.guard;
  }

  override create(
    context: RequestContext,
    parent: string,
    object: KubeObject,
    options: CreateOptions,
  ) {
    return super.create(context, parent, object, {
      ...options,
      validate: this.#after(context, options.validate),
    });
  }

  override update(
    context: RequestContext,
    name: string,
    update: ObjectUpdate,
    options: UpdateOptions,
  ) {
    return super.update(context, name, update, {
      ...options,
      validate: this.#after(context, options.validate),
      validateCreate: this.#after(context, options.validateCreate),
    });
  }

  #after(context: RequestContext, validate: ValidatingAdmission | undefined): ValidatingAdmission {
    return async (object, old) => {
      await validate?.(object, old);
      await this.#guard(context, object as T, old as T | undefined);
    };
  }
}

export interface EscalationConfig {
  readonly authorizer: Authorizer;
  readonly find: Find;
}

export function guardRole<T extends AnyRole>(
  { authorizer }: EscalationConfig,
  type: ResourceType,
): Guard<T> {
  return async ({ user, namespace }, role, old) => {
    if (isPrivileged(user)) return;
    if (
      old !== undefined &&
      semanticEqual(old.rules, role.rules) &&
      semanticEqual(aggregationOf(old), aggregationOf(role))
    )
      return;
    if (await may(authorizer, user, 'escalate', type, namespace, role.metadata.name)) return;
    const refuse = (why: string): never => {
      throw apierrors.forbidden(type, role.metadata.name, why);
    };
    const heldRules = await heldBy(authorizer, user, namespace);
    // The rules of an aggregated role change later, so it requires all permissions.
    if (aggregationOf(role) !== undefined && uncovered(heldRules, EVERYTHING).length > 0) {
      refuse('must have cluster-admin privileges to use an aggregationRule');
    }
    const missing = uncovered(heldRules, role.rules ?? []);
    if (missing.length > 0) refuse(attempt(user, missing));
  };
}

export function guardBinding<T extends AnyBinding>(
  { authorizer, find }: EscalationConfig,
  type: ResourceType,
): Guard<T> {
  return async ({ user, namespace }, binding, old) => {
    if (isPrivileged(user)) return;
    const { roleRef } = binding;
    if (
      old !== undefined &&
      semanticEqual(old.roleRef, roleRef) &&
      semanticEqual(old.subjects, binding.subjects)
    )
      return;
    const role = roleRef.kind === 'ClusterRole' ? clusterRoles : roles;
    if (await may(authorizer, user, 'bind', role, namespace, roleRef.name)) return;
    const bound = await find<rbac.Role>(
      role.group,
      role.resource,
      role.namespaced ? namespace : '',
      roleRef.name,
    );
    if (bound === undefined) throw apierrors.notFound(role, roleRef.name);
    const missing = uncovered(await heldBy(authorizer, user, namespace), bound.rules ?? []);
    if (missing.length > 0)
      throw apierrors.forbidden(type, binding.metadata.name, attempt(user, missing));
  };
}

const EVERYTHING: Rules = [
  { verbs: ['*'], apiGroups: ['*'], resources: ['*'] },
  { verbs: ['*'], nonResourceURLs: ['*'] },
];

const aggregationOf = (role: AnyRole) =>
  'aggregationRule' in role ? role.aggregationRule : undefined;

const isPrivileged = ({ groups }: UserInfo): boolean => groups.includes(PRIVILEGED_GROUP);

async function may(
  authorizer: Authorizer,
  user: UserInfo,
  verb: string,
  type: ResourceType,
  namespace: string,
  name: string,
) {
  const { group: apiGroup, version: apiVersion, resource } = type;
  const what = {
    isResourceRequest: true,
    path: '',
    verb,
    apiGroup,
    apiVersion,
    namespace,
    resource,
    subresource: '',
    name,
  };
  return (await authorizer.authorize({ user, ...what })).decision === 'allow';
}

async function heldBy(authorizer: Authorizer, user: UserInfo, namespace: string): Promise<Rules> {
  const { resourceRules, nonResourceRules } = await authorizer.rulesFor(user, namespace);
  return [...resourceRules, ...nonResourceRules].map((rule) => ({ ...rule, verbs: rule.verbs }));
}

function attempt({ name, groups }: UserInfo, missing: readonly rbac.PolicyRule[]): string {
  const lines = compact(missing).map(described).sort();
  return (
    `user ${quote(name)} (groups=${list(groups)}) is attempting to grant RBAC permissions not currently held:\n` +
    lines.join('\n')
  );
}

/** Merges parts that differ only in their verbs. */
function compact(parts: readonly rbac.PolicyRule[]): rbac.PolicyRule[] {
  const rules = new Map<string, rbac.PolicyRule>();
  for (const { verbs, ...what } of parts) {
    const key = JSON.stringify(what);
    const sameRule = rules.get(key);
    rules.set(key, { ...what, verbs: [...(sameRule?.verbs ?? []), ...verbs] });
  }
  return [...rules.values()];
}

function described({
  apiGroups,
  resources,
  nonResourceURLs,
  resourceNames,
  verbs,
}: rbac.PolicyRule): string {
  const fields: readonly (readonly [string, readonly string[] | undefined])[] = [
    ['APIGroups', apiGroups],
    ['Resources', resources],
    ['NonResourceURLs', nonResourceURLs],
    ['ResourceNames', resourceNames],
    ['Verbs', verbs],
  ];
  return `{${fields.flatMap(([name, values]) => (values === undefined ? [] : `${name}:${list(values)}`)).join(', ')}}`;
}

const list = (values: readonly string[]): string => `[${values.map(quote).join(' ')}]`;
