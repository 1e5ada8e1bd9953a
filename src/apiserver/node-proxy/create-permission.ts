// The permission to open a stream to a pod. Browsers open WebSockets with GET, which is authorized
// as `get`. A role that reads must not run commands, so such a request needs `create` as well.

import * as apierrors from '#machinery/apierrors.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { attributesOf } from '../filters/authorization.ts';
import type { ApiRequest } from '../request.ts';

const VERB = 'create';

/**
 * Checks that the user may create the subresource of the request. Throws Forbidden, with upstream's
 * message (AuthorizePodWebsocketUpgradeCreatePermission).
 */
export async function requireCreate(
  authorizer: Pick<Authorizer, 'authorize'>,
  request: ApiRequest,
): Promise<void> {
  const { info } = request;
  if (info.verb === VERB) return;
  const { decision, reason } = await authorizer.authorize({ ...attributesOf(request), verb: VERB });
  if (decision === 'allow') return;
  const resource = { group: info.apiGroup, resource: info.resource };
  throw apierrors.forbidden(resource, info.name, reason);
}
