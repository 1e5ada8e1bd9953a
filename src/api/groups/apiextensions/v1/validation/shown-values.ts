// Values as error messages show them: Kubernetes prints its internal types as JSON, with the names and the order of their Go fields.

import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { omitValue } from '#machinery/validation/field.ts';
import type * as apiextensions from '../types.ts';
import type { Schema, Version } from './definition.ts';

/** Schemas with more nodes are left out of messages: each node takes a kilobyte there. */
const MAX_SHOWN_NODES = 500;

/** Shows a text as JSON does, not as Go quotes it: Kubernetes has a pointer there. */
export function pointerTo(text: string): unknown {
  return { toJSON: () => text };
}

/** Returns versions as a message shows them. */
export function shownVersions(versions: readonly Version[]): unknown {
  const writer = new SchemaWriter();
  const shown = versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema: version.schema === undefined ? null : { OpenAPIV3Schema: writer.orNull(version.schema.openAPIV3Schema) },
    Subresources: shownSubresources(version.subresources),
    AdditionalPrinterColumns: orNull(version.additionalPrinterColumns, ({ name, type, format, description, priority, jsonPath }) => ({
      Name: name,
      Type: type,
      Format: format ?? '',
      Description: description ?? '',
      Priority: priority ?? 0,
      JSONPath: jsonPath,
    })),
    SelectableFields: orNull(version.selectableFields, ({ jsonPath }) => ({ JSONPath: jsonPath })),
  }));
  return writer.isTooLarge ? omitValue : shown;
}

/** Returns a schema as a message shows it. */
export function shownSchema(schema: Schema): unknown {
  const writer = new SchemaWriter();
  const shown = writer.write(schema);
  return writer.isTooLarge ? omitValue : shown;
}

function shownSubresources(subresources: Version['subresources']): unknown {
  if (subresources === undefined) return null;
  const { status, scale } = subresources;
  return {
    Status: status === undefined ? null : {},
    Scale:
      scale === undefined
        ? null
        : {
            SpecReplicasPath: scale.specReplicasPath,
            StatusReplicasPath: scale.statusReplicasPath,
            LabelSelectorPath: scale.labelSelectorPath ?? null,
          },
  };
}

function orNull<T>(list: readonly T[] | undefined, show: (item: T) => unknown): unknown {
  return list === undefined ? null : list.map(show);
}

type SchemaMap = Readonly<Record<string, Schema>>;

class SchemaWriter {
  #nodes = 0;

  get isTooLarge(): boolean {
    return this.#nodes > MAX_SHOWN_NODES;
  }

  orNull(schema: Schema | undefined): unknown {
    return schema === undefined ? null : this.write(schema);
  }

  write(schema: Schema): unknown {
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
      Items: this.shownItems(schema.items),
      AllOf: orNull(schema.allOf, (each) => this.write(each)),
      OneOf: orNull(schema.oneOf, (each) => this.write(each)),
      AnyOf: orNull(schema.anyOf, (each) => this.write(each)),
      Not: this.orNull(schema.not),
      Properties: this.#map(schema.properties, (each) => this.write(each)),
      AdditionalProperties: this.#orBool(schema.additionalProperties),
      PatternProperties: this.#map(schema.patternProperties, (each) => this.write(each)),
      Dependencies: this.#map(schema.dependencies, (each) =>
        Array.isArray(each) ? { Schema: null, Property: each } : { Schema: this.write(each as Schema), Property: null },
      ),
      AdditionalItems: this.#orBool(schema.additionalItems),
      Definitions: this.#map(schema.definitions as SchemaMap | undefined, (each) => this.write(each)),
      ExternalDocs:
        schema.externalDocs === undefined
          ? null
          : { Description: schema.externalDocs.description ?? '', URL: schema.externalDocs.url ?? '' },
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

  shownItems(items: Schema['items']): unknown {
    if (items === undefined) return null;
    if (Array.isArray(items)) return { Schema: null, JSONSchemas: items.map((each) => this.write(each as Schema)) };
    return { Schema: this.write(items as Schema), JSONSchemas: null };
  }

  #orBool(value: Schema['additionalProperties']): unknown {
    if (value === undefined) return null;
    return typeof value === 'boolean' ? { Allows: value, Schema: null } : { Allows: true, Schema: this.write(value) };
  }

  #map<T>(map: Readonly<Record<string, T>> | undefined, show: (value: T) => unknown): unknown {
    if (map === undefined) return null;
    const entries = Object.entries(map).sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries.map(([name, value]) => [name, show(value)]));
  }
}

function shownRule(rule: Immutable<apiextensions.ValidationRule>): unknown {
  return {
    Rule: rule.rule,
    Message: rule.message ?? '',
    MessageExpression: rule.messageExpression ?? '',
    Reason: rule.reason ?? null,
    FieldPath: rule.fieldPath ?? '',
    OptionalOldSelf: rule.optionalOldSelf ?? null,
  };
}
