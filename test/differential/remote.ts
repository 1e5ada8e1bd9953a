// A client of an API server, over HTTPS. It sends requests as they are, wrong ones too.

import type { IncomingHttpHeaders } from 'node:http';
import { Agent, request } from 'node:https';
import { gunzipSync } from 'node:zlib';
import {
  decodeProtobuf,
  isProtobuf,
  openEnvelope,
  PROTOBUF_CONTENT_TYPE,
} from '#api/machinery/codec/protobuf/index.ts';
import { messageOf } from '#api/testing/message-of.ts';
import { parsed, type Answer } from './compare.ts';
import type { Shot } from './shots.ts';
import type { WireAnswer, WireShot } from './wire.ts';

interface Message {
  readonly code: number;
  readonly headers: IncomingHttpHeaders;
  readonly rawHeaders: readonly string[];
  readonly bytes: Buffer;
}

export class Remote {
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
  async send({ method, path, type, body, accept = 'application/json' }: Shot): Promise<Answer> {
    try {
      const { code, rawHeaders, bytes } = await this.#exchange(method, path, body, {
        accept,
        ...(body !== '' && { 'content-type': type }),
      });
      return { code, body: parsed(bytes.toString('utf8')), warnings: warningTexts(rawHeaders) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ECONNRESET') throw error;
      return { code: 0, body: 'closed the connection', warnings: [] };
    }
  }

  /** Returns the answer as it came, but uncompressed, and objects in protobuf as JSON. */
  async wire({ path, method = 'GET', headers = {}, body = '' }: WireShot): Promise<WireAnswer> {
    const answer = await this.#exchange(method, path, body, headers);
    const bytes =
      answer.headers['content-encoding'] === 'gzip' ? gunzipSync(answer.bytes) : answer.bytes;
    const isMessage = answer.headers['content-type'] === PROTOBUF_CONTENT_TYPE && isProtobuf(bytes);
    const text = isMessage ? textOfProtobuf(bytes) : bytes.toString('utf8');
    return { code: answer.code, headers: answer.headers, text };
  }

  #exchange(
    method: string,
    path: string,
    body: string | Uint8Array,
    headers: Readonly<Record<string, string>>,
  ): Promise<Message> {
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
            ...(body.length > 0 && { 'content-length': Buffer.byteLength(body) }),
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
              rawHeaders: response.rawHeaders,
              bytes: Buffer.concat(chunks),
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

/** Returns the object as JSON. A kind that has no schema (a list) is returned as hexadecimal digits. */
function textOfProtobuf(bytes: Buffer): string {
  const envelope = openEnvelope(bytes);
  const message = messageOf(envelope.apiVersion, envelope.kind);
  return message === undefined
    ? `${envelope.apiVersion} ${envelope.kind} in protobuf: ${bytes.toString('hex')}`
    : JSON.stringify(decodeProtobuf(message, envelope));
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
