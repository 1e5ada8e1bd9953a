// The OpenAPI documents of other API servers. Requests for v3 documents are forwarded. Of a v2
// document, the part of the APIService's group version is merged into this server's.

import type { Awaitable } from '#machinery/awaitable.ts';
import type { Clock } from '#machinery/clock.ts';
import type { Logger } from '#machinery/log.ts';
import { parseJsonInSteps } from '#machinery/text/json-steps.ts';
import { runStepsInTurns, type Steps } from '#machinery/turn.ts';
import { type OpenApiDocument, servedDocument } from '../../openapi/served-document.ts';
import { partOf } from '../../openapi/v2/merge.ts';
import type { RemoteDocuments, SwaggerPart, V3Entry } from '../../openapi/remote-documents.ts';
import type { ApiRequest, ApiResponse, UserInfo } from '../../request.ts';
import { type ApiServices, isAvailable, isRemote, type RemoteApiService } from '../api-services.ts';
import { BackendError } from '../proxy/backend.ts';
import { fetchDocument, type FetchedDocument, type FetchServices } from '../proxy/fetch.ts';
import { convertV2ToV3 } from './convert-v2.ts';
import { PolledDocument } from './polled-document.ts';

/** How long readers wait for a document that has not been read yet, in ms. */
const PATIENCE_MS = 5_000;
const TIMEOUT_MS = 60_000;
const MAX_INDEX_BYTES = 1024 * 1024;
const MAX_DOCUMENT_BYTES = 16 * 1024 * 1024;
/** The maximum size of a path, definition or parameter of a document. */
const MAX_ENTRY_BYTES = 512 * 1024;
/** The maximum number of entries of one server. Further entries are left out. */
const MAX_ENTRIES = 1000;
const AGGREGATOR: UserInfo = { name: 'system:aggregator', groups: [] };

export interface RemoteOpenApiConfig extends FetchServices {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly apiServices: ApiServices;
  readonly forward: (request: ApiRequest, service: RemoteApiService) => Promise<ApiResponse>;
  /** Aborts all requests for documents. */
  readonly signal: AbortSignal;
}

interface V3Root {
  readonly entries: ReadonlyMap<string, V3Entry>;
  /** The converted v2 document of a server without OpenAPI v3. */
  readonly converted?: OpenApiDocument;
}

interface V2Document {
  readonly part: SwaggerPart;
  readonly etag: string;
}

interface Documents {
  readonly v3: PolledDocument<V3Root>;
  readonly v2: PolledDocument<V2Document>;
}

export class RemoteOpenApi implements RemoteDocuments {
  readonly #config: RemoteOpenApiConfig;
  /** Documents by the name of the APIService. */
  readonly #documents = new Map<string, Documents>();
  #index: ReadonlyMap<string, V3Entry> | undefined;
  #parts: readonly SwaggerPart[] | undefined;

  constructor(config: RemoteOpenApiConfig) {
    this.#config = config;
    config.apiServices.onChange((name, now, before) => {
      const documents = this.#documents.get(name);
      if (now === undefined || !isRemote(now)) this.#documents.delete(name);
      else if (
        documents !== undefined &&
        before !== undefined &&
        now.metadata.generation === before.metadata.generation
      ) {
        documents.v3.expire();
        documents.v2.expire();
      }
      this.#changed();
    });
  }

  v3Index(): Awaitable<ReadonlyMap<string, V3Entry>> {
    if (!this.#config.apiServices.hasRemote) return NONE;
    return this.#refreshed('v3').then(() => (this.#index ??= this.#mergedIndex()));
  }

  forwardV3(request: ApiRequest, path: string): Promise<ApiResponse> | undefined {
    const service = this.#ownerOf(path);
    if (service === undefined) return undefined;
    const converted = this.#documents.get(service.metadata.name)?.v3.value?.converted;
    if (converted === undefined) return this.#config.forward(request, service);
    return Promise.resolve(servedDocument(request, `/openapi/v3/${path}`, converted));
  }

  v2Parts(): Awaitable<readonly SwaggerPart[]> {
    if (!this.#config.apiServices.hasRemote) return NO_PARTS;
    return this.#refreshed('v2').then(() => (this.#parts ??= this.#mergedParts()));
  }

  #changed(): void {
    this.#index = undefined;
    this.#parts = undefined;
  }

  /** Waits until the documents are read, or for PATIENCE_MS. */
  async #refreshed(kind: keyof Documents): Promise<void> {
    const services = [...this.#config.apiServices.allRemote()];
    const reading = Promise.all(
      services.map((service) => this.#documentsOf(service)[kind].refresh()),
    );
    const waited = new AbortController();
    const patience = this.#config.clock.sleep(PATIENCE_MS, waited.signal).catch(() => undefined);
    await Promise.race([reading, patience]);
    waited.abort();
  }

  #documentsOf({ metadata: { name } }: RemoteApiService): Documents {
    let documents = this.#documents.get(name);
    if (documents === undefined) {
      const { clock, logger } = this.#config;
      const common = {
        clock,
        onChange: () => this.#changed(),
        onFailure: (err: unknown) =>
          logger.warn('aggregator: reading OpenAPI failed, retrying', { apiService: name, err }),
      };
      documents = {
        v3: new PolledDocument<V3Root>({ ...common, read: () => this.#readV3(name) }),
        v2: new PolledDocument<V2Document>({
          ...common,
          read: (previous) => this.#readV2(name, previous),
        }),
      };
      this.#documents.set(name, documents);
    }
    return documents;
  }

  async #readV3(name: string): Promise<V3Root> {
    const service = this.#config.apiServices.remote(name);
    if (service === undefined) return { entries: NONE };
    const { code, body } = await this.#fetch(service, '/openapi/v3', '', MAX_INDEX_BYTES);
    if (code === 404) return this.#convertedRoot(service);
    if (code !== 200)
      throw new BackendError(
        `could not get list of group versions for APIService: status code ${code}`,
      );
    return { entries: readIndex(body) };
  }

  async #convertedRoot(service: RemoteApiService): Promise<V3Root> {
    const { code, body } = await this.#fetch(service, '/openapi/v2', '', MAX_DOCUMENT_BYTES);
    if (code === 404) return { entries: NONE };
    if (code !== 200)
      throw new BackendError(`failed to retrieve openAPI spec: status code ${code}`);
    const { group = '', version = '' } = service.spec;
    const converted = await runStepsInTurns(convertedDocument(body));
    const path = `apis/${group}/${version}`;
    const entry = { serverRelativeURL: `/openapi/v3/${path}?hash=${converted.hash}` };
    return { entries: new Map([[path, entry]]), converted };
  }

  async #readV2(name: string, previous: V2Document | undefined): Promise<V2Document | undefined> {
    const service = this.#config.apiServices.remote(name);
    if (service === undefined) return undefined;
    const { code, body, etag } = await this.#fetch(
      service,
      '/openapi/v2',
      previous?.etag ?? '',
      MAX_DOCUMENT_BYTES,
    );
    if (code === 304) return undefined;
    if (code === 404) return { part: NO_PART, etag: '' };
    if (code !== 200)
      throw new BackendError(`failed to retrieve openAPI spec: status code ${code}`);
    const { group = '', version = '' } = service.spec;
    return { part: await runStepsInTurns(readPart(body, `/apis/${group}/${version}/`)), etag };
  }

  async #fetch(
    service: RemoteApiService,
    path: string,
    etag: string,
    maxBytes: number,
  ): Promise<FetchedDocument> {
    const { signal } = this.#config;
    if (!isAvailable(service)) throw new BackendError('service unavailable');
    return fetchDocument(this.#config, service, {
      path,
      accept: 'application/json',
      user: AGGREGATOR,
      etag,
      timeoutMs: TIMEOUT_MS,
      maxBytes,
      signal,
    });
  }

  /**
   * Returns the APIServices in the order in which upstream merges them, with the highest priority
   * first.
   */
  #ordered(): readonly RemoteApiService[] {
    const all = [...this.#config.apiServices.allRemote()];
    const priorities = new Map<string, number>();
    for (const { spec } of all) {
      const group = spec.group ?? '';
      priorities.set(group, Math.max(priorities.get(group) ?? 0, spec.groupPriorityMinimum));
    }
    const priorityOf = ({ spec }: RemoteApiService): number =>
      priorities.get(spec.group ?? '') ?? 0;
    return all.toSorted(
      (a, b) => priorityOf(b) - priorityOf(a) || (a.metadata.name < b.metadata.name ? -1 : 1),
    );
  }

  #mergedIndex(): ReadonlyMap<string, V3Entry> {
    const merged = new Map<string, V3Entry>();
    for (const service of this.#ordered()) {
      const { entries = NONE } = this.#documents.get(service.metadata.name)?.v3.value ?? {};
      for (const [path, entry] of entries)
        if (!merged.has(path) || path === pathOf(service)) merged.set(path, entry);
    }
    return merged;
  }

  #mergedParts(): readonly SwaggerPart[] {
    return this.#ordered().flatMap(
      ({ metadata }) => this.#documents.get(metadata.name)?.v2.value?.part ?? [],
    );
  }

  /**
   * Returns the APIService that serves a v3 path. The one whose group version is in the path comes
   * before others that list the path.
   */
  #ownerOf(path: string): RemoteApiService | undefined {
    const claiming = this.#ordered().filter(({ metadata }) =>
      this.#documents.get(metadata.name)?.v3.value?.entries.has(path),
    );
    return claiming.find((service) => pathOf(service) === path) ?? claiming[0];
  }
}

const NONE: ReadonlyMap<string, V3Entry> = new Map();
const NO_PARTS: readonly SwaggerPart[] = [];
const NO_PART: SwaggerPart = { paths: {}, definitions: {}, parameters: {} };

function pathOf({ spec }: RemoteApiService): string {
  return `apis/${spec.group ?? ''}/${spec.version ?? ''}`;
}

function* convertedDocument(body: Buffer): Steps<OpenApiDocument> {
  return yield* convertV2ToV3(yield* readDocument(body));
}

function* readPart(body: Buffer, pathPrefix: string): Steps<SwaggerPart> {
  return yield* partOf(yield* readDocument(body), pathPrefix);
}

/**
 * Parses an OpenAPI v2 document in steps. Throws BackendError if a path, definition or parameter is
 * so large that processing it would block the event loop.
 */
function* readDocument(body: Buffer): Steps<unknown> {
  const document = yield* parseJsonInSteps(body, (path, bytes) => {
    if (path.length === 2 && bytes > MAX_ENTRY_BYTES) {
      throw new BackendError(
        `OpenAPI: ${path.join(' ')} has ${bytes} bytes, at most ${MAX_ENTRY_BYTES} are read`,
      );
    }
  });
  return document;
}

/** Parses the index. An entry with a URL of another server or path is left out. */
function readIndex(body: Buffer): ReadonlyMap<string, V3Entry> {
  const { paths } = JSON.parse(body.toString('utf8')) as { readonly paths?: unknown };
  const entries = new Map<string, V3Entry>();
  for (const [path, value] of Object.entries(paths ?? {}).slice(0, MAX_ENTRIES)) {
    const url = (value as { readonly serverRelativeURL?: unknown } | null)?.serverRelativeURL;
    if (typeof url === 'string' && url.startsWith('/openapi/v3/'))
      entries.set(path, { serverRelativeURL: url });
  }
  return entries;
}
