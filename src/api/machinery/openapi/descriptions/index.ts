// Descriptions of all types and fields, for `kubectl explain`, OpenAPI documents and editors
// (docstrings in types.ts). Tests check that every field has a description, and that every name
// here is in the schema.

import { access } from './access.ts';
import { apps } from './apps.ts';
import { betaDevices } from './beta-devices.ts';
import { container } from './container.ts';
import { core } from './core.ts';
import { devices } from './devices.ts';
import { extension } from './extension.ts';
import type { Descriptions } from './form.ts';
import { meta } from './meta.ts';
import { network } from './network.ts';
import { node } from './node.ts';
import { others } from './others.ts';
import { pod } from './pod.ts';
import { scheduling } from './scheduling.ts';
import { service } from './service.ts';
import { volumes } from './volumes.ts';
import { workloads } from './workloads.ts';

/** The descriptions by type key, such as core/v1.Pod. */
export const descriptions: Descriptions = {
  ...meta,
  ...core,
  ...pod,
  ...container,
  ...node,
  ...service,
  ...apps,
  ...workloads,
  ...volumes,
  ...scheduling,
  ...network,
  ...access,
  ...extension,
  ...devices,
  ...betaDevices,
  ...others,
};

/**
 * The descriptions of scalar types with an own definition by short name, and of the unions of
 * apiextensions by key.
 */
const scalars: Readonly<Record<string, string>> = {
  Time: 'A moment in RFC 3339 form, with seconds.',
  MicroTime: 'A moment in RFC 3339 form, with microseconds.',
  Duration: 'A length of time as Go writes it, such as 1h30m.',
  Quantity:
    'A number with an optional suffix (m, k, M, G, Ki, Mi, Gi …), such as 500m or 1Gi, kept exactly.',
  IntOrString: 'A whole number, or a text such as a name or a percentage.',
  RawExtension: 'Any JSON object, kept as it is.',
  FieldsV1: 'A set of fields, as server-side apply keeps it.',
  JSON: 'Any JSON value.',
  'meta/v1.Patch': 'The body of a patch request.',
  'apiextensions/v1.JSONSchemaPropsOrBool': 'A schema, or true or false for anything or nothing.',
  'apiextensions/v1.JSONSchemaPropsOrArray': 'A schema, or a list of schemas.',
  'apiextensions/v1.JSONSchemaPropsOrStringArray': 'A schema, or a list of property names.',
};

/** The default descriptions by field name, for fields of any type. */
const common: Readonly<Record<string, string>> = {
  apiVersion:
    'APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1.',
  kind: 'The kind of object that it is, in CamelCase.',
  metadata: "Standard object's metadata: name, namespace, labels, annotations, owners.",
  items: 'The objects of the list.',
  lastTransitionTime: 'When the status last changed.',
  observedGeneration: 'The generation of the object that this status describes.',
};

/** The default descriptions for fields of list kinds, whose `metadata` has another type. */
const commonOfLists: Readonly<Record<string, string>> = {
  metadata: 'The version that the list was read at, and where its next page begins.',
};

/** The default descriptions for fields of kinds. */
const commonOfKinds: Readonly<Record<string, string>> = {
  spec: 'The desired state.',
  status: 'The observed state.',
};

/** The default descriptions for fields of conditions. */
const commonOfConditions: Readonly<Record<string, string>> = {
  type: 'The type of the condition.',
  status: 'True, False or Unknown.',
  reason: 'Why, as one word for programs.',
  message: 'Why, for people.',
};

/** Returns the description of a type, by its key (core/v1.Pod; a scalar type by its name alone). */
export function describeType(key: string): string | undefined {
  const own = ownDescription(descriptions, key)?.type ?? ownDescription(scalars, key);
  if (own !== undefined || !key.endsWith('List')) return own;
  return Object.hasOwn(descriptions, key.slice(0, -4))
    ? `A list of ${key.slice(key.lastIndexOf('.') + 1, -4)} objects.`
    : undefined;
}

/** Returns the description of a field, by the key of its type and its name. */
export function describeField(typeKey: string, field: string, isKind: boolean): string | undefined {
  const isList = isKind && typeKey.endsWith('List');
  return (
    inheritedDescription(typeKey, field) ??
    (typeKey.endsWith('Condition') ? ownDescription(commonOfConditions, field) : undefined) ??
    (isList ? ownDescription(commonOfLists, field) : undefined) ??
    ownDescription(common, field) ??
    (isKind ? ownDescription(commonOfKinds, field) : undefined)
  );
}

/**
 * Returns the description of the field in the type, or in the type from which the type inherits.
 */
function inheritedDescription(typeKey: string, field: string): string | undefined {
  const description = ownDescription(descriptions, typeKey);
  if (description === undefined) return undefined;
  const own = ownDescription(description.fields ?? {}, field);
  return (
    own ??
    (description.like === undefined ? undefined : inheritedDescription(description.like, field))
  );
}

function ownDescription<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
