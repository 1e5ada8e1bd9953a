// Paths and queries of the REST API.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { Query } from './transport.ts';

/** Returns the path of a group version: '/api/v1', '/apis/apps/v1'. */
export function groupVersionPath(group: string, version: string): string {
  return group === '' ? `/api/${version}` : `/apis/${group}/${version}`;
}

/**
 * Returns the path of an object, or with the name '' of the collection. Variable segments are
 * percent-encoded.
 */
export function resourcePath(
  type: Pick<ResourceType, 'group' | 'version' | 'resource'>,
  namespace: string,
  name = '',
  subresource = '',
): string {
  let path = groupVersionPath(type.group, type.version);
  if (namespace !== '') path += `/namespaces/${encodeURIComponent(namespace)}`;
  path += `/${type.resource}`;
  if (name !== '') path += `/${encodeURIComponent(name)}`;
  // A subresource may contain a path of its own (proxy), so its slashes stay.
  if (subresource !== '') path += `/${subresource}`;
  return path;
}

export function queryParameters(query: Query | undefined): URLSearchParams {
  const parameters = new URLSearchParams();
  if (query === undefined) return parameters;
  for (const [name, value] of Object.entries(query)) {
    if (value !== undefined) parameters.append(name, String(value));
  }
  return parameters;
}
