// Applies the patch in a webhook's response.

import type { AdmissionResponse } from '#api/groups/admission/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import { MAX_BODY_VALUES } from '#api/machinery/codec/limits.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual, isPlainObject } from '#machinery/deep.ts';
import {
  applyJsonPatch,
  JsonPatchError,
  type JsonPatchOperation,
  parseJsonPatch,
} from '#machinery/patch/json-patch.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import { quote } from '#machinery/text/go-format.ts';
import { JsonError, parseJson } from '#machinery/text/json.ts';
import { CallingWebhookError } from './errors.ts';

const UNAVAILABLE = 503;
const BAD_REQUEST = 400;
const OPERATIONS: ReadonlySet<string> = new Set([
  'add',
  'copy',
  'move',
  'remove',
  'replace',
  'test',
]);

/** Returns the codec of the kind of a patched object. Throws StatusError (500) if there is none. */
export type CodecFor = (kind: {
  readonly apiVersion: string;
  readonly kind: string;
}) => ObjectCodec;

export interface Patched {
  /** The patched object with its defaults, in the version that the webhook sees. */
  readonly object: Record<string, unknown>;
  /** True if the patch has changed the object. Defaults do not count. */
  readonly changed: boolean;
  /** The patch, as the webhook sent it. */
  readonly operations: readonly object[];
}

/**
 * Returns the patched object; undefined if the response has no patch. `object`: undefined if the
 * request has nothing to patch. `codecFor` returns the codec of the result. Throws
 * CallingWebhookError for an invalid patch, StatusError (500) for one that cannot be applied.
 */
export function patched(
  name: string,
  response: Immutable<AdmissionResponse>,
  object: Readonly<Record<string, unknown>> | undefined,
  codecFor: CodecFor,
): Patched | undefined {
  const { patch = '', patchType = '' } = response;
  if (patch === '') return undefined;
  const operations = decodePatch(name, Buffer.from(patch, 'base64'));
  if (operations.length === 0) return undefined;
  if (object === undefined) {
    const why = 'attempted to modify the object, which is not supported for this operation';
    throw apierrors.internalError(`admission webhook ${quote(name)} ${why}`);
  }
  if (patchType !== 'JSONPatch') {
    throw new CallingWebhookError(
      name,
      `unsupported patch type ${quote(patchType)}`,
      Math.max(response.status?.code ?? 0, BAD_REQUEST),
    );
  }
  const json = apply(operations, object);
  const codec = codecFor(kindOf(json, object));
  const decoded = decodeObject(codec, json, 'metadata' in object);
  const changed = !deepEqual(decoded, object);
  codec.applyDefaults(decoded);
  return { object: decoded, changed, operations };
}

/** Returns the kind of a patched object; the original kind if the patch has removed it. */
function kindOf(
  json: unknown,
  before: Readonly<Record<string, unknown>>,
): { apiVersion: string; kind: string } {
  const of = (name: 'apiVersion' | 'kind'): string => {
    const value = isPlainObject(json) ? json[name] : undefined;
    return typeof value === 'string' && value !== '' ? value : String(before[name]);
  };
  return { apiVersion: of('apiVersion'), kind: of('kind') };
}

function decodePatch(name: string, bytes: Buffer): readonly Readonly<Record<string, unknown>>[] {
  const undecodable = (why: string): CallingWebhookError =>
    new CallingWebhookError(
      name,
      `received undecodable patch in webhook response: ${why}`,
      UNAVAILABLE,
    );
  let value: unknown;
  try {
    value = parseJson(bytes, { maxValues: MAX_BODY_VALUES });
  } catch (error) {
    if (error instanceof JsonError) throw undecodable(error.message);
    throw error;
  }
  // JSON null is a patch without operations.
  if (value === null) return [];
  if (!Array.isArray(value))
    throw undecodable(
      `json: cannot unmarshal ${jsonType(value)} into Go value of type jsonpatch.Patch`,
    );
  const other: unknown = value.find((operation) => !isPlainObject(operation));
  if (other !== undefined)
    throw undecodable(
      `json: cannot unmarshal ${jsonType(other)} into Go value of type jsonpatch.Operation`,
    );
  return value as Readonly<Record<string, unknown>>[];
}

/** Returns the problem of a patch operation, in the words of upstream's library. */
function problemOf(operation: Readonly<Record<string, unknown>>): string | undefined {
  const { op, path, from, value } = operation;
  if (typeof op !== 'string' || !OPERATIONS.has(op))
    return `Unexpected kind: ${typeof op === 'string' ? op : 'unknown'}`;
  const undecodable = (name: string, member: unknown): string | undefined => {
    if (typeof member === 'string') return undefined;
    const why =
      member === undefined
        ? 'missing value'
        : `json: cannot unmarshal ${jsonType(member)} into Go value of type string`;
    return `${op} operation failed to decode ${name}: ${why}`;
  };
  const problem = op === 'move' || op === 'copy' ? undecodable('from', from) : undefined;
  if (problem !== undefined) return problem;
  if (op === 'replace' && path === '' && (typeof value !== 'object' || value === null)) {
    return 'replace operation value must be object or array: %!w(<nil>)';
  }
  return undecodable('path', path);
}

/** Applies the operations. Throws StatusError (500). */
function apply(
  operations: readonly Readonly<Record<string, unknown>>[],
  object: Readonly<Record<string, unknown>>,
): unknown {
  for (const operation of operations) {
    const problem = problemOf(operation);
    if (problem !== undefined) throw apierrors.internalError(problem);
  }
  try {
    const parsed: readonly JsonPatchOperation[] = parseJsonPatch(operations);
    return applyJsonPatch(object, parsed);
  } catch (error) {
    if (error instanceof JsonPatchError) throw apierrors.internalError(error.message);
    throw error;
  }
}

/**
 * Decodes a patched object. Unknown fields are dropped. `hasMetadata`: false for options of
 * connections. Throws StatusError (500).
 */
function decodeObject(
  codec: ObjectCodec,
  json: unknown,
  hasMetadata: boolean,
): Record<string, unknown> {
  const { kind } = codec;
  let decoded;
  try {
    decoded = codec.decode(json).object;
  } catch (error) {
    if (error instanceof DecodeError) throw apierrors.internalError(error.message);
    throw error;
  }
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = decoded;
  return {
    kind: kind.kind,
    apiVersion: apiVersionOf(kind),
    ...(hasMetadata && { metadata: metadata ?? {} }),
    ...rest,
  };
}
