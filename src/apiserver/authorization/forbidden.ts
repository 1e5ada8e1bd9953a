// The error of a user who may not do something.

import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { Attributes } from './authorizer.ts';

/** Returns error 403, which says what the user cannot do. `reason`: the authorizer's; may be ''. */
export function forbidden(attributes: Attributes, reason: string): apierrors.StatusError {
  const { user, verb, namespace, apiGroup, subresource, path } = attributes;
  const why = reason === '' ? '' : `: ${reason}`;
  if (!attributes.isResourceRequest) {
    const message = `User ${quote(user.name)} cannot ${verb} path ${quote(path)}${why}`;
    return apierrors.forbidden({ group: '', resource: '' }, '', message);
  }
  const resource =
    subresource === '' ? attributes.resource : `${attributes.resource}/${subresource}`;
  const where = namespace === '' ? 'at the cluster scope' : `in the namespace ${quote(namespace)}`;
  const message =
    `User ${quote(user.name)} cannot ${verb} resource ${quote(resource)} in API ` +
    `group ${quote(apiGroup)} ${where}${why}`;
  return apierrors.forbidden(
    { group: apiGroup, resource: attributes.resource },
    attributes.name,
    message,
  );
}
