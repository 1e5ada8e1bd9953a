// The object that a patch has made of another one.

import { DecodeError } from '#api/machinery/codec/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { notRegistered, parseApiVersion } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import { goValueText } from '#machinery/text/go-value.ts';
import { stringifyJson } from '#machinery/text/json-integers.ts';
import * as field from '#machinery/validation/field.ts';
import { FieldPath } from '#machinery/validation/field.ts';
import { identified, internalPackage } from '../body.ts';
import type { Scope } from '../scope.ts';
import type { Patch } from './patching.ts';
import type { Write } from './write.ts';

/**
 * Decodes a patched object like a body: it may have unknown fields, and values of wrong types.
 * Metadata that are still those of `current` are not decoded again.
 */
export function decodePatched(
  { scope, request, query }: Write,
  patched: Record<string, unknown>,
  current: KubeObject | undefined,
  patch?: Patch,
): KubeObject {
  const { kind, codec } = scope;
  const keepsMetadata = current !== undefined && patched['metadata'] === current.metadata;
  const refuse = (why: string): apierrors.StatusError => {
    if (patch === undefined) return apierrors.badRequest(why);
    const shown =
      patch.document === undefined ? stringifyJson(patched) : goValueText(patch.document);
    return apierrors.invalid({ group: '', kind: '' }, '', [
      field.invalid(new FieldPath('patch'), shown, why),
    ]);
  };
  let decoded;
  try {
    if (patch !== undefined && codec.isUntyped === true)
      checkUntypedKind(patched, kind, request.info.name);
    else if (patch !== undefined) checkKind(patched, scope);
    decoded = codec.decode(keepsMetadata ? { ...patched, metadata: undefined } : patched, {
      keepsNulls: patch === undefined,
    });
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    // Upstream converts the result of a strategic merge patch, and decodes the result of other
    // patches.
    const converted =
      patch?.document === undefined || error.path === 'kind'
        ? undefined
        : codec.conversionError?.(patched);
    throw refuse(converted ?? error.message);
  }
  const unknown = decoded.unknownFields.map((path) => `unknown field ${quote(path)}`);
  // The result of a strategic merge patch has them sorted, as upstream.
  if (patch?.document !== undefined) unknown.sort();
  const problems = [...(patch?.problems ?? []), ...unknown];
  if (query.fieldValidation === 'Strict' && problems.length > 0)
    throw refuse(`strict decoding error: ${problems.join(', ')}`);
  if (query.fieldValidation === 'Warn') request.warnings.push(...problems);
  const object = keepsMetadata
    ? { ...decoded.object, metadata: { ...current.metadata } }
    : decoded.object;
  return identified(object, codec);
}

/** Throws DecodeError if a patch has changed kind or apiVersion. */
function checkKind(
  patched: Record<string, unknown>,
  { kind: { group, version, kind }, services: { scheme } }: Scope,
): void {
  const expected = group === '' ? version : `${group}/${version}`;
  const { kind: given = kind, apiVersion = expected } = patched;
  if (given === kind && apiVersion === expected) return;
  if (typeof given === 'string' && typeof apiVersion === 'string') {
    const groupVersion = parseApiVersion(apiVersion);
    if (
      groupVersion !== undefined &&
      scheme.codecOf({ ...groupVersion, kind: given }) === undefined
    )
      throw new DecodeError(notRegistered(apiVersion, given), 'kind');
  }
  throw new DecodeError(
    `converting (${String(apiVersion).split('/').at(-1)}.${String(given)}) to ` +
      `(${internalPackage(group)}.${kind}): unknown conversion`,
    'kind',
  );
}

/**
 * Throws StatusError (422) if a patch has changed kind or apiVersion of a custom object, which
 * upstream validates.
 */
function checkUntypedKind(
  patched: Record<string, unknown>,
  { group, version, kind }: Scope['kind'],
  name: string,
): void {
  const expected = `${group}/${version}`;
  const { kind: given, apiVersion } = patched;
  if (typeof given !== 'string' || typeof apiVersion !== 'string') return;
  const errors = [
    ...(given === kind ? [] : [field.invalid(new FieldPath('kind'), given, `must be ${kind}`)]),
    ...(apiVersion === expected
      ? []
      : [field.invalid(new FieldPath('apiVersion'), apiVersion, `must be ${expected}`)]),
  ];
  if (errors.length === 0) return;
  const slash = apiVersion.indexOf('/');
  throw apierrors.invalid(
    { group: slash < 0 ? '' : apiVersion.slice(0, slash), kind: given },
    name,
    errors,
  );
}
