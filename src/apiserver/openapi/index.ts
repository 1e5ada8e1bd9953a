// Serves OpenAPI: /openapi/v2 (as JSON, and as protobuf for older kubectls; see v2/), and
// /openapi/v3 with a document for each group version and each other path. A document is built when
// it is first requested, and kept as bytes.

import type { Scheme } from '#api/machinery/scheme.ts';
import * as apierrors from '#machinery/apierrors.ts';
import { versionInfo } from '#machinery/version-info.ts';
import { MAX_ACCEPT_LENGTH } from '#machinery/serving/accept.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { notFound } from '../status-routes.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import type { DocumentInfo } from './documents.ts';
import {
  type CompressedDocument,
  type OpenApiDocument,
  servedDocument,
} from './served-document.ts';
import { NO_REMOTE_DOCUMENTS, type RemoteDocuments } from './remote-documents.ts';
import { serverOperations } from './server-operations.ts';
import { V2Documents } from './v2/documents.ts';
import { JSON_FORMAT, PROTOBUF_FORMAT } from './v2/formats.ts';
import { V3Documents } from './v3-documents.ts';

export interface OpenApi {
  readonly handles: (path: string) => boolean;
  readonly handle: Handler;
}

export interface OpenApiConfig {
  readonly catalog: Catalog;
  readonly scheme: Scheme;
  /** The version of the server, such as v1.36.3. */
  readonly version: string;
  /** Whether the issuer of tokens is discoverable. Default: false. */
  readonly hasIssuer?: boolean;
  /** The documents of other API servers. Default: there are none. */
  readonly remote?: RemoteDocuments;
}

const JSON_TYPE = 'application/json';
/** The media type that clients request. */
const PROTOBUF_TYPE = 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf';
/**
 * The media type of the response. The '@' in the other one is not allowed in a media type, and
 * clients that parse the response reject it.
 */
const PROTOBUF_TYPE_ANSWERED = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';

interface FoundDocument {
  readonly document: OpenApiDocument | CompressedDocument;
  readonly contentType: string;
}

export function createOpenApi({
  catalog,
  scheme,
  version,
  hasIssuer = false,
  remote = NO_REMOTE_DOCUMENTS,
}: OpenApiConfig): OpenApi {
  const { major, minor } = versionInfo(version);
  const info: DocumentInfo = { title: 'Kubernetes', version: `${major}.${minor}` };
  const common = { scheme, info, others: serverOperations(hasIssuer) };
  const documents = new V3Documents(common);
  const json = new V2Documents({ ...common, format: JSON_FORMAT });
  const binary = new V2Documents({ ...common, format: PROTOBUF_FORMAT });

  /** Returns the document for a request; undefined if the path is unknown. */
  const find = async (path: string, accept: string): Promise<FoundDocument | undefined> => {
    const snapshot = catalog.snapshot();
    if (path === '/openapi/v2') {
      const ranges = accept.length > MAX_ACCEPT_LENGTH ? [] : accept.split(',');
      const wanted = ranges.map((range) => range.split(';')[0]!.trim());
      const protobuf = wanted.find(
        (type) => type === PROTOBUF_TYPE || type === PROTOBUF_TYPE_ANSWERED,
      );
      const plain =
        accept === '' ||
        wanted.some((type) => type === JSON_TYPE || type === 'application/*' || type === '*/*');
      if (protobuf === undefined && !plain)
        throw apierrors.notAcceptable([JSON_TYPE, PROTOBUF_TYPE]);
      const parts = await remote.v2Parts();
      return protobuf === undefined
        ? { document: await json.of(snapshot, parts), contentType: JSON_TYPE }
        : { document: await binary.of(snapshot, parts), contentType: PROTOBUF_TYPE_ANSWERED };
    }
    if (path === '/openapi/v3') {
      return {
        document: await documents.v3Index(snapshot, await remote.v3Index()),
        contentType: JSON_TYPE,
      };
    }
    const document = documents.at(snapshot, path.slice('/openapi/v3/'.length));
    return document && { document: await document, contentType: JSON_TYPE };
  };

  const respond = async (request: ApiRequest): Promise<ApiResponse> => {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw apierrors.methodNotSupported(
        { group: '', resource: 'openapi' },
        request.method.toLowerCase(),
      );
    }
    const { path } = request;
    const document = await find(path, request.headers['accept'] ?? '');
    if (document === undefined) {
      const forwarded = remote.forwardV3(request, path.slice('/openapi/v3/'.length));
      if (forwarded !== undefined) return forwarded;
      return path === '/openapi/v2/' ? notFound() : { code: 404, body: { kind: 'none' } };
    }
    return servedDocument(
      request,
      path.startsWith('/openapi/v3/') ? path : undefined,
      document.document,
      document.contentType,
    );
  };

  return {
    handles: (path) => /^\/openapi\/v[23](\/|$)/.test(path),
    handle: respond,
  };
}
