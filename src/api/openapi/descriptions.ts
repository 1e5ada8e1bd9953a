// What `kubectl explain` says of types and fields: one sentence each, in our own words, as many as are written so far.

const types: Readonly<Record<string, string>> = {};

const fields: Readonly<Record<string, Readonly<Record<string, string>>>> = {};

/** Said of the field of any type that has one of this name and says nothing else. */
const common: Readonly<Record<string, string>> = {
  apiVersion: 'The API group and version that this object is written in, such as v1 or apps/v1.',
  kind: 'The kind of object that this is, in CamelCase.',
  metadata: 'What every object has: name, namespace, labels, annotations, owners.',
};

/** What is said of a type, by its key (core/v1.Pod; a scalar type by its name alone). */
export function describeType(key: string): string | undefined {
  return types[key];
}

export function describeField(typeKey: string, field: string): string | undefined {
  return fields[typeKey]?.[field] ?? (Object.hasOwn(common, field) ? common[field] : undefined);
}
