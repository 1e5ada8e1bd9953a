// The labels, annotations and owner of a service's slices.

import type { Service } from '#api/groups/core/v1/index.ts';
import type { EndpointSlice } from '#api/groups/discovery/v1/index.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import {
  HEADLESS_LABEL as HEADLESS,
  SERVICE_NAME_LABEL as SERVICE_NAME,
} from '#client/endpoints/index.ts';
import { isHeadless } from './pod-endpoints.ts';

export { HEADLESS, SERVICE_NAME };
export const MANAGED_BY = 'endpointslice.kubernetes.io/managed-by';
export const LAST_CHANGE = 'endpoints.kubernetes.io/last-change-trigger-time';

const RESERVED = [SERVICE_NAME, MANAGED_BY, HEADLESS];

/** Returns the service's own labels, and the labels by which slices are selected. */
export function sliceLabels(
  service: Immutable<Service>,
  managedBy: string,
): Record<string, string> {
  const own = Object.entries(service.metadata.labels ?? {}).filter(
    ([key]) => !RESERVED.includes(key),
  );
  return {
    ...Object.fromEntries(own),
    ...(isHeadless(service) && { [HEADLESS]: '' }),
    [SERVICE_NAME]: service.metadata.name,
    [MANAGED_BY]: managedBy,
  };
}

/** Returns the key of the slice's service; undefined if another manager owns the slice. */
export function serviceKeyOf(
  { metadata }: Immutable<EndpointSlice>,
  managedBy: string,
): string | undefined {
  const { namespace = '', labels = {} } = metadata;
  const name = labels[SERVICE_NAME] ?? '';
  return labels[MANAGED_BY] === managedBy && name !== '' ? `${namespace}/${name}` : undefined;
}

/** Returns the prefix of the names of slices. */
export function sliceNamePrefix(name: string): string {
  const prefix = `${name}-`;
  // The generated suffix has five characters.
  return prefix.length + 5 > 253 ? name : prefix;
}
