// The published description of a custom kind: its definition in OpenAPI v2 and v3 documents, and
// that of its list.

import type { JSONSchemaProps } from './json-schema-props.ts';
import type { MessageDescriptor } from '../../descriptor.ts';
import { describeField, type OpenApiSchema } from '../../openapi/index.ts';
import { metaSchemas } from '../../schema/meta-schemas.ts';
import { isEffective, isSchema, type StructuralSchema } from './structural-schema.ts';

export type OpenApiVersion = 2 | 3;

/** The names of a custom kind in documents. */
export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** The resource's name: 'widgets'. */
  readonly plural: string;
  /** Fields that selectors may use: 'spec.color'. */
  readonly selectableFields: readonly string[];
}

/** Returns the kind's name in documents: com.example.stable.v1.CronTab. */
export function definitionName({ group, version }: PublishedKind, kind: string): string {
  return `${group.split('.').toReversed().join('.')}.${version}.${kind}`;
}

/** A document to which definitions are added. */
export interface OpenApiDocument {
  /** The version of OpenAPI. */
  readonly version: OpenApiVersion;
  /** Adds the definition that `make` returns, unless one of this name exists. */
  add(name: string, make: () => OpenApiSchema): void;
  /** Adds the definition of a typed message and those that it refers to. Returns its name. */
  addMessage(message: MessageDescriptor): string;
  /** Returns a reference to a definition. */
  reference(name: string): OpenApiSchema;
}

/** A definition of a document. */
export interface PublishedType {
  readonly name: string;
  /** Adds the definition, and all definitions that it refers to. */
  define(document: OpenApiDocument): void;
}

/** Returns the definition of the kind. `schemaOf` returns undefined if the kind has no schema. */
export function publishedKind(
  kind: PublishedKind,
  schemaOf: () => StructuralSchema | undefined,
): PublishedType {
  const name = definitionName(kind, kind.kind);
  return {
    name,
    define: (document) =>
      document.add(name, () => withKind(objectSchema(schemaOf(), document), kind, kind.kind)),
  };
}

/** Returns the definition of the kind's list. `items`: the definition of the kind. */
export function publishedList(kind: PublishedKind, items: PublishedType): PublishedType {
  const name = definitionName(kind, kind.listKind);
  return {
    name,
    define: (document) => {
      document.add(name, () => withKind(listSchema(kind, items, document), kind, kind.listKind));
      items.define(document);
    },
  };
}

/**
 * Returns the schema of an object. Clients assume that an object with properties has no other
 * fields, so a v2 document omits the properties of an object that preserves unknown fields.
 */
function objectSchema(
  schema: StructuralSchema | undefined,
  document: OpenApiDocument,
): OpenApiSchema {
  if (schema === undefined || (document.version === 2 && schema.preserveUnknownFields))
    return { type: 'object' };
  const published = publish(schema.source, document);
  return {
    ...published,
    properties: { ...(published['properties'] as object), ...resourceProperties(document) },
  };
}

function listSchema(
  kind: PublishedKind,
  items: PublishedType,
  document: OpenApiDocument,
): OpenApiSchema {
  return {
    description: `${kind.listKind} is a list of ${kind.kind}`,
    type: 'object',
    required: ['items'],
    properties: {
      ...typeProperties(),
      items: {
        description:
          `List of ${kind.plural}. More info: ` +
          'https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.' +
          'md',
        type: 'array',
        items: document.reference(items.name),
      },
      metadata: metadataProperty('ListMeta', document),
    },
  };
}

function withKind(schema: OpenApiSchema, kind: PublishedKind, name: string): OpenApiSchema {
  const published: OpenApiSchema = {
    ...schema,
    'x-kubernetes-group-version-kind': [{ group: kind.group, kind: name, version: kind.version }],
  };
  if (kind.selectableFields.length > 0) {
    published['x-kubernetes-selectable-fields'] = kind.selectableFields.map((fieldPath) => ({
      fieldPath,
    }));
  }
  return published;
}

function typeProperties(): Record<string, OpenApiSchema> {
  const text = (name: string): OpenApiSchema => ({
    description: describeField('meta/v1.TypeMeta', name, true),
    type: 'string',
  });
  return { apiVersion: text('apiVersion'), kind: text('kind') };
}

function resourceProperties(document: OpenApiDocument): Record<string, OpenApiSchema> {
  return { ...typeProperties(), metadata: metadataProperty('ObjectMeta', document) };
}

/** Returns the schema of metadata. In OpenAPI v3 a reference must have no siblings. */
function metadataProperty(
  type: 'ObjectMeta' | 'ListMeta',
  document: OpenApiDocument,
): OpenApiSchema {
  const reference = document.reference(document.addMessage(metaSchemas.message(`meta/v1.${type}`)));
  const description = describeField(
    type === 'ListMeta' ? 'meta/v1.List' : 'meta/v1.Object',
    'metadata',
    true,
  );
  return document.version === 2
    ? { description, ...reference }
    : { description, allOf: [reference] };
}

/** Keywords that v2 documents do not have. */
const NOT_IN_V2: ReadonlySet<string> = new Set([
  'allOf',
  'anyOf',
  'oneOf',
  'not',
  'nullable',
  'default',
]);

const INT_OR_STRING: readonly JSONSchemaProps[] = [{ type: 'integer' }, { type: 'string' }];

/** Returns the published form of a schema with everything in it. */
function publish(given: JSONSchemaProps, document: OpenApiDocument): OpenApiSchema {
  const { version } = document;
  const source = version === 3 ? unfolded(given) : forV2(given);
  const schema: OpenApiSchema = {};
  for (const [keyword, value] of Object.entries(source) as [keyof JSONSchemaProps, unknown][]) {
    if (!isEffective(keyword, value) || (version === 2 && NOT_IN_V2.has(keyword))) continue;
    schema[keyword] = publishKeyword(keyword, value, document);
  }
  if (source['x-kubernetes-embedded-resource'] === true && !(version === 2 && preserves(source)))
    addResource(schema, document);
  return schema;
}

function publishKeyword(
  keyword: keyof JSONSchemaProps,
  value: unknown,
  document: OpenApiDocument,
): unknown {
  switch (keyword) {
    case 'properties':
      return Object.fromEntries(
        Object.entries(value as Record<string, JSONSchemaProps>).map(([name, property]) => [
          name,
          publish(property, document),
        ]),
      );
    case 'items':
    case 'not':
    case 'additionalProperties':
      return isSchema(value as JSONSchemaProps)
        ? publish(value as JSONSchemaProps, document)
        : value;
    case 'allOf':
    case 'anyOf':
    case 'oneOf':
      return (value as JSONSchemaProps[]).map((part) => publish(part, document));
    default:
      return value;
  }
}

/** Adds the fields of every resource to the schema of an embedded one. */
function addResource(schema: OpenApiSchema, document: OpenApiDocument): void {
  schema['properties'] = {
    ...(schema['properties'] as object | undefined),
    ...resourceProperties(document),
  };
  const required = (schema['required'] as string[] | undefined) ?? [];
  schema['required'] = [
    ...required,
    ...['kind', 'apiVersion'].filter((name) => !required.includes(name)),
  ];
}

const preserves = (source: JSONSchemaProps): boolean =>
  source['x-kubernetes-preserve-unknown-fields'] === true;

/** Expresses int-or-string with the keywords of v3. */
function unfolded(source: JSONSchemaProps): JSONSchemaProps {
  if (source['x-kubernetes-int-or-string'] !== true) return source;
  if (isIntOrString(source.anyOf) || isIntOrString(source.allOf?.[0]?.anyOf)) return source;
  if (source.anyOf === undefined || source.anyOf.length === 0)
    return { ...source, anyOf: [...INT_OR_STRING] };
  return { ...source, allOf: [{ anyOf: [...INT_OR_STRING] }, ...(source.allOf ?? [])] };
}

function isIntOrString(anyOf: readonly JSONSchemaProps[] | undefined): boolean {
  return anyOf?.length === 2 && anyOf[0]?.type === 'integer' && anyOf[1]?.type === 'string';
}

/**
 * Returns the schema for v2, which has no null. Its clients do not support untyped values with
 * properties or items.
 */
function forV2(source: JSONSchemaProps): JSONSchemaProps {
  const draft = { ...source };
  if (draft.nullable === true) delete draft.type;
  if (draft.nullable === true || preserves(draft)) {
    delete draft.items;
    delete draft.properties;
  }
  if (draft.type === 'array' && draft.items === undefined) delete draft.type;
  if (draft.type === 'object' && preserves(draft)) delete draft.type;
  const { properties = {}, additionalProperties } = draft;
  if (draft.required !== undefined) {
    draft.required = draft.required.filter((name) => properties[name]?.nullable !== true);
    const isOptional = isSchema(additionalProperties) && additionalProperties.nullable === true;
    if (isOptional || draft.required.length === 0) delete draft.required;
  }
  return draft;
}
