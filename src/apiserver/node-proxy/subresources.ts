// The subresources that a kubelet serves: pods/log, pods/exec, pods/attach, pods/portforward and
// nodes/proxy.

import { Readable } from 'node:stream';

import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import { type FieldErrorList, FieldPath } from '#machinery/validation/field.ts';
import * as field from '#machinery/validation/field.ts';
import { joinHostPort } from '#machinery/net/peer/index.ts';
import type { Authorizer } from '../authorization/authorizer.ts';
import { integerOf, parseBoolean } from '../endpoints/query-options.ts';
import { responseHeader } from '../header-values.ts';
import type { NodeConnector } from '../node-connector.ts';
import type { Rest } from '../registry/rest.ts';
import type { Subresource } from '../catalog/kind.ts';
import type { ApiRequest, ApiResponse } from '../request.ts';
import { requireCreate } from './create-permission.ts';
import { isolatedHeaders } from './foreign-page.ts';
import { rewriteLocation } from './location.ts';
import {
  chooseContainer,
  nodeNameOf,
  nodeTargetOf,
  type NodeTargetServices,
  podOf,
} from './pod-target.ts';
import { NodeRelay, type RelayTarget } from './relay.ts';

export interface NodeProxyServices extends NodeTargetServices {
  readonly clock: Clock;
  /** Connects to the kubelets. Absent: requests that need one fail. */
  readonly nodeConnector?: NodeConnector;
}

export interface StreamServices extends NodeProxyServices {
  /** Checks the permission to open a stream. */
  readonly authorizer: Pick<Authorizer, 'authorize'>;
}

const PODS = { group: '', resource: 'pods' } as const;
const NODES = { group: '', resource: 'nodes' } as const;
const UPGRADE_METHODS = ['GET', 'POST'] as const;

/** A subresource without its name, which its kind adds. */
type Unnamed = Omit<Subresource, 'name'>;

function relayOf({ clock, nodeConnector }: NodeProxyServices): NodeRelay {
  return new NodeRelay({ clock, connector: nodeConnector });
}

/** Returns the part of nodes/proxy that forwards requests to a kubelet. The name is the node's. */
export function kubeletProxy(services: NodeProxyServices): NonNullable<Rest['connect']> {
  const relay = relayOf(services);
  return async (request, name, path) => {
    const query = request.query.toString();
    const target: RelayTarget = {
      node: { ...(await nodeTargetOf(services, name)), anyPath: true },
      path: `/${path}${query === '' ? '' : `?${query}`}`,
      resource: NODES,
      name,
    };
    if (request.upgrade !== undefined) return relay.upgrade(request, target);
    const response = withoutRedirect(await relay.forward(request, target), request, target);
    return { ...response, headers: isolatedHeaders(request, response.headers ?? {}) };
  };
}

/**
 * Keeps clients of nodes/proxy behind the proxy. A redirect within the node is rewritten to the
 * proxy. A redirect to another place is rejected, since a node must not send the API server's
 * clients elsewhere; upstream passes it on.
 */
function withoutRedirect(
  response: ApiResponse,
  request: ApiRequest,
  { node, name }: RelayTarget,
): ApiResponse {
  const location = responseHeader(response.headers, 'location');
  if (location === undefined) return response;
  const prefix =
    /^\/+api\/+v1\/+nodes\/+[^/]+\/+proxy/.exec(request.path)?.[0].replaceAll(/\/+/g, '/') ??
    `/api/v1/nodes/${name}/proxy`;
  const host = request.headers['host'] ?? request.headers[':authority'] ?? '';
  const rewritten = rewriteLocation(location, {
    scheme: 'https',
    host,
    backend: joinHostPort(node.host, node.port),
    prefix,
  });
  const inside =
    rewritten.startsWith(`${prefix}/`) ||
    rewritten.startsWith(`https://${host}${prefix}/`) ||
    isRelative(rewritten);
  if (inside) return { ...response, headers: { ...response.headers, location: rewritten } };
  const { body } = response;
  if (body.kind === 'stream' && body.stream instanceof Readable) body.stream.destroy();
  const text = 'the backend attempted to redirect this request, which is not permitted';
  return { code: 502, body: { kind: 'text', contentType: 'text/plain', text } };
}

/** Reports whether a reference has neither a scheme nor a host, and its path is relative. */
function isRelative(location: string): boolean {
  return !/^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|[/\\])/.test(location);
}

/** Returns the subresource pods/log. */
export function logSubresource(services: NodeProxyServices): Unnamed {
  const { find } = services;
  const relay = relayOf(services);
  return {
    kind: { group: '', version: 'v1', kind: 'Pod' },
    connectMethods: ['GET'],
    readsOnly: true,
    rest: {
      connect: async (request, name) => {
        const { namespace } = request.info;
        const query = logQuery(request.query, name);
        const pod = await podOf(find, namespace, name);
        const container = chooseContainer(pod, request.query.get('container') ?? '');
        // A pod without a node has no logs yet.
        if ((pod.spec.nodeName ?? '') === '') return { code: 204, body: { kind: 'none' } };
        const insecure = parseBoolean(request.query, 'insecureSkipTLSVerifyBackend') === true;
        const target: RelayTarget = {
          node: {
            ...(await nodeTargetOf(services, nodeNameOf(pod))),
            ...(insecure && { insecureSkipTlsVerify: true }),
          },
          path: withQuery(`/containerLogs/${namespace}/${name}/${container}`, query),
          resource: PODS,
          name,
        };
        return relay.stream(request, target, 'text/plain');
      },
    },
  };
}

/** Returns the query for the kubelet. Throws StatusError (400, 422). */
function logQuery(query: URLSearchParams, name: string): URLSearchParams {
  const errors: FieldErrorList = [];
  const passed = new URLSearchParams();
  for (const flag of ['follow', 'previous', 'timestamps'])
    if (parseBoolean(query, flag) === true) passed.set(flag, 'true');
  const positive = (option: string, minimum: number, message: string): void => {
    const text = query.get(option);
    if (text === null || text === '') return;
    const value = integerOf(text);
    if (value < minimum) errors.push(field.invalid(new FieldPath(option), value, message));
    passed.set(option, text);
  };
  positive('tailLines', 0, 'must be greater than or equal to 0');
  positive('limitBytes', 1, 'must be greater than 0');
  positive('sinceSeconds', 1, 'must be greater than 0');
  const sinceTime = query.get('sinceTime') ?? '';
  if (sinceTime !== '') {
    if (Number.isNaN(Date.parse(sinceTime)))
      throw apierrors.badRequest(
        `parsing time ${JSON.stringify(sinceTime)}: it is no RFC 3339 time`,
      );
    if (passed.has('sinceSeconds'))
      errors.push(
        field.forbidden(
          new FieldPath('sinceSeconds'),
          'at most one of `sinceTime` or `sinceSeconds` may be specified',
        ),
      );
    passed.set('sinceTime', sinceTime);
  }
  const stream = query.get('stream') ?? '';
  if (stream !== '') {
    if (!['All', 'Stdout', 'Stderr'].includes(stream))
      errors.push(field.notSupported(new FieldPath('stream'), stream, ['All', 'Stderr', 'Stdout']));
    passed.set('stream', stream);
  }
  if (errors.length > 0)
    throw apierrors.invalid({ group: '', kind: 'PodLogOptions' }, name, errors);
  return passed;
}

/** Returns the subresource pods/exec. */
export function execSubresource(services: StreamServices): Unnamed {
  return streamSubresource(services, 'exec', 'PodExecOptions');
}

/** Returns the subresource pods/attach. */
export function attachSubresource(services: StreamServices): Unnamed {
  return streamSubresource(services, 'attach', 'PodAttachOptions');
}

function streamSubresource(
  services: StreamServices,
  action: 'exec' | 'attach',
  kind: string,
): Unnamed {
  const { find, authorizer } = services;
  const relay = relayOf(services);
  return {
    kind: { group: '', version: 'v1', kind },
    connectMethods: UPGRADE_METHODS,
    rest: {
      connect: async (request, name) => {
        await requireCreate(authorizer, request);
        const { namespace } = request.info;
        const pod = await podOf(find, namespace, name);
        const container = chooseContainer(pod, request.query.get('container') ?? '');
        const target: RelayTarget = {
          node: await nodeTargetOf(services, nodeNameOf(pod)),
          path: withQuery(`/${action}/${namespace}/${name}/${container}`, streamQuery(request)),
          resource: PODS,
          name,
        };
        return relay.upgrade(request, target);
      },
    },
  };
}

/** Returns the query for the kubelet, which has other names for these options. */
function streamQuery({ query }: ApiRequest): URLSearchParams {
  const passed = new URLSearchParams();
  const names = { stdin: 'input', stdout: 'output', stderr: 'error', tty: 'tty' } as const;
  for (const [option, name] of Object.entries(names))
    if (parseBoolean(query, option) === true) passed.set(name, '1');
  for (const part of query.getAll('command')) passed.append('command', part);
  return passed;
}

/** Returns the subresource pods/portforward. */
export function portForwardSubresource(services: StreamServices): Unnamed {
  const { find, authorizer } = services;
  const relay = relayOf(services);
  return {
    kind: { group: '', version: 'v1', kind: 'PodPortForwardOptions' },
    connectMethods: UPGRADE_METHODS,
    rest: {
      connect: async (request, name) => {
        await requireCreate(authorizer, request);
        const { namespace } = request.info;
        const pod = await podOf(find, namespace, name);
        const query = new URLSearchParams();
        for (const ports of request.query.getAll('ports'))
          for (const port of ports.split(',')) query.append('port', port);
        const target: RelayTarget = {
          node: await nodeTargetOf(services, nodeNameOf(pod)),
          path: withQuery(`/portForward/${namespace}/${name}`, query),
          resource: PODS,
          name,
        };
        return relay.upgrade(request, target);
      },
    },
  };
}

function withQuery(path: string, query: URLSearchParams): string {
  const text = query.toString();
  return text === '' ? path : `${path}?${text}`;
}
