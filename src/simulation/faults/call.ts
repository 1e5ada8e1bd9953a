// A request to the API server, as faults select it: which component asks for what.

import type { ApiRequest } from '#apiserver/request.ts';

/** The component of the test itself: requests of `cluster.client`. */
export const TEST_COMPONENT = 'test';
/** The API server's own requests. */
export const SERVER_COMPONENT = 'apiserver';

export interface Call {
  readonly component: string;
  readonly verb: string;
  readonly group: string;
  readonly resource: string;
  readonly subresource: string;
  readonly namespace: string;
  readonly name: string;
}

const WRITES: ReadonlySet<string> = new Set([
  'create',
  'update',
  'patch',
  'delete',
  'deletecollection',
]);

/** Reports whether a verb changes objects. */
export function isWrite(verb: string): boolean {
  return WRITES.has(verb);
}

/** Returns what a request asks for. The request has passed authorization, so its `info` and `user` are set. */
export function callOf(request: ApiRequest): Call {
  const { verb, apiGroup, resource, subresource, namespace, inNamespace, name } = request.info;
  return {
    component: request.component ?? componentOf(request),
    verb,
    group: apiGroup,
    resource,
    subresource,
    namespace: inNamespace ? namespace : '',
    name: name === '' ? nameInBody(request) : name,
  };
}

/** An object that is created in this process has its name in the body. Bodies of other clients are not read. */
function nameInBody({ body, info }: ApiRequest): string {
  if (info.verb !== 'create' || body.kind !== 'object') return '';
  const { metadata } = (body.object ?? {}) as { metadata?: { name?: unknown } };
  return typeof metadata?.name === 'string' ? metadata.name : '';
}

const ACCOUNT = 'system:serviceaccount:kube-system:';
const NODE = 'system:node:';
/** Clients that come by a connection: 'client/kubectl', by the first word of their user agent. */
export const CLIENT_PREFIX = 'client/';

function componentOf({ user, headers, rawHeaders }: ApiRequest): string {
  const agent = headers['user-agent'] ?? '';
  if (rawHeaders === undefined) return componentOfUser(user?.name ?? '', agent);
  const [word = ''] = agent.split(/[/ ]/, 1);
  return `${CLIENT_PREFIX}${word}`;
}

/** Returns the component of this process that a user is. `instance`: '#2', for one of several of the same. */
export function componentOfUser(user: string, agent: string, instance = ''): string {
  if (user.startsWith(NODE)) return `kubelet/${user.slice(NODE.length)}`;
  if (user.startsWith(ACCOUNT) && agent.startsWith('kube-controller-manager/'))
    return `controller-manager${instance}/${user.slice(ACCOUNT.length)}`;
  switch (user) {
    case 'system:kube-controller-manager':
      return `controller-manager${instance}`;
    case 'system:kube-scheduler':
      return `scheduler${instance}`;
    case 'system:kube-proxy':
      return 'kube-proxy';
    case 'system:apiserver':
      return SERVER_COMPONENT;
    default:
      return TEST_COMPONENT;
  }
}
