// The codec's results for the cases, in the form in which upstream's results are recorded.

import * as field from '#machinery/validation/field.ts';
import { FieldManager, TypedValueError, validateTyped } from '../../../managed-fields/index.ts';
import { DecodeError } from '../../decode-error.ts';
import { StructuralCodec } from '../structural-codec.ts';
import { validateSchema } from '../validate-schema.ts';
import { type Body, type SchemaCase, wholeBody, wholeSchema } from './cases.ts';

export interface ObjectAnswer {
  /** The stored object, without the fields that the server sets. Absent: it was rejected. */
  readonly object?: Body;
  /** The fields that the creator of a new object owns, in the form of managedFields. */
  readonly fields?: unknown;
  /** The reason why it could not be decoded. */
  readonly error?: string;
  /** The errors of the object: 'field: message', sorted. */
  readonly causes?: readonly string[];
  readonly warnings?: readonly string[];
}

export interface CaseAnswer {
  /** The errors of the schema: 'field: message', sorted. Absent: there are none. */
  readonly schema?: readonly string[];
  readonly objects?: Readonly<Record<string, ObjectAnswer>>;
  readonly updates?: Readonly<Record<string, ObjectAnswer>>;
  readonly statusUpdates?: Readonly<Record<string, ObjectAnswer>>;
}

/** Results by the name of the case. */
export type Answers = Readonly<Record<string, CaseAnswer>>;

export const GROUP = 'structural.example.com';

/** The metadata that the server sets. */
const OF_SERVER = [
  'name',
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'managedFields',
];

/** Returns the object without its type and without the fields that the server sets. */
export function contentOf(object: Body): Body {
  const { metadata, apiVersion: _, kind: __, ...rest } = object;
  const own = Object.entries((metadata ?? {}) as Body).filter(
    ([name]) => !OF_SERVER.includes(name),
  );
  return own.length === 0 ? rest : { metadata: Object.fromEntries(own), ...rest };
}

export async function answer(given: SchemaCase): Promise<CaseAnswer> {
  const schema = wholeSchema(given);
  const options = { statusEnabled: given.statusEnabled === true };
  const errors = validateSchema(
    schema,
    field.path('spec', 'validation', 'openAPIV3Schema'),
    options,
  );
  if (errors.length > 0) return { schema: messagesOf(errors) };
  const codec = new StructuralCodec({
    group: GROUP,
    version: 'v1',
    kind: 'Thing',
    listKind: 'ThingList',
    plural: 'things',
    selectableFields: [],
    schema,
  });
  const objects: Record<string, ObjectAnswer> = {};
  for (const [name, object] of Object.entries(given.objects ?? {}))
    objects[name] = await create(codec, wholeBody(given, object));
  const updates: Record<string, ObjectAnswer> = {};
  for (const [index, [name, [old, updated]]] of Object.entries(given.updates ?? {}).entries()) {
    updates[name] = update(given, codec, `old-${index}`, [
      wholeBody(given, old),
      wholeBody(given, updated),
    ]);
  }
  const statusUpdates: Record<string, ObjectAnswer> = {};
  for (const [index, [name, [old, updated]]] of Object.entries(
    given.statusUpdates ?? {},
  ).entries()) {
    statusUpdates[name] = updateStatus(codec, `status-${index}`, [
      wholeBody(given, old),
      wholeBody(given, updated),
    ]);
  }
  return {
    ...(given.objects !== undefined && { objects }),
    ...(given.updates !== undefined && { updates }),
    ...(given.statusUpdates !== undefined && { statusUpdates }),
  };
}

async function create(codec: StructuralCodec, body: Body): Promise<ObjectAnswer> {
  const answered = read(codec, body, 'probe', (object) => codec.validate(object));
  if (answered.object === undefined) return answered;
  const fields = await fieldsOf(codec, answered.object);
  return fields === undefined ? answered : { ...answered, fields };
}

/**
 * Returns the owned fields. An object whose values do not have the types for merging has no owners.
 */
async function fieldsOf(codec: StructuralCodec, object: Body): Promise<unknown> {
  const typed = { ...withType(object), metadata: (object['metadata'] ?? {}) as Body };
  try {
    validateTyped(codec.mergeType, typed);
  } catch (error) {
    if (error instanceof TypedValueError) return undefined;
    throw error;
  }
  return managedFieldsOf(
    await new FieldManager({ codec, subresource: '', now: () => 0 }).update(
      undefined,
      typed,
      'author',
    ),
  );
}

/** Returns the owned fields in an object; undefined if there are none. */
export function managedFieldsOf(object: Body): unknown {
  const { managedFields = [] } = (object['metadata'] ?? {}) as {
    managedFields?: readonly { readonly fieldsV1?: unknown }[];
  };
  return managedFields[0]?.fieldsV1;
}

function update(
  given: SchemaCase,
  codec: StructuralCodec,
  name: string,
  [old, body]: readonly [Body, Body],
): ObjectAnswer {
  const before = readOld(codec, old, name);
  const { status: _, ...rest } = body;
  // An update of the object does not change the status.
  const kept =
    given.statusEnabled === true
      ? { ...rest, ...withStatusOf(before) }
      : { ...rest, ...withStatusOf(body) };
  return read(codec, kept, name, (object, warn) => codec.validateUpdate(object, before, { warn }));
}

function updateStatus(
  codec: StructuralCodec,
  name: string,
  [old, body]: readonly [Body, Body],
): ObjectAnswer {
  const before = readOld(codec, old, name);
  const { status: _, ...rest } = old;
  return read(codec, { ...rest, ...withStatusOf(body) }, name, (object, warn) =>
    codec.validateStatusUpdate(object, before, { warn }),
  );
}

const withStatusOf = (object: Body): Body =>
  Object.hasOwn(object, 'status') ? { status: object['status'] } : {};

function readOld(codec: StructuralCodec, old: Body, name: string): Body {
  const before = codec.decode(withType(old, name)).object;
  codec.applyDefaults(before);
  return before;
}

function read(
  codec: StructuralCodec,
  body: Body,
  name: string,
  validate: (object: Body, warn: (message: string) => void) => field.FieldErrorList,
): ObjectAnswer {
  try {
    const { object, unknownFields } = codec.decode(withType(body, name));
    codec.applyDefaults(object);
    const warnings = unknownFields.map((name) => `unknown field "${name}"`);
    const errors = validate(object, (message) => warnings.push(message));
    if (errors.length > 0) return { causes: messagesOf(errors) };
    return { object: contentOf(object), ...(warnings.length > 0 && { warnings: warnings.sort() }) };
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    return { error: error.message };
  }
}

/** Adds the type and a name, which every object on a server has. */
const withType = (body: Body, name = 'probe'): Body => ({
  apiVersion: `${GROUP}/v1`,
  kind: 'Thing',
  ...body,
  metadata: { name, ...(body['metadata'] as Body | undefined) },
});

/**
 * Returns sorted messages. Upstream reports field errors in no fixed order and numbers the types of
 * rules arbitrarily.
 */
export function messagesOf(
  errors: readonly { readonly field: string; readonly body: string }[],
): string[] {
  return errors
    .map((error) => `${error.field}: ${error.body.replaceAll(/selfType[0-9]+/g, 'selfType')}`)
    .sort();
}
