// Values in error messages: Kubernetes prints its internal types as JSON, with the names and the
// order of their Go fields.

import type { JSONSchemaProps } from '#api/machinery/codec/structural/json-schema-props.ts';
import { SchemaWriter } from '#api/machinery/codec/structural/shown-schema.ts';
import { omitValue } from '#machinery/validation/field.ts';
import type { Version } from './definition.ts';

/** Shows a text as JSON instead of Go's quoting: upstream has a pointer there. */
export function pointerTo(text: string): unknown {
  return { toJSON: () => text };
}

/** The number of versions above which they are left out of messages. */
const MAX_SHOWN_VERSIONS = 100;

/** Returns versions in the form of messages. */
export function shownVersions(versions: readonly Version[]): unknown {
  if (versions.length > MAX_SHOWN_VERSIONS) return omitValue;
  const writer = new SchemaWriter();
  const shown = versions.map((version) => ({
    Name: version.name,
    Served: version.served,
    Storage: version.storage,
    Deprecated: version.deprecated ?? false,
    DeprecationWarning: version.deprecationWarning ?? null,
    Schema:
      version.schema === undefined
        ? null
        : { OpenAPIV3Schema: writer.orNull(version.schema.openAPIV3Schema as JSONSchemaProps) },
    Subresources: shownSubresources(version.subresources),
    AdditionalPrinterColumns: orNull(
      version.additionalPrinterColumns,
      ({ name, type, format, description, priority, jsonPath }) => ({
        Name: name,
        Type: type,
        Format: format ?? '',
        Description: description ?? '',
        Priority: priority ?? 0,
        JSONPath: jsonPath,
      }),
    ),
    SelectableFields: orNull(version.selectableFields, ({ jsonPath }) => ({ JSONPath: jsonPath })),
  }));
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
