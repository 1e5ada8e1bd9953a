// Reads and applies the four types of patches.

import { isUtf8 } from 'node:buffer';

import { findDuplicateFields } from '#api/machinery/codec/index.ts';
import { MAX_NEW_VALUES } from '#api/machinery/codec/limits.ts';
import type { ObjectCodec } from '#api/machinery/codec/object-codec.ts';
import { YamlError } from '#api/machinery/codec/yaml-error.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import { isPlainObject, isWithinDepth } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { jsonType } from '#machinery/text/go-value.ts';
import {
  countKeys,
  DEFAULT_MAX_JSON_DEPTH,
  JsonError,
  parseJsonCounting,
} from '#machinery/text/json.ts';
import {
  applyJsonPatchInParts,
  JsonPatchError,
  parseJsonPatch,
  unknownFields,
} from '#machinery/patch/json-patch.ts';
import { applyMergePatch, MergePatchDepthError } from '#machinery/patch/merge-patch.ts';
import {
  applyStrategicMergePatch,
  StrategicMergePatchError,
} from '#machinery/patch/strategic-merge-patch.ts';
import { isLarge, nextTurn } from '#machinery/turn.ts';
import type { ApiRequest } from '../../request.ts';
import { contentTypeOf, isLargeBody, isTooMany } from '../body.ts';
import { NOT_UTF8, parseYamlBody } from '../yaml-bodies.ts';

const JSON_PATCH = 'application/json-patch+json';
const MERGE_PATCH = 'application/merge-patch+json';
const STRATEGIC_MERGE_PATCH = 'application/strategic-merge-patch+json';
const APPLY_PATCH = 'application/apply-patch+yaml';

/** A parsed patch. */
export interface Patch {
  /** Returns the patched object. Called again after each conflict. */
  apply(object: Readonly<Record<string, unknown>>): Awaitable<Record<string, unknown>>;
  /** Messages about duplicate and unknown fields of the patch. */
  readonly problems: readonly string[];
  /** The patch itself, for error messages. Absent: messages show the patched object. */
  readonly document?: unknown;
  /** Whether the following steps should each have a turn of the event loop. */
  readonly large: boolean;
}

/** The patch types of kinds without strategic merge, in upstream's order. */
const WITHOUT_STRATEGIC_MERGE = [JSON_PATCH, MERGE_PATCH, APPLY_PATCH];

/**
 * Throws StatusError (415) for a patch type that the kind does not support. Upstream's routes check
 * this before everything else for custom resources; for other kinds `readPatch` does.
 */
export function checkPatchType(request: ApiRequest, { patchSchema }: ObjectCodec): void {
  if (patchSchema === undefined && !WITHOUT_STRATEGIC_MERGE.includes(contentTypeOf(request))) {
    throw apierrors.unsupportedMediaType(WITHOUT_STRATEGIC_MERGE);
  }
}

export function isApplyPatch(request: ApiRequest): boolean {
  return contentTypeOf(request) === APPLY_PATCH;
}

export interface ApplyConfiguration {
  readonly value: unknown;
  /** Duplicate keys, in Kubernetes' words. */
  readonly strictError?: string;
}

/** Reads an apply configuration. Throws StatusError (400, 413). `bigints`: see ObjectCodec. */
export async function readApplyConfiguration(
  request: ApiRequest,
  clock: Clock,
  bigints = false,
): Promise<ApplyConfiguration> {
  if (request.body.kind === 'object') return { value: request.body.object };
  const bytes = await request.body.read();
  if (!isUtf8(bytes)) throw apierrors.badRequest(`error decoding YAML: ${NOT_UTF8}`);
  const json = readPlainJson(bytes, bigints);
  const plain = json instanceof Promise ? await json : json;
  if (plain !== undefined) return plain;
  const config = await readYaml(bytes, clock, bigints);
  if (!isPlainObject(config.value)) {
    const why = `json: cannot unmarshal ${jsonType(config.value)} into Go value of type map[string]interface {}`;
    throw apierrors.badRequest(
      `error decoding YAML: error unmarshaling JSON: while decoding JSON: ${why}`,
    );
  }
  if (!isWithinDepth(config.value, DEFAULT_MAX_JSON_DEPTH))
    throw apierrors.badRequest('error decoding YAML: exceeded max depth');
  return config;
}

/**
 * Reads the configuration as JSON, which kubectl sends and which is faster to read than YAML.
 * Returns undefined for any other text: the YAML reader then reports the problem. Throws or rejects
 * with StatusError (413).
 */
function readPlainJson(
  bytes: Uint8Array,
  bigints: boolean,
): Awaitable<ApplyConfiguration | undefined> {
  if (bytes[0] !== 0x7b) return undefined;
  const text = textOf(bytes);
  try {
    const { value, keys } = parseJsonCounting(bytes, { text, maxValues: MAX_NEW_VALUES, bigints });
    const checked = (): ApplyConfiguration | undefined =>
      isPlainObject(value) && keys === countKeys(value) ? { value } : undefined;
    return isLarge(value) ? nextTurn().then(checked) : checked();
  } catch (error) {
    if (isTooMany(error)) throw apierrors.requestEntityTooLarge(error.message);
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}

async function readYaml(
  bytes: Uint8Array,
  clock: Clock,
  bigints: boolean,
): Promise<ApplyConfiguration> {
  try {
    const { value, duplicates } = await parseYamlBody(
      textOf(bytes),
      { maxValues: MAX_NEW_VALUES, bigints },
      clock,
    );
    return { value: value ?? {}, ...(duplicates !== undefined && { strictError: duplicates }) };
  } catch (error) {
    if (isTooMany(error)) throw apierrors.requestEntityTooLarge(error.message);
    if (!(error instanceof YamlError)) throw error;
    throw apierrors.badRequest(`error decoding YAML: ${error.message}`);
  }
}

function textOf(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}

/** Reads a patch. Throws StatusError (400, 413, 415). `codec`: the codec of the patched objects. */
export async function readPatch(
  request: ApiRequest,
  { patchSchema, keepsBigints }: ObjectCodec,
): Promise<Patch> {
  switch (contentTypeOf(request)) {
    case JSON_PATCH: {
      const { document, duplicates, large } = await documentOf(request, keepsBigints);
      const operations = guarded(() => parseJsonPatch(document));
      const unknown = unknownFields(document).map((path) => `unknown field ${quote(path)}`);
      return {
        problems: [...messagesOf(duplicates), ...unknown]
          .toSorted((a, b) => operationIn(a) - operationIn(b))
          .map((text) => `json patch ${text}`),
        large,
        apply: (object) => {
          const patched = guarded(() => applyJsonPatchInParts(object, operations, nextTurn));
          if (!(patched instanceof Promise)) return objectOrInvalid(patched);
          return patched.then(objectOrInvalid, (error: unknown) =>
            guarded(() => {
              throw error;
            }),
          );
        },
      };
    }
    case MERGE_PATCH: {
      const { document, duplicates, large } = await documentOf(request, keepsBigints);
      if (!isPlainObject(document)) throw noObject(document);
      return {
        problems: messagesOf(duplicates),
        large,
        apply: (object) => objectOrInvalid(guarded(() => applyMergePatch(object, document))),
      };
    }
    case STRATEGIC_MERGE_PATCH: {
      if (patchSchema === undefined) throw apierrors.unsupportedMediaType(WITHOUT_STRATEGIC_MERGE);
      const read = await documentOf(request, false, '');
      const { duplicates, large } = read;
      // As in upstream, null is a patch without changes.
      const document = read.document ?? {};
      if (!isPlainObject(document)) throw noObject(document, '');
      return {
        problems: messagesOf(duplicates),
        document,
        large,
        // kind and apiVersion in the patch are ignored: it cannot change them.
        apply: (object) =>
          identifiedAs(
            object,
            objectOrInvalid(guarded(() => applyStrategicMergePatch(object, document, patchSchema))),
          ),
      };
    }
    default:
      throw apierrors.unsupportedBody();
  }
}

const messagesOf = (duplicates: readonly string[]): readonly string[] =>
  duplicates.map((path) => `duplicate field ${quote(path)}`);

/** The beginning of upstream's messages about patches, except strategic merge patches. */
const DECODING = 'error decoding patch: ';

const noObject = (document: unknown, prefix = DECODING): apierrors.StatusError =>
  apierrors.badRequest(
    `${prefix}json: cannot unmarshal ${jsonType(document)} into Go value of type map[string]interface {}`,
  );

function identifiedAs(
  object: Readonly<Record<string, unknown>>,
  patched: Record<string, unknown>,
): Record<string, unknown> {
  const { kind, apiVersion } = object;
  return patched['kind'] === kind && patched['apiVersion'] === apiVersion
    ? patched
    : { ...patched, kind, apiVersion };
}

interface PatchDocument {
  readonly document: unknown;
  /** Duplicate keys in the patch, as paths. */
  readonly duplicates: readonly string[];
  readonly large: boolean;
}

async function documentOf(
  request: ApiRequest,
  bigints = false,
  prefix = DECODING,
): Promise<PatchDocument> {
  if (request.body.kind === 'object') {
    request.audit?.requestPatch(request.body.object);
    return { document: request.body.object, duplicates: [], large: false };
  }
  const bytes = await request.body.read();
  const text = textOf(bytes);
  try {
    const { value, keys } = parseJsonCounting(bytes, { text, maxValues: MAX_NEW_VALUES, bigints });
    request.audit?.requestPatch(value);
    const duplicates = keys > countKeys(value) ? findDuplicateFields(text) : [];
    return { document: value, duplicates, large: isLargeBody(bytes.length, value) };
  } catch (error) {
    if (isTooMany(error)) throw apierrors.requestEntityTooLarge(error.message);
    if (!(error instanceof JsonError)) throw error;
    throw apierrors.badRequest(`${prefix}${error.message}`);
  }
}

/** Calls the function and translates its errors for clients. */
function guarded<T>(apply: () => T): T {
  try {
    return apply();
  } catch (error) {
    if (error instanceof JsonPatchError) {
      switch (error.kind) {
        case 'malformed':
          throw apierrors.badRequest(error.message);
        case 'limit':
          throw apierrors.requestEntityTooLarge(error.message);
        case 'failed':
          throw apierrors.genericStatus(422);
      }
    }
    if (error instanceof StrategicMergePatchError) {
      switch (error.kind) {
        // Upstream returns error 500 for the others, with the same messages.
        case 'malformed':
        case 'other':
          throw apierrors.badRequest(error.message);
        case 'failed':
          throw apierrors.genericStatus(422);
      }
    }
    if (error instanceof MergePatchDepthError) throw apierrors.badRequest(error.message);
    throw error;
  }
}

function objectOrInvalid(value: unknown): Record<string, unknown> {
  if (isPlainObject(value)) return value;
  throw apierrors.genericStatus(422);
}

/** Returns the index of the operation in a message: upstream reports one operation after the other. */
function operationIn(message: string): number {
  return Number(/"\[(\d+)\]/.exec(message)?.[1] ?? 0);
}
