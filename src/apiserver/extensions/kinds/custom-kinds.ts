// Builds the kinds of a definition: one for each version.

import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { RuleTimes } from '#api/machinery/codec/structural/index.ts';
import type { GroupVersionKind, ResourceType } from '#api/machinery/descriptor.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import type { Kind, Subresource } from '#apiserver/catalog/kind.ts';
import type { ObjectConverter } from '#apiserver/registry/object-converter.ts';
import type { StoreServices } from '#apiserver/registry/resource-store.ts';
import { normalized } from '../conversion/normalize.ts';
import { storedConverter } from '../conversion/stored-converter.ts';
import type { TableConvertor } from '#apiserver/tables/table.ts';
import type { CustomResource, CustomVersion } from '../description.ts';
import { CustomCodec } from './custom-codec.ts';
import { customFields, nameOfField } from './custom-fields.ts';
import { deprecationOf } from './deprecation.ts';
import { LazyStore } from './lazy-store.ts';
import { objectStrategy, statusStrategy } from './object-strategy.ts';
import { customTable } from './printer-columns.ts';
import { customScale } from './scale.ts';
import type { SchemaPool } from './schema-pool.ts';

export interface CustomKindServices extends StoreServices {
  readonly pool: SchemaPool;
  /** Measures validation rules. Default: they are not measured. */
  readonly ruleTimes?: RuleTimes;
  /** The codec of the subresource scale. */
  readonly scaleCodec: ObjectCodec;
  /**
   * Returns the schema of a version; undefined if it has none. Called whenever the schema has to be
   * compiled.
   */
  readonly schemaOf: (version: string) => JSONSchemaProps | undefined;
  /** Returns the length of the definition, in bytes. */
  readonly bytesOf: () => number;
  /** Converts between the versions of the resource, by the definition's strategy. */
  readonly converter: ObjectConverter;
  /** A text that differs for every state of the definition. */
  readonly fingerprint: string;
  /** Reports whether the definition is being deleted, so that no objects may be created. */
  readonly isTerminating: () => boolean;
}

/**
 * Returns the kinds of a resource: one for each served version, and one for the storage version,
 * which is internal if it is not served. The kinds are those of an established definition (see
 * `presented`).
 */
export function customKinds(
  resource: CustomResource,
  services: CustomKindServices,
): readonly Kind[] {
  const versions = resource.versions.filter(({ served, storage }) => served || storage);
  const codecs = new Map(
    resource.versions.map((version) => {
      const codec = codecOf(resource, version, services);
      return [apiVersionOf(codec.kind), codec] as const;
    }),
  );
  return versions.map((version) => customKind(resource, version, codecs, services));
}

function codecOf(
  { group, names }: CustomResource,
  { name, hasSchema, selectableFields }: CustomVersion,
  { pool, schemaOf, bytesOf, ruleTimes }: CustomKindServices,
): CustomCodec {
  return new CustomCodec({
    kind: { group, version: name, kind: names.kind },
    listKind: names.listKind,
    plural: names.plural,
    selectableFields: selectableFields.map(nameOfField),
    schemaOf: () => (hasSchema ? schemaOf(name) : undefined),
    bytesOf,
    pool,
    ruleTimes,
  });
}

function customKind(
  resource: CustomResource,
  version: CustomVersion,
  codecs: ReadonlyMap<string, CustomCodec>,
  services: CustomKindServices,
): Kind {
  const { names, versions } = resource;
  const type = typeOf(resource, version);
  const storage = versions.find((each) => each.storage)!;
  const storedType = version.storage ? type : typeOf(resource, storage);
  const codec = codecs.get(apiVersionOf(type))!;
  const strategy = objectStrategy({
    codec,
    version,
    resource: type,
    isTerminating: services.isTerminating,
  });
  const fields = customFields(version.selectableFields, resource.namespaced);
  const store = new LazyStore(
    () => ({
      ...services,
      type,
      storedType,
      strategy,
      selectableFields: fields,
      normalize: (object) => normalized(codec, object),
      converter: storedConverter(services.converter, (apiVersion) => codecs.get(apiVersion)),
    }),
    strategy.resetFields ?? [],
  );
  const table = customTable(version.columns);
  const deprecation = deprecationOf(resource, version);
  const others = versions
    .filter((each) => each !== version)
    .map((each) => kindOf(typeOf(resource, each)));
  return {
    type,
    codec,
    rest: store,
    strategy,
    selectableFields: fields,
    table,
    listKind: names.listKind,
    subresources: subresourcesOf(resource, version, {
      codec,
      store,
      table,
      scaleCodec: services.scaleCodec,
    }),
    ...(others.length > 0 && { otherVersions: others, converter: services.converter }),
    ...(!version.storage && { storedKind: kindOf(storedType) }),
    ...(deprecation !== undefined && { deprecation }),
    ...(!version.served && { visibility: 'internal' }),
    isCustom: true,
    fingerprint: services.fingerprint,
    discovery: { verbs: VERBS },
  };
}

interface SubresourceParts {
  readonly codec: CustomCodec;
  readonly store: LazyStore;
  readonly table: TableConvertor;
  readonly scaleCodec: ObjectCodec;
}

function subresourcesOf(
  resource: CustomResource,
  version: CustomVersion,
  { codec, store, table, scaleCodec }: SubresourceParts,
): readonly Subresource[] {
  const subresources: Subresource[] = [];
  if (version.hasStatus) {
    const strategy = statusStrategy(codec, version);
    const { kind } = codec;
    // Upstream shows a status with the columns of its resource.
    subresources.push({ name: 'status', kind, rest: store.view(strategy), strategy, table });
  }
  if (version.scale !== undefined) {
    subresources.push({
      name: 'scale',
      ...customScale({
        resource,
        paths: version.scale,
        store,
        codec: scaleCodec,
        version: version.name,
      }),
    });
  }
  return subresources;
}

/** The verbs in the order of upstream's discovery. */
const VERBS = ['delete', 'deletecollection', 'get', 'list', 'patch', 'create', 'update', 'watch'];

function typeOf(
  { group, names, namespaced }: CustomResource,
  { name, hasStatus, scale }: CustomVersion,
): ResourceType {
  return {
    group,
    version: name,
    resource: names.plural,
    singular: names.singular,
    kind: names.kind,
    namespaced,
    shortNames: names.shortNames,
    categories: names.categories,
    subresources: [...(hasStatus ? ['status'] : []), ...(scale === undefined ? [] : ['scale'])],
  };
}

function kindOf({ group, version, kind }: ResourceType): GroupVersionKind {
  return { group, version, kind };
}
