// The variable `request` of expressions: an AdmissionRequest (admission.k8s.io/v1) without its
// objects and without empty fields.

import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { AdmissionAttributes } from '../plugin.ts';
import type { GroupVersionResource, PolicyRequest, ResourceAndKind } from './request.ts';

export function requestValue(
  request: PolicyRequest,
  matched: ResourceAndKind,
): Readonly<Record<string, unknown>> {
  const { subresource, name, operation, user, dryRun } = request.attributes;
  const { requested, namespace } = request;
  const { uid = '', groups, extra = {} } = user;
  return {
    kind: kindValue(matched.kind),
    resource: resourceValue(matched.resource),
    ...(subresource !== '' && { subResource: subresource }),
    requestKind: kindValue(requested.kind),
    requestResource: resourceValue(requested.resource),
    ...(subresource !== '' && { requestSubResource: subresource }),
    ...(name !== '' && { name }),
    ...(namespace !== '' && { namespace }),
    operation,
    userInfo: {
      username: user.name,
      ...(uid !== '' && { uid }),
      ...(groups.length > 0 && { groups }),
      ...(Object.keys(extra).length > 0 && { extra }),
    },
    dryRun,
    options: optionsValue(request.attributes),
  };
}

const kindValue = ({ group, version, kind }: GroupVersionKind) => ({ group, version, kind });
const resourceValue = ({ group, version, resource }: GroupVersionResource) => ({
  group,
  version,
  resource,
});

const OPTIONS_KINDS = {
  CREATE: 'CreateOptions',
  UPDATE: 'UpdateOptions',
  DELETE: 'DeleteOptions',
} as const;

function optionsValue({
  operation,
  dryRun,
  query,
  deleteOptions,
}: AdmissionAttributes): object | null {
  if (operation === 'CONNECT') return null;
  const requestedName = (name: string): object => {
    const value = operation === 'DELETE' ? '' : (query.get(name) ?? '');
    return value === '' ? {} : { [name]: value };
  };
  const { gracePeriodSeconds, propagationPolicy, orphanDependents, preconditions } =
    deleteOptions ?? {};
  return {
    kind: OPTIONS_KINDS[operation],
    apiVersion: 'meta.k8s.io/v1',
    ...(dryRun && { dryRun: ['All'] }),
    ...requestedName('fieldManager'),
    ...requestedName('fieldValidation'),
    ...(gracePeriodSeconds !== undefined && { gracePeriodSeconds }),
    ...(propagationPolicy !== undefined && { propagationPolicy }),
    ...(orphanDependents !== undefined && { orphanDependents }),
    ...(preconditions !== undefined && { preconditions }),
  };
}
