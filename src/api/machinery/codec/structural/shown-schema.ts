// Schemas in error messages: Kubernetes prints its internal types as JSON, with the names and the
// order of their Go fields.

import { omitValue } from '#machinery/validation/field.ts';
import type { JSONSchemaProps } from './json-schema-props.ts';
import { shownRule } from './rules/validate-rules.ts';
import { isSchema } from './structural-schema.ts';

/** The number of nodes above which a schema is left out of messages: each node takes a kilobyte. */
const MAX_SHOWN_NODES = 500;

/** Returns a schema in the form of messages. */
export function shownSchema(schema: JSONSchemaProps): unknown {
  const writer = new SchemaWriter();
  const shown = writer.write(schema);
  return writer.isTooLarge ? omitValue : shown;
}

/** Returns the value of `items` in the form of messages. */
export function shownItems(items: JSONSchemaProps['items']): unknown {
  const writer = new SchemaWriter();
  const shown = writer.items(items);
  return writer.isTooLarge ? omitValue : shown;
}

/** Converts schemas for one message. */
export class SchemaWriter {
  #nodes = 0;

  get isTooLarge(): boolean {
    return this.#nodes > MAX_SHOWN_NODES;
  }

  orNull(schema: JSONSchemaProps | undefined): unknown {
    return schema === undefined ? null : this.write(schema);
  }

  write(schema: JSONSchemaProps): unknown {
    this.#nodes++;
    if (this.isTooLarge) return null;
    return {
      ID: schema.id ?? '',
      Schema: schema.$schema ?? '',
      Ref: schema.$ref ?? null,
      Description: schema.description ?? '',
      Type: schema.type ?? '',
      Nullable: schema.nullable ?? false,
      Format: schema.format ?? '',
      Title: schema.title ?? '',
      Default: schema.default ?? null,
      Maximum: schema.maximum ?? null,
      ExclusiveMaximum: schema.exclusiveMaximum ?? false,
      Minimum: schema.minimum ?? null,
      ExclusiveMinimum: schema.exclusiveMinimum ?? false,
      MaxLength: schema.maxLength ?? null,
      MinLength: schema.minLength ?? null,
      Pattern: schema.pattern ?? '',
      MaxItems: schema.maxItems ?? null,
      MinItems: schema.minItems ?? null,
      UniqueItems: schema.uniqueItems ?? false,
      MultipleOf: schema.multipleOf ?? null,
      Enum: schema.enum ?? null,
      MaxProperties: schema.maxProperties ?? null,
      MinProperties: schema.minProperties ?? null,
      Required: schema.required ?? null,
      Items: this.items(schema.items),
      AllOf: orNull(schema.allOf, (each) => this.write(each)),
      OneOf: orNull(schema.oneOf, (each) => this.write(each)),
      AnyOf: orNull(schema.anyOf, (each) => this.write(each)),
      Not: this.orNull(schema.not),
      Properties: this.#map(schema.properties, (each) => this.write(each)),
      AdditionalProperties: this.#orBool(schema.additionalProperties),
      PatternProperties: this.#map(schema.patternProperties, (each) => this.write(each)),
      Dependencies: this.#map(schema.dependencies, (each) =>
        isSchema(each)
          ? { Schema: this.write(each), Property: null }
          : { Schema: null, Property: each },
      ),
      AdditionalItems: this.#orBool(schema.additionalItems),
      Definitions: this.#map(schema.definitions, (each) => this.write(each)),
      ExternalDocs: shownDocs(schema.externalDocs),
      Example: schema.example ?? null,
      XPreserveUnknownFields: schema['x-kubernetes-preserve-unknown-fields'] ?? null,
      XEmbeddedResource: schema['x-kubernetes-embedded-resource'] ?? false,
      XIntOrString: schema['x-kubernetes-int-or-string'] ?? false,
      XListMapKeys: schema['x-kubernetes-list-map-keys'] ?? null,
      XListType: schema['x-kubernetes-list-type'] ?? null,
      XMapType: schema['x-kubernetes-map-type'] ?? null,
      XValidations: orNull(schema['x-kubernetes-validations'], shownRule),
    };
  }

  items(items: JSONSchemaProps['items']): unknown {
    if (items === undefined) return null;
    return isSchema(items)
      ? { Schema: this.write(items), JSONSchemas: null }
      : { Schema: null, JSONSchemas: items.map((each) => this.write(each)) };
  }

  #orBool(value: JSONSchemaProps['additionalProperties']): unknown {
    if (value === undefined) return null;
    return typeof value === 'boolean'
      ? { Allows: value, Schema: null }
      : { Allows: true, Schema: this.write(value) };
  }

  #map<T>(map: Readonly<Record<string, T>> | undefined, show: (value: T) => unknown): unknown {
    if (map === undefined) return null;
    const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([name, value]) => [name, show(value)]));
  }
}

function shownDocs(
  docs: { readonly description?: string; readonly url?: string } | undefined,
): unknown {
  return docs === undefined ? null : { Description: docs.description ?? '', URL: docs.url ?? '' };
}

function orNull<T>(list: readonly T[] | undefined, show: (item: T) => unknown): unknown {
  return list === undefined ? null : list.map(show);
}
