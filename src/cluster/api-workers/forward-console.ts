// The console in a worker. Its sessions are in the memory of the main process, which therefore
// serves the console's paths, and requests with a session's cookie.

import type { OutgoingHttpHeaders } from 'node:http';
import type { MountFactory } from '#apiserver/mount.ts';
import { NodeRelay, type RelayTarget } from '#apiserver/node-proxy/relay.ts';
import type { ApiRequest, ApiResponse } from '#apiserver/request.ts';
import { COOKIE, SESSION_PATH } from '#console/server/index.ts';
import * as apierrors from '#machinery/apierrors.ts';
import type { Clock } from '#machinery/clock.ts';
import type { MainProcess } from './main-process.ts';

const PATH = '/console';
/** Headers with a token. Browsers send one as a subprotocol of a WebSocket. */
const CREDENTIALS: ReadonlySet<string> = new Set(['authorization', 'sec-websocket-protocol']);

/** Returns the mount for a worker's server. */
export function forwardConsole(main: MainProcess, clock: Clock): MountFactory {
  return ({ authenticate }) => {
    const forward = async (request: ApiRequest): Promise<ApiResponse> => {
      const { peerCertificate, remoteAddress } = request;
      // The certificate belongs to this connection. All other credentials are headers.
      const user =
        peerCertificate && (await authenticate({ headers: request.headers, peerCertificate }));
      const relay = new NodeRelay({
        clock,
        connector: {
          connect: (_node, signal) =>
            main.openRequests({ remoteAddress, ...(user !== undefined && { user }) }, signal),
        },
        headers: ownHeaders,
        unreachable: apierrors.serviceUnavailable,
      });
      const target = targetOf(request);
      if (request.upgrade !== undefined) return relay.upgrade(request, target);
      const response = await relay.forward(request, target);
      // This server does not know the user. The main process does, or serves files to everybody.
      // The page asks for its session before there is a user.
      request.keepsConnection = response.code !== 401 || request.path === SESSION_PATH;
      return response;
    };
    return {
      filter: (next) => (request) => (isOfConsole(request) ? forward(request) : next(request)),
      routes: [],
    };
  };
}

/** Reports whether the main process serves the request. */
function isOfConsole({ path, headers }: Pick<ApiRequest, 'path' | 'headers'>): boolean {
  return path.startsWith(PATH) || headers['cookie']?.includes(COOKIE) === true;
}

function targetOf({ path, query }: ApiRequest): RelayTarget {
  const text = query.toString();
  return {
    node: { name: 'main', host: '', port: 0 },
    path: text === '' ? path : `${path}?${text}`,
    resource: { group: '', resource: 'console' },
    name: 'main',
  };
}

/** Returns the headers that belong to this server, and that a relay would leave out or change. */
function ownHeaders({ headers }: ApiRequest): OutgoingHttpHeaders {
  const own: OutgoingHttpHeaders = { host: headers['host'] ?? headers[':authority'] ?? 'main' };
  for (const [name, value] of Object.entries(headers))
    if (value !== undefined && (CREDENTIALS.has(name) || name.startsWith('impersonate-')))
      own[name] = value;
  return own;
}
