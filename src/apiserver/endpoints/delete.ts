// The verbs delete and deletecollection.

import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { DecodeError } from '#api/machinery/codec/index.ts';
import { ProtobufError } from '#api/machinery/codec/protobuf/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { isPlainObject } from '#machinery/deep.ts';
import { quote } from '#machinery/text/go-format.ts';
import { typedCodec } from '../catalog/codec.ts';
import type { DeleteOptions } from '../registry/rest.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { parseBody } from './body.ts';
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
  const { value, envelope } = await parseBody(request, 'DeleteOptions', clock);
  if (envelope !== undefined) {
    if (envelope.kind !== 'DeleteOptions')
      throw apierrors.badRequest(`expected DeleteOptions, got ${quote(envelope.kind)}`);
    return decodedOptions(() => codec.protobuf?.decode(envelope));
  }
  if (!isPlainObject(value))
    throw apierrors.badRequest('the body of a deletion must be DeleteOptions');
  const kind = value['kind'];
  if (typeof kind === 'string' && kind !== '' && kind !== 'DeleteOptions') {
    throw apierrors.badRequest(`expected DeleteOptions, got ${quote(kind)}`);
  }
  return decodedOptions(() => codec.decode(value).object);
}

function decodedOptions(decode: () => unknown): RawDeleteOptions {
  try {
    return decode() as RawDeleteOptions;
  } catch (error) {
    if (!(error instanceof DecodeError) && !(error instanceof ProtobufError)) throw error;
    throw apierrors.badRequest(`DeleteOptions cannot be handled: ${error.message}`);
  }
}
