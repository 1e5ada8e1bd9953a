// The documents of the API servers behind this one, as OpenAPI needs them. The aggregator
// implements this interface.

import type { Awaitable } from '#machinery/awaitable.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';

/** A part of an OpenAPI v2 document, with one server's group version. */
export interface SwaggerPart {
  readonly paths: Readonly<Record<string, unknown>>;
  readonly definitions: Readonly<Record<string, unknown>>;
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface RemoteDocuments {
  /**
   * Returns the entries of the OpenAPI v3 index by path ('apis/apps/v1'): the same value until one
   * changes. Servers that do not respond are left out. Waits a few seconds at most.
   */
  v3Index(): Awaitable<ReadonlyMap<string, V3Entry>>;
  /** Forwards a request for one of these paths. Returns undefined if no server has it. */
  forwardV3(request: ApiRequest, path: string): Promise<ApiResponse> | undefined;
  /**
   * Returns the parts of the v2 document in the order in which they are merged: the same value
   * until one changes.
   */
  v2Parts(): Awaitable<readonly SwaggerPart[]>;
}

export interface V3Entry {
  readonly serverRelativeURL: string;
}

const NO_ENTRIES: ReadonlyMap<string, V3Entry> = new Map();
const NO_PARTS: readonly SwaggerPart[] = [];

export const NO_REMOTE_DOCUMENTS: RemoteDocuments = {
  v3Index: () => NO_ENTRIES,
  forwardV3: () => undefined,
  v2Parts: () => NO_PARTS,
};
