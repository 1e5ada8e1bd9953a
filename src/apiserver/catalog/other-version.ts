// Declares a kind in a version that is not stored. All rules are those of the stored version: each
// object is converted before a rule sees it.

import type { ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  convertedStrategy,
  convertedSubresource,
  type VersionPair,
} from '../registry/converted-strategy.ts';
import type { StoreServices } from '../registry/resource-store.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../registry/strategy.ts';
import type { TableConvertor } from '../tables/table.ts';
import type { KindConfig, SubresourceView } from './define-kind.ts';

/**
 * Returns the declaration of the kind `config` in the version of `type`. Throws if the kind has its
 * own store or codec, or a subresource that is more than a view: those know one version only.
 */
export function inOtherVersion<
  Served extends KubeObject,
  Stored extends KubeObject,
  S extends StoreServices,
>(
  config: KindConfig<Stored, S>,
  type: ResourceType,
  pair: VersionPair<Served, Stored>,
  deprecation?: string,
): KindConfig<Served, S> {
  const { converter, otherVersions = [], selectableFields, table, subresources = {} } = config;
  const { listKind, withoutVerbs, strategy } = config;
  if (config.store !== undefined || config.codec !== undefined || converter === undefined)
    throw new Error(`${type.resource}: only a plain store with a converter has other versions`);
  const { toStored } = pair;
  return {
    type,
    storedType: config.storedType ?? config.type,
    converter,
    otherVersions: [config.type, ...otherVersions.filter((other) => other !== type)],
    strategy: (services: S): ResourceStrategy<Served> =>
      convertedStrategy(typeof strategy === 'function' ? strategy(services) : strategy, pair),
    ...(selectableFields !== undefined && {
      selectableFields: Object.fromEntries(
        Object.entries(selectableFields).map(([name, field]) => {
          const { value, ...attributes } = typeof field === 'function' ? { value: field } : field;
          return [name, { ...attributes, value: (object: Served) => value(toStored(object)) }];
        }),
      ),
    }),
    ...(table !== undefined && { table: convertedTable(table, toStored) }),
    subresources: Object.fromEntries(
      Object.entries(subresources).map(([name, view]) => {
        if (typeof view === 'function')
          throw new Error(`${type.resource}/${name} is no view: it has no other versions`);
        return [name, convertedView(view, pair)];
      }),
    ),
    ...(withoutVerbs !== undefined && { withoutVerbs }),
    ...(listKind !== undefined && { listKind }),
    ...(deprecation !== undefined && { deprecation }),
  };
}

function convertedView<Served extends KubeObject, Stored extends KubeObject, S>(
  { strategy, ...view }: SubresourceView<Stored, S>,
  pair: VersionPair<Served, Stored>,
): SubresourceView<Served, S> {
  return {
    ...view,
    strategy: (services: S): SubresourceStrategy<Served> =>
      convertedSubresource(typeof strategy === 'function' ? strategy(services) : strategy, pair),
  };
}

function convertedTable<Served extends KubeObject, Stored extends KubeObject>(
  table: TableConvertor<Stored>,
  toStored: (object: Served) => Stored,
): TableConvertor<Served> {
  return {
    columns: table.columns,
    cells: (object, now) => table.cells(toStored(object), now),
    ...(table.compare !== undefined && {
      compare: (a: Served, b: Served) => table.compare?.(toStored(a), toStored(b)) ?? 0,
    }),
    ...(table.conditions !== undefined && {
      conditions: (object: Served) => table.conditions?.(toStored(object)) ?? [],
    }),
  };
}
