// Declares kinds. A declaration needs no server; `build` creates what one server serves (Kind): a
// store, and views of that store. Each version of a kind has a declaration. A version that is not
// stored names the stored version (`storedType`), and converts.
//
// Most kinds are defineKind with a type, a strategy and a table. A part that depends on a server
// (its clock, its authorizer, objects of other kinds) is given as a function of the services. The
// second type parameter names the services that it needs.

import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import {
  ResourceStore,
  type ResourceStoreConfig,
  type StoreServices,
} from '../registry/resource-store.ts';
import { formerVersionsConverter } from '../registry/former-versions.ts';
import type { ObjectConverter } from '../registry/object-converter.ts';
import { plainRest, type Verb } from '../registry/plain-rest.ts';
import type { Rest } from '../registry/rest.ts';
import {
  type FieldDeclarations,
  selectableFields,
  type SelectableFields,
} from '../registry/selectable-fields.ts';
import type { ResourceStrategy, SubresourceStrategy } from '../registry/strategy.ts';
import type { TableConvertor } from '../tables/table.ts';
import type { Kind, Subresource } from './kind.ts';

/** An entry of a list of kinds: one kind, or a few that are built together. */
export interface KindDefinition<S = StoreServices> {
  /** The types of the kinds that `build` creates, in the same order. */
  readonly types: readonly ResourceType[];
  /**
   * Creates the kinds of one server. It may keep `services`, but must not call services that are
   * complete only later (`find`).
   */
  build(services: S): readonly Kind[];
}

export interface KindConfig<T extends KubeObject, S extends StoreServices> {
  readonly type: ResourceType;
  /** The version in which the objects are stored. Default: `type`. */
  readonly storedType?: ResourceType;
  /**
   * Converts between all versions in which the objects are served or stored. Default: there is one
   * version.
   */
  readonly converter?: ObjectConverter;
  /** The other versions (or groups) in which the same objects are served. */
  readonly otherVersions?: readonly ResourceType[];
  /**
   * Encodes and decodes the objects. Default: the codec of the typed descriptor, with the defaults
   * that its group registers.
   */
  readonly codec?: ObjectCodec;
  readonly strategy: ResourceStrategy<T> | ((services: S) => ResourceStrategy<T>);
  /** The fields of field selectors, in addition to metadata.name and metadata.namespace. */
  readonly selectableFields?: FieldDeclarations<T>;
  /** See SelectableFieldsOptions.unsupported. */
  readonly unsupportedField?: (label: string) => string;
  /** The columns of tables. Default: Name and Created At. */
  readonly table?: TableConvertor<T>;
  /** See Kind. */
  readonly metadataOf?: (object: T) => KubeObject['metadata'];
  /**
   * Subresources by name, in the order of discovery: views of the stored objects (status), or any
   * that a function creates (scale, exec).
   */
  readonly subresources?: Readonly<
    Record<string, SubresourceView<T, S> | SubresourceFactory<T, S>>
  >;
  /** Verbs of the store that are not served. Default: none. */
  readonly withoutVerbs?: readonly Verb[];
  /** Creates the store. Default: a plain ResourceStore. */
  readonly store?: (config: ResourceStoreConfig<T>, services: S) => ResourceStore<T>;
  readonly listKind?: string;
  readonly deprecation?: string;
}

/**
 * A view of the stored objects with other rules (ResourceStore.view): status, approval, resize. It
 * serves get, update and patch.
 */
export interface SubresourceView<T extends KubeObject, S> {
  readonly strategy: SubresourceStrategy<T> | ((services: S) => SubresourceStrategy<T>);
  readonly withoutVerbs?: readonly Verb[];
}

/** Creates a subresource that is more than a view. */
export type SubresourceFactory<T extends KubeObject, S> = (context: {
  readonly store: ResourceStore<T>;
  readonly services: S;
}) => Omit<Subresource, 'name'>;

/** Declares a kind whose objects are stored. */
export function defineKind<T extends KubeObject, S extends StoreServices = StoreServices>(
  config: KindConfig<T, S>,
): KindDefinition<S> {
  const { unsupportedField: unsupported } = config;
  // The fields are declared once for all servers of a process.
  const fields =
    config.selectableFields === undefined
      ? undefined
      : selectableFields<T>(config.selectableFields, {
          namespaced: config.type.namespaced,
          ...(unsupported !== undefined && { unsupported }),
        });
  return { types: [config.type], build: (services) => [buildStored(config, fields, services)] };
}

/**
 * Declares a kind whose objects are not stored, or not here: reviews, bindings, the status of
 * components.
 */
export function defineVirtualKind<S = unknown>(
  config: Omit<Kind, 'rest'> & { readonly rest: (services: S) => Rest },
): KindDefinition<S> {
  return {
    types: [config.type],
    build: (services) => [{ ...config, rest: config.rest(services) }],
  };
}

function buildStored<T extends KubeObject, S extends StoreServices>(
  config: KindConfig<T, S>,
  fields: SelectableFields | undefined,
  services: S,
): Kind {
  const {
    type,
    storedType,
    converter,
    otherVersions,
    codec,
    table,
    metadataOf,
    subresources = {},
    listKind,
    deprecation,
  } = config;
  const strategy =
    typeof config.strategy === 'function' ? config.strategy(services) : config.strategy;
  const makeStore =
    config.store ?? ((storeConfig: ResourceStoreConfig<T>) => new ResourceStore<T>(storeConfig));
  const selectable = fields === undefined ? {} : { selectableFields: fields };
  const storedConverter = converter ?? formerVersionsConverter(type);
  const versions = {
    ...(storedType !== undefined && { storedType }),
    ...(storedConverter !== undefined && { converter: storedConverter }),
  };
  const store = makeStore({ ...services, type, ...versions, ...selectable, strategy }, services);
  return {
    type,
    ...(codec !== undefined && { codec }),
    // The strategy is only called with objects of its own store.
    strategy: strategy as unknown as ResourceStrategy<KubeObject>,
    rest: config.withoutVerbs === undefined ? store : plainRest(store, config.withoutVerbs),
    ...selectable,
    ...(table !== undefined && { table }),
    ...(metadataOf !== undefined && {
      metadataOf: (object: KubeObject) => metadataOf(object as T),
    }),
    subresources: Object.entries(subresources).map(([name, subresource]) =>
      typeof subresource === 'function'
        ? { ...subresource({ store, services }), name }
        : buildView(name, type, store, subresource, services),
    ),
    ...(otherVersions !== undefined && { otherVersions: otherVersions.map(kindOf) }),
    ...(converter !== undefined && { converter }),
    ...(storedType !== undefined && { storedKind: kindOf(storedType) }),
    ...(listKind !== undefined && { listKind }),
    ...(deprecation !== undefined && { deprecation }),
  };
}

function buildView<T extends KubeObject, S>(
  name: string,
  type: ResourceType,
  store: ResourceStore<T>,
  view: SubresourceView<T, S>,
  services: S,
): Subresource {
  const strategy = typeof view.strategy === 'function' ? view.strategy(services) : view.strategy;
  const rest: Rest = store.view(strategy);
  return {
    name,
    kind: kindOf(type),
    strategy: strategy as unknown as SubresourceStrategy<KubeObject>,
    rest: view.withoutVerbs === undefined ? rest : plainRest(rest, view.withoutVerbs),
  };
}

function kindOf({ group, version, kind }: ResourceType): GroupVersionKind {
  return { group, version, kind };
}
