// Normalizes stored objects by the current schema. A schema may change while objects are stored, so
// reads add new defaults and drop fields that the schema no longer has.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';

/**
 * Returns the object with the defaults of its kind and without unknown fields; the same object if
 * nothing changes.
 */
export function normalized(codec: ObjectCodec, object: KubeObject): KubeObject {
  const draft = codec.decode(object, { isStored: true }).object;
  codec.applyDefaults(draft);
  return asObject(draft, object);
}

/** Returns the object without unknown fields; the same object if it has none. */
export function pruned(codec: ObjectCodec, object: KubeObject): KubeObject {
  return asObject(codec.decode(object).object, object);
}

function asObject(draft: Record<string, unknown>, object: KubeObject): KubeObject {
  if (deepEqual(draft, object)) return object;
  const { kind, apiVersion, metadata, ...rest } = draft;
  return { kind, apiVersion, metadata, ...rest } as unknown as KubeObject;
}
