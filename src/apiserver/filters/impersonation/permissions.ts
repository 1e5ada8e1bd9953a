// The permissions for a requested user: for its name, its uid, each of its groups and each of its
// extra fields.

import { FieldPath, toAggregate } from '#machinery/validation/field.ts';
import { validateDomainPrefixedPath } from '#machinery/validation/validation.ts';
import {
  ANONYMOUS,
  AUTHENTICATED_GROUP,
  UNAUTHENTICATED_GROUP,
} from '../../authentication/authenticator.ts';
import type { Attributes, Authorizer } from '../../authorization/authorizer.ts';
import type { UserInfo } from '../../request.ts';
import { forbiddenError } from '../authorization.ts';
import { nodeOf, serviceAccountOf } from './user-names.ts';

/** The rules of a mode. */
export interface Rules {
  readonly verb: string;
  /** The group of the resources users, groups, serviceaccounts and nodes. */
  readonly apiGroup: string;
  /** Nodes have their group, and values that no user should have are rejected. */
  readonly isConstrained: boolean;
  /** The name of a node in permissions. Undefined: the name of the requested node. */
  readonly nodeName: string | undefined;
}

const AUTHENTICATION = 'authentication.k8s.io';

export const LEGACY: Rules = {
  verb: 'impersonate',
  apiGroup: '',
  isConstrained: false,
  nodeName: undefined,
};
export const CONSTRAINED = { apiGroup: AUTHENTICATION, isConstrained: true } as const;

/** With so many groups or extra values, the permission for all of them is checked first. */
const MANY = 4;

/**
 * Returns the requested user with the groups that its name implies. Rejects with Forbidden if
 * `requestor` lacks a permission.
 */
export async function mayImpersonate(
  authorizer: Authorizer,
  requestor: UserInfo,
  requested: UserInfo,
  rules: Rules,
): Promise<UserInfo> {
  const base: Attributes = {
    user: requestor,
    isResourceRequest: true,
    path: '',
    verb: rules.verb,
    apiGroup: rules.apiGroup,
    apiVersion: 'v1',
    namespace: '',
    resource: '',
    subresource: '',
    name: '',
  };
  const { uid, groups, extra = {} } = requested;
  await check(authorizer, { ...base, ...nameAttributes(requested.name, rules) });
  const authentication = { ...base, apiGroup: AUTHENTICATION };
  if (uid !== undefined)
    await check(authorizer, { ...authentication, resource: 'uids', name: uid });
  await checkGroups(authorizer, { ...base, resource: 'groups' }, groups, rules);
  await checkExtra(authorizer, { ...authentication, resource: 'userextras' }, extra, rules);
  return withImpliedGroups(requested, rules);
}

/** Throws Forbidden unless the authorizer allows the request. */
export async function check(authorizer: Authorizer, attributes: Attributes): Promise<void> {
  const { decision, reason } = await authorizer.authorize(attributes);
  if (decision !== 'allow') throw forbiddenError(attributes, reason);
}

async function isAllowed(authorizer: Authorizer, attributes: Attributes): Promise<boolean> {
  return (await authorizer.authorize(attributes)).decision === 'allow';
}

function nameAttributes(
  name: string,
  { isConstrained, nodeName }: Rules,
): Pick<Attributes, 'resource' | 'name'> & Partial<Pick<Attributes, 'namespace'>> {
  const account = serviceAccountOf(name);
  if (account !== undefined) return { resource: 'serviceaccounts', ...account };
  const node = isConstrained ? nodeOf(name) : undefined;
  return node === undefined
    ? { resource: 'users', name }
    : { resource: 'nodes', name: nodeName ?? node };
}

async function checkGroups(
  authorizer: Authorizer,
  base: Attributes,
  groups: readonly string[],
  { isConstrained }: Rules,
): Promise<void> {
  if (isConstrained) {
    if (groups.includes(''))
      throw forbiddenError(base, 'impersonating the empty string group is not allowed');
    const name = 'system:masters';
    if (groups.includes(name))
      throw forbiddenError({ ...base, name }, `impersonating the ${name} group is not allowed`);
    if (groups.length >= MANY && (await isAllowed(authorizer, { ...base, name: '*' }))) return;
  }
  for (const name of groups) await check(authorizer, { ...base, name });
}

async function checkExtra(
  authorizer: Authorizer,
  base: Attributes,
  extra: Required<UserInfo>['extra'],
  { isConstrained }: Rules,
): Promise<void> {
  const values = Object.entries(extra).flatMap(([subresource, names]) =>
    names.map((name) => ({ subresource, name })),
  );
  if (isConstrained) {
    const problem = extraProblem(extra);
    if (problem !== undefined) throw forbiddenError(base, problem);
    const all = { ...base, subresource: '*', name: '*' };
    if (values.length >= MANY && (await isAllowed(authorizer, all))) return;
  }
  for (const value of values) await check(authorizer, { ...base, ...value });
}

/** Returns the problem of extra fields that a constrained mode does not accept. */
function extraProblem(extra: Required<UserInfo>['extra']): string | undefined {
  for (const [key, values] of Object.entries(extra)) {
    if (key === '') return 'impersonating the empty string key in extra is not allowed';
    const invalid = toAggregate(validateDomainPrefixedPath(key, new FieldPath('extra', 'key')));
    if (invalid !== undefined)
      return `impersonating an invalid key in extra is not allowed: ${invalid.message}`;
    if (key !== key.toLowerCase())
      return `impersonating a non-lowercase key in extra is not allowed: ${JSON.stringify(key)}`;
    if (values.includes('')) return 'impersonating the empty string value in extra is not allowed';
  }
  return undefined;
}

function withImpliedGroups(user: UserInfo, { isConstrained }: Rules): UserInfo {
  const groups = [...user.groups];
  const account = serviceAccountOf(user.name);
  if (account !== undefined && groups.length === 0)
    groups.push('system:serviceaccounts', `system:serviceaccounts:${account.namespace}`);
  if (isConstrained && nodeOf(user.name) !== undefined) groups.push('system:nodes');
  if (user.name === ANONYMOUS.name) {
    if (!groups.includes(UNAUTHENTICATED_GROUP)) groups.push(UNAUTHENTICATED_GROUP);
  } else if (!groups.includes(AUTHENTICATED_GROUP) && !groups.includes(UNAUTHENTICATED_GROUP))
    groups.push(AUTHENTICATED_GROUP);
  return { ...user, groups };
}
