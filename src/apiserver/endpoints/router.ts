// From a request to the function that serves it.

import * as apierrors from '../../machinery/apierrors.ts';
import type { ServedResource, ServedSubresource } from '../registry/rest.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { handleDelete, handleDeleteCollection } from './delete.ts';
import { handleGet, handleList, handleWatch, notServed } from './read.ts';
import { connectOptions } from './connect-options.ts';
import { admissionAttributes, resourceScope, subresourceScope } from './scope.ts';
import type { EndpointServices, Scope } from './scope.ts';
import { handleCreate, handlePatch, handleUpdate } from './write.ts';

interface Endpoint {
  readonly scope: Scope;
  readonly deprecation: string | undefined;
  readonly subresources: ReadonlyMap<string, { readonly scope: Scope; readonly served: ServedSubresource }>;
}

/** Handlers of paths that are no resources' (health, version, discovery, metrics). */
export interface NonResourceRoute {
  handles(path: string): boolean;
  readonly handle: Handler;
}

export class Router {
  /** By resource, those of all groups and versions. By parts: to put a key together costs more than to look for it. */
  readonly #endpoints = new Map<string, Endpoint[]>();
  readonly #groups = new Set<string>();
  readonly #routes: readonly NonResourceRoute[];

  constructor(services: EndpointServices, resources: readonly ServedResource[], routes: readonly NonResourceRoute[]) {
    this.#routes = routes;
    for (const served of resources) {
      const { group, version, resource } = served.type;
      const subresources = (served.subresources ?? []).map(
        (subresource) =>
          [subresource.name, { scope: subresourceScope(services, served, subresource), served: subresource }] as const,
      );
      if (this.#endpoint(group, version, resource) !== undefined) {
        throw new Error(`installed twice: ${group}/${version}/${resource}`);
      }
      this.#groups.add(group);
      const others = this.#endpoints.get(resource) ?? [];
      this.#endpoints.set(resource, others);
      others.push({
        scope: resourceScope(services, served),
        deprecation: served.deprecation,
        subresources: new Map(subresources),
      });
    }
  }

  readonly handle: Handler = (request) => {
    try {
      return this.#serve(request);
    } catch (error) {
      return Promise.reject(error);
    }
  };

  #serve(request: ApiRequest): Promise<ApiResponse> {
    const { info } = request;
    if (info.isResourceRequest) {
      const endpoint = this.#endpoint(info.apiGroup, info.apiVersion, info.resource);
      if (endpoint === undefined) return Promise.resolve(this.#notFound(request));
      if (endpoint.deprecation !== undefined) request.warnings.push(endpoint.deprecation);
      return info.subresource === '' ? serveResource(endpoint.scope, request) : this.#serveSubresource(endpoint, request);
    }
    const route = this.#routes.find(({ handles }) => handles(info.path));
    return route === undefined ? Promise.resolve(this.#notFound(request)) : route.handle(request);
  }

  #endpoint(group: string, version: string, resource: string): Endpoint | undefined {
    return this.#endpoints.get(resource)?.find(({ scope: { type } }) => type.version === version && type.group === group);
  }

  /** Below the groups that are served a Status; elsewhere no more than there is. */
  #notFound({ info: { path } }: ApiRequest): ApiResponse {
    const [root, group = ''] = path.split('/').slice(1);
    if (root === 'api' || (root === 'apis' && this.#groups.has(group))) throw apierrors.genericStatus(404);
    return { code: 404, body: { kind: 'text', contentType: 'text/plain; charset=utf-8', text: '404 page not found\n' } };
  }

  #serveSubresource(endpoint: Endpoint, request: ApiRequest): Promise<ApiResponse> {
    const { info } = request;
    const subresource = endpoint.subresources.get(info.subresource);
    if (subresource === undefined) throw apierrors.genericStatus(404);
    const { scope, served } = subresource;
    checkNamespace(scope, request);
    if (served.rest.connect !== undefined) return serveConnect(scope, served, request);
    // Nothing lies below a subresource that is no proxy.
    if (info.parts.length > 0) throw apierrors.genericStatus(404);
    switch (request.method) {
      case 'GET':
      case 'HEAD':
        return handleGet(scope, request);
      case 'POST':
        return handleCreate(scope, request);
      case 'PUT':
        return handleUpdate(scope, request);
      case 'PATCH':
        return handlePatch(scope, request);
      case 'DELETE':
        return handleDelete(scope, request);
      default:
        throw notServed();
    }
  }
}

function serveResource(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { info } = request;
  switch (info.verb) {
    case 'get':
      checkNamespace(scope, request);
      return handleGet(scope, request);
    case 'list':
      return handleList(scope, request);
    case 'watch':
      // `info.name` may come from the field selector; only the path's name adds to it.
      return handleWatch(scope, request, nameInPath(request));
    case 'create':
      if (info.name !== '') throw notServed();
      checkNamespace(scope, request);
      return handleCreate(scope, request);
    case 'update':
      checkNamed(scope, request);
      return handleUpdate(scope, request);
    case 'patch':
      checkNamed(scope, request);
      return handlePatch(scope, request);
    case 'delete':
      checkNamespace(scope, request);
      return handleDelete(scope, request);
    case 'deletecollection':
      checkNamespace(scope, request);
      return handleDeleteCollection(scope, request);
    default:
      throw notServed();
  }
}

async function serveConnect(scope: Scope, served: ServedSubresource, request: ApiRequest): Promise<ApiResponse> {
  const { info, method } = request;
  if (!(served.connectMethods ?? ['GET', 'POST']).includes(method)) throw notServed();
  await scope.services.admission.validate({
    ...admissionAttributes(scope, request, 'CONNECT', info.name, false, undefined),
    connectOptions: () => connectOptions(scope.kind, request),
  });
  const connect = served.rest.connect as NonNullable<typeof served.rest.connect>;
  return connect(request, info.name, info.parts.map((part) => encodeURIComponent(part)).join('/'));
}

function checkNamed(scope: Scope, request: ApiRequest): void {
  if (request.info.name === '') throw notServed();
  checkNamespace(scope, request);
}

/** One object of a namespaced resource is in a namespace; cluster-scoped ones are in none. All of a namespaced resource can only be read. */
function checkNamespace(scope: Scope, request: ApiRequest): void {
  const { namespace, resource, name } = request.info;
  if (scope.type.namespaced) {
    if (namespace === '') throw apierrors.genericStatus(name === '' ? 405 : 404);
  } else if (namespace !== '' && resource !== 'namespaces') {
    throw apierrors.genericStatus(404);
  }
}

function nameInPath(request: ApiRequest): string {
  const segments = request.info.path.split('/').filter((segment) => segment !== '');
  return segments.at(-1) === request.info.resource ? '' : request.info.name;
}
