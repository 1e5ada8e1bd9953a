// The verbs delete and deletecollection.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import { ProtobufError } from '#api/machinery/codec/protobuf/index.ts';
import { notRegistered } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { typedCodec } from '../catalog/codec.ts';
import type { DeleteOptions } from '../registry/rest.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { notAnObject, notAString, parseBody } from './body.ts';
import { negotiate } from './negotiation.ts';
import {
  checkDeleteOptions,
  deleteOptionsOfQuery,
  parseListQuery,
  type RawDeleteOptions,
} from './query-options.ts';
import { notServed } from './read.ts';
import { listResponse, objectResponse } from './representation.ts';
import { admissionAttributes, type Scope, ScopedContext, selectorsOf } from './scope.ts';

export async function handleDelete(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.delete === undefined) throw notServed();
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const options = await readDeleteOptions(scope, request);
  const deletion = await rest.delete(new ScopedContext(scope, request), request.info.name, options);
  // A client that uses the old option to wait for dependents gets 202 if the object still exists.
  const accepted = !deletion.deleted && options.orphanDependents === false;
  return objectResponse(scope, request, negotiated, deletion.object, accepted ? 202 : 200);
}

export async function handleDeleteCollection(
  scope: Scope,
  request: ApiRequest,
): Promise<ApiResponse> {
  const { rest } = scope;
  if (rest.deleteCollection === undefined) throw notServed();
  const negotiated = negotiate(request, { transforms: true, codec: scope.codec });
  const list = parseListQuery(request.query, selectorsOf(scope));
  const options = await readDeleteOptions(scope, request);
  const deletedList = await rest.deleteCollection(new ScopedContext(scope, request), options, list);
  return listResponse(scope, request, negotiated, deletedList);
}

/**
 * Returns the options from the body if there is one, otherwise from the query. Throws StatusError.
 */
async function readDeleteOptions(scope: Scope, request: ApiRequest): Promise<DeleteOptions> {
  const sent = await fromBody(scope, request);
  if (sent !== undefined)
    request.audit?.requestObject({ ...sent, kind: 'DeleteOptions', apiVersion: 'v1' });
  const rawOptions = sent ?? deleteOptionsOfQuery(request.query);
  const options = checkDeleteOptions(rawOptions);
  const { admission } = scope.services;
  const deleteOptions: DeleteOptions = {
    ...options,
    validate: async (object) => {
      const oldObject = object as KubeObject;
      const { name } = request.info;
      const attributes = admissionAttributes(
        scope,
        request,
        'DELETE',
        name,
        options.dryRun,
        undefined,
        oldObject,
      );
      await admission.validate(await admission.admitRequest({ ...attributes, deleteOptions }));
    },
  };
  return deleteOptions;
}

const DELETE_OPTIONS = { group: '', version: 'v1', kind: 'DeleteOptions' };

async function fromBody(
  { services: { scheme, clock } }: Scope,
  request: ApiRequest,
): Promise<RawDeleteOptions | undefined> {
  const { body } = request;
  if (body.kind === 'object' ? body.object === undefined : (await body.read()).length === 0)
    return undefined;
  const codec = typedCodec(scheme, DELETE_OPTIONS);
  const { value, envelope } = await parseBody(request, undefined, clock);
  if (envelope !== undefined) {
    checkKind(envelope.kind, envelope.apiVersion);
    return decodedOptions(() => codec.protobuf?.decode(envelope));
  }
  if (!isPlainObject(value)) throw apierrors.badRequest(notAnObject(value));
  for (const name of ['kind', 'apiVersion'] as const) {
    const given = value[name] ?? '';
    if (typeof given !== 'string') throw apierrors.badRequest(notAString(name, given));
  }
  checkKind((value['kind'] ?? '') as string, (value['apiVersion'] ?? '') as string);
  return decodedOptions(() => codec.decode(value).object);
}

/** Throws BadRequest unless the kind is DeleteOptions, in any version, or missing. */
function checkKind(kind: string, apiVersion: string): void {
  if (kind === '' || kind === 'DeleteOptions') return;
  throw apierrors.badRequest(notRegistered(apiVersion === '' ? 'v1' : apiVersion, kind));
}

function decodedOptions(decode: () => unknown): RawDeleteOptions {
  try {
    return decode() as RawDeleteOptions;
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof ProtobufError)) throw error;
    throw apierrors.badRequest(error.message);
  }
}
