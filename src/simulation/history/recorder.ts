// Records the requests of clients that come by a connection, in the order in which they pass authorization.
// Credentials are no part of a record: the user is.

import type { ApiRequest, Filter, UserInfo } from '#apiserver/request.ts';
import type { Clock } from '#machinery/clock.ts';

/** One request of a client outside of the process. */
export interface RecordedRequest {
  /** Milliseconds since the recording began. */
  readonly atMs: number;
  readonly user: UserInfo;
  readonly method: string;
  /** With its query. */
  readonly path: string;
  /** The headers that the response depends on. */
  readonly headers: Readonly<Record<string, string>>;
  /** Base64; '' without a body. */
  readonly body: string;
}

const HEADERS = ['accept', 'content-type', 'user-agent'] as const;
/** Streams in both directions are not recorded. */
const NOT_RECORDED: ReadonlySet<string> = new Set(['exec', 'attach', 'portforward', 'proxy']);

/** Returns the stage of the handler chain that records. `onRequest`: called in the order of the server. */
export function recorder(clock: Clock, onRequest: (request: RecordedRequest) => void): Filter {
  const begin = clock.monotonic();
  return (next) => async (request) => {
    if (!isRecorded(request)) return next(request);
    const { user, method, body } = request;
    const query = request.query.toString();
    const bytes = body.kind === 'bytes' ? await body.read() : new Uint8Array();
    onRequest({
      atMs: clock.monotonic() - begin,
      user: user ?? { name: 'system:anonymous', groups: ['system:unauthenticated'] },
      method,
      path: query === '' ? request.path : `${request.path}?${query}`,
      headers: Object.fromEntries(
        HEADERS.flatMap((name) => {
          const value = request.headers[name];
          return value === undefined ? [] : [[name, value]];
        }),
      ),
      body: Buffer.from(bytes).toString('base64'),
    });
    return next(request);
  };
}

/** Requests of components in this process are made again by them. Watches end with their client. */
function isRecorded({ rawHeaders, upgrade, info }: ApiRequest): boolean {
  return (
    rawHeaders !== undefined &&
    upgrade === undefined &&
    info.verb !== 'watch' &&
    !NOT_RECORDED.has(info.subresource)
  );
}
