// Converts the objects of a request to the version that a policy or a webhook sees, and back.

import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf, type Scheme } from '#api/machinery/scheme.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import type { CatalogSnapshot } from '#apiserver/catalog/snapshot.ts';
import { convertObject } from '#apiserver/registry/object-converter.ts';

/**
 * Returns the object in another version of its kind; the same object if it is already in that
 * version. The scheme converts built-in kinds, and the converter of their definition converts
 * custom ones. Throws or rejects with an Error if there is no such version.
 */
export function convertVersion(
  { scheme, snapshot }: { readonly scheme: Scheme; readonly snapshot: CatalogSnapshot },
  object: KubeObject,
  from: GroupVersionKind,
  to: GroupVersionKind,
): Awaitable<KubeObject> {
  const converter = snapshot.getKind(from)?.converter;
  if (converter === undefined || scheme.canConvert(from, to)) {
    return scheme.convert<KubeObject & Record<string, unknown>>(object, from, to);
  }
  return convertObject(converter, object, apiVersionOf(to));
}
