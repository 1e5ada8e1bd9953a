// Serves OpenAPI: /openapi/v2 (JSON, and the protobuf form that older kubectls ask for) and /openapi/v3 with a document per
// group and version. A document is made when it is first asked for and then kept as bytes.

import { createHash } from 'node:crypto';
import type { Scheme } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { trimEnd } from '#machinery/text/trim.ts';
import { MAX_ACCEPT_LENGTH } from '#machinery/serving/accept.ts';
import type { Kind } from '../catalog/kind.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { documentV2, documentV3, type DocumentInfo } from './documents.ts';
import { discoveryOperations, operationsOf, type Operation } from './operations.ts';
import { documentV2Protobuf } from './protobuf.ts';

export interface OpenApi {
  readonly handles: (path: string) => boolean;
  readonly handle: Handler;
}

export interface OpenApiConfig {
  readonly resources: readonly Kind[];
  readonly scheme: Scheme;
  /** The version of the API: v1.36.3. */
  readonly version: string;
}

const JSON_TYPE = 'application/json';
/** As clients ask for it. */
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
/** As it is answered: the '@' of the other spelling is not allowed in a media type, and clients that parse the answer refuse it. */
const PROTOBUF_TYPE_ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

interface Made {
  readonly bytes: Uint8Array;
  readonly hash: string;
}

export function createOpenApi({ resources, scheme, version }: OpenApiConfig): OpenApi {
  const info: DocumentInfo = { title: 'Kubernetes', version };
  const made = new Map<string, Made>();
  const once = (key: string, make: () => Uint8Array): Made => {
    let document = made.get(key);
    if (document === undefined) {
      const bytes = make();
      document = { bytes, hash: createHash('sha256').update(bytes).digest('hex').toUpperCase() };
      made.set(key, document);
    }
    return document;
  };
  const json = (object: unknown): Uint8Array => Buffer.from(JSON.stringify(object), 'utf8');

  /** By the path below /openapi/v3: 'api/v1', 'apis/apps/v1'. */
  const groupVersions = new Map<string, Kind[]>();
  for (const served of resources) {
    const { group, version: apiVersion } = served.type;
    const path = group === '' ? `api/${apiVersion}` : `apis/${group}/${apiVersion}`;
    groupVersions.set(path, [...(groupVersions.get(path) ?? []), served]);
  }
  const versions = new Map<string, Set<string>>();
  for (const { type } of resources) versions.set(type.group, (versions.get(type.group) ?? new Set()).add(type.version));
  /** Of what lies at `root` ('/api/v1/') or, without it, everywhere. */
  const operations = (list: readonly Kind[], root?: string): Operation[] => [
    ...discoveryOperations(versions, scheme).filter(({ path }) => root === undefined || path === root),
    ...list.flatMap((served) => operationsOf(served, scheme)),
  ];
  const v3 = (path: string): Made =>
    once(`v3/${path}`, () => json(documentV3(operations(groupVersions.get(path) ?? [], `/${path}/`), info)));

  /** Undefined: nothing is there. */
  const find = (path: string, accept: string): { readonly document: Made; readonly contentType: string } | undefined => {
    if (path === '/openapi/v2') {
      const v2 = (): ReturnType<typeof documentV2> => documentV2(operations(resources), info);
      const ranges = accept.length > MAX_ACCEPT_LENGTH ? [] : accept.split(',');
      const wanted = ranges.map((range) => (range.split(';')[0] as string).trim());
      const protobuf = wanted.find((type) => type === PROTOBUF_TYPE || type === PROTOBUF_TYPE_ANSWERED);
      const plain = accept === '' || wanted.some((type) => type === JSON_TYPE || type === 'application/*' || type === '*/*');
      if (protobuf !== undefined)
        return { document: once('v2 protobuf', () => documentV2Protobuf(v2())), contentType: PROTOBUF_TYPE_ANSWERED };
      if (!plain) throw apierrors.notAcceptable([JSON_TYPE, PROTOBUF_TYPE]);
      return { document: once('v2', () => json(v2())), contentType: JSON_TYPE };
    }
    if (path === '/openapi/v3') {
      const index = once('v3', () =>
        json({
          paths: Object.fromEntries(
            [...groupVersions.keys()]
              .sort()
              .map((key) => [key, { serverRelativeURL: `/openapi/v3/${key}?hash=${v3(key).hash}` }]),
          ),
        }),
      );
      return { document: index, contentType: JSON_TYPE };
    }
    const below = path.slice('/openapi/v3/'.length);
    return groupVersions.has(below) ? { document: v3(below), contentType: JSON_TYPE } : undefined;
  };

  const answer = (request: ApiRequest): ApiResponse => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw apierrors.methodNotSupported({ group: '', resource: 'openapi' }, request.method.toLowerCase());
    }
    const path = trimEnd(request.path, '/');
    const found = find(path, request.headers['accept'] ?? '');
    if (found === undefined)
      throw apierrors.genericServerResponse({ code: 404, verb: 'get', serverMessage: '', isUnexpectedResponse: false });
    const { bytes, hash } = found.document;
    const etag = `"${hash}"`;
    const headers: Record<string, string> = { etag, vary: 'Accept' };
    const asked = request.query.get('hash') ?? '';
    if (asked !== '' && path.startsWith('/openapi/v3/')) {
      if (asked !== hash) return { code: 301, headers: { location: `${path}?hash=${hash}` }, body: { kind: 'none' } };
      // A client that asks by hash may keep the answer for good.
      headers['cache-control'] = 'public, immutable';
    }
    if (request.headers['if-none-match'] === etag) return { code: 304, headers, body: { kind: 'none' } };
    return { code: 200, headers, body: { kind: 'bytes', contentType: found.contentType, bytes } };
  };

  return {
    handles: (path) => /^\/openapi\/v[23](\/|$)/.test(path),
    handle: async (request) => answer(request),
  };
}
