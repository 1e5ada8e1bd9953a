// An API server for tests of workloads and jobs, and requests for them.

import { type RawResponse, send } from './requests.ts';
import { startTestServer, type TestServer } from './server.ts';

/** The fields of an object that tests read. */
export interface Workload {
  readonly metadata: {
    readonly name: string;
    readonly uid: string;
    readonly generation?: number;
    readonly resourceVersion: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
  };
  readonly spec: Readonly<Record<string, unknown>>;
  readonly status: Readonly<Record<string, unknown>>;
}

export interface WorkloadServer extends TestServer {
  /** Returns requests for one resource, such as '/apis/apps/v1/namespaces/default/deployments'. */
  resource(path: string): ResourceRequests;
}

/**
 * Requests that return the responses' bodies as objects. `code` and similar members are those of
 * the last response.
 */
export interface ResourceRequests {
  create(object: object): Promise<Answered>;
  /** Gets an object, or one of its subresources ('name/status'). */
  get(name: string): Promise<Answered>;
  put(name: string, object: object): Promise<Answered>;
  /** Sends a server-side apply. */
  apply(name: string, object: object): Promise<Answered>;
  /** Sends a merge patch. */
  patch(name: string, patch: object): Promise<Answered>;
  delete(name: string, query?: string): Promise<Answered>;
  /** Lists objects with a query. */
  list(query: string): Promise<readonly string[]>;
  /** Returns column names and cells, as `kubectl get` shows them. */
  table(): Promise<{
    readonly columns: readonly string[];
    readonly rows: readonly (readonly unknown[])[];
  }>;
}

export interface Answered {
  readonly code: number;
  readonly object: Workload;
  readonly warnings: readonly string[];
  /** The message of an error, and the field of each cause. */
  readonly message: string;
  readonly causes: readonly string[];
}

export async function startWorkloadServer(): Promise<WorkloadServer> {
  const test = await startTestServer();
  return { ...test, resource: (path) => requestsOf(test, path) };
}

export function requestsOf({ server }: Pick<TestServer, 'server'>, path: string): ResourceRequests {
  const request = async (
    method: string,
    more: string,
    body?: object,
    contentType = 'application/json',
  ): Promise<Answered> =>
    responseOf(
      await send(server, {
        method,
        path: path + more,
        body,
        headers: { 'content-type': contentType },
      }),
    );
  return {
    create: (object) => request('POST', '', object),
    get: (name) => request('GET', `/${name}`),
    put: (name, object) => request('PUT', `/${name}`, object),
    apply: (name, object) =>
      request('PATCH', `/${name}?fieldManager=test`, object, 'application/apply-patch+yaml'),
    patch: (name, patch) => request('PATCH', `/${name}`, patch, 'application/merge-patch+json'),
    delete: (name, query = '') => request('DELETE', `/${name}${query}`),
    async list(query) {
      const { json } = await send(server, { path: `${path}?${query}` });
      return json.items.map(({ metadata }) => metadata.name);
    },
    async table() {
      const accept = 'application/json;as=Table;v=v1;g=meta.k8s.io';
      const { json } = await send(server, { path, headers: { accept } });
      return {
        columns: (json.columnDefinitions ?? []).map(({ name }) => name),
        rows: json.rows.map(({ cells }) => cells),
      };
    },
  };
}

function responseOf({ code, json, warnings }: RawResponse): Answered {
  const causes = (json.details?.causes ?? []) as readonly { readonly field: string }[];
  return {
    code,
    object: json as unknown as Workload,
    warnings,
    message: json.message ?? '',
    causes: causes.map(({ field }) => field),
  };
}
