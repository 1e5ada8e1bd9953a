// Posts JSON to an extender over HTTP or HTTPS.

import { readFileSync } from 'node:fs';
import * as http from 'node:http';
import * as https from 'node:https';
import type { Clock } from '#machinery/clock.ts';
import { errorMessage } from '#machinery/error-message.ts';
import { peerNamed } from '#machinery/net/tls-identity.ts';
import type { ExtenderConfiguration, ExtenderTls } from '../config/extenders.ts';
import { ExtenderError } from '../framework/extender.ts';
import type { Post } from './http-extender.ts';

/** The maximum size of a response: a list of all nodes of a large cluster. */
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;

/** Returns a function that posts. Reads the configured files now; throws if one cannot be read. */
export function postOver(
  { urlPrefix, tls, enableHttps, timeoutMs }: ExtenderConfiguration,
  clock: Clock,
): Post {
  const secure = new URL(urlPrefix).protocol === 'https:';
  const agent = secure
    ? new https.Agent({ keepAlive: true, ...tlsOptions(tls, enableHttps) })
    : new http.Agent({ keepAlive: true });
  return async (url, body, signal) => {
    const timeout = new AbortController();
    const timer = clock.setTimer(timeoutMs, () =>
      timeout.abort(new ExtenderError(`Post "${url}": context deadline exceeded`)),
    );
    try {
      const text = await exchange(
        url,
        JSON.stringify(body),
        secure,
        agent,
        AbortSignal.any([signal, timeout.signal]),
      );
      return JSON.parse(text) as unknown;
    } catch (error) {
      if (timeout.signal.aborted) throw timeout.signal.reason as ExtenderError;
      if (error instanceof ExtenderError) throw error;
      throw new ExtenderError(`Post "${url}": ${errorMessage(error)}`, { cause: error });
    } finally {
      timer.cancel();
    }
  };
}

function tlsOptions(tls: ExtenderTls, enableHttps: boolean): https.AgentOptions {
  const read = (data: string, file: string): Buffer | undefined => {
    if (data !== '') return Buffer.from(data, 'base64');
    return file === '' ? undefined : readFileSync(file);
  };
  const ca = read(tls.caData, tls.caFile);
  return {
    ca,
    cert: read(tls.certData, tls.certFile),
    key: read(tls.keyData, tls.keyFile),
    // With enableHTTPS and without CA certificates, the certificate is not verified, as upstream.
    rejectUnauthorized: !(tls.insecure || (enableHttps && ca === undefined)),
    ...(tls.serverName !== '' && peerNamed(tls.serverName)),
  };
}

function exchange(
  url: string,
  body: string,
  secure: boolean,
  agent: http.Agent,
  signal: AbortSignal,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(body),
    };
    const request = (secure ? https : http).request(
      url,
      { method: 'POST', agent, headers, signal },
      (response) => {
        const { statusCode = 0 } = response;
        const chunks: Buffer[] = [];
        let size = 0;
        response.on('data', (chunk: Buffer) => {
          size += chunk.length;
          if (size > MAX_ANSWER_BYTES)
            request.destroy(new ExtenderError(`the answer of ${url} is too long`));
          else chunks.push(chunk);
        });
        response.on('error', reject);
        response.on('end', () => {
          const verb = url.slice(url.lastIndexOf('/') + 1);
          if (statusCode === 200) resolve(Buffer.concat(chunks).toString());
          else
            reject(
              new ExtenderError(`failed ${verb} with extender at URL ${url}, code ${statusCode}`),
            );
        });
      },
    );
    request.on('error', reject);
    request.end(body);
  });
}
