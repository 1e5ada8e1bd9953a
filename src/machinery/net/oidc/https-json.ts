// One HTTPS exchange with an identity provider: bounded in time and size, no redirects.

import { request as httpsRequest } from 'node:https';
import type { Clock } from '#machinery/clock.ts';
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
}

/** Sends the request. Rejects if there is no complete response, or the address is not HTTPS. */
export async function httpsJson(exchange: HttpsExchange): Promise<HttpsAnswer> {
  const { url, clock } = exchange;
  if (new URL(url).protocol !== 'https:') throw new Error(`${url} is not an https address`);
  const timeout = new AbortController();
  const timer = clock.setTimer(TIMEOUT_MS, () =>
    timeout.abort(new Error(`${url} has not answered within ${TIMEOUT_MS / 1000} s`)),
  );
  try {
    const { status, text } = await outsideWork(send(exchange, timeout.signal));
    return { status, json: parsed(text) };
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

function send(
  { url, ca, form, headers }: HttpsExchange,
  signal: AbortSignal,
): Promise<{ readonly status: number; readonly text: string }> {
  const body = form?.toString();
  return new Promise((resolve, reject) => {
    const request = httpsRequest(
      url,
      {
        method: body === undefined ? 'GET' : 'POST',
        // A connection of its own: these requests are seldom, and an idle socket would be found dead.
        agent: false,
        ca,
        signal,
        headers: {
          accept: 'application/json',
          ...headers,
          ...(body !== undefined && {
            'content-type': 'application/x-www-form-urlencoded',
            'content-length': String(Buffer.byteLength(body)),
          }),
        },
      },
      (response) => {
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_BYTES) request.destroy(new Error(`the answer of ${url} is too long`));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () =>
          resolve({
            status: response.statusCode ?? 0,
            text: Buffer.concat(chunks).toString('utf8'),
          }),
        );
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
