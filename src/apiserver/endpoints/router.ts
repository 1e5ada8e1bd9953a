// Routes a request to the function that serves it.

import * as apierrors from '#machinery/apierrors.ts';
import { quote } from '#machinery/text/go-format.ts';
import type { EndpointLabels, EndpointMetrics } from './endpoint-metrics.ts';
import type { RequestMetrics } from './request-metrics.ts';
import { notFound } from '../status-routes.ts';
import type { Kind, Subresource } from '../catalog/kind.ts';
import { isServed } from '../catalog/snapshot.ts';
import type { ApiRequest, ApiResponse, Handler } from '../request.ts';
import { handleDelete, handleDeleteCollection } from './delete.ts';
import type { NonResourceRoute } from './non-resource-route.ts';
import { handleGet, handleList, handleWatch, notServed } from './read.ts';
import { connectOptions, requestWithOptions } from './connect-options.ts';
import {
  admissionAttributes,
  type EndpointServices,
  resourceScope,
  type Scope,
  subresourceScope,
} from './scope.ts';
import { handleCreate } from './write/create.ts';
import { handlePatch } from './write/patch.ts';
import { handleUpdate } from './write/update.ts';

interface Endpoint {
  readonly scope: Scope;
  readonly deprecation: string | undefined;
  readonly metrics: EndpointMetrics;
  readonly subresources: ReadonlyMap<string, SubresourceEndpoint>;
}

interface SubresourceEndpoint {
  readonly scope: Scope;
  readonly served: Subresource;
  readonly metrics: EndpointMetrics;
}

export interface RouterConfig {
  readonly services: EndpointServices;
  readonly routes: readonly NonResourceRoute[];
  /** Where requests are counted. */
  readonly metrics: RequestMetrics;
}

export class Router {
  readonly #config: RouterConfig;
  /** Endpoints by kind, created at the first request and kept as long as the kind. */
  readonly #endpoints = new WeakMap<Kind, Endpoint>();

  constructor(config: RouterConfig) {
    this.#config = config;
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
      const kind = this.#config.services.catalog
        .snapshot()
        .get(info.apiGroup, info.apiVersion, info.resource);
      if (kind === undefined || !isServed(kind)) return Promise.resolve(this.#notFound(request));
      const endpoint = this.#endpointOf(kind);
      if (kind.isCustom === true && isPathOfNoCustomKind(kind, request))
        return Promise.resolve(notFound());
      checkPath(endpoint.scope, request);
      if (endpoint.deprecation !== undefined) request.warnings.push(endpoint.deprecation);
      if (info.subresource !== '') return this.#serveSubresource(endpoint, request);
      request.endpoint = endpoint.metrics;
      if (kind.isCustom === true) return serveCustom(endpoint.scope, request);
      // Upstream has routes of each method; only its handler of custom resources goes by the verb.
      if (request.method === 'HEAD') throw notServed();
      return serveResource(endpoint.scope, request);
    }
    const route = this.#config.routes.find(({ handles }) => handles(info.path));
    if (route === undefined) return Promise.resolve(this.#notFound(request));
    request.endpoint = route.metricsOf?.(info.path);
    return route.handle(request);
  }

  #endpointOf(kind: Kind): Endpoint {
    let endpoint = this.#endpoints.get(kind);
    if (endpoint === undefined) {
      endpoint = this.#makeEndpoint(kind);
      this.#endpoints.set(kind, endpoint);
    }
    return endpoint;
  }

  #makeEndpoint(kind: Kind): Endpoint {
    const { services, metrics } = this.#config;
    const labels = endpointLabels(kind);
    const subresources = (kind.subresources ?? []).map(
      (served): readonly [string, SubresourceEndpoint] => {
        const { name } = served;
        const scope = subresourceScope(services, kind, served);
        return [
          name,
          { scope, served, metrics: metrics.endpoint({ ...labels, subresource: name }) },
        ];
      },
    );
    return {
      scope: resourceScope(services, kind),
      deprecation: kind.deprecation,
      metrics: metrics.endpoint(labels),
      subresources: new Map(subresources),
    };
  }

  /**
   * Returns the response for an unknown path: a Status below served groups, elsewhere plain text.
   */
  #notFound({ info: { path } }: ApiRequest): ApiResponse {
    const [root, group = ''] = path.split('/').slice(1);
    // Upstream's handler of custom resources passes unknown paths below its groups to a handler
    // without Status responses.
    const served =
      root === 'apis' &&
      this.#config.services.catalog.snapshot().group(group)?.servedWithType === true;
    if (root === 'api' || served) throw apierrors.genericStatus(404);
    return notFound();
  }

  #serveSubresource(endpoint: Endpoint, request: ApiRequest): Promise<ApiResponse> {
    const { info } = request;
    const subresource = endpoint.subresources.get(info.subresource);
    const isCustom = endpoint.scope.codec.isUntyped === true;
    if (subresource === undefined)
      throw isCustom
        ? apierrors.notFound(endpoint.scope.type, info.name)
        : apierrors.genericStatus(404);
    const { scope, served, metrics } = subresource;
    request.endpoint = metrics;
    if (isCustom) return serveCustomView(scope, request);
    if (served.rest.connect !== undefined) return serveConnect(scope, served, request);
    // Only a proxy has paths below a subresource.
    if (info.parts.length > 0) throw apierrors.genericStatus(404);
    switch (request.method) {
      case 'GET':
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

/** Returns the labels of the metrics of requests to a kind, without a subresource. */
export function endpointLabels({ type, deprecation }: Kind): EndpointLabels {
  const { group, version, resource } = type;
  // No served API has a removal release. Upstream's label is empty then, too.
  const deprecated = deprecation === undefined ? undefined : { removedRelease: '' };
  return {
    group,
    version,
    resource,
    subresource: '',
    component: 'apiserver',
    ...(deprecated && { deprecated }),
  };
}

function serveResource(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { info } = request;
  const named = info.pathName !== '';
  switch (info.verb) {
    case 'get':
      return handleGet(scope, request);
    case 'list':
      return handleList(scope, request);
    case 'watch':
      return handleWatch(scope, request, info.pathName);
    case 'create':
      if (named) throw notServed();
      return handleCreate(scope, request);
    case 'update':
      if (!named) throw notServed();
      return handleUpdate(scope, request);
    case 'patch':
      if (!named) throw notServed();
      return handlePatch(scope, request);
    case 'delete':
      return handleDelete(scope, request);
    case 'deletecollection':
      return handleDeleteCollection(scope, request);
    default:
      throw notServed();
  }
}

/** Serves a custom resource. As in upstream's handler, each verb checks the name itself. */
function serveCustom(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  const { verb, pathName } = request.info;
  switch (verb) {
    case 'get':
    case 'list':
    case 'watch':
    case 'delete':
    case 'deletecollection':
      return serveResource(scope, request);
    case 'create':
      return handleCreate(scope, request);
    case 'update':
    case 'patch':
      if (pathName === '') throw apierrors.badRequest('name must be provided');
      return serveResource(scope, request);
    default:
      throw apierrors.methodNotSupported(scope.type, verb);
  }
}

/** Serves a subresource of a custom kind. The rest of the path is ignored. */
function serveCustomView(scope: Scope, request: ApiRequest): Promise<ApiResponse> {
  switch (request.info.verb) {
    case 'get':
      return handleGet(scope, request);
    case 'update':
      return handleUpdate(scope, request);
    case 'patch':
      return handlePatch(scope, request);
    default:
      throw apierrors.methodNotSupported(scope.type, request.info.verb);
  }
}

/**
 * Reports whether the path does not fit the kind's scope: a namespaced path of a cluster-scoped
 * kind, or the opposite. Upstream serves no such path.
 */
function isPathOfNoCustomKind({ type: { namespaced } }: Kind, { info }: ApiRequest): boolean {
  if (!namespaced) return info.inNamespace;
  return !info.inNamespace && info.verb !== 'list' && info.verb !== 'watch';
}

async function serveConnect(
  scope: Scope,
  served: Subresource,
  request: ApiRequest,
): Promise<ApiResponse> {
  const { info, method } = request;
  if (!(served.connectMethods ?? ['GET', 'POST']).includes(method)) throw notServed();
  const admitted = served.readsOnly === true ? request : await admitConnect(scope, request);
  const connect = served.rest.connect!;
  const response = await connect(
    admitted,
    info.name,
    admitted.info.parts.map((part) => encodeURIComponent(part)).join('/'),
  );
  return measuredStream(request, response);
}

/** Resolves with the request after admission. Rejects with StatusError. */
async function admitConnect(scope: Scope, request: ApiRequest): Promise<ApiRequest> {
  const { admission } = scope.services;
  if (request.query.size > 0 && (request.query.get('dryRun') ?? '') !== '')
    throw apierrors.badRequest('dryRun is not supported');
  let options: object | undefined;
  const currentOptions = (): object | undefined =>
    (options ??= connectOptions(scope.codec, request));
  const attributes = admissionAttributes(
    scope,
    request,
    'CONNECT',
    request.info.name,
    false,
    undefined,
  );
  const admitted = await admission.admitRequest({ ...attributes, connectOptions: currentOptions });
  await admission.validate(admitted);
  const newOptions =
    admitted.connectOptions === currentOptions ? undefined : admitted.connectOptions?.();
  return newOptions === undefined ? request : requestWithOptions(scope.codec, request, newOptions);
}

/** Returns the response, and counts its stream or connection as open until it ends. */
function measuredStream(request: ApiRequest, response: ApiResponse): ApiResponse {
  const { body, code } = response;
  const { endpoint } = request;
  if (endpoint === undefined || (body.kind !== 'stream' && body.kind !== 'taken')) return response;
  const close = endpoint.open(request);
  if (body.kind === 'taken') {
    const done = body.done.finally(() => close(code));
    return { ...response, body: { ...body, done } };
  }
  // A stream that is no longer read ends with its request.
  request.signal.addEventListener('abort', () => close(code), { once: true });
  return response;
}

/**
 * Checks that the path has the form that was authorized. Every verb and subresource passes this
 * check, so that no handler leaves the namespace that the authorizer has checked. The forms are
 * those of upstream's routes:
 *
 *   namespaced      …/namespaces/NS/RESOURCE[/NAME[/SUBRESOURCE]]; …/RESOURCE to list and watch all, if
 *                   the resource can be listed
 *   cluster-scoped  …/RESOURCE[/NAME[/SUBRESOURCE]]
 *   legacy watches  …/watch/ before a form without subresource; only GET
 *
 * Throws StatusError: 404 for other paths, 405 for a method that the path does not have, 400 for
 * invalid names.
 */
function checkPath({ type, rest }: Scope, { info, method }: ApiRequest): void {
  const { inNamespace, namespace, pathName, pathVerb, subresource, verb } = info;
  if (pathVerb !== '') {
    if (pathVerb !== 'watch' || subresource !== '') throw apierrors.genericStatus(404);
    if (method !== 'GET') throw notServed();
  }
  if (inNamespace !== type.namespaced) {
    if (inNamespace || pathName !== '' || rest.list === undefined)
      throw apierrors.genericStatus(404);
    if (verb !== 'list' && verb !== 'watch') throw notServed();
  }
  // Reviews and bindings are only created: their paths end with the resource.
  if (pathName !== '' && subresource === '' && rest.get === undefined)
    throw apierrors.genericStatus(404);
  if (pathName !== '') checkSegment('Name', pathName);
  if (inNamespace) {
    checkSegment('Namespace', namespace);
    // No namespace can have such a name. Without this check a list of its objects would be empty.
    if (CONTROL_CHARACTER.test(namespace)) {
      throw apierrors.badRequest(
        `Namespace parameter invalid: ${quote(namespace)}: may not contain control characters`,
      );
    }
  }
}

const CONTROL_CHARACTER = /\p{Cc}/u;

/** Throws StatusError for a decoded segment that cannot be part of a key in the store. */
function checkSegment(what: 'Name' | 'Namespace', segment: string): void {
  // Upstream splits the decoded path, so this is a path of no resource there.
  if (segment.includes('/')) throw apierrors.genericStatus(404);
  const why =
    segment === '.' || segment === '..'
      ? `may not be '${segment}'`
      : segment.includes('%')
        ? "may not contain '%'"
        : undefined;
  if (why !== undefined)
    throw apierrors.badRequest(`${what} parameter invalid: ${quote(segment)}: ${why}`);
}
