// The page's addresses, in the fragment: the server serves one file.

import { type ResourceType, typeId } from './resource-type.ts';

/** Stands for the namespace of objects without one: no namespace has this name. */
const NO_NAMESPACE = '_';

const part = encodeURIComponent;

export const listRoute = (type: ResourceType, filter = ''): string =>
  `/list/${part(typeId(type))}${filter === '' ? '' : `/${part(filter)}`}`;

export function objectRoute(
  type: Pick<ResourceType, 'resource' | 'group'>,
  namespace: string | undefined,
  name: string,
  tab?: string,
): string {
  const place = namespace === undefined || namespace === '' ? NO_NAMESPACE : namespace;
  const route = `/object/${part(typeId(type))}/${part(place)}/${part(name)}`;
  return tab === undefined ? route : `${route}/${tab}`;
}

/** Returns the namespace of a route's part. */
export const namespaceOf = (text: string): string | undefined =>
  text === NO_NAMESPACE ? undefined : text;

/** Returns the text of a route's part; a part that is not well formed is itself. */
export function textOf(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch (error) {
    if (error instanceof URIError) return part;
    throw error;
  }
}
