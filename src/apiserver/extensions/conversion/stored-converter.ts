// Converts between stored and served versions. A read object gets the defaults of its stored
// version, a written one gets none: the request has them. The conversion's result is pruned by the
// schema of the other version, but gets no defaults, as upstream.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import { nextTurn } from '#machinery/turn.ts';
import type { ObjectConverter } from '#apiserver/registry/object-converter.ts';
import { normalized, pruned } from './normalize.ts';

/** The number of objects that are processed in one turn of the event loop. */
const SLICE = 250;

/**
 * Returns the converter. `codecOf`: returns the codec of a version, by apiVersion; undefined if the
 * definition does not have the version.
 */
export function storedConverter(
  converter: ObjectConverter,
  codecOf: (apiVersion: string) => ObjectCodec | undefined,
): ObjectConverter {
  const convert: ObjectConverter['convert'] = (objects, apiVersion) => {
    const target = codecOf(apiVersion);
    return andThen(converter.convert(objects, apiVersion), (converted) =>
      target === undefined ? converted : inSlices(converted, (object) => pruned(target, object)),
    );
  };
  return {
    convert,
    convertStored(objects, apiVersion) {
      const read = inSlices(objects, (object) => {
        const codec = codecOf(object.apiVersion ?? '');
        return codec === undefined ? object : normalized(codec, object);
      });
      return andThen(read, (sources) => convert(sources, apiVersion));
    },
  };
}

/** Maps objects; many of them in several turns of the event loop. */
function inSlices(
  objects: readonly KubeObject[],
  map: (object: KubeObject) => KubeObject,
): Awaitable<readonly KubeObject[]> {
  if (objects.length <= SLICE) return objects.map(map);
  const mapAll = async (): Promise<readonly KubeObject[]> => {
    const mapped: KubeObject[] = [];
    for (const object of objects) {
      if (mapped.length % SLICE === SLICE - 1) await nextTurn();
      mapped.push(map(object));
    }
    return mapped;
  };
  return mapAll();
}
