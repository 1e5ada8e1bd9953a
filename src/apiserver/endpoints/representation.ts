// Represents objects in the negotiated form: unchanged, as rows of a Table, or as metadata only.

import { PROTOBUF_CONTENT_TYPE } from '#api/machinery/codec/protobuf/index.ts';
import type { KubeObject } from '#api/machinery/meta/v1/index.ts';
import { apiVersionOf } from '#api/machinery/scheme.ts';
import type { Awaitable } from '#machinery/awaitable.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { mapWatch, type WatchStream } from '#machinery/watch.ts';
import { FreshObject, SharedWatchEvent } from '../registry/encoded-object.ts';
import type { ListAnswer } from '../registry/rest.ts';
import { defaultTable, type TableConvertor } from '../tables/table.ts';
import type { ApiRequest, ApiResponse, EncodedObject, EncodedWatchEvent } from '../request.ts';
import { internalPackage } from './body.ts';
import type { Negotiated } from './negotiation.ts';
import type { Scope } from './scope.ts';
import { EncodedRow, rowsInSlices } from './table-rows.ts';

const metaApiVersion = ({ metaVersion = 'v1' }: Negotiated): string => `meta.k8s.io/${metaVersion}`;

export function objectResponse(
  scope: Scope,
  request: ApiRequest,
  negotiated: Negotiated,
  object: EncodedObject,
  code: number,
): ApiResponse {
  return {
    code,
    body: { kind: 'object', object: represent(scope, request, negotiated, object) },
    format: negotiated.format,
  };
}

function represent(
  scope: Scope,
  request: ApiRequest,
  negotiated: Negotiated,
  object: EncodedObject,
): EncodedObject {
  switch (negotiated.as) {
    case 'object':
      return object;
    case 'partialMetadata':
      if (isStatus(object)) return object;
      if (negotiated.named === 'PartialObjectMetadataList') {
        if (scope.codec.isUntyped === true) throw apierrors.badRequest('content is not a list');
        throw notOfForm(
          `PartialObjectMetadataList, but the requested object is not a list (${goTypeOf(scope, scope.kind.kind)})`,
        );
      }
      return partialMetadata(scope, object, metaApiVersion(negotiated));
    case 'table': {
      if (isStatus(object)) return object;
      const { resourceVersion } = (object.object() as KubeObject).metadata;
      return new FreshObject(
        tableOf(scope, formOf(request, negotiated), object, { resourceVersion }, true),
      );
    }
  }
}

/**
 * Reports whether the object is a Status, to which a DELETE may respond and which has no other
 * form.
 */
function isStatus(object: EncodedObject): boolean {
  return (object.object() as { kind?: unknown }).kind === 'Status';
}

export function listResponse(
  scope: Scope,
  request: ApiRequest,
  negotiated: Negotiated,
  answer: ListAnswer,
): Awaitable<ApiResponse> {
  const { items, resourceVersion, ...rest } = answer;
  // Objects that are not stored have no version.
  const metadata = resourceVersion === '' ? rest : { resourceVersion, ...rest };
  const { format } = negotiated;
  switch (negotiated.as) {
    case 'object':
      return {
        code: 200,
        body:
          scope.codec.isUntyped === true
            ? untypedList(scope, answer)
            : listBody(scope, metadata, items),
        format,
      };
    case 'partialMetadata': {
      if (negotiated.named === 'PartialObjectMetadata') {
        const type =
          scope.codec.isUntyped === true
            ? '*unstructured.UnstructuredList'
            : goTypeOf(scope, scope.listKind);
        throw notOfForm(`PartialObjectMetadata, but the requested object is a list (${type})`);
      }
      const apiVersion = metaApiVersion(negotiated);
      // As in upstream, an empty list of metadata has no items.
      if (items.length === 0 && format.mediaType !== PROTOBUF_CONTENT_TYPE) {
        const empty = { kind: 'PartialObjectMetadataList', apiVersion, metadata, items: null };
        return { code: 200, body: { kind: 'object', object: new FreshObject(empty) }, format };
      }
      const partial = items.map((item) => partialMetadataItem(scope, item, apiVersion));
      const body = {
        kind: 'list',
        apiVersion,
        listKind: 'PartialObjectMetadataList',
        metadata,
        items: partial,
      } as const;
      return { code: 200, body, format };
    }
    case 'table':
      return tableResponse(scope, request, negotiated, metadata, inOrder(items, scope.table));
  }
}

async function tableResponse(
  scope: Scope,
  request: ApiRequest,
  { format, ...negotiated }: Negotiated,
  metadata: Readonly<Record<string, unknown>>,
  objects: readonly EncodedObject[],
): Promise<ApiResponse> {
  const form = formOf(request, { format, ...negotiated });
  const { clock } = scope.services;
  const now = clock.now();
  const row = (object: EncodedObject): unknown => rowOf(scope, form, object, now);
  // A client in this process gets the rows as values.
  const isObject = objects.length === 0 || request.body.kind === 'object';
  if (isObject) {
    const rows = await rowsInSlices(objects, row, clock, request);
    const table = tableWith(scope, form, metadata, true, rows);
    return { code: 200, body: { kind: 'object', object: new FreshObject(table) }, format };
  }
  const encoded = (object: EncodedObject): EncodedRow => new EncodedRow(row(object));
  const body = {
    kind: 'list',
    apiVersion: form.apiVersion,
    listKind: 'Table',
    metadata,
    columnDefinitions: columnsOf(scope),
    items: await rowsInSlices(objects, encoded, clock, request),
    identifiedItems: true,
  } as const;
  return { code: 200, body, format };
}

function listBody(
  scope: Scope,
  metadata: Readonly<Record<string, unknown>>,
  items: ListAnswer['items'],
): Extract<ApiResponse['body'], { kind: 'list' }> {
  return {
    kind: 'list',
    apiVersion: apiVersionOf(scope.kind),
    listKind: scope.listKind,
    metadata,
    items,
  };
}

/**
 * Returns a list as upstream's server returns custom resources: each item has its kind and
 * apiVersion, and the continue token is always present.
 */
function untypedList(
  scope: Scope,
  { items, continue: token = '', ...metadata }: ListAnswer,
): ApiResponse['body'] {
  return { ...listBody(scope, { continue: token, ...metadata }, items), identifiedItems: true };
}

export function watchResponse(
  scope: Scope,
  request: ApiRequest,
  negotiated: Negotiated,
  events: WatchStream<EncodedWatchEvent>,
): ApiResponse {
  const { format } = negotiated;
  if (negotiated.as === 'object') return { code: 200, body: { kind: 'watch', events }, format };
  const form = formOf(request, negotiated);
  let first = true;
  const transformed = mapWatch(events, (event): EncodedWatchEvent => {
    if (event.type === 'ERROR') return event;
    if (negotiated.as === 'partialMetadata') return metadataEvent(scope, event, form.apiVersion);
    const { resourceVersion } = (event.object.object() as KubeObject).metadata;
    // The columns stay the same, so they are sent once.
    const table = tableOf(scope, form, event.object, { resourceVersion }, first);
    first = false;
    return new SharedWatchEvent(event.type, new FreshObject(table));
  });
  return { code: 200, body: { kind: 'watch', events: transformed }, format };
}

/** Events with metadata only, by the apiVersion of the metadata. */
const metadataEvents = new Map<string, WeakMap<EncodedWatchEvent, EncodedWatchEvent>>();

/** Returns the same event object to all watchers of metadata, so that it is encoded once. */
function metadataEvent(
  scope: Scope,
  event: EncodedWatchEvent,
  apiVersion: string,
): EncodedWatchEvent {
  let events = metadataEvents.get(apiVersion);
  if (events === undefined) {
    events = new WeakMap();
    metadataEvents.set(apiVersion, events);
  }
  let shared = events.get(event);
  if (shared === undefined) {
    shared = new SharedWatchEvent(event.type, partialMetadata(scope, event.object, apiVersion));
    events.set(event, shared);
  }
  return shared;
}

function partialMetadata(
  { metadataOf }: Scope,
  encoded: EncodedObject,
  apiVersion: string,
): FreshObject {
  const object = encoded.object() as KubeObject;
  const metadata = metadataOf === undefined ? object.metadata : metadataOf(object);
  return new FreshObject({ kind: 'PartialObjectMetadata', apiVersion, metadata });
}

/** Returns metadata as a list item, with kind and apiVersion. */
const partialMetadataItem = (
  scope: Scope,
  object: EncodedObject,
  apiVersion: string,
): FreshObject =>
  new FreshObject(partialMetadata(scope, object, apiVersion).object(), { identified: true });

const notOfForm = (what: string): apierrors.StatusError =>
  apierrors.notAcceptableForm(`you requested ${what}`);

/** Returns the name of the kind's type in upstream's server. */
function goTypeOf({ kind: { group } }: Pick<Scope, 'kind'>, name: string): string {
  return `*${internalPackage(group)}.${name}`;
}

type IncludeObject = 'None' | 'Metadata' | 'Object';

/** The requested form of a table. */
interface TableForm {
  readonly apiVersion: string;
  readonly include: IncludeObject;
  /** Rows have the identifying part of the metadata only. */
  readonly identity: boolean;
}

function formOf(request: ApiRequest, negotiated: Negotiated): TableForm {
  return {
    apiVersion: metaApiVersion(negotiated),
    include: includeObject(request),
    identity: negotiated.identity === true,
  };
}

function includeObject({ query }: ApiRequest): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const why = `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw apierrors.badRequest(`Unable to convert to Table as requested: ${why}`);
}

/** Returns a table with one row. */
function tableOf(
  scope: Scope,
  form: TableForm,
  object: EncodedObject,
  metadata: Readonly<Record<string, unknown>>,
  withColumns: boolean,
): unknown {
  const row = rowOf(scope, form, object, scope.services.clock.now());
  return tableWith(scope, form, metadata, withColumns, [row]);
}

function tableWith(
  scope: Scope,
  { apiVersion }: TableForm,
  metadata: Readonly<Record<string, unknown>>,
  withColumns: boolean,
  rows: readonly unknown[],
): unknown {
  return {
    kind: 'Table',
    apiVersion,
    metadata,
    columnDefinitions: withColumns ? columnsOf(scope) : null,
    // As in upstream, the rows of a kind without a table of its own are null if there are none.
    rows: rows.length === 0 && scope.table === undefined ? null : rows,
  };
}

function columnsOf({ table = defaultTable }: Scope): readonly object[] {
  return table.columns.map(({ name, type, format = '', description, priority = 0 }) => ({
    name,
    type,
    format,
    description,
    priority,
  }));
}

function inOrder(
  objects: readonly EncodedObject[],
  convertor: TableConvertor | undefined,
): readonly EncodedObject[] {
  if (convertor?.compare === undefined) return objects;
  const { compare } = convertor;
  return objects.toSorted((a, b) => compare(a.object() as KubeObject, b.object() as KubeObject));
}

function rowOf(scope: Scope, form: TableForm, encoded: EncodedObject, now: number): unknown {
  const convertor = scope.table ?? defaultTable;
  const object = named(encoded.object() as KubeObject);
  const conditions = convertor.conditions?.(object);
  return {
    cells: convertor.cells(object, now),
    ...(conditions !== undefined && conditions.length > 0 && { conditions }),
    object: rowObject(scope, form, encoded),
  };
}

/** Returns the object; that of a bookmark with an empty name, for its row. */
function named(object: KubeObject): KubeObject {
  const { metadata } = object;
  return metadata.name === undefined ? { ...object, metadata: { ...metadata, name: '' } } : object;
}

function rowObject(
  scope: Scope,
  { include, apiVersion, identity }: TableForm,
  object: EncodedObject,
): unknown {
  switch (include) {
    case 'None':
      return null;
    case 'Metadata':
      if (identity) return { metadata: identityOf(object.object() as KubeObject) };
      return partialMetadata(scope, object, apiVersion).object();
    case 'Object':
      return object.object();
  }
}

/**
 * Returns the part of an object's metadata that a list on a screen needs. Most of the rest are
 * managed fields: without them, a list of pods is a tenth as long.
 */
function identityOf({ metadata }: KubeObject): unknown {
  const { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels } =
    metadata;
  return { name, namespace, uid, resourceVersion, creationTimestamp, deletionTimestamp, labels };
}
