// Decodes request bodies: from bytes (or from the object of an in-process client) to a normalized
// object of the endpoint's kind.

import { isUtf8 } from 'node:buffer';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import { YamlError } from '#api/machinery/codec/yaml-error.ts';
import { MAX_BODY_VALUES, MAX_NEW_VALUES } from '#api/machinery/codec/limits.ts';
import {
  type Envelope,
  openEnvelope,
  PROTOBUF_CONTENT_TYPE as PROTOBUF_TYPE,
  ProtobufError,
} from '#api/machinery/codec/protobuf/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { GroupVersionKind } from '#api/machinery/descriptor.ts';
import {
  apiVersionOf,
  notRegistered,
  parseApiVersion,
  type Scheme,
} from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { andThen, type Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { quote } from '#machinery/text/go-format.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import { JsonError, parseJsonCounting } from '#machinery/text/json.ts';
import { isLarge } from '#machinery/turn.ts';
import * as field from '#machinery/validation/field.ts';
import type { ApiRequest } from '../request.ts';
import type { FieldValidation } from './query-options.ts';
import { NOT_UTF8, parseYamlBody } from './yaml-bodies.ts';
import type { Scope } from './scope.ts';
import { strictProblems } from './strict-problems.ts';

export const JSON_TYPE = 'application/json';
export const YAML_TYPE = 'application/yaml';
const ACCEPTED = [JSON_TYPE, YAML_TYPE, PROTOBUF_TYPE] as const;
/** The size, in bytes, up to which a body never counts as large: it cannot have enough values. */
const LARGE_BYTES = 8 * 1024;
/** The size, in bytes, above which a body always counts as large, however few values it has. */
const LARGE_TEXTS = 128 * 1024;
/** The number of characters of an unreadable body that the error message repeats. */
const SUMMARY_LENGTH = 30;

/** A body as a JSON value, before it is decoded as any kind. */
export interface ParsedBody {
  readonly value: unknown;
  /** The text of the body, for messages and to find duplicate fields. Absent in-process. */
  readonly text?: string;
  readonly mediaType: string;
  /** The number of keys in a JSON text. If the value has fewer, some are duplicates. */
  readonly keys?: number;
  /** Duplicate keys of a YAML document, in Kubernetes' words. */
  readonly duplicates?: string;
  /** Whether the following steps should each have a turn of the event loop. */
  readonly large?: boolean;
  /** The envelope of a body in protobuf, which can only be decoded by its type. */
  readonly envelope?: Envelope;
}

/**
 * Reports whether the steps for a body should each have a turn of the event loop. `length`: the
 * body's length in bytes.
 */
export function isLargeBody(length: number, value: unknown): boolean {
  return length > LARGE_BYTES && (length > LARGE_TEXTS || isLarge(value));
}

/** Returns the media type without parameters; JSON if the request has no Content-Type. */
export function contentTypeOf(request: Pick<ApiRequest, 'headers'>): string {
  const header = request.headers['content-type'];
  if (header === undefined || header === '') return JSON_TYPE;
  const semicolon = header.indexOf(';');
  return (semicolon < 0 ? header : header.slice(0, semicolon)).trim().toLowerCase();
}

/**
 * Reads the body. Throws StatusError (400, 413, 415). `mustBe`: the kind, for the message; undefined
 * for options, whose errors do not name it. `bigints`: see ObjectCodec.
 */
export function parseBody(
  request: ApiRequest,
  mustBe: string | undefined,
  clock: Clock,
  bigints = false,
): Awaitable<ParsedBody> {
  if (request.body.kind === 'object') return { value: request.body.object, mediaType: JSON_TYPE };
  const mediaType = contentTypeOf(request);
  if (!(ACCEPTED as readonly string[]).includes(mediaType))
    throw apierrors.unsupportedMediaType(ACCEPTED);
  const maxValues = request.method === 'POST' ? MAX_NEW_VALUES : MAX_BODY_VALUES;
  return andThen(request.body.read(), (bytes) =>
    parseBytes(bytes, { mediaType, mustBe, maxValues, clock, bigints }),
  );
}

interface Parsing {
  readonly mediaType: string;
  readonly mustBe: string | undefined;
  readonly maxValues: number;
  readonly clock: Clock;
  readonly bigints: boolean;
}

function parseBytes(read: Uint8Array, parsing: Parsing): Awaitable<ParsedBody> {
  const { mediaType, mustBe, maxValues, bigints } = parsing;
  if (mediaType === PROTOBUF_TYPE)
    return {
      value: undefined,
      mediaType,
      envelope: opened(read, mustBe),
      large: read.length > LARGE_BYTES,
    };
  const bytes = Buffer.isBuffer(read)
    ? read
    : Buffer.from(read.buffer, read.byteOffset, read.byteLength);
  const text = bytes.toString('utf8');
  if (mediaType !== JSON_TYPE) {
    if (!isUtf8(bytes)) throw unreadable(new YamlError(NOT_UTF8, 0), text, mustBe);
    return parsedYaml(text, parsing);
  }
  try {
    const { value, keys } = parseJsonCounting(bytes, { text, maxValues, bigints });
    return { value, keys, text, mediaType, large: isLargeBody(bytes.length, value) };
  } catch (error) {
    throw unreadable(error, text, mustBe);
  }
}

async function parsedYaml(
  text: string,
  { mediaType, mustBe, maxValues, clock, bigints }: Parsing,
): Promise<ParsedBody> {
  try {
    const parsed = await parseYamlBody(text, { maxValues, bigints }, clock);
    return { ...parsed, text, mediaType, large: isLarge(parsed.value) };
  } catch (error) {
    throw unreadable(error, text, mustBe);
  }
}

function unreadable(
  error: unknown,
  text: string,
  mustBe: string | undefined,
): apierrors.StatusError {
  if (error instanceof apierrors.StatusError) return error;
  if (isTooMany(error)) return apierrors.requestEntityTooLarge(error.message);
  const why = errorMessage(error);
  const isOfJson = error instanceof JsonError && error.kind === 'syntax';
  const message = isOfJson ? `couldn't get version/kind; json parse error: ${why}` : why;
  return mustBe === undefined ? apierrors.badRequest(message) : unrecognized(mustBe, message, text);
}

/** Reports whether a body was rejected because it has too many values. */
export function isTooMany(error: unknown): error is JsonError | YamlError {
  return (
    (error instanceof JsonError && error.kind === 'values') ||
    (error instanceof YamlError && error.reason === 'values')
  );
}

function opened(bytes: Uint8Array, mustBe: string | undefined): Envelope {
  try {
    return openEnvelope(bytes);
  } catch (error) {
    if (!(error instanceof ProtobufError)) throw error;
    if (mustBe === undefined) throw apierrors.badRequest(error.message);
    throw unrecognized(mustBe, error.message, Buffer.from(bytes).toString('utf8'));
  }
}

function unrecognized(mustBe: string, why: string, text: string): apierrors.StatusError {
  return apierrors.badRequest(
    `the object provided is unrecognized (must be of type ${mustBe}): ${why} (${summaryOf(text)})`,
  );
}

/** Returns the beginning of the text for messages: in hexadecimal digits if it cannot be JSON. */
function summaryOf(text: string): string {
  if (text === '') return '<empty>';
  const bytes = Buffer.from(text);
  const shown = bytes.subarray(0, SUMMARY_LENGTH).toString(text.startsWith('{') ? 'utf8' : 'hex');
  return bytes.length > SUMMARY_LENGTH ? `${shown} ...` : shown;
}

/**
 * Returns the normalized object without its defaults, which `identified` applies. The caller may
 * modify it. Throws StatusError (400).
 */
export function decodeBody(
  request: ApiRequest,
  body: ParsedBody,
  scope: Scope,
  fieldValidation: FieldValidation,
): Record<string, unknown> {
  const {
    kind,
    codec,
    services: { scheme },
  } = scope;
  if (body.envelope !== undefined) return decodeEnvelope(body.envelope, codec, scheme);
  const { text = '' } = body;
  // As in upstream, null is an object without fields.
  const value = body.value === null ? {} : body.value;
  if (codec.isUntyped === true) checkUntyped(value, kind, text);
  if (!isPlainObject(value)) throw unrecognized(kind.kind, notAnObject(value), text);
  const { otherKindMessage: message } = codec;
  const ownKind = givenKind(value, {
    kind,
    text,
    scheme,
    ...(message !== undefined && { message }),
  });
  let decoded;
  try {
    decoded = codec.decode(value);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw apierrors.badRequest(
      `${ownKind.kind} in version ${quote(ownKind.version)} cannot be handled as a ${kind.kind}: ${error.message}`,
    );
  }
  if (fieldValidation !== 'Ignore') {
    const problems = strictProblems(body, value, decoded.unknownFields, {
      isUntyped: codec.isUntyped === true,
      fieldValidation,
    });
    if (problems.length > 0 && fieldValidation === 'Strict') {
      const why = `strict decoding error: ${problems.join(', ')}`;
      throw apierrors.badRequest(
        `${ownKind.kind} in version ${quote(ownKind.version)} cannot be handled as a ${kind.kind}: ${why}`,
      );
    }
    request.warnings.push(...problems);
  }
  return decoded.object;
}

/**
 * Upstream's text for a custom resource in protobuf. The media type is accepted, since options of
 * deletions may use it, but the object is not.
 */
const NOT_IN_PROTOBUF =
  'object *unstructured.Unstructured does not implement the protobuf marshalling interface and ' +
  'cannot be encoded to a protobuf message';

/**
 * Decodes a body in protobuf. Its unknown fields are not reported: they have no names that could be
 * misspelled.
 */
function decodeEnvelope(
  envelope: Envelope,
  { kind, protobuf }: ObjectCodec,
  scheme: Scheme,
): Record<string, unknown> {
  const given = { kind: envelope.kind, apiVersion: envelope.apiVersion };
  const ownKind = givenKind(given, { kind, text: '', scheme });
  const unhandled = (why: string): apierrors.StatusError =>
    apierrors.badRequest(
      `${ownKind.kind} in version ${quote(ownKind.version)} cannot be handled as a ${kind.kind}: ${why}`,
    );
  if (protobuf === undefined) throw unhandled(NOT_IN_PROTOBUF);
  try {
    return protobuf.decode(envelope);
  } catch (error) {
    if (!(error instanceof ProtobufError) && !(error instanceof DecodeError)) throw error;
    throw unhandled(error.message);
  }
}

/**
 * Returns the object with kind and apiVersion first, with metadata, and with defaults. The caller
 * must not use `object` afterwards.
 */
export function identified(object: Record<string, unknown>, codec: ObjectCodec): KubeObject {
  const { kind } = codec;
  const apiVersion = apiVersionOf(kind);
  let draft = object;
  if (
    object['kind'] !== kind.kind ||
    object['apiVersion'] !== apiVersion ||
    !beginsAsObjectsDo(object)
  ) {
    const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = object;
    draft = { kind: kind.kind, apiVersion, metadata: metadata ?? {}, ...rest };
  }
  codec.applyDefaults(draft);
  return draft as unknown as KubeObject;
}

const FIRST_FIELDS = ['kind', 'apiVersion', 'metadata'];

function beginsAsObjectsDo(object: object): boolean {
  let at = 0;
  for (const key in object) {
    if (key !== FIRST_FIELDS[at++]) return false;
    if (at === FIRST_FIELDS.length) return true;
  }
  return false;
}

/** The type into which upstream decodes kind and apiVersion, as Go prints it. */
const TYPE_META =
  'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }';

/** Returns upstream's message for a body that is no object. */
export function notAnObject(value: unknown): string {
  const why = `json: cannot unmarshal ${jsonType(value)} into Go value of type ${TYPE_META}`;
  return `couldn't get version/kind; json parse error: ${why}`;
}

/** Returns upstream's message for a kind or apiVersion that is no string. */
export function notAString(field: 'kind' | 'apiVersion', value: unknown): string {
  return (
    `couldn't get version/kind; json parse error: json: cannot unmarshal ${jsonType(value)} ` +
    `into Go struct field .${field} of type string`
  );
}

/**
 * Checks kind and apiVersion of a custom object in upstream's order: the kind must be present, the
 * version must be that of the endpoint, and validation reports a wrong kind. Throws StatusError
 * (400, 422).
 */
function checkUntyped(
  value: unknown,
  { group, version, kind: expected }: GroupVersionKind,
  text: string,
): void {
  if (!isPlainObject(value) && value !== null) {
    throw unrecognized(expected, notAnObject(value), text);
  }
  const { kind = '', apiVersion = '', metadata } = value ?? {};
  if (typeof kind !== 'string' || typeof apiVersion !== 'string') return;
  if (kind === '') throw unrecognized(expected, `Object 'Kind' is missing in '${text}'`, text);
  if (apiVersion !== `${group}/${version}`) {
    const why =
      `the API version in the data (${apiVersion}) does not match the expected API ` +
      `version (${group}/${version})`;
    throw apierrors.badRequest(why);
  }
  if (kind === expected) return;
  const name =
    isPlainObject(metadata) && typeof metadata['name'] === 'string' ? metadata['name'] : '';
  const error = field.invalid(new field.FieldPath('kind'), kind, `must be ${expected}`);
  throw apierrors.invalid({ group, kind }, name, [error]);
}

/**
 * Versions that clients may send in the place of the served one, by the latter and the kind: the
 * eviction of older clients.
 */
const ALSO_ACCEPTED: Readonly<Record<string, string>> = {
  'policy/v1/Eviction': 'policy/v1beta1',
};

interface Expected {
  readonly kind: GroupVersionKind;
  /** The body, for messages. */
  readonly text: string;
  readonly scheme: Scheme;
  /** See ObjectCodec.otherKindMessage. */
  readonly message?: string;
}

/** Returns the kind and apiVersion of the body; missing ones are those of the endpoint. */
function givenKind(
  value: Record<string, unknown>,
  { kind, text, scheme, message }: Expected,
): { kind: string; version: string } {
  const givenKindName = value['kind'] ?? '';
  const givenVersion = value['apiVersion'] ?? '';
  if (typeof givenKindName !== 'string' || typeof givenVersion !== 'string') {
    const field = typeof givenKindName === 'string' ? 'apiVersion' : 'kind';
    throw unrecognized(kind.kind, notAString(field, value[field]), text);
  }
  const expected = apiVersionOf(kind);
  const isAccepted =
    givenVersion === '' ||
    givenVersion === expected ||
    ALSO_ACCEPTED[`${expected}/${kind.kind}`] === givenVersion;
  const groupVersion = isAccepted ? kind : parseApiVersion(givenVersion);
  if (groupVersion === undefined)
    throw unrecognized(kind.kind, `unexpected GroupVersion string: ${givenVersion}`, text);
  const name = givenKindName === '' ? kind.kind : givenKindName;
  const isOther =
    name !== kind.kind ||
    groupVersion.group !== kind.group ||
    groupVersion.version !== kind.version;
  if (isOther && message !== undefined) throw apierrors.badRequest(message);
  if (isOther && scheme.codecOf({ ...groupVersion, kind: name }) === undefined) {
    const why = notRegistered(apiVersionOf(groupVersion), name);
    throw notHandled(name, groupVersion.version, kind, why);
  }
  if (groupVersion.group !== kind.group || groupVersion.version !== kind.version) {
    if (name !== kind.kind) throw wrongKind(name, groupVersion.version, kind);
    throw apierrors.badRequest(
      `the API version in the data (${givenVersion}) does not match the expected API version (${expected})`,
    );
  }
  if (name !== kind.kind) throw wrongKind(name, groupVersion.version, kind);
  return { kind: name, version: groupVersion.version };
}

function wrongKind(name: string, version: string, kind: GroupVersionKind): apierrors.StatusError {
  const why = `converting (${version}.${name}) to (${internalPackage(kind.group)}.${kind.kind}): unknown conversion`;
  return notHandled(name, version, kind, why);
}

function notHandled(
  name: string,
  version: string,
  { kind }: GroupVersionKind,
  why: string,
): apierrors.StatusError {
  return apierrors.badRequest(
    `${name} in version ${quote(version)} cannot be handled as a ${kind}: ${why}`,
  );
}

/** Returns the Go package in which upstream has the internal types of a group. */
export function internalPackage(group: string): string {
  return group === '' ? 'core' : group.split('.')[0]!;
}
