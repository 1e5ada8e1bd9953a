// Objects as their schema has them now. A schema changes while objects are stored: they get its new defaults, and lose what it does not
// have any more, whenever they are read.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { deepEqual } from '#machinery/deep.ts';

/** Returns the object with the defaults of its kind and without fields that the kind does not have; itself, if that changes nothing. */
export function normalized(codec: ObjectCodec, object: KubeObject): KubeObject {
  const draft = codec.decode(object).object;
  codec.applyDefaults(draft);
  return asObject(draft, object);
}

/** Returns the object without fields that the kind does not have; itself, if it has none. */
export function pruned(codec: ObjectCodec, object: KubeObject): KubeObject {
  return asObject(codec.decode(object).object, object);
}

function asObject(draft: Record<string, unknown>, object: KubeObject): KubeObject {
  if (deepEqual(draft, object)) return object;
  const { kind, apiVersion, metadata, ...rest } = draft;
  return { kind, apiVersion, metadata, ...rest } as unknown as KubeObject;
}
