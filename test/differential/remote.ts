// The other API server, over HTTPS.

import { Agent, request } from 'node:https';
import { parsed, type Answer } from './compare.ts';
import type { Shot } from './shots.ts';
import type { WireAnswer, WireShot } from './wire.ts';

export class Reference {
  readonly #url: URL;
  readonly #token: string;
  /**
   * The certificate is not checked: the server is a test server on this machine, with a certificate
   * of its own making.
   */
  readonly #agent = new Agent({ keepAlive: true, rejectUnauthorized: false, maxSockets: 4 });

  constructor(url: string, token: string) {
    this.#url = new URL(url);
    this.#token = token;
  }

  /**
   * Sends a request. A connection that is closed without an answer, as by a panic, is reported as
   * the status code 0.
   */
  async send(shot: Shot): Promise<Answer> {
    try {
      return await this.#send(shot);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      return { code: 0, body: 'closed the connection', warnings: [] };
    }
  }

  #send({ method, path, type, body, accept = 'application/json' }: Shot): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          // Not as a URL, which would change the path.
          host: this.#url.hostname,
          port: this.#url.port,
          path,
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#token}`,
            accept,
            'user-agent': 'differential',
            ...(body !== '' && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () =>
            resolve({
              code: response.statusCode ?? 0,
              body: parsed(Buffer.concat(chunks).toString('utf8')),
              warnings: warningTexts(response.rawHeaders),
            }),
          );
        },
      );
      sent.once('error', reject);
      sent.end(body);
    });
  }

  /** Returns the answer as it came. */
  wire({ path, method = 'GET', headers, body = '' }: WireShot): Promise<WireAnswer> {
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          // Not as a URL, which would change the path.
          host: this.#url.hostname,
          port: this.#url.port,
          path,
          method,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#token}`,
            'user-agent': 'differential',
            ...(body !== '' && { 'content-length': Buffer.byteLength(body) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.once('error', reject);
          response.once('end', () =>
            resolve({
              code: response.statusCode ?? 0,
              headers: response.headers,
              text: Buffer.concat(chunks).toString('utf8'),
            }),
          );
        },
      );
      sent.once('error', reject);
      sent.end(body);
    });
  }

  close(): void {
    this.#agent.destroy();
  }
}

/** Returns the texts of the warning headers: `299 - "…"`. */
function warningTexts(raw: readonly string[]): string[] {
  return raw.flatMap((name, index) => {
    if (index % 2 !== 0 || name.toLowerCase() !== 'warning') return [];
    const text = /^299 \S+ "(.*)"$/s.exec(raw[index + 1] ?? '')?.[1];
    // The text is UTF-8, which Node reads as Latin-1.
    return [
      Buffer.from((text ?? raw[index + 1] ?? '').replaceAll(/\\(.)/gs, '$1'), 'latin1').toString(
        'utf8',
      ),
    ];
  });
}
