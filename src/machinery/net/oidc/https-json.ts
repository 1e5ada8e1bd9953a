// One HTTPS exchange with an identity provider: bounded in time and size, no redirects.

import type { Clock } from '#machinery/clock.ts';
import { dial, exchange } from '#machinery/net/peer/index.ts';
import { outsideWork } from '#machinery/pending-work.ts';

/** The maximum size of a response: key sets and tokens have a few kilobytes. */
const MAX_BYTES = 1024 * 1024;
const TIMEOUT_MS = 30_000;

export interface HttpsExchange {
  readonly url: string;
  readonly clock: Clock;
  /** Certificate authorities, as PEM. Default: those of Node. */
  readonly ca?: string;
  /** Present: it is posted as application/x-www-form-urlencoded. */
  readonly form?: URLSearchParams;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface HttpsAnswer {
  readonly status: number;
  /** Undefined: the body is not JSON. */
  readonly json: unknown;
  readonly text: string;
}

/** Sends the request. Rejects if there is no complete response, or the address is not HTTPS. */
export async function httpsJson(config: HttpsExchange): Promise<HttpsAnswer> {
  const { url, clock } = config;
  if (new URL(url).protocol !== 'https:') throw new Error(`${url} is not an https address`);
  const timeout = new AbortController();
  const timer = clock.setTimer(TIMEOUT_MS, () =>
    timeout.abort(new Error(`${url} has not answered within ${TIMEOUT_MS / 1000} s`)),
  );
  try {
    const { status, text } = await outsideWork(send(config, timeout.signal));
    return { status, json: parsed(text), text };
  } catch (error) {
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    timer.cancel();
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

async function send(
  { url, ca, form, headers, clock }: HttpsExchange,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const { hostname, port, pathname, search, host } = new URL(url);
  const body = form === undefined ? undefined : Buffer.from(form.toString());
  // A connection of its own: these requests are seldom, and an idle one would be found dead.
  const connection = await dial({
    // An IPv6 address has brackets in a URL alone.
    host: hostname.replaceAll(/[[\]]/g, ''),
    port: port === '' ? 443 : Number(port),
    clock,
    signal,
    tls: { ...(ca !== undefined && { ca }), ALPNProtocols: ['http/1.1'] },
  });
  const answer = await exchange({
    connection,
    clock,
    signal,
    method: body === undefined ? 'GET' : 'POST',
    path: `${pathname}${search}`,
    headers: {
      host,
      accept: 'application/json',
      ...headers,
      ...(body !== undefined && {
        'content-type': 'application/x-www-form-urlencoded',
        'content-length': body.length,
      }),
    },
    ...(body !== undefined && { body }),
  });
  const { message } = answer;
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of message as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new Error(`the answer of ${url} is too long`);
    chunks.push(chunk);
  }
  return { status: message.statusCode ?? 0, text: Buffer.concat(chunks).toString('utf8') };
}
