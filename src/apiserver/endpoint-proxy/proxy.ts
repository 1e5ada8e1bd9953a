// pods/proxy, services/proxy and nodes/proxy: forwards a request to a pod or a port of a node, and
// its response back. A user needs permission for the subresource. The server behind the proxy does
// not learn who the user is, except a kubelet.

import type { Duplex } from 'node:stream';

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { dial as dialPeer, joinHostPort } from '#machinery/net/peer/index.ts';
import type { Random } from '#machinery/random.ts';
import type { NodeConnector } from '../node-connector.ts';
import { isolatedHeaders } from '../node-proxy/foreign-page.ts';
import type { ProxiedPlace } from '../node-proxy/location.ts';
import { nodeTargetOf } from '../node-proxy/pod-target.ts';
import { forwardedFor, NodeRelay, type RelayTarget } from '../node-proxy/relay.ts';
import { kubeletProxy, type NodeProxyServices } from '../node-proxy/subresources.ts';
import type { Find } from '../catalog/internal-client.ts';
import type { Subresource } from '../catalog/kind.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { locateNodePort, locatePod, locateService, type Location, splitTarget } from './locate.ts';
import { rewriteResponse } from './rewrite.ts';

const ALL_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'] as const;

/** Opens a connection to an address. Rejects with the error of the connection. */
export type Dial = (location: Location, signal: AbortSignal | undefined) => Promise<Duplex>;

export interface EndpointProxyConfig {
  /**
   * Opens connections. Default: TCP, or TLS without verification, since there is no authority for
   * pods' certificates.
   */
  readonly dial?: Dial;
}

class EndpointProxy {
  readonly #relays: Readonly<Record<Location['scheme'], NodeRelay>>;

  constructor(clock: Clock, { dial = dialWith(clock) }: EndpointProxyConfig = {}) {
    this.#relays = { http: relayOf(clock, dial, 'http'), https: relayOf(clock, dial, 'https') };
  }

  /**
   * Forwards the request. Throws StatusError (503) if there is no response. `resource`: pods,
   * services or nodes.
   */
  async forward(
    request: ApiRequest,
    resource: string,
    name: string,
    location: Location,
  ): Promise<ApiResponse> {
    const { prefix, path } = splitPath(request.path);
    const query = request.query.toString();
    const target: RelayTarget = {
      node: { name: location.scheme, host: location.host, port: location.port },
      path: `${path === '' ? '/' : path}${query === '' ? '' : `?${query}`}`,
      resource: { group: '', resource },
      name,
    };
    const relay = this.#relays[location.scheme];
    if (request.upgrade !== undefined) return relay.upgrade(request, target);
    if (path === '' && (request.method === 'GET' || request.method === 'HEAD')) {
      // The redirect adds the slash that relative links need.
      const to = `${prefix}/${query === '' ? '' : `?${query}`}`;
      return { code: 301, headers: { location: to }, body: { kind: 'none' } };
    }
    const backend = hostAndPort(location);
    const place: ProxiedPlace = {
      scheme: 'https',
      host: hostOf(request) ?? backend,
      backend,
      prefix,
    };
    const response = rewriteResponse(await relay.forward(request, target), place, request.method);
    return { ...response, headers: isolatedHeaders(request, response.headers ?? {}) };
  }
}

/** Returns the subresource pods/proxy. */
export function podProxySubresource(
  { find, clock }: { readonly find: Find; readonly clock: Clock },
  config?: EndpointProxyConfig,
): Omit<Subresource, 'name'> {
  const proxy = new EndpointProxy(clock, config);
  return {
    kind: { group: '', version: 'v1', kind: 'PodProxyOptions' },
    connectMethods: ALL_METHODS,
    rest: {
      connect: async (request, name) =>
        proxy.forward(request, 'pods', name, await locatePod(find, request.info.namespace, name)),
    },
  };
}

/** Returns the subresource services/proxy. `random` chooses among the endpoints. */
export function serviceProxySubresource(
  { find, clock, random }: { readonly find: Find; readonly clock: Clock; readonly random: Random },
  config?: EndpointProxyConfig,
): Omit<Subresource, 'name'> {
  const proxy = new EndpointProxy(clock, config);
  const choice = random.derive('services/proxy');
  return {
    kind: { group: '', version: 'v1', kind: 'ServiceProxyOptions' },
    connectMethods: ALL_METHODS,
    rest: {
      connect: async (request, name) =>
        proxy.forward(
          request,
          'services',
          name,
          await locateService(find, choice, request.info.namespace, name),
        ),
    },
  };
}

/**
 * Returns the subresource nodes/proxy. The name in the path is [SCHEME:]NODE[:PORT]: the kubelet, or
 * another port of the node.
 */
export function nodeProxySubresource(
  services: NodeProxyServices,
  config?: EndpointProxyConfig,
): Omit<Subresource, 'name'> {
  const { clock } = services;
  const toKubelet = kubeletProxy(services);
  const proxy = new EndpointProxy(clock, config);
  return {
    kind: { group: '', version: 'v1', kind: 'NodeProxyOptions' },
    connectMethods: ALL_METHODS,
    rest: {
      connect: async (request, id, path) => {
        const target = splitTarget(id);
        if (target === undefined)
          throw apierrors.badRequest(`invalid node request ${JSON.stringify(id)}`);
        const node = await nodeTargetOf(services, target.name);
        if (target.port === '' || target.port === String(node.port))
          return toKubelet(request, target.name, path);
        return proxy.forward(request, 'nodes', id, locateNodePort(node, target));
      },
    },
  };
}

function relayOf(clock: Clock, dial: Dial, scheme: Location['scheme']): NodeRelay {
  const connector: NodeConnector = {
    connect: ({ host, port }, signal) => dial({ scheme, host, port }, signal),
  };
  return new NodeRelay({
    clock,
    connector,
    headers: (request, { node }) => {
      const host = hostOf(request) ?? hostAndPort({ scheme, ...node });
      return {
        host,
        'x-forwarded-for': forwardedFor(request),
        'x-forwarded-host': host,
        'x-forwarded-proto': 'https',
        'x-forwarded-uri': request.path,
      };
    },
    unreachable: (message) =>
      apierrors.serviceUnavailable(`error trying to reach service: ${message}`),
  });
}

/**
 * Splits a path after /api/v1/namespaces/NS/pods/NAME/proxy or /api/v1/nodes/NAME/proxy. The rest is
 * unchanged: '' is not the same as '/'. Repeated slashes in the prefix count as one: two at its
 * start would name a host in a redirect.
 */
function splitPath(sentPath: string): { readonly prefix: string; readonly path: string } {
  const match = /^(\/+api\/+v1\/+(?:namespaces\/+[^/]+\/+)?[^/]+\/+[^/]+\/+proxy)(.*)$/s.exec(
    sentPath,
  );
  const prefix = (match?.[1] ?? sentPath).replaceAll(/\/+/g, '/');
  return { prefix, path: match?.[2] ?? '' };
}

/** Returns the host of the request. HTTP/2 has a header of its own for it. */
function hostOf({ headers }: ApiRequest): string | undefined {
  return headers['host'] ?? headers[':authority'];
}

function hostAndPort({ host, port }: Location): string {
  return joinHostPort(host, port);
}

function dialWith(clock: Clock): Dial {
  return ({ scheme, host, port }, signal) =>
    dialPeer({
      host,
      port,
      clock,
      signal,
      // The API server has no authority for the certificates of pods.
      ...(scheme === 'https' && {
        tls: { rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] },
      }),
      // The address was also checked when it was read.
      globalOnly: true,
    });
}
