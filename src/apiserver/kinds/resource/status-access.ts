// Decides which user may change which part of a claim's status. Beside the permission for resourceclaims/status, a
// user needs that for resourceclaims/binding to allocate and reserve a claim, and for
// resourceclaims/driver, with the driver as the name, to report devices of a driver. The verb for
// the latter is `associated-node:update` for a service account of a pod on the claim's node, and
// `arbitrary-node:update` for all others.

import type * as resource from '#api/groups/resource/v1/index.ts';
import { deviceKey } from '#api/groups/resource/v1/validation/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { semanticEqual } from '#machinery/deep.ts';
import * as field from '#machinery/validation/field.ts';
import type { FieldErrorList } from '#machinery/validation/field.ts';
import type { Attributes, Authorizer } from '#apiserver/authorization/authorizer.ts';
import { forbidden } from '#apiserver/authorization/forbidden.ts';
import type { UserInfo } from '#apiserver/request.ts';
import type { RequestContext } from '#apiserver/registry/strategy.ts';

type ResourceClaim = Immutable<resource.ResourceClaim>;
type Allocation = NonNullable<ResourceClaim['status']['allocation']>;

const NODE_NAME = 'authentication.kubernetes.io/node-name';
const STATUS = field.path('status');

/** Returns the errors for the parts of the status that the user may not change. */
export async function statusAccessErrors(
  authorizer: Authorizer,
  { user, namespace, verb }: RequestContext,
  claim: ResourceClaim,
  old: ResourceClaim,
): Promise<FieldErrorList> {
  if (verb === undefined) return [];
  const { allocation, reservedFor, devices } = claim.status;
  const attributes = (subresource: string, more: Partial<Attributes>): Attributes => ({
    user,
    isResourceRequest: true,
    path: '',
    verb,
    apiGroup: 'resource.k8s.io',
    apiVersion: 'v1',
    namespace: '',
    resource: 'resourceclaims',
    subresource,
    name: '',
    ...more,
  });
  const errors: FieldErrorList = [];
  const isBound =
    semanticEqual(allocation, old.status.allocation) &&
    semanticEqual(reservedFor, old.status.reservedFor);
  if (!isBound) {
    const why = await denial(authorizer, [attributes('binding', {})]);
    if (why !== undefined) {
      const needed = `resource="resourceclaims/binding", verb="${verb}"`;
      const what = 'changing status.allocation or status.reservedFor requires';
      errors.push(
        field.forbidden(STATUS.child('allocation'), `${what} ${needed} permission: ${why}`),
      );
    }
  }
  // The devices of a claim without an allocation are dropped.
  if (allocation === undefined) return errors;
  const verbs = [
    ...(isOnNode(user, nodeOf(allocation)) ? [`associated-node:${verb}`] : []),
    `arbitrary-node:${verb}`,
  ];
  for (const driver of changedDrivers(devices, old.status.devices)) {
    const tried = verbs.map((each) =>
      attributes('driver', { verb: each, namespace, name: driver }),
    );
    const why = await denial(authorizer, tried);
    if (why === undefined) continue;
    const needed = `resource="resourceclaims/driver", verb="[${verbs.join(' ')}]"`;
    errors.push(
      field.forbidden(
        STATUS.child('devices'),
        `changing status.devices requires ${needed} permission: ${why}`,
      ),
    );
  }
  return errors;
}

/** Returns the reason for which none of the requests is allowed: that of the first. */
async function denial(
  authorizer: Authorizer,
  requests: readonly Attributes[],
): Promise<string | undefined> {
  let first: string | undefined;
  for (const request of requests) {
    const { decision, reason } = await authorizer.authorize(request);
    if (decision === 'allow') return undefined;
    first ??= forbidden(request, reason).message;
  }
  return first;
}

/** Returns the drivers with devices whose status is new, changed or gone, sorted. */
function changedDrivers(
  devices: ResourceClaim['status']['devices'] = [],
  before: ResourceClaim['status']['devices'] = [],
): readonly string[] {
  const left = new Map(before.map((device) => [deviceKey(device), device]));
  const changed = new Set<string>();
  for (const device of devices) {
    const key = deviceKey(device);
    if (!semanticEqual(left.get(key), device)) changed.add(device.driver);
    left.delete(key);
  }
  for (const { driver } of left.values()) changed.add(driver);
  return [...changed].toSorted();
}

/** Returns the node of an allocation that is for exactly one; '' otherwise. */
function nodeOf({ nodeSelector }: Allocation): string {
  const [term, ...others] = nodeSelector?.nodeSelectorTerms ?? [];
  if (term === undefined || others.length > 0 || (term.matchExpressions ?? []).length > 0)
    return '';
  const [match, ...more] = term.matchFields ?? [];
  if (match === undefined || more.length > 0) return '';
  const { key, operator, values = [] } = match;
  return key === 'metadata.name' && operator === 'In' && values.length === 1 ? values[0]! : '';
}

/** Reports whether the user is the service account of a pod on the node. */
function isOnNode({ name, extra }: UserInfo, node: string): boolean {
  const [own, ...others] = extra?.[NODE_NAME] ?? [];
  return (
    node !== '' &&
    /^system:serviceaccount:[^:]+:[^:]+$/.test(name) &&
    own === node &&
    others.length === 0
  );
}
