// The normalized form of a CustomResourceDefinition's schema. A schema is structural if its parts
// outside of allOf, anyOf, oneOf and not define the type of every value: decoding, pruning,
// defaulting and merging use only those parts. Value validations (minimum, pattern, the junctors …)
// stay in the source, which values.ts compiles.

import type { JSONSchemaProps } from './json-schema-props.ts';

/** One node. Immutable; the nodes of one schema form a tree. */
export interface StructuralSchema {
  /** The original node, with the keywords that only validation and OpenAPI need. */
  readonly source: JSONSchemaProps;
  /** '' is any type: with preserveUnknownFields or intOrString. */
  readonly type: string;
  readonly nullable: boolean;
  /** Undefined: no default. A default is never null. */
  readonly default: unknown;
  readonly items: StructuralSchema | undefined;
  readonly properties: ReadonlyMap<string, StructuralSchema>;
  /** Undefined: not specified. */
  readonly additionalProperties: StructuralSchema | boolean | undefined;
  readonly preserveUnknownFields: boolean;
  readonly embeddedResource: boolean;
  readonly intOrString: boolean;
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly mapType: string | undefined;
}

/** The schema has no structural form: it uses a keyword that custom resources do not support. */
export class UnsupportedSchemaError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'UnsupportedSchemaError';
  }
}

/**
 * Returns the structural form of a schema. Throws UnsupportedSchemaError. validateStructural checks
 * the rules of structural schemas.
 */
export function structuralSchema(source: JSONSchemaProps): StructuralSchema {
  rejectUnsupported(source);
  const { items, additionalProperties } = source;
  for (const nested of nestedIn(source)) checkNested(nested);
  return {
    source,
    type: source.type ?? '',
    nullable: source.nullable === true,
    default: source.default ?? undefined,
    items: items === undefined || items === null ? undefined : structuralSchema(single(items)),
    properties: new Map(
      Object.entries(source.properties ?? {}).map(([name, property]) => [
        name,
        structuralSchema(property),
      ]),
    ),
    additionalProperties: isSchema(additionalProperties)
      ? structuralSchema(additionalProperties)
      : (additionalProperties ?? undefined),
    preserveUnknownFields: source['x-kubernetes-preserve-unknown-fields'] === true,
    embeddedResource: source['x-kubernetes-embedded-resource'] === true,
    intOrString: source['x-kubernetes-int-or-string'] === true,
    listType: source['x-kubernetes-list-type'] ?? undefined,
    listMapKeys: source['x-kubernetes-list-map-keys'] ?? [],
    mapType: source['x-kubernetes-map-type'] ?? undefined,
  };
}

/**
 * Returns the schema of an object's field: that of the property, or that of all other fields.
 * Undefined: it has none.
 */
export function schemaOfField(
  schema: StructuralSchema | undefined,
  name: string,
): StructuralSchema | undefined {
  return schema === undefined ? undefined : (schema.properties.get(name) ?? valuesOf(schema));
}

/** Returns the schema of the fields that are not properties. Undefined: they have none. */
export function valuesOf({ additionalProperties }: StructuralSchema): StructuralSchema | undefined {
  return typeof additionalProperties === 'object' ? additionalProperties : undefined;
}

/** Returns the schemas inside of allOf, anyOf, oneOf and not, in that order. */
function nestedIn({ allOf, anyOf, oneOf, not }: JSONSchemaProps): readonly JSONSchemaProps[] {
  return [
    ...(allOf ?? []),
    ...(anyOf ?? []),
    ...(oneOf ?? []),
    ...(not === undefined || not === null ? [] : [not]),
  ];
}

/** Keywords for which false and '' have a meaning. */
const WITH_ANY_VALUE: ReadonlySet<string> = new Set(['default', 'example', 'additionalProperties']);

/**
 * Reports whether the keyword has an effect: null, false, '' and an empty list are mostly equal to
 * a missing one.
 */
export function isEffective(keyword: string, value: unknown): boolean {
  if (value === undefined || value === null) return false;
  if (WITH_ANY_VALUE.has(keyword)) return true;
  return value !== false && value !== '' && !(Array.isArray(value) && value.length === 0);
}

/** Reports whether the value of additionalProperties or items is one schema. */
export function isSchema(
  value: JSONSchemaProps | boolean | readonly unknown[] | null | undefined,
): value is JSONSchemaProps {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function checkNested(source: JSONSchemaProps): void {
  rejectUnsupported(source);
  for (const nested of nestedIn(source)) checkNested(nested);
  if (source.items !== undefined && source.items !== null) checkNested(single(source.items));
  for (const property of Object.values(source.properties ?? {})) checkNested(property);
  if (isSchema(source.additionalProperties)) checkNested(source.additionalProperties);
}

function single(items: JSONSchemaProps | JSONSchemaProps[]): JSONSchemaProps {
  if (Array.isArray(items))
    throw new UnsupportedSchemaError("OpenAPIV3Schema 'items' must be a schema, but is an array");
  return items;
}

function rejectUnsupported(source: JSONSchemaProps): void {
  const unsupported = (keyword: string): never => {
    throw new UnsupportedSchemaError(`OpenAPIV3Schema '${keyword}' is not supported`);
  };
  if ((source.id ?? '') !== '') unsupported('id');
  if ((source.$schema ?? '') !== '') unsupported('schema');
  if ((source.$ref ?? '') !== '') unsupported('$ref');
  if (hasEntries(source.patternProperties)) unsupported('patternProperties');
  if (hasEntries(source.dependencies)) unsupported('dependencies');
  if (source.additionalItems !== undefined && source.additionalItems !== null)
    unsupported('additionalItems');
  if (hasEntries(source.definitions)) unsupported('definitions');
  if (source['x-kubernetes-preserve-unknown-fields'] === false) {
    throw new UnsupportedSchemaError(
      "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined",
    );
  }
}

function hasEntries(map: object | null | undefined): boolean {
  return map !== undefined && map !== null && Object.keys(map).length > 0;
}

/** Returns the schemas inside of a schema, in the order in which upstream visits them. */
export function partsOf(schema: JSONSchemaProps): readonly JSONSchemaProps[] {
  const { items, allOf, anyOf, oneOf, not, additionalProperties, additionalItems } = schema;
  const parts: JSONSchemaProps[] = [];
  if (isSchema(items)) parts.push(items);
  else if (items !== undefined) parts.push(...items);
  for (const junctor of [allOf, anyOf, oneOf]) if (junctor !== undefined) parts.push(...junctor);
  if (not !== undefined) parts.push(not);
  if (schema.properties !== undefined) parts.push(...Object.values(schema.properties));
  if (isSchema(additionalProperties)) parts.push(additionalProperties);
  if (schema.patternProperties !== undefined)
    parts.push(...Object.values(schema.patternProperties));
  if (isSchema(additionalItems)) parts.push(additionalItems);
  if (schema.definitions !== undefined) parts.push(...Object.values(schema.definitions));
  for (const dependency of Object.values(schema.dependencies ?? {}))
    if (isSchema(dependency)) parts.push(dependency);
  return parts;
}
