// Names in OpenAPI documents, and the types that all groups share.

import type { OpenApiType } from '#api/machinery/codec/object-codec.ts';
import type { Scheme } from '#api/machinery/scheme.ts';

export const upperFirst = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1);

export const upperGroup = (group: string): string => upperFirst(lowerGroup(group));

/** Returns the group in operation IDs: rbacAuthorization for 'rbac.authorization.k8s.io'. */
export function lowerGroup(group: string): string {
  const [first = 'core', ...others] = group
    .replace(/\.k8s\.io$/, '')
    .split(/[.-]/)
    .filter(Boolean);
  return first + others.map(upperFirst).join('');
}

/** Returns the type of a kind that all groups share, such as Status and DeleteOptions. */
export function commonType(scheme: Scheme, kind: string): OpenApiType | undefined {
  return scheme.codecOf({ group: '', version: 'v1', kind })?.openApi;
}
