// What `kubectl explain` says of types and fields: one sentence each, in our own words, as many as are written so far. A test
// checks that every name here is one of the schema's.

import { apps } from './apps.ts';
import { container } from './container.ts';
import { core } from './core.ts';
import type { Descriptions } from './form.ts';
import { meta } from './meta.ts';
import { node } from './node.ts';
import { pod } from './pod.ts';
import { service } from './service.ts';

/** By type key, such as core/v1.Pod. */
export const descriptions: Descriptions = { ...meta, ...core, ...pod, ...container, ...node, ...service, ...apps };

/** Scalar types that have a definition of their own, by its short name; the unions of apiextensions, by key. */
const scalars: Readonly<Record<string, string>> = {
  Time: 'A moment in RFC 3339 form, with seconds.',
  MicroTime: 'A moment in RFC 3339 form, with microseconds.',
  Duration: 'A length of time as Go writes it, such as 1h30m.',
  Quantity: 'A number with an optional suffix (m, k, M, G, Ki, Mi, Gi …), such as 500m or 1Gi, kept exactly.',
  IntOrString: 'A whole number, or a text such as a name or a percentage.',
  RawExtension: 'Any JSON object, kept as it is.',
  FieldsV1: 'A set of fields, as server-side apply keeps it.',
  JSON: 'Any JSON value.',
  'meta/v1.Patch': 'The body of a patch request.',
  'apiextensions/v1.JSONSchemaPropsOrBool': 'A schema, or true or false for anything or nothing.',
  'apiextensions/v1.JSONSchemaPropsOrArray': 'A schema, or a list of schemas.',
  'apiextensions/v1.JSONSchemaPropsOrStringArray': 'A schema, or a list of property names.',
};

/** Said of a field of this name in any type that says nothing of it. */
const common: Readonly<Record<string, string>> = {
  apiVersion: 'APIVersion defines the API group and version that the object is written in, such as v1 or apps/v1.',
  kind: 'The kind of object that it is, in CamelCase.',
  metadata: "Standard object's metadata: name, namespace, labels, annotations, owners.",
  items: 'The objects of the list.',
  lastTransitionTime: 'When the status last changed from one value to another.',
  observedGeneration: 'The generation of the object that this status was made for.',
};

/** The same for kinds of lists, whose `metadata` is another type. */
const commonOfLists: Readonly<Record<string, string>> = {
  metadata: 'The version that the list was read at, and where its next page begins.',
};

/** The same for kinds only. */
const commonOfKinds: Readonly<Record<string, string>> = {
  spec: 'What is wanted.',
  status: 'What is observed.',
};

/** What is said of a type, by its key (core/v1.Pod; a scalar type by its name alone). */
export function describeType(key: string): string | undefined {
  const own = ownDescription(descriptions, key)?.type ?? ownDescription(scalars, key);
  if (own !== undefined || !key.endsWith('List')) return own;
  return Object.hasOwn(descriptions, key.slice(0, -4))
    ? `A list of ${key.slice(key.lastIndexOf('.') + 1, -4)} objects.`
    : undefined;
}

/** What is said of a field, by the key of its type and its name. */
export function describeField(typeKey: string, field: string, isKind: boolean): string | undefined {
  const fields = ownDescription(descriptions, typeKey)?.fields ?? {};
  const isList = isKind && typeKey.endsWith('List');
  return (
    ownDescription(fields, field) ??
    (isList ? ownDescription(commonOfLists, field) : undefined) ??
    ownDescription(common, field) ??
    (isKind ? ownDescription(commonOfKinds, field) : undefined)
  );
}

function ownDescription<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}
