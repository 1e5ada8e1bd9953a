// Finds the codec of a kind: its own (custom resources), or the codec of its typed descriptor. All
// code in the API server that needs the codec of a kind uses these functions.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import { apiVersionOf, type Scheme } from '#api/machinery/scheme.ts';
import type { Kind, Subresource } from './kind.ts';
import type { CatalogSnapshot } from './snapshot.ts';

/**
 * Returns the codec of a kind. Throws Error for a kind that has neither a codec nor a descriptor,
 * which is a bug.
 */
export function codecOf(
  scheme: Scheme,
  { codec, type }: Pick<Kind, 'codec' | 'type'>,
): ObjectCodec {
  return codec ?? typedCodec(scheme, type);
}

/**
 * Returns the codec of the objects that a subresource takes and returns. Throws the errors of
 * `codecOf`.
 */
export function subresourceCodec(
  scheme: Scheme,
  parent: Kind,
  { codec, kind }: Subresource,
): ObjectCodec {
  if (codec !== undefined) return codec;
  return isOf(parent, kind) ? codecOf(scheme, parent) : typedCodec(scheme, kind);
}

/**
 * Returns the codec of a kind: one that is installed, or another one with a typed descriptor.
 * Undefined: there is no such kind.
 */
export function findCodec(
  scheme: Scheme,
  snapshot: CatalogSnapshot,
  kind: GroupVersionKind,
): ObjectCodec | undefined {
  const installedKind = snapshot.getKind(kind);
  return installedKind === undefined ? scheme.codecOf(kind) : codecOf(scheme, installedKind);
}

function isOf({ type }: Kind, { group, version, kind }: GroupVersionKind): boolean {
  return type.kind === kind && type.version === version && type.group === group;
}

/**
 * Returns the codec of the typed descriptor of a kind. Throws Error if there is none, which is a
 * bug.
 */
export function typedCodec(scheme: Scheme, kind: GroupVersionKind): ObjectCodec {
  const codec = scheme.codecOf(kind);
  if (codec === undefined)
    throw new Error(`neither a codec nor a schema for ${apiVersionOf(kind)}, Kind=${kind.kind}`);
  return codec;
}
