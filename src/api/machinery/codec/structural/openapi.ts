// What is published of a custom kind: its definition in OpenAPI v2 and v3 documents, and that of its list.

import type { JSONSchemaProps } from './json-schema-props.ts';
import type { MessageDescriptor } from '../../descriptor.ts';
import { describeField } from '../../openapi/index.ts';
import type { OpenApiSchema } from '../../openapi/index.ts';
import { metaSchemas } from '../../schema/meta-schemas.ts';
import { isSaid, isSchema, type StructuralSchema } from './structural-schema.ts';

export type OpenApiVersion = 2 | 3;

/** A custom kind as documents name it. */
export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  /** Of the resource: 'widgets'. */
  readonly plural: string;
  /** Fields that selectors may use: 'spec.color'. */
  readonly selectableFields: readonly string[];
}

/** Returns the kind's name in documents: com.example.stable.v1.CronTab. */
export function definitionName({ group, version }: PublishedKind, kind: string): string {
  return `${group.split('.').toReversed().join('.')}.${version}.${kind}`;
}

/** A document that definitions are added to. */
export interface OpenApiDocument {
  /** Of OpenAPI. */
  readonly version: OpenApiVersion;
  /** Adds the definition that `make` returns, unless there is one of this name. */
  add(name: string, make: () => OpenApiSchema): void;
  /** Adds the definition of a typed message and those that it refers to. Returns its name. */
  addMessage(message: MessageDescriptor): string;
  /** Returns a reference to a definition. */
  reference(name: string): OpenApiSchema;
}

/** A definition of a document, and how it gets there. */
export interface PublishedType {
  readonly name: string;
  /** Adds the definition, and all definitions that it refers to. */
  define(document: OpenApiDocument): void;
}

/** Returns the definition of the kind. `schemaOf`: returns undefined if the kind has none. */
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

/** Returns the definition of the list of the kind. `items`: the kind's own. */
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

/** Clients take an object with properties for one that has no others; where others are preserved, v2 says nothing of properties. */
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

/** In OpenAPI v3 nothing may stand beside a reference. */
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

/** Publishes one node and everything in it. */
function publish(given: JSONSchemaProps, document: OpenApiDocument): OpenApiSchema {
  const { version } = document;
  const source = version === 3 ? unfolded(given) : forV2(given);
  const schema: OpenApiSchema = {};
  for (const [keyword, value] of Object.entries(source) as [keyof JSONSchemaProps, unknown][]) {
    if (!isSaid(keyword, value) || (version === 2 && NOT_IN_V2.has(keyword))) continue;
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

/** A resource inside of another: what every resource has is added. */
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

/** int-or-string is what v3 can say in its own words. */
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

/** v2 has no null, and its clients know no untyped values with properties or items. */
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
