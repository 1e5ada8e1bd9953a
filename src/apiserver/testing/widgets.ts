// A kind that is not built in, for tests that install kinds at run time: widgets, which are similar
// to ConfigMaps.

import { newDefaultScheme } from '#api/default-scheme.ts';
import { DescriptorCodec } from '#api/machinery/codec/descriptor-codec.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { silentLogger } from '#machinery/log.ts';
import { SeededRandom } from '#machinery/random.ts';
import type { Kind } from '../catalog/kind.ts';
import type { ObjectConverter } from '../registry/object-converter.ts';
import { ResourceStore, type StoreServices } from '../registry/resource-store.ts';

const GROUP = 'example.com';

export interface Widget extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

export function widgetType(
  version = 'v1',
  group = GROUP,
  resource = 'widgets',
): ResourceType<Widget> {
  return {
    group,
    version,
    resource,
    singular: resource.slice(0, -1),
    kind:
      resource === 'widgets'
        ? 'Widget'
        : `${resource.charAt(0).toUpperCase()}${resource.slice(1, -1)}`,
    namespaced: true,
    shortNames: [],
    categories: [],
  };
}

const configMaps = newDefaultScheme().schemas.lookup({
  group: '',
  version: 'v1',
  kind: 'ConfigMap',
})!;

function codecOf({ group, version, kind }: ResourceType): ObjectCodec {
  const { message, listMessage } = configMaps;
  return new DescriptorCodec({
    kind: { group, version, kind },
    message,
    ...(listMessage !== undefined && { listMessage }),
  });
}

/**
 * Returns the kind. `storage` and `clock`: the server's. `stored`: the version in which the objects
 * are stored. Default: the version of the type.
 */
export function widgetKind(
  services: Pick<StoreServices, 'storage' | 'clock'>,
  type: ResourceType = widgetType(),
  stored: ResourceType = type,
): Kind {
  const converter: ObjectConverter = {
    convert: (objects, apiVersion) => objects.map((object) => ({ ...object, apiVersion })),
  };
  const rest = new ResourceStore<Widget>({
    random: new SeededRandom('widgets'),
    logger: silentLogger,
    ...services,
    type,
    storedType: stored,
    converter,
    strategy: { validate: () => [], validateUpdate: () => [] },
  });
  const { group, version, kind } = stored;
  return {
    type,
    codec: codecOf(type),
    rest,
    converter,
    ...(stored !== type && {
      otherVersions: [{ group, version, kind }],
      storedKind: { group, version, kind },
    }),
  };
}
