// Posts audit events to the server that a kubeconfig names.

import { authenticationHeaders, type ServerAccess, tlsOptions } from '#client/http/index.ts';
import type { Clock } from '#machinery/clock.ts';
import { dial, exchange } from '#machinery/net/peer/index.ts';

/** How long the server may take to answer. */
const TIMEOUT_MS = 30_000;

/** Returns a function that posts JSON. It rejects unless the code of the response is 2xx. */
export function postTo(
  access: ServerAccess,
  clock: Clock,
): (body: Buffer, signal: AbortSignal) => Promise<void> {
  const { protocol, host, hostname, port, pathname, search } = new URL(access.server);
  const isTls = protocol === 'https:';
  return async (body, signal) => {
    const credentials = await access.credentials?.current();
    const headers = await authenticationHeaders(access, credentials);
    const { host: _host, port: _port, ...tls } = tlsOptions({ ...access, ...credentials });
    // A connection of its own: batches are seldom, and an idle one would be found dead.
    const connection = await dial({
      host: hostname.replaceAll(/[[\]]/g, ''),
      port: port === '' ? (isTls ? 443 : 80) : Number(port),
      clock,
      signal,
      ...(isTls && { tls: { ...tls, ALPNProtocols: ['http/1.1'] } }),
    });
    const { message } = await exchange({
      connection,
      clock,
      signal,
      method: 'POST',
      path: `${pathname}${search}`,
      headers: {
        host,
        'content-type': 'application/json',
        'content-length': body.length,
        ...(headers as Record<string, string | string[]>),
      },
      body,
      headTimeoutMs: TIMEOUT_MS,
      idleTimeoutMs: TIMEOUT_MS,
    });
    const code = message.statusCode ?? 0;
    message.destroy();
    if (code < 200 || code > 299) throw new Error(`the audit webhook responded with code ${code}`);
  };
}
