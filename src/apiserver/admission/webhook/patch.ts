// Applies the patch in a webhook's response.

import type { AdmissionResponse } from '#api/groups/admission/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import type { Immutable } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { deepEqual } from '#machinery/deep.ts';
import { applyJsonPatch, JsonPatchError, parseJsonPatch } from '#machinery/patch/json-patch.ts';
import type { JsonPatchOperation } from '#machinery/patch/json-patch.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import { quote } from '#machinery/text/go-format.ts';
import { JsonError, parseJson } from '#machinery/text/json.ts';
import { CallingWebhookError } from './errors.ts';

const UNAVAILABLE = 503;

export interface Patched {
  /** With its defaults, in the version that the webhook sees. */
  readonly object: Record<string, unknown>;
  /** The patch has changed it; defaults do not count. */
  readonly changed: boolean;
}

/**
 * Returns the object as the response patches it; undefined without a patch. `object`: undefined if the request has none that could be
 * patched. Throws CallingWebhookError for a patch that is none, StatusError (500) for one that cannot be applied.
 */
export function patched(
  name: string,
  response: Immutable<AdmissionResponse>,
  object: Readonly<Record<string, unknown>> | undefined,
  codec: ObjectCodec | undefined,
): Patched | undefined {
  const { patch = '', patchType = '' } = response;
  if (patch === '') return undefined;
  const operations = decodePatch(name, Buffer.from(patch, 'base64'));
  if (operations.length === 0) return undefined;
  if (object === undefined || codec === undefined) {
    const why = 'attempted to modify the object, which is not supported for this operation';
    throw apierrors.internalError(`admission webhook ${quote(name)} ${why}`);
  }
  if (patchType !== 'JSONPatch') {
    throw new CallingWebhookError(name, `unsupported patch type ${quote(patchType)}`, response.status?.code ?? 0);
  }
  const decoded = decodeObject(codec, apply(operations, object), 'metadata' in object);
  const changed = !deepEqual(decoded, object);
  codec.applyDefaults(decoded);
  return { object: decoded, changed };
}

function decodePatch(name: string, bytes: Buffer): readonly unknown[] {
  const undecodable = (why: string): CallingWebhookError =>
    new CallingWebhookError(name, `received undecodable patch in webhook response: ${why}`, UNAVAILABLE);
  let value: unknown;
  try {
    value = parseJson(bytes);
  } catch (error) {
    if (error instanceof JsonError) throw undecodable(error.message);
    throw error;
  }
  // JSON null is a patch without operations.
  if (value === null) return [];
  if (!Array.isArray(value)) throw undecodable(`json: cannot unmarshal ${jsonType(value)} into Go value of type jsonpatch.Patch`);
  return value;
}

function apply(operations: readonly unknown[], object: Readonly<Record<string, unknown>>): unknown {
  try {
    const parsed: readonly JsonPatchOperation[] = parseJsonPatch(operations);
    return applyJsonPatch(object, parsed);
  } catch (error) {
    if (error instanceof JsonPatchError) throw apierrors.internalError(error.message);
    throw error;
  }
}

/**
 * Decodes what the patch has made of the object. Fields that its kind does not have are dropped. `hasMetadata`: options of connections have
 * none. Throws StatusError (500).
 */
function decodeObject(codec: ObjectCodec, json: unknown, hasMetadata: boolean): Record<string, unknown> {
  const { kind } = codec;
  let decoded;
  try {
    decoded = codec.decode(json).object;
  } catch (error) {
    if (error instanceof DecodeError) throw apierrors.internalError(error.message);
    throw error;
  }
  const { kind: _kind, apiVersion: _apiVersion, metadata, ...rest } = decoded;
  return { kind: kind.kind, apiVersion: apiVersionOf(kind), ...(hasMetadata && { metadata: metadata ?? {} }), ...rest };
}
